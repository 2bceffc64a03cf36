"""Search with a vector of the caller's, on the real engine and when the catalog is away."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore
from surefind.errors import InputError, UnknownCollection
from surefind.model import Mode
from surefind.services.generations.readers import Readers
from surefind.services.search.vector_search import VectorSearcher
from unit.installation import Installation

PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine all day",
    **{f"{n}.md": f"# Topic {n}\n\nfiller text number {n}" for n in range(120)},
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


async def test_it_ranks_as_a_dense_search_does(home: Installation) -> None:
    vector = (await home.embedder.embed_query("where do cats sleep")).tolist()
    searcher = VectorSearcher(home.reader)
    for top_k in (1, 5, 110):
        dense = await home.search("where do cats sleep", mode=Mode.DENSE, top_k=top_k)
        assert await searcher.search_vector(vector, top_k) == dense.hits
    assert await searcher.embedder() == home.embedder.fingerprint


@pytest.mark.parametrize(
    ("vector", "top_k", "field"),
    [
        ([0.1] * 31, 5, "vector"),
        ([], 5, "vector"),
        ([0.0] * 32, 5, "vector"),
        ([*[0.1] * 31, float("nan")], 5, "vector"),
        ([*[0.1] * 31, float("inf")], 5, "vector"),
        ([0.1] * 32, 0, "top_k"),
        ([0.1] * 32, 1001, "top_k"),
        ([0.1] * 32, True, "top_k"),
    ],
)
async def test_what_can_not_be_compared_is_refused(
    home: Installation, vector: list[float], top_k: int, field: str
) -> None:
    with pytest.raises(InputError, match=rf"^{field}\b"):
        await VectorSearcher(home.reader).search_vector(vector, top_k)


async def test_a_vector_search_works_while_the_catalog_is_unavailable(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = MemoryIndexStore(), (catalogs := MemoryCatalogStore())
    home.readers = Readers(home.index, catalogs)
    await home.ingest(PAGES)
    vector = np.asarray(await home.embedder.embed_query("cats")).tolist()
    before = await VectorSearcher(home.reader).search_vector(vector, 3)
    catalogs.away = True
    after = await VectorSearcher(home.reader).search_vector(vector, 3)
    assert [hit.record.chunk for hit in after] == [hit.record.chunk for hit in before]
    home.readers = Readers(home.index, catalogs)
    opened_so = await VectorSearcher(home.reader).search_vector(vector, 3)
    assert opened_so == after


async def test_without_a_collection_there_is_nothing_to_search(tmp_path: Path) -> None:
    empty = Installation(tmp_path / "empty")
    with pytest.raises(UnknownCollection):
        await VectorSearcher(empty.reader).search_vector([0.1] * 32, 5)
