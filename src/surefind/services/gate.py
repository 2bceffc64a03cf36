"""The gate: golden tests on the next generation, before readers see it.

The same tests are asked of the generation that readers see, where there is one, so that what got
significantly worse is held back though it is still good enough by itself.
"""

from dataclasses import dataclass

from surefind.errors import InputError, NotComparable, StoreError
from surefind.evaluation.comparison import compare_reports
from surefind.evaluation.golden import GoldenSet
from surefind.evaluation.report import Outcome, Report, TestChange
from surefind.evaluation.statistics import Verdict
from surefind.evaluation.summary import with_comparison
from surefind.model import FailedTest, GateResult, Manifest
from surefind.services.building import IngestTools, Progress
from surefind.services.building import Report as Tell
from surefind.services.reading import Readers
from surefind.services.search import Searcher
from surefind.services.validate import ValidateOptions, Validator, check_runnable

_TOLD = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """`strict`: what can't be decided is held back too."""

    golden: GoldenSet
    strict: bool = False

    def check(self) -> None:
        """InputError where it could never decide anything, before anything is built."""
        if not self.golden.tests:
            raise InputError(f"the gate {self.golden.name} has no tests, so it can't decide")
        check_runnable(self.golden)

    def rehearsed(self) -> GateResult:
        return GateResult(0, self.golden.name, len(self.golden.tests))


async def judge(
    gate: Gate, manifest: Manifest, before: Manifest | None, tools: IngestTools, tell: Tell
) -> GateResult:
    """StoreError where a store or a service is away: then nobody can say."""
    report = await _validated(gate, manifest, tools, tell)
    if report.interrupted:
        raise StoreError(
            f"the gate {gate.golden.name} could not be run, so nothing was published: "
            f"{report.interrupted}"
        )
    compared_with, not_compared = None, _incomparable(before, tools)
    if before is not None and not not_compared:
        try:
            baseline = await _validated(gate, before, tools, tell)
            comparison = compare_reports(baseline, report)
            report = with_comparison(report, comparison, f"generation {before.number}")
            compared_with = before.number
        except (NotComparable, StoreError) as error:
            not_compared = str(error)
    held = report.verdict is Verdict.FAIL or (gate.strict and report.verdict is not Verdict.PASS)
    return GateResult(
        generation=manifest.number,
        golden=gate.golden.name,
        tests=report.totals.total,
        verdict=report.verdict.value,
        held=held,
        passed=report.totals.passed,
        reasons=report.reasons,
        warnings=report.warnings,
        failed=_failed(report),
        compared_with=compared_with,
        not_compared=not_compared,
    )


async def _validated(gate: Gate, manifest: Manifest, tools: IngestTools, tell: Tell) -> Report:
    readers = Readers(tools.index, tools.catalogs, pinned=manifest)
    validator = Validator(readers, Searcher(readers, tools.embedder, tools.terms), tools.version)
    options = ValidateOptions(manifest.collection, partial=False)
    stage = f"testing {manifest.number}"
    try:
        return await validator.run(
            gate.golden, options, lambda done, total: tell(Progress(stage, done, total))
        )
    finally:
        await readers.close()


def _incomparable(before: Manifest | None, tools: IngestTools) -> str:
    if before is None:
        return "nothing was published before"
    if before.embedder != tools.embedder.fingerprint:
        return f"generation {before.number} was built with {before.embedder}"
    if before.lexical.analyzer != tools.terms.name:
        return f"generation {before.number} was built with {before.lexical.analyzer}"
    return ""


def _failed(report: Report) -> tuple[FailedTest, ...]:
    told = [
        FailedTest(test.test_id, test.query_text, test.outcome.value, test.cause, test.message)
        for test in report.tests
        if test.outcome is not Outcome.PASSED
    ]
    comparison = report.comparison
    if comparison is not None and comparison.verdict is Verdict.FAIL:
        told += [_worse(one, comparison.measure) for one in comparison.worse if _is_passed(one)]
    return tuple(told[:_TOLD])


def _is_passed(change: TestChange) -> bool:
    return change.after is Outcome.PASSED


def _worse(change: TestChange, measure: str) -> FailedTest:
    message = f"{measure} fell from {change.value_before or 0:.3f} to {change.value_after or 0:.3f}"
    return FailedTest(change.test_id, change.query_text, change.after.value, "worse", message)
