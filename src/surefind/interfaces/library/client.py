"""The library: `surefind.open()` for scripts and notebooks, `surefind.aopen()` for async code."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from surefind.bootstrap import Application, IngestRequest
from surefind.contracts import layer
from surefind.contracts.validation import RetrievalQuery, RetrievalResult, results_of
from surefind.interfaces.search_options import SearchOptions, one_of, query_of
from surefind.model import ChunkRecord, IngestReport, Manifest, Mode, Query, SearchResult

if TYPE_CHECKING:
    from surefind.interfaces.library.portal import Portal
    from surefind.services.search.why_not import WhyNot


class AsyncSurefind:
    """One installation, open."""

    def __init__(self, application: Application) -> None:
        self._opened = application
        self._opened_in = os.getpid()

    @property
    def _application(self) -> Application:
        from surefind.interfaces.library.portal import require_own_process  # noqa: PLC0415 - asyncio

        require_own_process(self._opened_in)
        return self._opened

    async def search(self, text: str, **options: Unpack[SearchOptions]) -> SearchResult:
        return await self._application.searching.search(self._query(text, options))

    async def search_many(
        self, texts: Sequence[str], **options: Unpack[SearchOptions]
    ) -> list[SearchResult]:
        """One result per question, in order; all of them are read before any is asked."""
        return await self._application.searching.search_many(
            [self._query(text, options) for text in texts]
        )

    async def why_not(self, text: str, wanted: str, **options: Unpack[SearchOptions]) -> WhyNot:
        """Why a chunk, a page's address or its path is not among the hits of this search."""
        return await self._application.searching.why_not(self._query(text, options), wanted)

    async def chunk(self, chunk_id: str) -> ChunkRecord:
        return await self._application.searching.passages.chunk(chunk_id)

    async def neighbours(self, chunk_id: str, before: int = 1, after: int = 1) -> list[ChunkRecord]:
        """The chunk with those around it, in the order of the document."""
        return await self._application.searching.passages.neighbours(chunk_id, before, after)

    async def section(self, chunk_id: str) -> list[ChunkRecord]:
        """All chunks of the chunk's section, its subsections among them."""
        return await self._application.searching.passages.section(chunk_id)

    async def document(self, source_path: str) -> list[ChunkRecord]:
        return await self._application.searching.passages.document(source_path)

    def _query(self, text: str, options: SearchOptions) -> Query:
        return query_of(text, self._application.settings.collection, options)

    async def ingest(
        self,
        *paths: str | PathLike[str],
        rebuild: bool = False,
        allow_shrink: bool = False,
        gate: str | PathLike[str] | None = None,
    ) -> IngestReport:
        """`gate` names golden tests that must pass before it is published; `""` is no gate."""
        return await self._application.ingesting.ingest(
            IngestRequest(paths=paths, rebuild=rebuild, allow_shrink=allow_shrink, gate=gate)
        )

    async def retrieve(
        self, query: RetrievalQuery, *, mode: Mode | str = Mode.DENSE
    ) -> list[RetrievalResult]:
        """The validation contract's search: in the order of the cosine, unless `mode` says else."""
        asked = query.to_query(self._application.settings.collection, one_of("mode", Mode, mode))
        result = await self._application.searching.search(asked)
        # A search refuses every collection that another model has made.
        made_by = (await self._application.parts.embedder()).fingerprint
        return results_of(result, query.query_id, made_by.model)

    async def generate_query_embedding(self, query: str) -> layer.QueryEmbedding:
        layer.check_query(query)
        embedder = await self._application.parts.embedder()
        vector = await embedder.embed_query(query)
        return layer.QueryEmbedding(vector.tolist(), query, embedder.fingerprint.model)

    async def retrieve_content_chunks(
        self, query_embedding: layer.Embedding, limit: int = 5
    ) -> list[layer.RetrievalResult]:
        """The chunks nearest to a `QueryEmbedding`, or to a vector that you have; best first."""
        from surefind.services.search.search import MAX_TOP_K  # noqa: PLC0415 - it brings numpy

        limit = layer.check_limit(limit, MAX_TOP_K)
        vectors = self._application.searching.vectors
        vector = layer.vector_for(query_embedding, await vectors.embedder())
        return await layer.nearest_chunks(partial(vectors.search_vector, vector), limit, MAX_TOP_K)

    async def generations(self) -> list[Manifest]:
        return await self._application.generations.list()

    async def rollback(self, to: int | None = None) -> Manifest:
        return await self._application.generations.rollback(to)


class Surefind:
    """The same, for code that is not async. It works inside a running event loop too."""

    def __init__(self, inner: AsyncSurefind, portal: Portal) -> None:
        self._inner = inner
        self._portal = portal

    def search(self, text: str, **options: Unpack[SearchOptions]) -> SearchResult:
        return self._portal.call(lambda: self._inner.search(text, **options))

    def search_many(
        self, texts: Sequence[str], **options: Unpack[SearchOptions]
    ) -> list[SearchResult]:
        return self._portal.call(lambda: self._inner.search_many(texts, **options))

    def why_not(self, text: str, wanted: str, **options: Unpack[SearchOptions]) -> WhyNot:
        return self._portal.call(lambda: self._inner.why_not(text, wanted, **options))

    def chunk(self, chunk_id: str) -> ChunkRecord:
        return self._portal.call(self._inner.chunk, chunk_id)

    def neighbours(self, chunk_id: str, before: int = 1, after: int = 1) -> list[ChunkRecord]:
        return self._portal.call(self._inner.neighbours, chunk_id, before, after)

    def section(self, chunk_id: str) -> list[ChunkRecord]:
        return self._portal.call(self._inner.section, chunk_id)

    def document(self, source_path: str) -> list[ChunkRecord]:
        return self._portal.call(self._inner.document, source_path)

    def ingest(
        self,
        *paths: str | PathLike[str],
        rebuild: bool = False,
        allow_shrink: bool = False,
        gate: str | PathLike[str] | None = None,
    ) -> IngestReport:
        return self._portal.call(
            lambda: self._inner.ingest(
                *paths, rebuild=rebuild, allow_shrink=allow_shrink, gate=gate
            )
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


def _leak(application: Application) -> None:
    """In a forked child: freeing the engine or the model would wait for threads of the parent."""
    import ctypes  # noqa: PLC0415 - importing surefind stays cheap

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(application))


@asynccontextmanager
async def aopen(**settings: Any) -> AsyncIterator[AsyncSurefind]:
    """`async with surefind.aopen(data_dir="…") as docs:`; every setting can be given by name."""
    from surefind.settings import load  # noqa: PLC0415 - importing surefind stays cheap

    application = Application(load(**settings))
    opened_in = os.getpid()
    try:
        yield AsyncSurefind(application)
    finally:
        if os.getpid() == opened_in:
            await application.close()
        else:
            _leak(application)


@contextmanager
def open(**settings: Any) -> Iterator[Surefind]:  # noqa: A001 - it is surefind.open
    """`with surefind.open(data_dir="…") as docs:`; every setting can be given by name."""
    from surefind.interfaces.library.portal import Portal  # noqa: PLC0415 - importing surefind stays cheap

    with Portal() as portal:
        opening, opened_in = aopen(**settings), os.getpid()
        inner = portal.call(opening.__aenter__)
        try:
            yield Surefind(inner, portal)
        finally:
            if os.getpid() == opened_in:  # else it is the parent's to close
                portal.call(opening.__aexit__, None, None, None)
