"""Runs the tests of a golden set, several at a time, until they are done or the run has to end."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.report.report import Outcome, TestOutcome

_MAX_UNAVAILABLE = 3
"""The run ends after this many consecutive tests that found a store or service unavailable."""
_STOPPED = "stopped"

CountProgress = Callable[[int, int], None]
"""Called with the number of finished tests and of all tests."""


@dataclass(frozen=True, slots=True)
class AnsweredTest:
    """The outcome of a test. `is_unavailable` means that a store or service did not answer."""

    outcome: TestOutcome
    generation: int | None = None
    is_unavailable: bool = False


class Tester(Protocol):
    """Runs single tests. `generation` is the one they run on, None if there are none."""

    @property
    def generation(self) -> int | None: ...

    async def run(self, test: GoldenTest) -> AnsweredTest: ...

    def without_answer(
        self, test: GoldenTest, outcome: Outcome, cause: str = "", message: str = ""
    ) -> TestOutcome: ...


class TestSession:
    """Runs the tests, several at a time. They may finish in any order."""

    __test__ = False

    def __init__(
        self,
        tests: Sequence[GoldenTest],
        tester: Tester,
        progress: CountProgress,
        stop_requested: Callable[[], bool],
    ) -> None:
        self.started_at = datetime.now(UTC)
        self.interrupted = ""
        self.is_unavailable = False
        self._tester = tester
        self._progress = progress
        self._stop_requested = stop_requested
        self._tests = tests
        self._outcomes: dict[int, TestOutcome] = {}
        self._waiting: Iterator[tuple[int, GoldenTest]] = iter(enumerate(tests))
        self._unavailable_in_a_row = 0

    @property
    def outcomes(self) -> tuple[TestOutcome, ...]:
        """In the order of the tests, including those that did not run."""
        return tuple(
            self._outcomes.get(number) or self._tester.without_answer(test, Outcome.NOT_RUN)
            for number, test in enumerate(self._tests)
        )

    def require_no_stop(self) -> None:
        if self._stop_requested():
            raise asyncio.CancelledError

    def note_stop(self) -> None:
        if self._stop_requested():
            self.interrupted = self.interrupted or _STOPPED

    async def work(self, concurrency: int, *, partial: bool) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(self._tests))):
                    group.create_task(self._work())
        except asyncio.CancelledError:
            # The first cancellation ends the run with a report, a second one without.
            task = asyncio.current_task()
            if not partial or task is None or task.uncancel():
                raise
            self.interrupted = _STOPPED

    async def _work(self) -> None:
        for number, test in self._waiting:
            answered = await self._tester.run(test)
            self._outcomes[number] = answered.outcome
            self._progress(len(self._outcomes), len(self._tests))
            self._check_for_interruption(answered)
            self.note_stop()
            if self.interrupted:
                return
            # A local search never awaits: give a Ctrl-C and the embedding tasks a turn.
            await asyncio.sleep(0)

    def _check_for_interruption(self, answered: AnsweredTest) -> None:
        in_a_row = self._unavailable_in_a_row + 1 if answered.is_unavailable else 0
        self._unavailable_in_a_row = in_a_row
        if in_a_row >= min(_MAX_UNAVAILABLE, len(self._tests)):
            self.interrupted = answered.outcome.message
            self.is_unavailable = True
        current = self._tester.generation
        if answered.generation not in {None, current}:
            self.interrupted = (
                f"generation {answered.generation} replaced generation {current} during the run"
            )
