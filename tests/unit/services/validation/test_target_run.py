"""Golden tests on targets: outcomes, causes, warnings, and runs that end early."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from surefind.errors import SurefindError, TargetError, TargetUnreachable
from surefind.evaluation.golden.expectations import ByAddress, ByName, ByText, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, SuccessCriteria, TestKind
from surefind.evaluation.report.report import Outcome, Report
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import TargetAnswer, TargetHit, TargetQuery
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.target_run import run_on_target

SITE = "https://docs.example.com"
Answers = Mapping[str, Sequence[TargetHit] | SurefindError]


class ListedTarget:
    """Answers each question from a list, best first."""

    name = "listed"
    takes_filters = False

    def __init__(self, answers: Answers, *, takes_limit: bool = True) -> None:
        self.takes_limit = takes_limit
        self.queries: list[TargetQuery] = []
        self._answers = answers

    async def search(self, query: TargetQuery) -> TargetAnswer:
        self.queries.append(query)
        answer = self._answers.get(query.text, ())
        if isinstance(answer, SurefindError):
            raise answer
        return TargetAnswer(tuple(answer[: query.top_k]), 1.0)


def pages(*names: str, similarity: float | None = None) -> list[TargetHit]:
    return [TargetHit(url=f"{SITE}/{name}", text=name, similarity=similarity) for name in names]


def wants(text: str, *expected: Expectation, similarity: float | None = None) -> GoldenTest:
    criteria = SuccessCriteria(1.0, similarity)
    return GoldenTest(text, text, TestKind.POSITIVE, expected, criteria)


def refuses(text: str, similarity: float | None = None) -> GoldenTest:
    return GoldenTest(text, text, TestKind.NEGATIVE, criteria=SuccessCriteria(1.0, similarity))


async def report_of(target: ListedTarget, *tests: GoldenTest, **options: object) -> Report:
    request = RunRequest(top_k=2, **options)  # type: ignore[arg-type]
    return await run_on_target(target, GoldenSet("golden", tests), request, "test")


async def test_measures_are_those_of_any_other_run() -> None:
    target = ListedTarget({"a": pages("x", "a"), "b": pages("b", "x")})
    report = await report_of(
        target, wants("a", ByAddress(f"{SITE}/a")), wants("b", ByAddress("/b/"))
    )
    assert report.verdict is Verdict.PASS
    assert report.means.values["MRR"] == 0.75
    assert report.latency.searches == 2
    assert report.subject.target == "listed"
    assert report.subject.mode is None


async def test_a_failed_test_is_repeated_with_more_results_to_explain_it() -> None:
    target = ListedTarget({"a": pages("x", "y", "z", "a")})
    [test] = (await report_of(target, wants("a", ByAddress("/a")))).tests
    assert [query.top_k for query in target.queries] == [2, 8]
    assert (test.outcome, test.cause) == (Outcome.FAILED, "outranked")
    assert test.sought[0].ahead == (f"{SITE}/x", f"{SITE}/y")
    assert len(test.found) == 2


async def test_a_target_without_a_limit_is_asked_once() -> None:
    target = ListedTarget({"a": pages("x", "y", "z", "a")}, takes_limit=False)
    [test] = (await report_of(target, wants("a", ByAddress("/a")))).tests
    assert len(target.queries) == 1
    assert test.cause == "wrong_page"


async def test_an_error_counts_as_zero_and_the_others_go_on() -> None:
    target = ListedTarget({"a": pages("a"), "b": TargetError("no list at results")})
    report = await report_of(target, wants("a", ByAddress("/a")), wants("b", ByAddress("/b")))
    assert [test.outcome for test in report.tests] == [Outcome.PASSED, Outcome.ERROR]
    assert report.means.values["MRR"] == 0.5
    assert report.tests[1].message == "no list at results"
    assert report.verdict is Verdict.FAIL


async def test_a_target_that_fails_ends_the_run_and_keeps_its_results() -> None:
    answers: dict[str, Sequence[TargetHit] | SurefindError] = {"0": pages("a")}
    answers |= {str(n): TargetUnreachable("no answer within 30 s") for n in range(1, 9)}
    tests = [wants(str(n), ByAddress("/a")) for n in range(9)]
    report = await report_of(ListedTarget(answers), *tests, concurrency=1)
    outcomes = [test.outcome for test in report.tests]
    assert outcomes == [Outcome.PASSED, *[Outcome.ERROR] * 3, *[Outcome.NOT_RUN] * 5]
    assert report.interrupted == "no answer within 30 s"
    assert report.store_away
    assert report.verdict is Verdict.INCONCLUSIVE


async def test_a_stopped_run_is_partial() -> None:
    target = ListedTarget({str(n): pages("a") for n in range(9)})
    tests = [wants(str(n), ByAddress("/a")) for n in range(9)]
    report = await report_of(
        target, *tests, concurrency=1, stop_requested=lambda: len(target.queries) >= 3
    )
    assert report.interrupted == "stopped"
    assert report.totals.passed == 3
    assert report.totals.not_run == 6
    with pytest.raises(asyncio.CancelledError):
        await report_of(target, *tests, stop_requested=lambda: True)


async def test_repeated_results_are_counted_and_keep_their_ranks() -> None:
    target = ListedTarget({"a": [*pages("x", "x"), *pages("a")]})
    request = RunRequest(top_k=3)
    golden = GoldenSet("golden", (wants("a", ByAddress("/a")),))
    report = await run_on_target(target, golden, request, "test")
    assert report.means.values["MRR"] == pytest.approx(1 / 3)
    assert report.warnings == (
        f"1 result repeated an earlier one of the same answer, such as {SITE}/x",
    )


async def test_results_of_other_sites_are_counted() -> None:
    other = TargetHit(url="https://blog.example.net/a")
    target = ListedTarget({"a": [other, *pages("a")], "b": [other]})
    report = await report_of(
        target, wants("a", ByAddress(f"{SITE}/a")), wants("b", ByAddress(f"{SITE}/b"))
    )
    assert "2 of 3 results are from sites that no test expects: blog.example.net" in report.warnings
    assert report.tests[1].cause == "other_site"


async def test_results_without_names_are_counted() -> None:
    target = ListedTarget({"a": [TargetHit(text="one"), TargetHit(text="two")]})
    report = await report_of(target, wants("a", ByText("two")))
    assert report.verdict is Verdict.PASS
    assert [hit.chunk_id for hit in report.tests[0].found] == ["result 1", "result 2"]
    assert "2 results had no URL, path, id or title" in report.warnings


async def test_no_results_at_all_are_a_warning() -> None:
    report = await report_of(ListedTarget({}), wants("a", ByAddress("/a")))
    assert report.tests[0].cause == "no_results"
    assert report.warnings == ("the target returned no result to any question",)


async def test_a_result_may_stand_for_others_with_its_text() -> None:
    hit = TargetHit(url=f"{SITE}/copy", twins=(TargetHit(url=f"{SITE}/a"),))
    report = await report_of(ListedTarget({"a": [hit]}), wants("a", ByAddress("/a")))
    assert report.verdict is Verdict.PASS
    assert report.tests[0].found[0].twins == (f"{SITE}/a",)


@pytest.mark.parametrize(
    ("hits", "similarity", "outcome"),
    [
        ([], None, Outcome.PASSED),
        (pages("x"), 0.5, Outcome.INVALID),
        (pages("x", similarity=0.8), None, Outcome.INVALID),
        (pages("x", similarity=0.4), 0.5, Outcome.PASSED),
        (pages("x", similarity=0.8), 0.5, Outcome.FAILED),
    ],
)
async def test_a_question_without_an_answer_needs_a_threshold(
    hits: list[TargetHit], similarity: float | None, outcome: Outcome
) -> None:
    report = await report_of(ListedTarget({"a": hits}), refuses("a", similarity))
    assert report.tests[0].outcome is outcome


async def test_a_threshold_applies_to_similarities_only() -> None:
    test = wants("a", ByAddress("/a"), similarity=0.5)
    low = await report_of(ListedTarget({"a": pages("a", similarity=0.4)}), test)
    assert low.tests[0].cause == "no_results"
    other = await report_of(ListedTarget({"a": pages("a")}), test)
    assert other.verdict is Verdict.PASS
    [warning] = other.warnings
    assert warning.startswith("min_similarity_score was not applied to 1 test")


async def test_filters_need_a_target_that_has_them() -> None:
    test = GoldenTest("a", "a", expected=(ByAddress("/a"),), where=("version=2",))
    report = await report_of(ListedTarget({"a": pages("a")}), test)
    assert (report.tests[0].outcome, report.tests[0].cause) == (
        Outcome.INVALID,
        "filter_unsupported",
    )


async def test_judged_documents_are_measured() -> None:
    test = GoldenTest(
        "a",
        "a",
        expected=(ByName("d1", 2), ByName("d2", 1)),
        criteria=SuccessCriteria(0.5),
        known_wrong=(ByName("d3", 0),),
    )
    hits = [TargetHit(id="d3"), TargetHit(id="d1")]
    report = await report_of(ListedTarget({"a": hits}), test)
    assert report.tests[0].known_wrong == ("d3",)
    assert report.means.values["R@2"] == 0.5
