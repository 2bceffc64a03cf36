"""The replicas of a collection's shards in a Qdrant cluster.

A node that is down while a collection is created or filled does not stop the upload: its replicas
are left behind, and Qdrant reports them only if it is asked.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from qdrant_client import models

from surefind.adapters.qdrant.server.calls import QdrantServer
from surefind.errors import StoreError, StoreRefused
from surefind.model import Replication
from surefind.ports import Notify

_STATE = models.ReplicaState
_GIVEN_UP = {_STATE.DEAD, _STATE.MANUALRECOVERY}
_PAUSE_S = 0.2
REPAIR = "bring the missing nodes back, and Qdrant restores the replicas"


@dataclass(frozen=True, slots=True)
class ReplicaCheck:
    """What to do about missing replicas before a generation is published.

    With `required`, missing replicas are an error. Those that are being restored are waited for,
    at most `patience_s`.
    """

    required: bool = False
    patience_s: float = 30.0


@dataclass(frozen=True, slots=True)
class _Seen:
    replication: Replication
    may_recover: bool


async def replication_of(server: QdrantServer, name: str) -> Replication | None:
    """None for a server that is not part of a cluster."""
    seen = await _seen(server, name)
    return None if seen is None else seen.replication


async def check_replicas(
    server: QdrantServer, name: str, check: ReplicaCheck, notify: Notify
) -> None:
    """Report missing replicas of a finished collection; StoreRefused if they are required."""
    try:
        seen = await _settled(server, name, check)
    except StoreError as error:
        if check.required:
            raise
        notify(f"can't check the replicas of {name}: {error}")
        return
    if seen is None or seen.replication.is_complete:
        return
    missing = f"{server.name}: the collection {name} has {seen.replication}"
    if check.required:
        raise StoreRefused(
            f"{missing}, and SUREFIND_QDRANT_REQUIRE_REPLICAS is set, so nothing was published; "
            f"{REPAIR}, then run it again"
        )
    notify(f"{missing}; {REPAIR}")


async def _settled(server: QdrantServer, name: str, check: ReplicaCheck) -> _Seen | None:
    last = time.monotonic() + (check.patience_s if check.required else 0.0)
    while True:
        seen = await _seen(server, name)
        done = seen is None or seen.replication.is_complete or not seen.may_recover
        if done or time.monotonic() + _PAUSE_S > last:
            return seen
        await asyncio.sleep(_PAUSE_S)


async def _seen(server: QdrantServer, name: str) -> _Seen | None:
    cluster = await server.read(lambda client: client.cluster_status())
    if not isinstance(cluster, models.ClusterStatusOneOf1):
        return None
    found = await server.read(lambda client: client.collection_cluster_info(name), name)
    info = await server.read(lambda client: client.get_collection(name), name)
    replicas = [
        *((one.shard_id, found.peer_id, one.state) for one in found.local_shards),
        *((one.shard_id, one.peer_id, one.state) for one in found.remote_shards),
    ]
    active = dict.fromkeys(range(found.shard_count), 0)
    inactive, states = [], []
    for shard, peer, state in sorted(replicas):
        active.setdefault(shard, 0)
        if state == _STATE.ACTIVE:
            active[shard] += 1
            continue
        states.append(state)
        inactive.append(f"shard {shard} at {_node(peer, cluster.peers)}: {state.value}")
    return _Seen(
        Replication(
            info.config.params.replication_factor or 1, tuple(active.values()), tuple(inactive)
        ),
        may_recover=any(state not in _GIVEN_UP for state in states),
    )


def _node(peer: int, peers: Mapping[str, models.PeerInfo]) -> str:
    known = peers.get(str(peer))
    return f"peer {peer}" if known is None else known.uri.rstrip("/")
