"""The library: `surefind.open()` for scripts and notebooks, `surefind.aopen()` for async code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefind.bootstrap import Application
from surefind.contracts import layer
from surefind.contracts.validation import RetrievalQuery, RetrievalResult, results_of
from surefind.model import IngestReport, Manifest, Mode, Query, SearchResult

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal


class AsyncSurefind:
    """One installation, open."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def search(
        self,
        text: str,
        *,
        top_k: int = 5,
        threshold: float = 0.0,
        mode: Mode | str = Mode.HYBRID,
    ) -> SearchResult:
        query = Query(text, top_k, threshold, _mode(mode), self._application.settings.collection)
        return await self._application.search(query)

    async def ingest(
        self,
        *paths: str | PathLike[str],
        rebuild: bool = False,
        allow_shrink: bool = False,
    ) -> IngestReport:
        return await self._application.ingest(
            [Path(path) for path in paths],
            lambda _progress: None,
            rebuild=rebuild,
            allow_shrink=allow_shrink,
        )

    async def retrieve(
        self, query: RetrievalQuery, *, mode: Mode | str = Mode.DENSE
    ) -> list[RetrievalResult]:
        """The validation contract's search: in the order of the cosine, unless `mode` says else."""
        asked = query.to_query(self._application.settings.collection, _mode(mode))
        result = await self._application.search(asked)
        # A search refuses every collection that another model has made.
        made_by = (await self._application.embedder()).fingerprint
        return results_of(result, query.query_id, made_by.model)

    async def generate_query_embedding(self, query: str) -> layer.QueryEmbedding:
        layer.check_query(query)
        embedder = await self._application.embedder()
        vector = await embedder.embed_query(query)
        return layer.QueryEmbedding(vector.tolist(), query, embedder.fingerprint.model)

    async def retrieve_content_chunks(
        self, query_embedding: layer.Embedding, limit: int = 5
    ) -> list[layer.RetrievalResult]:
        """The chunks nearest to a `QueryEmbedding`, or to a vector that you have; best first."""
        from surefind.services.search import MAX_TOP_K  # noqa: PLC0415 - it brings numpy

        layer.check_limit(limit, MAX_TOP_K)
        vectors = self._application.vectors
        vector = layer.vector_for(query_embedding, await vectors.embedder())
        return [layer.RetrievalResult.of(hit) for hit in await vectors.search_vector(vector, limit)]

    async def generations(self) -> list[Manifest]:
        return await self._application.generations.list()

    async def rollback(self, to: int | None = None) -> Manifest:
        return await self._application.generations.rollback(to)


class Surefind:
    """The same, for code that is not async. It works inside a running event loop too."""

    def __init__(self, inner: AsyncSurefind, portal: BlockingPortal) -> None:
        self._inner = inner
        self._portal = portal

    def search(
        self,
        text: str,
        *,
        top_k: int = 5,
        threshold: float = 0.0,
        mode: Mode | str = Mode.HYBRID,
    ) -> SearchResult:
        return self._portal.call(
            lambda: self._inner.search(text, top_k=top_k, threshold=threshold, mode=mode)
        )

    def ingest(
        self,
        *paths: str | PathLike[str],
        rebuild: bool = False,
        allow_shrink: bool = False,
    ) -> IngestReport:
        return self._portal.call(
            lambda: self._inner.ingest(*paths, rebuild=rebuild, allow_shrink=allow_shrink)
        )

    def retrieve(
        self, query: RetrievalQuery, *, mode: Mode | str = Mode.DENSE
    ) -> list[RetrievalResult]:
        return self._portal.call(lambda: self._inner.retrieve(query, mode=mode))

    def generate_query_embedding(self, query: str) -> layer.QueryEmbedding:
        return self._portal.call(self._inner.generate_query_embedding, query)

    def retrieve_content_chunks(
        self, query_embedding: layer.Embedding, limit: int = 5
    ) -> list[layer.RetrievalResult]:
        return self._portal.call(self._inner.retrieve_content_chunks, query_embedding, limit)

    def generations(self) -> list[Manifest]:
        return self._portal.call(self._inner.generations)

    def rollback(self, to: int | None = None) -> Manifest:
        return self._portal.call(self._inner.rollback, to)


@asynccontextmanager
async def aopen(**settings: Any) -> AsyncIterator[AsyncSurefind]:
    """`async with surefind.aopen(data_dir="…") as docs:`; every setting can be given by name."""
    from surefind.settings import load  # noqa: PLC0415 - importing surefind stays cheap

    application = Application(load(**settings))
    try:
        yield AsyncSurefind(application)
    finally:
        await application.close()


@contextmanager
def open(**settings: Any) -> Iterator[Surefind]:  # noqa: A001 - it is surefind.open
    """`with surefind.open(data_dir="…") as docs:`; every setting can be given by name."""
    from anyio.from_thread import start_blocking_portal  # noqa: PLC0415

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(aopen(**settings)) as inner,
    ):
        yield Surefind(inner, portal)


def _mode(mode: Mode | str) -> Mode:
    from surefind.errors import InputError  # noqa: PLC0415

    try:
        return Mode(mode)
    except ValueError:
        choices = ", ".join(choice.value for choice in Mode)
        raise InputError(f"mode: it is {mode!r}, it must be one of {choices}") from None
