"""The asynchronous library; `sync_client` has the same methods for synchronous code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, Unpack

from surefind.bootstrap import Application, IngestRequest
from surefind.bootstrap.targets import Retriever, spec_of
from surefind.contracts import layer
from surefind.contracts.validation import RetrievalQuery, RetrievalResult, results_of
from surefind.interfaces.search_options import SearchOptions, one_of, query_of
from surefind.model import (
    ChunkRecord,
    Collapse,
    CollectionSummary,
    IngestReport,
    Manifest,
    Mode,
    Page,
    Query,
    SearchResult,
)

if TYPE_CHECKING:
    from surefind.adapters.sources.website.http import CrawlOptions
    from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
    from surefind.evaluation.report.report import Report
    from surefind.evaluation.report.side_by_side import SideBySide
    from surefind.services.generations.generations import GenerationChanges
    from surefind.services.generations.index_building import Progress
    from surefind.services.search.passages import PassageReader
    from surefind.services.search.why_not import WhyNot
    from surefind.settings import Settings

T = TypeVar("T")

Golden: TypeAlias = Union[str, PathLike[str], "GoldenSet", Iterable["GoldenTest"]]
"""A golden file, or golden tests made in Python."""

OnProgress: TypeAlias = Callable[["Progress"], None]
"""Called in the thread that does the work. An exception ends the work."""


class AsyncSurefind:
    """An open installation, made by `surefind.aopen()`."""

    def __init__(self, application: Application) -> None:
        self._opened = application
        self._opened_in = os.getpid()

    @property
    def settings(self) -> Settings:
        """The settings that this installation was opened with."""
        return self._application.settings

    # --- searching ----------------------------------------------------------------------------

    async def search(
        self, text: str, *, collection: str | None = None, **options: Unpack[SearchOptions]
    ) -> SearchResult:
        """Find the passages that answer a question, best first."""
        query = self._query(text, collection, options)
        return await self._application.searching.search(query)

    async def search_many(
        self,
        texts: Sequence[str],
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResult]:
        """Run several searches; the results come in order. All questions are checked first."""
        queries = [self._query(text, collection, options) for text in texts]
        return await self._application.searching.search_many(queries)

    async def why_not(
        self,
        text: str,
        wanted: str,
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> WhyNot:
        """Explain why a passage is not among the hits of this search.

        `wanted` is a chunk ID, the URL of a page or section, or the source path of a page.
        """
        query = self._query(text, collection, options)
        return await self._application.searching.why_not(query, wanted)

    # --- reading ------------------------------------------------------------------------------

    async def chunk(self, chunk_id: str, *, collection: str | None = None) -> ChunkRecord:
        return await self._passages(collection).chunk(chunk_id)

    async def neighbours(
        self, chunk_id: str, before: int = 1, after: int = 1, *, collection: str | None = None
    ) -> list[ChunkRecord]:
        """The chunk and its neighbours, in document order."""
        return await self._passages(collection).neighbours(chunk_id, before, after)

    async def section(self, chunk_id: str, *, collection: str | None = None) -> list[ChunkRecord]:
        """All chunks of the section that the chunk is in, subsections included."""
        return await self._passages(collection).section(chunk_id)

    async def document(
        self, source_path: str, *, collection: str | None = None
    ) -> list[ChunkRecord]:
        """All chunks of a page, in order."""
        return await self._passages(collection).document(source_path)

    async def collections(self) -> list[CollectionSummary]:
        """Every published collection, by name."""
        return await self._application.searching.collections()

    # --- ingesting and generations ------------------------------------------------------------

    async def ingest(
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
        """Publish a generation of exactly these sources. Pages of other sources are removed.

        `paths` are folders and files, `pages` are in memory, and `sites` are URLs to crawl. `gate`
        is a file of golden tests that must pass; `""` turns off the gate of the settings. With
        `update`, pages are added and changed, and none is removed. `include` and `exclude` are
        patterns for the paths of folders.
        """
        request = IngestRequest(
            paths=paths,
            pages=listed("pages", pages),
            sites=listed("sites", sites),
            crawl=crawl,
            rebuild=rebuild,
            allow_shrink=allow_shrink,
            update=update,
            include=None if include is None else listed("include", include),
            exclude=None if exclude is None else listed("exclude", exclude),
            check_links=check_links,
            dry_run=dry_run,
            max_cost=max_cost,
            gate=gate,
            gate_strict=gate_strict,
        )
        return await self._application.ingesting.ingest(request, progress or _ignore)

    async def generations(self) -> list[Manifest]:
        """All generations of the collection, oldest first."""
        return await self._application.generations.list()

    async def changes(self, generation: int) -> GenerationChanges:
        """The pages that a generation added, changed and removed."""
        return await self._application.generations.changes(generation)

    async def rollback(self, to: int | None = None) -> Manifest:
        """Make an earlier generation current again, by default the previous one."""
        return await self._application.generations.rollback(to)

    # --- validating ---------------------------------------------------------------------------

    async def validate(
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
        """Run golden tests and report how well retrieval did.

        `golden` is a file, a `GoldenSet` or golden tests; by default, tests are generated from the
        collection's headings. Parameters that are None take their value from the golden file.
        `target` is another retriever: an address, a target file, or a function that takes the
        question, and `top_k` if it has such a parameter.
        """
        from surefind.services.generations.index_building import Progress  # noqa: PLC0415 - numpy
        from surefind.services.validation.run_request import RunRequest  # noqa: PLC0415

        application, report_progress = self._application, progress or _ignore
        request = RunRequest(
            collection=application.settings.collection,
            generation=generation,
            top_k=top_k,
            mode=None if mode is None else one_of("mode", Mode, mode),
            collapse=None if collapse is None else one_of("collapse", Collapse, collapse),
            concurrency=concurrency,
            index_recall=index_recall,
            partial=False,
        )
        golden_set = await self._golden_set(golden)

        def count(done: int, total: int) -> None:
            report_progress(Progress("validating", done, total))

        if target is None:
            return await application.validation.validate(golden_set, request, count, baseline)
        if index_recall or any(one is not None for one in (mode, collapse, generation)):
            from surefind.errors import InputError  # noqa: PLC0415 - importing surefind stays cheap

            raise InputError(
                "mode, collapse, generation and index_recall apply to surefind's own collections; "
                "leave them out, or write target='surefind:docs?mode=lexical'"
            )
        return await application.validation.validate_target(
            golden_set, spec_of(target), request, count, baseline
        )

    async def compare(
        self,
        targets: Iterable[Retriever | Report],
        golden: Golden | None = None,
        *,
        top_k: int | None = None,
        concurrency: int = 1,
        progress: OnProgress | None = None,
    ) -> SideBySide:
        """Ask two or more targets the same questions in turn, and compare their answers.

        A `Report` of an earlier run is compared as it is; reports alone need no `golden`.
        """
        from surefind.evaluation.report.report import Report  # noqa: PLC0415 - numpy
        from surefind.evaluation.report.side_by_side import check_sides, side_by_side  # noqa: PLC0415
        from surefind.services.generations.index_building import Progress  # noqa: PLC0415
        from surefind.services.validation.run_request import RunRequest  # noqa: PLC0415

        report_progress = progress or _ignore
        sides = [
            one if isinstance(one, Report) else spec_of(one) for one in listed("targets", targets)
        ]
        check_sides(len(sides))
        saved = [one for one in sides if isinstance(one, Report)]
        if len(saved) == len(sides):
            return side_by_side(saved)
        reports = await self._application.validation.compare_targets(
            sides,
            await self._golden_set(golden),
            RunRequest(top_k=top_k, concurrency=concurrency, partial=False),
            lambda done, total: report_progress(Progress("comparing", done, total)),
        )
        return side_by_side(reports)

    # --- published contracts ------------------------------------------------------------------

    async def retrieve(
        self, query: RetrievalQuery, *, mode: Mode | str = Mode.DENSE
    ) -> list[RetrievalResult]:
        """Search as in the validation contract, ordered by cosine unless `mode` differs."""
        asked = query.to_query(self._application.settings.collection, one_of("mode", Mode, mode))
        result = await self._application.searching.search(asked)
        # The search has checked that this embedder also made the collection's vectors.
        fingerprint = (await self._application.parts.embedder()).fingerprint
        return results_of(result, query.query_id, fingerprint.model)

    async def generate_query_embedding(self, query: str) -> layer.QueryEmbedding:
        """Embed a question of 1 to 1000 characters."""
        layer.check_query(query)
        embedder = await self._application.parts.embedder()
        vector = await embedder.embed_query(query)
        return layer.QueryEmbedding(vector.tolist(), query, embedder.fingerprint.model)

    async def retrieve_content_chunks(
        self, query_embedding: layer.Embedding, limit: int = 5
    ) -> list[layer.RetrievalResult]:
        """The chunks nearest to a `QueryEmbedding` or another vector, best first."""
        from surefind.services.search.query_checks import MAX_TOP_K  # noqa: PLC0415 - it brings numpy

        limit = layer.check_limit(limit, MAX_TOP_K)
        vectors = self._application.searching.vectors
        vector = layer.vector_for(query_embedding, await vectors.embedder())
        return await layer.nearest_chunks(partial(vectors.search_vector, vector), limit, MAX_TOP_K)

    # --- shared by the methods ----------------------------------------------------------------

    @property
    def _application(self) -> Application:
        from surefind.interfaces.library.portal import require_own_process  # noqa: PLC0415 - asyncio

        require_own_process(self._opened_in)
        return self._opened

    def _query(self, text: str, collection: str | None, options: SearchOptions) -> Query:
        if collection is not None and options.get("collections"):
            from surefind.errors import InputError  # noqa: PLC0415 - importing surefind stays cheap

            raise InputError("pass either collection or collections, not both")
        return query_of(text, collection or self._application.settings.collection, options)

    def _passages(self, collection: str | None) -> PassageReader:
        return self._application.searching.passages_in(collection)

    async def _golden_set(self, golden: Golden | None) -> GoldenSet:
        from surefind.evaluation.golden.golden_set import GoldenSet  # noqa: PLC0415 - importing surefind stays cheap

        validation = self._application.validation
        if golden is None or isinstance(golden, str | PathLike):
            return await validation.golden(None if golden is None else Path(golden))
        if not isinstance(golden, GoldenSet):
            given: Any = golden  # a caller's mistake is reported by `checked`
            tests = given if isinstance(given, Iterable) else (given,)
            golden = GoldenSet("golden tests", tuple(tests))
        return validation.checked(golden)


def _ignore(_progress: Progress) -> None:
    pass


def listed(name: str, given: Iterable[T]) -> tuple[T, ...]:
    """InputError for a string, which would be an iterable of its characters."""
    if isinstance(given, str):
        from surefind.errors import InputError  # noqa: PLC0415 - importing surefind stays cheap

        raise InputError(f"{name}: give a list, not a string")
    return tuple(given)
