"""Measures index recall and latency under load, after the tests.

An unavailable store or service ends the run, as it does during the tests.
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
from surefind.services.validation.extra.index_recall import RecallMeter
from surefind.services.validation.extra.load_test import LoadStopped, run_load_test
from surefind.services.validation.golden_test_run import TestRunner
from surefind.services.validation.run_request import RunRequest


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
        self.is_unavailable = False
        self._searcher = searcher
        self._under_load = under_load
        self._generation = generation
        self._tester = tester

    async def measure(self, golden: GoldenSet, request: RunRequest) -> None:
        load = request.load
        has_rule = any(rule.quantity == "index_recall" for rule in golden.gates)
        try:
            if request.index_recall or has_rule:
                meter = RecallMeter(self._searcher, self._generation, self._tester.subject.top_k)
                self.index_recall = await meter.measure(golden.tests)
            if load is not None:
                queries = self._queries(golden.tests)
                self.load = await run_load_test(
                    self._under_load.search, queries, load, request.concurrency
                )
        except (StoreError, EmbeddingError) as error:
            self.interrupted, self.is_unavailable = str(error), True
        except asyncio.CancelledError as stopped:
            task = asyncio.current_task()
            if not request.partial or task is None or task.uncancel():
                raise
            self.interrupted = "stopped while measuring index recall"
            if load is not None and isinstance(stopped, LoadStopped):
                self.load = stopped.load
                ran_s = f"{stopped.load.duration_s:.1f} of {load.duration_s:g} s"
                self.interrupted = f"load test stopped after {ran_s}"

    def _queries(self, tests: Sequence[GoldenTest]) -> list[Query]:
        """The valid queries of the tests."""
        queries = []
        for test in tests:
            try:
                queries.append(self._tester.query_of(test))
            except InputError:
                continue
        return queries
