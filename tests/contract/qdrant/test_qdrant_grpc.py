"""A Qdrant server by gRPC: what every index promises, and what is told when it fails.

The promises on loopback, or by SUREFIND_TEST_QDRANT_GRPC_PORT of the server that is named.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import grpc
import pytest
from qdrant_client import grpc as wire

from contract.embedders.rude_server import KEY, Opened
from contract.indexes.index_contents import ONE
from contract.indexes.test_indexes import IndexContract
from contract.qdrant.test_qdrant_failures import LOCKED
from contract.qdrant.test_qdrant_server import Bench
from support.qdrant.grpc_server import serve_grpc
from support.qdrant.http_server import serve
from support.qdrant.service import REAL_GRPC_PORT, REAL_KEY, REAL_URL, Address
from surefind.errors import StoreChanged, StoreError, StoreRefused, StoreUnreachable
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


class _Refusing(grpc.GenericRpcHandler):  # type: ignore[misc]
    """A server that tells its version, and has one answer to all else."""

    def __init__(self, code: grpc.StatusCode, said: str) -> None:
        self._code = code
        self._said = said

    def service(self, details: Any) -> Any:
        if details.method.endswith("HealthCheck"):
            reply = wire.HealthCheckReply(title="qdrant", version="1.18.0").SerializeToString()

            async def healthy(_request: bytes, _context: Any) -> bytes:
                return bytes(reply)

            return grpc.unary_unary_rpc_method_handler(healthy)

        async def refuse(_request: bytes, context: Any) -> bytes:
            await context.abort(self._code, self._said)
            return b""

        return grpc.unary_unary_rpc_method_handler(refuse)


@pytest.mark.parametrize(
    ("code", "said", "kind", "match"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "no", StoreRefused, "QDRANT_API_KEY"),
        (grpc.StatusCode.PERMISSION_DENIED, "no", StoreRefused, r"QDRANT_API_KEY to a key"),
        (grpc.StatusCode.NOT_FOUND, "no", StoreChanged, "docs--0001"),
        (grpc.StatusCode.INVALID_ARGUMENT, f"no, {KEY}", StoreRefused, "no, …"),
        (grpc.StatusCode.FAILED_PRECONDITION, LOCKED, StoreRefused, "is locked against writes"),
        (grpc.StatusCode.FAILED_PRECONDITION, "not now", StoreUnreachable, "3 times.*not now"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "no", StoreUnreachable, "3 times"),
        (grpc.StatusCode.CANCELLED, "no", StoreUnreachable, "3 times"),
        (grpc.StatusCode.UNAVAILABLE, "no", StoreUnreachable, "3 times"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "no", StoreUnreachable, "3 times"),
    ],
)
async def test_failures_by_grpc_are_reported_like_all_others(
    code: grpc.StatusCode, said: str, kind: type[StoreError], match: str
) -> None:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Refusing(code, said),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    opened = Opened("http://127.0.0.1:1")
    opened.place = replace(opened.place, grpc_port=port)
    try:
        async with opened.store() as store:
            with pytest.raises(kind, match=match) as raised:
                await store.open(ONE)
        assert KEY not in str(raised.value)
    finally:
        await server.stop(None)
