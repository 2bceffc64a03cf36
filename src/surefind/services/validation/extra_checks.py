"""Beyond the tests: whether the index finds what is there, and how it bears a load.

What can't be measured since a store or a service is away ends the run, as it does among the tests.
"""

import asyncio
from collections.abc import Sequence

from surefind.errors import EmbeddingError, InputError, StoreError
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.measures.index_recall import IndexRecall
from surefind.evaluation.measures.latency import LoadResult
from surefind.model import Query
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.search import Searcher
from surefind.services.validation.golden_test_run import TestRunner
from surefind.services.validation.index_recall import RecallMeter
from surefind.services.validation.load_test import LoadOptions, LoadStopped, put_load


class ExtraChecks:
    def __init__(
        self,
        searcher: Searcher,
        under_load: Searcher,
        generation: OpenGeneration,
        tester: TestRunner,
    ) -> None:
        self.index_recall: IndexRecall | None = None
        self.load: LoadResult | None = None
        self.interrupted = ""
        self.store_away = False
        self._searcher = searcher
        self._under_load = under_load
        self._generation = generation
        self._tester = tester

    async def measure(
        self, golden: GoldenSet, *, recall: bool, load: LoadOptions | None, partial: bool
    ) -> None:
        try:
            if recall or any(gate.quantity == "index_recall" for gate in golden.gates):
                meter = RecallMeter(self._searcher, self._generation, self._tester.subject.top_k)
                self.index_recall = await meter.measure(golden.tests)
            if load is not None:
                queries = self._queries(golden.tests)
                self.load = await put_load(self._under_load.search, queries, load)
        except (StoreError, EmbeddingError) as error:
            self.interrupted, self.store_away = str(error), True
        except asyncio.CancelledError as stopped:
            task = asyncio.current_task()
            if not partial or task is None or task.uncancel():
                raise
            self.interrupted = "it was stopped while the index was measured"
            if load is not None and isinstance(stopped, LoadStopped):
                self.load = stopped.load
                self.interrupted = (
                    f"the load was stopped after {stopped.load.duration_s:.1f} of "
                    f"{load.duration_s:g} s"
                )

    def _queries(self, tests: Sequence[GoldenTest]) -> list[Query]:
        """Those of all tests that can be asked at all."""
        queries = []
        for test in tests:
            try:
                queries.append(self._tester.query_of(test))
            except InputError:
                continue
        return queries
