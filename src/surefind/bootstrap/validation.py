"""Reads, runs and lints golden tests, and learns thresholds from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.adapters.files.run_files import RunFiles
    from surefind.bootstrap.parts import Parts
    from surefind.bootstrap.targets import OpenedTarget
    from surefind.evaluation.golden.expectations import Expectation
    from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
    from surefind.evaluation.golden.label_free import LabelFreeKind
    from surefind.evaluation.golden.lint import LintFinding
    from surefind.evaluation.report.report import Report as ValidationReport
    from surefind.model import ChunkRecord, TargetSpec, Threshold
    from surefind.services.generations.readers import Readers
    from surefind.services.validation.run_request import RunRequest
    from surefind.services.validation.test_session import CountProgress


class Validation:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def golden(
        self, path: Path | None, qrels: Path | None = None, most: int | None = None
    ) -> GoldenSet:
        """The tests of a file. Without one, tests made from the collection's own headings, at most
        `most` of them.
        """
        from surefind.adapters.files.golden_files import read_golden
        from surefind.services.validation.golden_authoring import check_filters
        from surefind.services.validation.unjudged_sets import MAX_STARTERS, starter_set

        if path is not None:
            golden = await asyncio.to_thread(read_golden, path, qrels)
            check_filters(path.name, golden)
            return golden
        async with self._parts.reader.lease() as generation:
            return await starter_set(generation.require_catalog(), most or MAX_STARTERS)

    async def label_free(
        self, kinds: Sequence[LabelFreeKind], most: int | None = None
    ) -> GoldenSet:
        """Tests made from what the collection says about itself."""
        from surefind.services.validation.unjudged_sets import MAX_PER_KIND, label_free_set

        async with self._parts.reader.lease() as generation:
            catalog = generation.require_catalog()
            return await label_free_set(catalog, kinds, most or MAX_PER_KIND)

    async def from_log(self, most: int) -> list[GoldenTest]:
        """Tests made from the questions in the query log."""
        from surefind.services.validation.unjudged_sets import tests_from_log

        searches = await self._parts.logged_searches()
        return tests_from_log(searches, most)

    def checked(self, golden: GoldenSet) -> GoldenSet:
        """Check a set made in Python; InputError if its tests can't run."""
        from surefind.evaluation.golden.golden_set import check_tests
        from surefind.services.validation.golden_authoring import check_filters

        check_tests(golden)
        check_filters(golden.name, golden)
        return golden

    async def validate(
        self,
        golden: GoldenSet,
        request: RunRequest,
        progress: CountProgress,
        baseline: ValidationReport | None = None,
    ) -> ValidationReport:
        """Run the tests. NotComparable, before they run, if the baseline has other questions."""
        from surefind.evaluation.report.comparison import check_baseline, compared_with

        if baseline is None:
            return await self._validated(golden, request, progress)
        measures = request.measures_for(golden)
        check_baseline(baseline, golden, request.top_k_for(golden), measures)
        return compared_with(baseline, await self._validated(golden, request, progress))

    async def validate_target(
        self,
        golden: GoldenSet,
        spec: TargetSpec,
        request: RunRequest,
        progress: CountProgress,
        baseline: ValidationReport | None = None,
        opened_one: Callable[[OpenedTarget], None] = lambda _opened: None,
    ) -> ValidationReport:
        """Run the tests on a target, which need not be surefind's."""
        from surefind.evaluation.report.comparison import check_baseline, compared_with
        from surefind.services.validation.targets.target_run import run_on_target

        if baseline is not None:
            measures = request.measures_for(golden)
            check_baseline(baseline, golden, request.top_k_for(golden), measures)
        async with self.opened_target(spec, golden, request) as opened:
            opened_one(opened)
            report = await run_on_target(
                opened.target, golden, request, version("surefind"), progress
            )
        return report if baseline is None else compared_with(baseline, report)

    async def compare_targets(
        self,
        sides: Sequence[TargetSpec | ValidationReport],
        golden: GoldenSet,
        request: RunRequest,
        progress: CountProgress,
        opened_one: Callable[[OpenedTarget], None] = lambda _opened: None,
    ) -> list[ValidationReport]:
        """Ask several targets the same questions in turn; a report for each. Reports stay."""
        from surefind.evaluation.report.report import Report
        from surefind.services.validation.targets.comparison_run import run_on_targets

        async with AsyncExitStack() as stack:
            targets = []
            for one in sides:
                if isinstance(one, Report):
                    continue
                opening = self.opened_target(one, golden, request)
                opened = await stack.enter_async_context(opening)
                opened_one(opened)
                targets.append(opened.target)
            if not targets:
                return [one for one in sides if isinstance(one, Report)]
            reports = iter(
                await run_on_targets(targets, golden, request, version("surefind"), progress)
            )
        return [one if isinstance(one, Report) else next(reports) for one in sides]

    @asynccontextmanager
    async def opened_target(
        self, spec: TargetSpec, golden: GoldenSet, request: RunRequest
    ) -> AsyncIterator[OpenedTarget]:
        from surefind.bootstrap.targets import open_target
        from surefind.model import TargetQuery

        top_k = request.top_k_for(golden)
        queries = [
            TargetQuery(test.test_id, test.query_text, top_k, test.where)
            for test in golden.tests
            if not test.is_empty
        ]
        async with open_target(spec, queries, self._parts) as opened:
            yield opened

    async def _validated(
        self, golden: GoldenSet, request: RunRequest, progress: CountProgress
    ) -> ValidationReport:
        from surefind.services.search.search import Searcher
        from surefind.services.validation.validate import Validator

        parts = self._parts
        async with self._reading(request.generation) as readers:
            if request.generation is None:
                searcher = await parts.searcher()
            else:
                searcher = Searcher(
                    readers,
                    await parts.query_embedder(),
                    parts.terms,
                    kind_weights=parts.kind_weights,
                )
            under_load = None
            if request.load is not None:
                # Without a cache, because real users' questions are rarely repeated.
                fresh = await (await parts.query_embedder()).load()
                under_load = Searcher(readers, fresh, parts.terms, kind_weights=parts.kind_weights)
            validator = Validator(readers, searcher, version("surefind"), under_load)
            return await validator.run(golden, request, progress)

    @asynccontextmanager
    async def _reading(self, generation: int | None) -> AsyncIterator[Readers]:
        from surefind.services.generations.readers import Readers

        parts = self._parts
        if generation is None:
            yield parts.readers
            return
        pinned = await parts.generations().one(generation)
        readers = Readers(parts.index, parts.catalogs, pinned=pinned)
        try:
            yield readers
        finally:
            await readers.close()

    async def learn_threshold(self, report: ValidationReport, *, force: bool = False) -> Threshold:
        from surefind.services.validation.calibration import learn_threshold

        return await learn_threshold(report, self._parts.catalogs, force=force)

    @cached_property
    def history(self) -> RunFiles:
        from surefind.adapters.files.run_files import RunFiles

        return RunFiles(self._parts.folder)

    async def expectations_for(
        self, picked: Sequence[tuple[ChunkRecord, int]]
    ) -> tuple[Expectation, ...]:
        from surefind.services.validation.golden_authoring import expectations_for

        async with self._parts.reader.lease() as generation:
            return await expectations_for(picked, generation.require_catalog())

    async def lint(self, golden: GoldenSet) -> list[LintFinding]:
        from surefind.services.validation.golden_authoring import lint_set

        async with self._parts.reader.lease() as generation:
            return await lint_set(golden, generation, self._parts.catalogs)

    async def passages_of(
        self, report: ValidationReport, generation: int | None = None
    ) -> Mapping[str, ChunkRecord]:
        """The passages that a report names, by chunk id, from the generation it validated."""
        from surefind.services.validation.evidence import passages_of

        async with self._reading(generation) as readers:
            return await passages_of(report, readers.of(report.subject.collection))
