"""The synchronous library; it also works inside a running event loop, as in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from surefind.bootstrap.targets import Retriever
from surefind.contracts import layer
from surefind.contracts.validation import RetrievalQuery, RetrievalResult
from surefind.interfaces.library.async_client import AsyncSurefind, Golden, OnProgress, listed
from surefind.interfaces.search_options import SearchOptions
from surefind.model import (
    ChunkRecord,
    Collapse,
    CollectionSummary,
    IngestReport,
    Manifest,
    Mode,
    Page,
    SearchResult,
)

if TYPE_CHECKING:
    from surefind.adapters.sources.website.http import CrawlOptions
    from surefind.evaluation.report.report import Report
    from surefind.evaluation.report.side_by_side import SideBySide
    from surefind.interfaces.library.portal import Portal
    from surefind.services.generations.generations import GenerationChanges
    from surefind.services.search.why_not import WhyNot
    from surefind.settings import Settings


class Surefind:
    """An open installation, made by `surefind.open()`. The methods are those of `AsyncSurefind`."""

    def __init__(self, inner: AsyncSurefind, portal: Portal) -> None:
        self._inner = inner
        self._portal = portal

    @property
    def settings(self) -> Settings:
        return self._inner.settings

    def search(
        self, text: str, *, collection: str | None = None, **options: Unpack[SearchOptions]
    ) -> SearchResult:
        return self._portal.call(lambda: self._inner.search(text, collection=collection, **options))

    def search_many(
        self,
        texts: Sequence[str],
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResult]:
        return self._portal.call(
            lambda: self._inner.search_many(texts, collection=collection, **options)
        )

    def why_not(
        self,
        text: str,
        wanted: str,
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> WhyNot:
        return self._portal.call(
            lambda: self._inner.why_not(text, wanted, collection=collection, **options)
        )

    def chunk(self, chunk_id: str, *, collection: str | None = None) -> ChunkRecord:
        return self._portal.call(lambda: self._inner.chunk(chunk_id, collection=collection))

    def neighbours(
        self, chunk_id: str, before: int = 1, after: int = 1, *, collection: str | None = None
    ) -> list[ChunkRecord]:
        return self._portal.call(
            lambda: self._inner.neighbours(chunk_id, before, after, collection=collection)
        )

    def section(self, chunk_id: str, *, collection: str | None = None) -> list[ChunkRecord]:
        return self._portal.call(lambda: self._inner.section(chunk_id, collection=collection))

    def document(self, source_path: str, *, collection: str | None = None) -> list[ChunkRecord]:
        return self._portal.call(lambda: self._inner.document(source_path, collection=collection))

    def collections(self) -> list[CollectionSummary]:
        return self._portal.call(self._inner.collections)

    def ingest(
        self,
        *paths: str | PathLike[str],
        pages: Iterable[Page] = (),
        sites: Iterable[str] = (),
        crawl: CrawlOptions | None = None,
        rebuild: bool = False,
        allow_shrink: bool = False,
        update: bool = False,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        check_links: bool = False,
        dry_run: bool = False,
        max_cost: float | None = None,
        gate: str | PathLike[str] | None = None,
        gate_strict: bool = False,
        progress: OnProgress | None = None,
    ) -> IngestReport:
        # Consume generators here: some depend on the thread, such as those over a database cursor.
        pages, sites = listed("pages", pages), listed("sites", sites)
        return self._portal.call(
            lambda: self._inner.ingest(
                *paths,
                pages=pages,
                sites=sites,
                crawl=crawl,
                rebuild=rebuild,
                allow_shrink=allow_shrink,
                update=update,
                include=include,
                exclude=exclude,
                check_links=check_links,
                dry_run=dry_run,
                max_cost=max_cost,
                gate=gate,
                gate_strict=gate_strict,
                progress=progress,
            )
        )

    def generations(self) -> list[Manifest]:
        return self._portal.call(self._inner.generations)

    def changes(self, generation: int) -> GenerationChanges:
        return self._portal.call(self._inner.changes, generation)

    def rollback(self, to: int | None = None) -> Manifest:
        return self._portal.call(self._inner.rollback, to)

    def validate(
        self,
        golden: Golden | None = None,
        *,
        top_k: int | None = None,
        mode: Mode | str | None = None,
        collapse: Collapse | str | None = None,
        generation: int | None = None,
        concurrency: int = 8,
        index_recall: bool = False,
        baseline: Report | None = None,
        target: Retriever | None = None,
        progress: OnProgress | None = None,
    ) -> Report:
        return self._portal.call(
            lambda: self._inner.validate(
                golden,
                top_k=top_k,
                mode=mode,
                collapse=collapse,
                generation=generation,
                concurrency=concurrency,
                index_recall=index_recall,
                baseline=baseline,
                target=target,
                progress=progress,
            )
        )

    def compare(
        self,
        targets: Iterable[Retriever | Report],
        golden: Golden | None = None,
        *,
        top_k: int | None = None,
        concurrency: int = 1,
        progress: OnProgress | None = None,
    ) -> SideBySide:
        return self._portal.call(
            lambda: self._inner.compare(
                targets, golden, top_k=top_k, concurrency=concurrency, progress=progress
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
