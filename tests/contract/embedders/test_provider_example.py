"""The provider that docs/providers.md adds works, and keeps every promise of an embedder."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from contract.embedders.test_embedders import EmbedderContract
from support.embedding_service import KEY, TOO_MANY, Service, Trouble, serve
from surefind.adapters.embedders.remote import RemoteEmbedder
from surefind.adapters.remote_calls import CallPolicy, RetryPolicy
from surefind.errors import EmbeddingError
from surefind.ports import Embedder

PAGE = (Path(__file__).parents[3] / "docs" / "providers.md").read_text()
*_, ADAPTER, SUITE = re.findall(r"^```python\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
NAMES: dict[str, object] = {
    "AsyncIterator": AsyncIterator,
    "CallPolicy": CallPolicy,
    "Embedder": Embedder,
    "EmbedderContract": EmbedderContract,
    "KEY": KEY,
    "Service": Service,
    "__name__": __name__,
    "pytest": pytest,
}
exec(ADAPTER, NAMES)
exec(SUITE, NAMES)
TestAcme = NAMES["TestAcme"]  # pytest finds it here


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@pytest.fixture
async def acme(service: Service) -> AsyncIterator[RemoteEmbedder]:
    quick = RetryPolicy(2, 0.01, 0.02, 5.0, concurrency=4)
    policy = CallPolicy(print, ingesting=quick, searching=quick)
    embedder = NAMES["acme_embedder"](KEY, service.url, policy)  # type: ignore[operator]
    yield embedder
    await embedder.close()


async def test_what_all_providers_share_came_with_it(
    acme: RemoteEmbedder, service: Service
) -> None:
    service.troubles = [TOO_MANY]
    assert (await acme.embed_passages(["tea"])).shape == (1, 48)
    service.always = Trouble(401)
    with pytest.raises(EmbeddingError, match="check ACME_API_KEY"):
        await acme.embed_passages(["tea"])
    service.always = Trouble(change=lambda rows: rows[1:])
    with pytest.raises(EmbeddingError, match=r"0 vectors for 1|not return a list"):
        await acme.embed_query("tea")
