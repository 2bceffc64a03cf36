"""A Qdrant server by gRPC: what every index promises.

On loopback, or where SUREFIND_TEST_QDRANT_GRPC_PORT says that the named server speaks it.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from contract.test_indexes import IndexContract
from contract.test_qdrant_server import Bench
from qdrant_grpc import serve_grpc
from qdrant_service import REAL_GRPC_PORT, REAL_KEY, REAL_URL, Address, serve
from surefind.ports import IndexStore


@pytest.fixture(scope="module")
def spoken() -> Iterator[tuple[Address, int]]:
    if REAL_URL and REAL_GRPC_PORT:
        yield Address(REAL_URL, REAL_KEY), int(REAL_GRPC_PORT)
        return
    with serve() as service, serve_grpc(service) as port:
        yield service.address, port


class TestQdrantServerByGrpc(IndexContract):
    readers_outlive_a_drop = False

    @pytest.fixture
    async def store(self, spoken: tuple[Address, int]) -> AsyncIterator[IndexStore]:
        address, port = spoken
        bench = Bench(address)
        made = bench.store(grpc_port=port)
        yield made
        await made.close()
        await bench.clear()
