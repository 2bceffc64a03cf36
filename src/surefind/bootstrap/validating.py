"""Golden tests, their runs and what is learned from them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.bootstrap.parts import Parts

if TYPE_CHECKING:
    from surefind.adapters.files.run_files import RunFiles
    from surefind.evaluation.golden.expectations import Expectation
    from surefind.evaluation.golden.golden_set import GoldenSet
    from surefind.evaluation.golden.lint import LintFinding
    from surefind.evaluation.report.report import Report as ValidationReport
    from surefind.model import ChunkRecord, Threshold
    from surefind.services.generations.readers import Readers
    from surefind.services.validation.request import RunRequest
    from surefind.services.validation.validate import CountProgress


class Validating(Parts):
    """What a validation needs of an installation."""

    async def golden(
        self, path: Path | None, qrels: Path | None = None, most: int | None = None
    ) -> GoldenSet:
        """The tests of a file; without one, those that the collection's own headings make, `most`
        of them at most.
        """
        from surefind.adapters.files.golden_files import read_golden
        from surefind.services.validation.golden_authoring import check_filters
        from surefind.services.validation.starter_set import MAX_STARTERS, starter_set

        if path is not None:
            golden = await asyncio.to_thread(read_golden, path, qrels)
            check_filters(path.name, golden)
            return golden
        async with self.reader.lease() as generation:
            return await starter_set(generation.require_catalog(), most or MAX_STARTERS)

    async def validate(
        self,
        golden: GoldenSet,
        request: RunRequest,
        progress: CountProgress,
    ) -> ValidationReport:
        from surefind.services.search.search import Searcher
        from surefind.services.validation.validate import Validator

        async with self._reading(request.generation) as readers:
            if request.generation is None:
                searcher = await self.searcher()
            else:
                searcher = Searcher(readers, await self.question_embedder(), self.terms)
            under_load = None
            if request.load is not None:
                # Users ask new questions: a load test of cached ones would be too fast.
                fresh = (await self.embedder()).uncached
                under_load = Searcher(readers, fresh, self.terms)
            validator = Validator(readers, searcher, version("surefind"), under_load)
            return await validator.run(golden, request, progress)

    @asynccontextmanager
    async def _reading(self, generation: int | None) -> AsyncIterator[Readers]:
        """Of the current generation, or of one that is named, also where no reader sees it."""
        from surefind.services.generations.readers import Readers

        if generation is None:
            yield self.readers
            return
        readers = Readers(self.index, self.catalogs, pinned=await self.generations.one(generation))
        try:
            yield readers
        finally:
            await readers.close()

    async def learn_threshold(self, report: ValidationReport, *, force: bool = False) -> Threshold:
        from surefind.services.validation.calibration import learn_threshold

        return await learn_threshold(report, self.catalogs, force=force)

    @cached_property
    def history(self) -> RunFiles:
        from surefind.adapters.files.run_files import RunFiles

        return RunFiles(self._folder)

    async def expectations_for(
        self, picked: Sequence[tuple[ChunkRecord, int]]
    ) -> tuple[Expectation, ...]:
        from surefind.services.validation.golden_authoring import expectations_for

        async with self.reader.lease() as generation:
            return await expectations_for(picked, generation.require_catalog())

    async def lint(self, golden: GoldenSet) -> list[LintFinding]:
        from surefind.services.validation.golden_authoring import lint_set

        async with self.reader.lease() as generation:
            return await lint_set(golden, generation, self.catalogs)

    async def passages_of(
        self, report: ValidationReport, generation: int | None = None
    ) -> Mapping[str, ChunkRecord]:
        """`generation` is the one that was asked, as `validate` takes it."""
        from surefind.services.validation.evidence import passages_of

        async with self._reading(generation) as readers:
            return await passages_of(report, readers.of(report.subject.collection))
