"""Asks the same questions of several targets in turn."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.report.report import Outcome, Report, TestOutcome
from surefind.evaluation.report.summary import RunFacts, summarise
from surefind.ports import Target
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.target_run import TargetTester, with_warnings
from surefind.services.validation.test_session import AnsweredTest, CountProgress, TestSession


async def run_on_targets(
    targets: Sequence[Target],
    golden: GoldenSet,
    request: RunRequest,
    version: str,
    progress: CountProgress = lambda _done, _total: None,
) -> list[Report]:
    """A report for each target, in order.

    Every question is put to all targets, one after another, and each question begins with another
    target: whatever slows the machine down slows all of them. If one of them can't be reached
    several times in a row, all runs end.
    """
    measures = request.measures_for(golden)
    top_k = request.top_k_for(golden)
    testers = [TargetTester(target, golden, top_k, measures, explains=False) for target in targets]
    turns = _Turns(testers)
    session = TestSession(golden.tests, turns, progress, request.stop_requested)
    session.require_no_stop()
    await session.work(request.concurrency, partial=request.partial)
    session.note_stop()
    completed_at = datetime.now(UTC)
    reports = []
    for number, tester in enumerate(testers):
        run = RunFacts(
            run_id=str(uuid.uuid4()),
            subject=tester.subject(version),
            started_at=session.started_at,
            completed_at=completed_at,
            concurrency=request.concurrency,
            integrity=tester.integrity,
            interrupted=session.interrupted,
            store_away=session.is_unavailable,
        )
        report = summarise(golden, measures, turns.outcomes(number, golden.tests), run)
        reports.append(with_warnings(report, tester))
    return reports


class _Turns:
    """Runs each test on all targets. The answer of the least available one decides how to go on."""

    generation = None

    def __init__(self, testers: Sequence[TargetTester]) -> None:
        self._testers = testers
        self._begun = 0
        self._outcomes: dict[str, dict[int, TestOutcome]] = {}

    def outcomes(self, number: int, tests: Sequence[GoldenTest]) -> list[TestOutcome]:
        """The outcomes of one target; a test that some target did not run was not run."""
        return [
            self._outcomes[test.test_id][number]
            if len(self._outcomes.get(test.test_id, ())) == len(self._testers)
            else self._testers[number].without_answer(test, Outcome.NOT_RUN)
            for test in tests
        ]

    async def run(self, test: GoldenTest) -> AnsweredTest:
        first = self._begun % len(self._testers)
        self._begun += 1
        order = [*range(first, len(self._testers)), *range(first)]
        answers: dict[int, AnsweredTest] = {}
        for number in order:
            answers[number] = await self._testers[number].run(test)
            await asyncio.sleep(0)
        self._outcomes[test.test_id] = {
            number: answered.outcome for number, answered in answers.items()
        }
        away = [number for number in order if answers[number].is_unavailable]
        if not away:
            return answers[0]
        name = self._testers[away[0]].name
        failed = answers[away[0]].outcome
        message = f"{name}: {failed.message}"
        failed = self.without_answer(test, Outcome.ERROR, failed.cause, message)
        return AnsweredTest(failed, None, is_unavailable=True)

    def without_answer(
        self, test: GoldenTest, outcome: Outcome, cause: str = "", message: str = ""
    ) -> TestOutcome:
        return self._testers[0].without_answer(test, outcome, cause, message)
