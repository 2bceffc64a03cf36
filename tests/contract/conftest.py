"""What the contract suites share."""

from collections.abc import AsyncIterator, Iterator

import pytest

from contract.connected.collections import connected
from contract.embedders.rude_server import KEY, READING_KEY
from support.foreign import Door
from support.qdrant import http_server as qdrant_http
from support.qdrant.service import Address, Service
from support.website.local_site import Site, serve


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as served:
        yield served


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    """A Qdrant server that behaves, or the one that SUREFIND_TEST_QDRANT_URL names."""
    with qdrant_http.running() as found:
        yield found


@pytest.fixture(scope="module")
async def door(address: Address, anyio_backend: str) -> AsyncIterator[Door]:
    async with connected(address) as opened:
        yield opened


@pytest.fixture(scope="module")
def guarded() -> Iterator[Service]:
    """Its answers to failures repeat the key to whoever sent it: as rude as can be."""
    with qdrant_http.serve(KEY, READING_KEY) as service:
        yield service


@pytest.fixture
def service(guarded: Service) -> Iterator[Service]:
    yield guarded
    guarded.forget()


@pytest.fixture(scope="module")
def open_to_all() -> Iterator[Service]:
    with qdrant_http.serve() as service:
        yield service


@pytest.fixture
def keyless(open_to_all: Service) -> Iterator[Service]:
    yield open_to_all
    open_to_all.forget()
