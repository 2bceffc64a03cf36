"""The replicas of a Qdrant cluster: what is reported of them, and how many of them answer.

The last test runs against the server that SUREFIND_TEST_QDRANT_URL names, where one is named.
"""

import pytest

from contract.embedders.rude_server import KEY, PROBE, READING_KEY, Opened
from contract.indexes.index_contents import ONE, TEXTS, build, entries
from contract.qdrant.test_qdrant_server import Bench
from support.qdrant.grpc_server import serve_grpc
from support.qdrant.service import BROKEN, Address, Service, Trouble
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.reader import ReadConsistency
from surefind.adapters.qdrant.server.replicas import ReplicaCheck
from surefind.adapters.qdrant.server.schema import CollectionShape
from surefind.errors import StoreRefused, StoreUnreachable
from surefind.model import Replication

HEALTHY = dict.fromkeys((1, 2, 3), "Active")
SHAPE = CollectionShape(shards=3, replicas=2)
REQUIRED = ReplicaCheck(required=True, patience_s=0.0)


def opened(service: Service, check: ReplicaCheck | None = None) -> Opened:
    return Opened(service.url, shape=SHAPE, replica_check=check)


async def test_a_healthy_cluster_is_counted_and_not_mentioned(service: Service) -> None:
    service.peers = dict(HEALTHY)
    cluster = opened(service, REQUIRED)
    async with cluster.store() as store:
        await build(store, ONE, entries(TEXTS))
        assert await store.replication(ONE) == Replication(2, (2, 2, 2))
    assert cluster.told == []


@pytest.mark.parametrize("state", ["Dead", "Partial", "Initializing", "Recovery", "ManualRecovery"])
async def test_a_node_that_is_unavailable_is_named(service: Service, state: str) -> None:
    service.peers = {**HEALTHY, 3: state}
    cluster = opened(service)
    async with cluster.store() as store:
        assert await build(store, ONE, entries(TEXTS)) == 5, "readers still find everything"
        found = await store.replication(ONE)
    at = f"at http://node3:6335: {state}"
    assert found == Replication(2, (2, 1, 1), (f"shard 1 {at}", f"shard 2 {at}"))
    [told] = cluster.told
    assert "docs--0001 has 2 of 3 shards with fewer than 2 active replicas" in told
    assert f"(shard 1 {at}, shard 2 {at}); bring the missing nodes back" in told


async def test_a_cluster_with_fewer_nodes_than_replicas(service: Service) -> None:
    service.peers = {1: "Active"}
    async with opened(service, REQUIRED).store() as store:
        with pytest.raises(StoreRefused, match="3 of 3 shards with fewer than 2 active replicas,"):
            await build(store, ONE, entries(TEXTS))


@pytest.mark.parametrize("by_grpc", [False, True])
async def test_where_replicas_are_required_a_missing_one_stops_the_build(
    service: Service, *, by_grpc: bool
) -> None:
    service.peers = {**HEALTHY, 2: "Dead"}
    cluster = opened(service, REQUIRED)
    with serve_grpc(service) as port:
        cluster.place = ServerAddress(service.url, KEY, port if by_grpc else None)
        async with cluster.store() as store:
            with pytest.raises(StoreRefused, match="REQUIRE_REPLICAS is set, so nothing was pub"):
                await build(store, ONE, entries(TEXTS))
            service.peers[2] = "Active"
            await build(store, ONE, entries(TEXTS))


async def test_replicas_that_are_being_restored_are_waited_for(service: Service) -> None:
    service.peers = {**HEALTHY, 2: "Partial"}

    class Restored(dict[int, str]):
        """Whole again once the nodes have been asked for twice."""

        asked = 0

        def get(self, peer: int, default: str = "") -> str:  # type: ignore[override]
            self.asked += 1
            return "Partial" if peer == 2 and self.asked < 12 else "Active"

    service.peers = Restored(HEALTHY)
    patient = opened(service, ReplicaCheck(required=True, patience_s=60.0))
    async with patient.store() as store:
        await build(store, ONE, entries(TEXTS))
    assert service.asked(r"GET /collections/[^/]+/cluster") > 1


async def test_a_single_server_has_no_replicas_to_miss(service: Service) -> None:
    alone = opened(service, REQUIRED)
    async with alone.store() as store:
        await build(store, ONE, entries(TEXTS))
        assert await store.replication(ONE) is None
    assert alone.told == []


@pytest.mark.parametrize("trouble", [Trouble(403, on="GET /cluster"), BROKEN], ids=["403", "500"])
async def test_replicas_that_can_not_be_seen(service: Service, trouble: Trouble) -> None:
    """They are nobody's reason to stop, unless they are required."""
    service.peers = dict(HEALTHY)
    service.always = Trouble(trouble.status, on="GET /cluster$")
    cluster = opened(service)
    async with cluster.store() as store:
        await build(store, ONE, entries(TEXTS))
        with pytest.raises((StoreRefused, StoreUnreachable)):
            await store.replication(ONE)
    assert [line[:42] for line in cluster.told] == ["can't check the replicas of docs--0001: th"]
    async with opened(service, REQUIRED).store() as store:
        with pytest.raises((StoreRefused, StoreUnreachable)):
            await build(store, ONE, entries(TEXTS))


@pytest.mark.parametrize(
    ("consistency", "sent"),
    [
        (None, ""),
        ("majority", "consistency=majority"),
        ("quorum", "consistency=quorum"),
        ("all", "consistency=all"),
        (2, "consistency=2"),
    ],
)
@pytest.mark.parametrize("by_grpc", [False, True])
async def test_as_many_replicas_answer_a_search_as_were_requested(
    service: Service, consistency: ReadConsistency | None, sent: str, *, by_grpc: bool
) -> None:
    reading = Opened(service.url, read_consistency=consistency)
    with serve_grpc(service) as port:
        reading.place = ServerAddress(service.url, KEY, port if by_grpc else None)
        async with reading.store() as store:
            await build(store, ONE, entries(TEXTS))
            index = await store.open(ONE)
            service.requests.clear()
            [found] = await index.search([PROBE])
            await index.vectors(await index.point_ids(found.points))
    reads = [one for one in service.requests if one.method == "POST"]
    assert len(reads) == 2
    assert all(one.parameters.split("&timeout")[0].startswith(sent) for one in reads)
    assert all(("consistency" in one.parameters) == bool(sent) for one in reads)


async def test_a_key_for_reading_sees_the_replicas(service: Service) -> None:
    service.peers = dict(HEALTHY)
    async with opened(service).store() as store:
        await build(store, ONE, entries(TEXTS))
    async with Opened(service.url, key=READING_KEY).store() as store:
        assert await store.replication(ONE) == Replication(2, (2, 2, 2))


async def test_the_replicas_of_the_server_that_is_tested(address: Address) -> None:
    bench = Bench(address)
    store = bench.store()
    try:
        await build(store, ONE, entries(TEXTS))
        found = await store.replication(ONE)
    finally:
        await store.close()
        await bench.clear()
    assert found is None or found.is_complete
    assert not [line for line in bench.told if "replicas" in line]
