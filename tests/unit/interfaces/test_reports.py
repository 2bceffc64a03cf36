"""From outcomes to a report with a verdict, and from a report to files."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from surefind.contracts.validation_run import validation_report_of
from surefind.errors import InputError, NotComparable
from surefind.evaluation.golden.expectations import ByChunk
from surefind.evaluation.golden.gates import RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, TestKind
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.comparison import check_baseline, compare_reports, compared_with
from surefind.evaluation.report.past_runs import remembered
from surefind.evaluation.report.report import (
    ExpectationResult,
    FoundHit,
    Integrity,
    Outcome,
    Report,
    TestOutcome,
)
from surefind.evaluation.report.summary import means_of, summarise, with_comparison
from surefind.evaluation.statistics.significance import (
    ComparisonEvidence,
    Verdict,
    minimum_detectable_effect,
)
from surefind.interfaces.reports.html import html_page
from surefind.interfaces.reports.json_report import (
    json_schema,
    read_report,
    report_json,
    report_text,
)
from surefind.interfaces.reports.junit import junit
from surefind.interfaces.reports.markdown import markdown
from surefind.interfaces.reports.terminal import terminal
from surefind.interfaces.reports.trec import trec_qrels, trec_run
from surefind.model import Collapse, GroupBy, Mode
from unit.evaluation.trec_oracle import trec_eval
from unit.interfaces.validation_reports import MEASURES, RUN, full_report, golden, outcome, report

# --- numbers and verdicts ---------------------------------------------------------------------


def test_a_report_counts_every_outcome_and_means_what_was_judged() -> None:
    told = full_report()
    totals = told.totals
    assert (totals.total, totals.passed, totals.failed, totals.error) == (8, 2, 2, 1)
    assert (totals.stale, totals.invalid, totals.not_run) == (1, 1, 1)
    assert told.means.values == {"nDCG@5": 0.375, "MRR": 0.375}
    assert (told.means.judged, told.means.failed, told.means.unjudged) == (4, ("broken",), 3)
    assert (told.negatives.total, told.negatives.accepted) == (2, 1)
    assert told.negatives.false_accept_rate == 0.5
    [factual] = told.categories
    assert (factual.name, factual.totals.passed, factual.totals.total) == ("factual", 1, 2)
    assert factual.means == {"nDCG@5": 0.75, "MRR": 0.75}
    assert (told.latency.searches, told.latency.p95_ms) == (6, 10.0)
    assert told.warnings == ("p95_ms > 1: it is 10",)


def test_all_that_passed_is_a_pass() -> None:
    told = report(outcome("a"), outcome("b", None, kind=TestKind.QUERY))
    assert (told.verdict, told.reasons) == (Verdict.PASS, ())


def test_a_failed_test_fails_the_run() -> None:
    told = report(outcome("a"), outcome("b", 0.0, Outcome.FAILED))
    assert (told.verdict, told.reasons) == (Verdict.FAIL, ("1 test failed",))


def test_where_there_are_gates_they_say_how_many_may_fail() -> None:
    tests = [outcome("a"), outcome("b", 0.0, Outcome.FAILED)]
    lenient = report(*tests, rules=[(RuleSeverity.FAIL, "pass_rate < 0.5")])
    assert (lenient.verdict, lenient.reasons) == (Verdict.PASS, ())
    strict = report(*tests, rules=[(RuleSeverity.FAIL, "nDCG@5 < 0.6")])
    assert (strict.verdict, strict.reasons) == (Verdict.FAIL, ("nDCG@5 < 0.6: it is 0.5",))
    warned = report(outcome("a"), rules=[(RuleSeverity.WARN, "accuracy >= 1")])
    assert (warned.verdict, warned.warnings) == (Verdict.PASS, ("accuracy >= 1: it is 1",))


def test_a_judged_collection_is_there_for_its_numbers() -> None:
    tests = [outcome("a"), outcome("b", 0.0, Outcome.FAILED)]
    collection = replace(golden(tests), measured_only=True)
    assert summarise(collection, MEASURES, tests, RUN).verdict is Verdict.PASS


def test_judgements_without_relevant_results_do_not_pass() -> None:
    """Grades of 0 for all: nothing could be found, which is neither good nor bad."""
    asked = [outcome(name, None, kind=TestKind.QUERY) for name in "abc"]
    barren = [
        replace(test, known_wrong=("x",), measures={"nDCG@5": 0.0, "MRR": 0.0}) for test in asked
    ]
    for tests in (asked, barren):
        told = summarise(replace(golden(tests), measured_only=True), MEASURES, tests, RUN)
        assert told.verdict is Verdict.INCONCLUSIVE
        assert told.reasons == (
            "nothing is judged relevant to any of the 3 queries, so nothing can be measured",
        )
        assert (told.means.judged, told.means.values, told.means.unjudged) == (0, {}, 3)
        assert "nDCG" not in report_text(told).partition('"means"')[2]
        assert remembered(told).means == {}
        assert list(ET.fromstring(junit(told)).iter("property")) == []
        for text in (terminal(told), markdown(told), html_page(told)):
            assert "0.000" not in text
    assert summarise(golden(asked), MEASURES, asked, RUN).verdict is Verdict.PASS


def test_single_queries_to_which_nothing_is_relevant_are_shown() -> None:
    """They count as trec_eval counts them, and every report says how many they are."""
    barren = replace(outcome("b", 0.0, kind=TestKind.QUERY), sought=(), known_wrong=("x",))
    tests = [outcome("a"), barren]
    told = summarise(replace(golden(tests), measured_only=True), MEASURES, tests, RUN)
    assert told.verdict is Verdict.PASS
    assert told.means.without_relevant == ("b",)
    assert told.means.values == {"nDCG@5": 0.5, "MRR": 0.5}
    assert "without relevant passages, counted as zero: 1" in terminal(told)
    for text in (markdown(told), html_page(told)):
        assert "1 without relevant passages count as zero" in text


def test_an_error_and_a_tampered_chunk_fail_whatever_the_gates_say() -> None:
    rules = [(RuleSeverity.FAIL, "pass_rate < 0.1")]
    broken = report(outcome("a"), outcome("b", 0.0, Outcome.ERROR), rules=rules)
    assert broken.reasons == ("1 query could not be answered",)
    assert broken.verdict is Verdict.FAIL
    run = replace(RUN, integrity=Integrity(2, 2, 0.5, ("bad", "worse")))
    tampered = report(outcome("a"), rules=rules, run=run)
    assert tampered.reasons == ("the text of 2 chunks does not match its hash: bad",)
    assert tampered.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        (Outcome.STALE, "1 test expects results that no longer exist"),
        (Outcome.INVALID, "1 test can't be judged as written"),
    ],
)
def test_what_can_not_be_judged_is_inconclusive_and_no_failure(which: Outcome, reason: str) -> None:
    told = report(outcome("a"), outcome("b", None, which))
    assert (told.verdict, told.reasons) == (Verdict.INCONCLUSIVE, (reason,))
    failed = report(outcome("a", 0.0, Outcome.FAILED), outcome("b", None, which))
    assert failed.verdict is Verdict.FAIL


def test_no_queries_give_a_report_that_is_inconclusive() -> None:
    told = report()
    assert (told.verdict, told.reasons) == (Verdict.INCONCLUSIVE, ("there were no queries",))
    assert told.latency.p99_ms == 0.0


def test_a_run_that_ended_early_is_inconclusive_whatever_it_found() -> None:
    run = replace(RUN, interrupted="the store is away")
    told = report(outcome("a", 0.0, Outcome.FAILED), outcome("b", None, Outcome.NOT_RUN), run=run)
    assert told.verdict is Verdict.INCONCLUSIVE
    assert "the run ended early, 1 of 2 tests not run: the store is away" in told.reasons


def test_a_gate_that_nothing_can_be_measured_by_is_inconclusive() -> None:
    rules = [(RuleSeverity.FAIL, "nDCG@5 < 0.5"), (RuleSeverity.FAIL, "false_accept_rate > 0.1")]
    told = report(outcome("a", None, kind=TestKind.QUERY), rules=rules)
    assert told.verdict is Verdict.INCONCLUSIVE
    assert len(told.reasons) == 2
    assert told.means.values == {}


# --- baselines --------------------------------------------------------------------------------


def many_others() -> tuple[TestOutcome, ...]:
    """Of the same names as those of `many`, and not the same tests."""
    return tuple(replace(outcome(f"t{number}"), digest="other") for number in range(2))


def many(values: list[float]) -> Report:
    return report(*(outcome(f"t{number}", value) for number, value in enumerate(values)))


def test_a_worse_run_is_distinguished_from_its_baseline() -> None:
    before = many([1.0] * 20)
    after = many([0.5] * 10 + [1.0] * 10)
    comparison = compare_reports(before, after)
    assert [change.verdict for change in comparison.changes] == [Verdict.FAIL, Verdict.FAIL]
    assert (len(comparison.worse), len(comparison.better), comparison.same) == (10, 0, 10)
    assert comparison.worse[0].test_id == "t0"
    told = with_comparison(after, comparison)
    assert told.verdict is Verdict.FAIL
    assert told.reasons == ("nDCG@5, MRR: significantly worse than the baseline (run run-1)",)
    back = with_comparison(before, compare_reports(after, before))
    assert (back.verdict, back.reasons) == (Verdict.PASS, ())


def test_too_few_queries_to_say_are_inconclusive() -> None:
    after = many([0.5, 1.0, 1.0])
    told = with_comparison(after, compare_reports(many([1.0] * 3), after))
    assert told.verdict is Verdict.INCONCLUSIVE
    assert told.reasons == (
        "compared with the baseline (run run-1), by nDCG@5: 0 better, 1 worse, which may be chance",
    )


def test_the_same_run_again_passes() -> None:
    before = many([0.0, 0.3, 1.0])
    comparison = compare_reports(before, before)
    assert (comparison.verdict, comparison.same) == (Verdict.PASS, 3)


def test_a_pure_improvement_passes() -> None:
    """29 as before, one better: too few to call it better, and nothing speaks of harm."""
    before, after = many([0.5] + [1.0] * 29), many([1.0] * 30)
    told = with_comparison(after, compare_reports(before, after))
    assert (told.verdict, told.reasons) == (Verdict.PASS, ())
    comparison = told.comparison
    assert comparison is not None
    assert comparison.evidence is ComparisonEvidence.NO_HARM
    assert comparison.worse_at_most == pytest.approx(0.095, abs=0.001)
    lines = (
        "no evidence of harm: 1 better, 0 worse, 29 the same",
        "at most 9.5 % of similar queries got worse, with 95 % confidence",
    )
    for text in (terminal(told), markdown(told), html_page(told), junit(told)):
        assert all(line in text for line in lines), text


def test_what_is_detectable_accounts_for_the_number_of_measures() -> None:
    [ndcg, mrr] = compare_reports(many([1.0] * 30), many([1.0] * 30)).changes
    both = minimum_detectable_effect([0.0] * 30, measures=2)
    assert (ndcg.difference.detectable, mrr.difference.detectable) == (both, both)
    assert both > minimum_detectable_effect([0.0] * 30)


def test_what_was_lost_entirely_is_counted_in_every_report() -> None:
    after = many([0.0, 0.5] + [1.0] * 28)
    told = with_comparison(after, compare_reports(many([1.0] * 30), after))
    assert told.comparison is not None
    assert told.comparison.evidence is ComparisonEvidence.MIXED
    assert told.comparison.lost_entirely == 1
    for text in (terminal(told), markdown(told), html_page(told), junit(told)):
        assert "1 of the worse tests found something before and finds nothing now" in text
        assert "at most 19.5 % of similar queries got worse" in text


def test_tests_that_both_runs_share_are_compared() -> None:
    """A category was renamed, one test is new, one asks something else, one was removed."""
    before = report(outcome("a", 0.5), outcome("b", category="old"), outcome("c"), outcome("d"))
    changed = replace(outcome("c", 0.0, Outcome.FAILED), digest="another question")
    after = report(outcome("a"), outcome("b", category="new"), changed, outcome("e", 0.0))
    comparison = compare_reports(before, after)
    assert (comparison.compared, len(comparison.better), comparison.same) == (2, 1, 1)
    assert [comparison.added, comparison.changed, comparison.vanished] == [("e",), ("c",), ("d",)]
    assert comparison.changes[0].difference.queries == 2
    assert comparison.evidence is ComparisonEvidence.NO_HARM
    for text in (terminal(told := with_comparison(after, comparison)), markdown(told)):
        assert "not compared, not in the baseline: 1 test (e)" in text
        assert "not compared, changed since the baseline: 1 test (c)" in text
        assert "not compared, only in the baseline: 1 test (d)" in text


def test_tests_that_became_stale_are_counted_and_no_pass() -> None:
    before = report(outcome("a", 0.5), outcome("b"), outcome("c", None, Outcome.STALE))
    gone = outcome("b", None, Outcome.STALE)
    after = report(outcome("a"), gone, outcome("c", None, Outcome.STALE))
    told = with_comparison(after, compare_reports(before, after))
    assert told.comparison is not None
    assert [one.test_id for one in told.comparison.became_stale] == ["b"]
    assert (told.comparison.evidence, told.verdict) == (
        ComparisonEvidence.MIXED,
        Verdict.INCONCLUSIVE,
    )
    assert told.reasons[-1] == "compared with the baseline (run run-1): 1 test became stale"
    assert "became stale since the baseline: 1 test (b)" in terminal(told)


def test_a_newly_answered_negative_makes_the_evidence_mixed() -> None:
    opera = outcome("opera", None, kind=TestKind.NEGATIVE)
    answered = replace(opera, outcome=Outcome.FAILED)
    comparison = compare_reports(
        report(outcome("a", 0.5), opera), report(outcome("a", 1.0), answered)
    )
    assert comparison.evidence is ComparisonEvidence.MIXED
    back = compare_reports(report(outcome("a"), answered), report(outcome("a"), opera))
    assert back.evidence is ComparisonEvidence.NO_HARM


@pytest.mark.parametrize(
    ("measures", "reason"),
    [
        ({"nDCG@5": 1.0}, "test 't0' has no MRR"),
        ({"nDCG@5": 1.0, "MRR": 7.0}, "MRR of test 't0' must be from 0 to 1, not 7"),
    ],
)
def test_a_baseline_that_was_edited_by_hand_is_refused(
    measures: dict[str, float], reason: str
) -> None:
    values = report_json(many([1.0, 0.5]))
    values["tests"][0]["measures"] = measures
    with pytest.raises(InputError, match=reason):
        read_report("base.json", json.dumps(values).encode())


def test_a_baseline_of_an_older_surefind_is_still_read() -> None:
    """It has no digests of single tests, and a comparison without what is new."""
    told = with_comparison(many([1.0]), compare_reports(many([1.0]), many([1.0])))
    values = report_json(told)
    for test in values["tests"]:
        del test["digest"], test["where"]
    for name in ("evidence", "worse_at_most", "became_stale", "added", "changed", "vanished"):
        del values["comparison"][name]
    for change in values["comparison"]["changes"]:
        del change["evidence"]
    before = read_report("base.json", json.dumps(values).encode())
    assert compare_reports(before, many([1.0])).evidence is ComparisonEvidence.NO_CHANGE


def test_an_outcome_weighs_more_than_a_measure() -> None:
    before = report(outcome("a", 0.4, Outcome.FAILED), outcome("b", 0.9), outcome("c", None))
    after = report(outcome("a", 0.3), outcome("b", 0.8, Outcome.FAILED), outcome("c", None))
    comparison = compare_reports(before, after)
    assert [change.test_id for change in comparison.better] == ["a"]
    assert [change.test_id for change in comparison.worse] == ["b"]


def test_what_was_not_run_is_neither_better_nor_worse() -> None:
    before = many([1.0, 1.0])
    after = report(outcome("t0"), outcome("t1", None, Outcome.NOT_RUN))
    after = replace(after, interrupted="stopped")
    comparison = compare_reports(before, after)
    assert (comparison.same, comparison.changes[0].difference.queries) == (1, 1)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"golden_digest": "other", "tests": many_others()}, "share no tests"),
        ({"subject": replace(RUN.subject, top_k=9)}, "used top_k 9, this run 5"),
        ({"interrupted": "the store died"}, "the baseline's run ended early: the store died"),
    ],
)
def test_what_is_not_comparable_is_refused(changed: dict[str, object], reason: str) -> None:
    told = many([1.0, 0.5])
    with pytest.raises(NotComparable, match=reason):
        compare_reports(replace(told, **changed), told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"golden_digest": "other", "tests": many_others()}, "share no tests"),
        (
            {"golden_digest": "other", "tests": (replace(outcome("t0"), digest=""),)},
            "saved by an older surefind version, and the tests have changed since",
        ),
        ({"subject": replace(RUN.subject, top_k=9)}, "use --top-k 9, or save a new baseline"),
        ({"interrupted": "the store died"}, "the baseline's run ended early: the store died"),
        ({"means": means_of((), MEASURES)}, "in the baseline no test has judged results"),
        (
            {"means": replace(many([1.0]).means, values={"P@5": 1.0})},
            r"measures \(P@5\) and this run's \(nDCG@5, MRR\) differ",
        ),
    ],
)
def test_what_can_be_known_before_a_question_is_asked_is(
    changed: dict[str, object], reason: str
) -> None:
    before = report(outcome("t0"))
    tests = golden([outcome("t0")]).tests
    wanted = GoldenSet("golden.yaml", (replace(tests[0], expected=(ByChunk("a"),)),))
    before = replace(before, golden_digest=wanted.digest)
    check_baseline(before, wanted, 5, MEASURES)
    with pytest.raises(NotComparable, match=reason):
        check_baseline(replace(before, **changed), wanted, 5, MEASURES)  # type: ignore[arg-type]


def test_tests_that_expect_nothing_are_refused_before_they_are_asked() -> None:
    plain = golden([outcome("t0")])
    before = replace(report(outcome("t0")), golden_digest=plain.digest)
    with pytest.raises(NotComparable, match="no test has judged results"):
        check_baseline(before, plain, 5, MEASURES)


def test_an_impossible_comparison_does_not_pass_or_hide_failures() -> None:
    before = many([1.0])
    unjudged = report(outcome("t0", None))
    told = compared_with(before, unjudged)
    assert (unjudged.verdict, told.verdict) == (Verdict.PASS, Verdict.INCONCLUSIVE)
    assert told.reasons == (
        "not compared with the baseline: no test has judged results, so there is nothing to "
        "compare",
    )
    failed = compared_with(before, report(outcome("t0", None, Outcome.FAILED)))
    assert failed.verdict is Verdict.FAIL
    assert failed.reasons[0] == "1 test failed"


def test_a_baseline_with_other_options_is_compared_and_noted() -> None:
    after = many([1.0, 0.5])
    assert compared_with(after, after).warnings == ()
    subject = replace(
        after.subject,
        mode=Mode.DENSE,
        collapse=Collapse.NEAR,
        group_by=GroupBy.DOCUMENT,
        embedder="other/model",
        collection="handbook",
    )
    told = compared_with(replace(after, subject=subject), after)
    assert told.verdict is Verdict.PASS
    assert told.warnings == (
        "the baseline used dense mode, this run hybrid",
        "the baseline used collapse near, this run off",
        "the baseline grouped by document, this run did not group",
        "the baseline used the embedder other/model, this run fake/words (384 dimensions, abc)",
        "the baseline searched the collection handbook, this run docs",
    )
    assert "warning: the baseline used dense mode" in junit(told)


def test_runs_without_a_common_measure_are_not_comparable() -> None:
    told = many([1.0])
    other = replace(told, means=replace(told.means, values={"P@5": 1.0}))
    with pytest.raises(
        NotComparable, match=r"measures \(P@5\) and this run's \(nDCG@5, MRR\) differ"
    ):
        compare_reports(other, told)
    plain = report(outcome("t0", None, kind=TestKind.QUERY))
    with pytest.raises(NotComparable, match="no test has judged results"):
        compare_reports(plain, plain)


# --- files ------------------------------------------------------------------------------------


def compared() -> Report:
    after = many([0.5] * 30 + [1.0] * 10)
    return with_comparison(after, compare_reports(many([1.0] * 40), after))


@pytest.mark.parametrize("told", [full_report(), report(), compared()], ids=["full", "none", "two"])
def test_a_report_survives_its_json(told: Report) -> None:
    text = report_text(told)
    assert read_report("report.json", text.encode()) == told
    assert json.loads(text)["schema"] == "surefind.validation/1"
    assert next(iter(json.loads(text))) == "schema"


def test_the_schema_knows_every_field() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(report_json(full_report()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "b.json is not valid JSON"),
        (b"\xff", "b.json is not valid JSON"),
        (b"[" * 100_000, "b.json is not valid JSON"),
        (b"[]", "b.json is not a report; save one with `surefind validate --save-baseline`"),
        (b'{"schema": "surefind.validation/1"}', "b.json: not a complete report: run_id: "),
    ],
)
def test_an_invalid_report_is_rejected(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_report("b.json", content)


def test_a_report_of_another_version_or_with_unknown_fields_is_refused() -> None:
    with pytest.raises(NotComparable, match=r"has the format 'surefind\.validation/2'"):
        read_report("b.json", b'{"schema": "surefind.validation/2"}')
    more = report_json(report(outcome("a"))) | {"mood": "good"}
    with pytest.raises(InputError, match="mood"):
        read_report("b.json", json.dumps(more).encode())


def test_markdown_is_complete_and_escapes_markup() -> None:
    told = markdown(full_report())
    assert told.startswith("## Retrieval validation: ❌ failed\n- nDCG@5 \\< 0.9: it is 0.375\n")
    assert "| passed | 2 of 8 |" in told
    assert "| negatives | 1 of 2 were wrongly answered |" in told
    assert "| factual | 1 of 2 | 0.7500 | 0.7500 |" in told
    assert "| half | What about half? | failed | outranked | 9th |" in told
    assert "| broken | What about broken? | error | error | a \\| b |" in told
    assert "Over 4 judged queries, 1 of them failed and count as zero" in told
    assert "What about late?" not in told


def test_markdown_shows_the_baseline_and_shortens_long_lists() -> None:
    told = markdown(compared())
    assert "### Comparison with the baseline: ❌ worse" in told
    assert "| nDCG@5 | 1.0000 | 0.6250 | -0.3750 |" in told
    assert "- compared with the baseline: worse: 0 better, 30 worse, 10 the same" in told
    assert "- worse: t0, What about t0? (passed → passed, nDCG@5 1.000 → 0.500)" in told
    assert "- and 10 more worse" in told
    bad = [outcome(f"t{number}", 0.0, Outcome.FAILED, message="x" * 500) for number in range(30)]
    assert "And 10 more." in markdown(report(*bad))
    assert "### Measures" not in markdown(report())


def test_the_terminal_shows_what_changed_and_by_how_much() -> None:
    shown = terminal(compared())
    assert "  worse: t0: What about t0? (passed -> passed, nDCG@5 1.000 -> 0.500)" in shown
    assert "  and 10 more worse; --json lists all" in shown
    before, after = many([0.5] * 8), many([1.0] * 8)
    told = with_comparison(after, compare_reports(before, after))
    assert "  better: t4: What about t4? (passed -> passed, nDCG@5 0.500 -> 1.000)" in (
        shown := terminal(told)
    )
    assert "better: t5" not in shown
    assert "  and 3 more better; --json lists all" in shown
    assert "- better: t4, What about t4? (passed → passed, nDCG@5 0.500 → 1.000)" in markdown(told)
    gone = with_comparison(
        after := report(outcome("a", None), outcome("b")),
        compare_reports(report(outcome("a", None, Outcome.FAILED), outcome("b")), after),
    )
    assert "better: a: What about a? (failed -> passed)" in terminal(gone)


def test_where_tests_failed_no_report_says_that_all_is_well() -> None:
    tests = [outcome("a"), outcome("b", 0.0, Outcome.FAILED, message="it is absent")]
    lenient = report(*tests, rules=[(RuleSeverity.FAIL, "failed > 5")])
    measured = summarise(replace(golden(tests), measured_only=True), MEASURES, tests, RUN)
    assert lenient.verdict is measured.verdict is Verdict.PASS
    for told in (lenient, measured):
        published = validation_report_of(told)
        assert published.errors == ["Test 'b' failed: it is absent"]
        assert (published.total_queries, published.successful_queries) == (2, 2)
        assert "All validations passed" not in terminal(told)
    assert "PASSED by its rules: 1 of 2 tests passed (golden.yaml)" in terminal(lenient)
    assert "PASSED, because no single test decides: 1 of 2 tests passed" in terminal(measured)
    assert markdown(lenient).startswith("## Retrieval validation: ✅ passed by its rules\n")
    assert "<h1>Passed by its rules<" in html_page(lenient)
    good = report(outcome("a"), rules=[(RuleSeverity.FAIL, "failed > 5")])
    assert "All validations passed" in terminal(good)
    assert "PASSED: 1 of 1 passed (golden.yaml)" in terminal(good)


def test_long_texts_are_shortened_except_in_json() -> None:
    endless = "very \n long " * 20_000
    bad = replace(outcome("a", 0.0, Outcome.FAILED, message=endless), query_text=endless)
    error = replace(outcome("b", 0.0, Outcome.ERROR, latency_ms=None), query_text=endless)
    before = report(outcome("a"), outcome("b"))
    after = report(bad, error)
    before = replace(before, golden_digest=after.golden_digest)
    told = with_comparison(after, compare_reports(before, after))
    for text in (terminal(told), markdown(told)):
        assert "very long very" in text
        assert "…" in text
        assert len(text) < 10_000
    [failed, *_] = validation_report_of(told).errors
    assert failed.startswith("Query 'very long very")
    assert len(failed) < 300
    assert json.loads(report_text(told))["tests"][0]["query_text"] == endless


def test_junit_is_xml_that_counts_right() -> None:
    told = full_report()
    strange = replace(told.tests[1], message="bell \x07, half \ud800, <tag> & 'quote'")
    told = replace(told, tests=(told.tests[0], strange, *told.tests[2:]))
    suite = ET.fromstring(junit(told).encode())
    assert suite.attrib["tests"] == "9"
    cases = suite.findall("testcase")
    for tag, count in {"failure": 3, "error": 1, "skipped": 3}.items():
        assert len([case for case in cases if case.find(tag) is not None]) == count
        attribute = {"failure": "failures", "error": "errors"}.get(tag, tag)
        assert suite.attrib[attribute] == str(count)
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "bell \ufffd, half \ufffd, <tag> & 'quote'"
    assert failure.attrib["type"] == "outranked"
    assert "expected: chunk a: found at rank 1" in (failure.text or "")
    assert cases[0].attrib == {"name": "good", "classname": "factual", "time": "0.010000"}
    assert [p.attrib["name"] for p in suite.iter("property")] == ["nDCG@5", "MRR"]


def test_junit_of_a_good_run_and_of_one_without_a_verdict() -> None:
    assert "<failure" not in junit(report(outcome("a")))
    suite = ET.fromstring(junit(report()).encode())
    assert (suite.attrib["tests"], suite.attrib["skipped"]) == ("1", "1")


def test_trec_files_give_the_report_its_numbers_again(tmp_path: Path) -> None:
    test = replace(
        outcome("with blank"),
        sought=(
            ExpectationResult("a", "a", 2, 2),
            ExpectationResult("b", "b c", 1),
            ExpectationResult("gone", "g", 1, stale=True),
        ),
        found=(
            FoundHit(1, "x", ("x",), "", "", 0.9, None),
            FoundHit(2, "y", ("a", "w"), "", "", 0.8, None),
            FoundHit(3, "z", (), "", "", 0.7, None),
        ),
        known_wrong=("w",),
    )
    told = report(test)
    assert trec_run(told) == (
        "with_blank Q0 x 1 3 surefind\nwith_blank Q0 a 2 2 surefind\nwith_blank Q0 w 3 1 surefind\n"
    )
    assert trec_qrels(told) == "with_blank 0 a 2\nwith_blank 0 b_c 1\nwith_blank 0 w 0\n"
    values = trec_eval(
        Measure.parse("MRR"), {"q": ["x", "a", "w"]}, {"q": {"a": 2, "b_c": 1, "w": 0}}
    )
    assert values == {"q": 0.5}


def test_the_pure_core_needs_nothing_but_numpy_and_yaml() -> None:
    """Reports can be computed where no index, no model and no web server is installed."""
    code = (
        "import sys, surefind.evaluation.report.comparison, surefind.evaluation.golden.golden_set;"
        "print([name for name in ('pydantic', 'fastapi', 'onnxruntime', 'qdrant_edge', 'scipy')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_empty_golden_set_has_a_digest_too() -> None:
    assert len(GoldenSet("x", ()).digest) == 64
