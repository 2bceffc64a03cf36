"""Validating from Python."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surefind
from support.fakes import WordEmbedder
from surefind import BySource, ByText, GoldenTest, Page

PAGES = [
    Page("wiki/tea.md", "# Tea\n\nBrew the tea for three minutes.", version="1"),
    Page("wiki/lid.md", "# Lid\n\nClose the lid before you start.", version="2"),
    Page("wiki/volt.md", "# Power\n\nThe socket has 230 volts.", version="2"),
]
TESTS = [
    GoldenTest("tea", "brew the tea", expected=(BySource("wiki/tea.md"),)),
    GoldenTest("lid", "close the lid", expected=(ByText("before you start"),)),
    GoldenTest("gone", "the socket", expected=(BySource("wiki/gone.md"),)),
]


@pytest.fixture
def docs() -> Iterator[surefind.Surefind]:
    with surefind.open(embedder=WordEmbedder()) as opened:
        opened.ingest(pages=PAGES)
        yield opened


def test_golden_tests_made_in_python_are_run(docs: surefind.Surefind) -> None:
    seen: list[surefind.Progress] = []
    report = docs.validate(TESTS, top_k=2, mode="lexical", progress=seen.append)
    assert isinstance(report, surefind.Report)
    outcomes = {test.test_id: test.outcome for test in report.tests}
    passed, stale = surefind.Outcome.PASSED, surefind.Outcome.STALE
    assert outcomes == {"tea": passed, "lid": passed, "gone": stale}
    assert report.verdict is not surefind.Verdict.PASS
    assert (report.subject.top_k, report.subject.mode) == (2, surefind.Mode.LEXICAL)
    assert seen[-1] == surefind.Progress("validating", 3, 3)


def test_a_golden_file_and_the_same_set_give_the_same(
    docs: surefind.Surefind, tmp_path: Path
) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(
        "- {test_id: tea, query_text: brew the tea, expected_results: [{source_path: wiki/tea.md}]}"
    )
    of_file = docs.validate(str(path))
    of_set = docs.validate(surefind.GoldenSet("tea", (TESTS[0],)))
    assert of_file.verdict is of_set.verdict is surefind.Verdict.PASS
    assert of_file.golden_digest == of_set.golden_digest
    assert of_file.means == of_set.means


def test_without_tests_the_headings_are_tested(docs: surefind.Surefind) -> None:
    assert docs.validate().totals.total == 3


def test_a_baseline_is_compared_with(docs: surefind.Surefind) -> None:
    before = docs.validate(TESTS[:2])
    docs.ingest(pages=[PAGES[0], PAGES[2]], allow_shrink=True)
    after = docs.validate(TESTS[:2], baseline=before)
    assert after.comparison is not None
    assert after.comparison.baseline_run_id == before.run_id
    assert [change.test_id for change in after.comparison.became_stale] == ["lid"]
    with pytest.raises(surefind.NotComparable):
        docs.validate(TESTS[:2], top_k=3, baseline=before)


def test_an_older_generation_can_be_validated(docs: surefind.Surefind) -> None:
    docs.ingest(pages=[PAGES[0], PAGES[2]], allow_shrink=True)
    assert docs.validate(TESTS[1:2], generation=1).totals.passed == 1
    assert docs.validate(TESTS[1:2]).totals.passed == 0


def test_conditions_of_tests_made_in_python_count(docs: surefind.Surefind) -> None:
    of_version = GoldenTest("v", "brew the tea", expected=TESTS[0].expected, where=("version=2",))
    report = docs.validate([of_version])
    assert report.tests[0].outcome is surefind.Outcome.FAILED
    assert report.tests[0].sought[0].cause == surefind.Cause.FILTERED


@pytest.mark.parametrize(
    ("golden", "options", "message"),
    [
        ([], {}, "there are no tests"),
        (["brew"], {}, "each must be a GoldenTest"),
        (3, {}, "each must be a GoldenTest"),
        ([TESTS[0], TESTS[0]], {}, "test_id 'tea' is used twice"),
        ([GoldenTest("x", "tea", where=("nonsense",))], {}, "golden tests, test 'x': "),
        (TESTS, {"top_k": 0}, "top_k must be between"),
        (TESTS, {"mode": "magic"}, "mode must be one of"),
        (TESTS, {"collapse": "magic"}, "collapse must be one of"),
        (TESTS, {"concurrency": 0}, "concurrency must be"),
        (TESTS, {"generation": 9}, "generation 9"),
        ("nowhere.yaml", {}, "nowhere.yaml does not exist"),
    ],
)
def test_mistakes_are_named(
    docs: surefind.Surefind, golden: Any, options: Any, message: str
) -> None:
    with pytest.raises(surefind.InputError, match=message):
        docs.validate(golden, **options)


async def test_a_cancelled_validation_ends_without_a_report() -> None:
    async with surefind.aopen(embedder=WordEmbedder()) as docs:
        await docs.ingest(pages=PAGES)
        begun = asyncio.Event()
        many = [GoldenTest(f"t{number}", f"tea {number}") for number in range(500)]
        task = asyncio.create_task(docs.validate(many, progress=lambda _: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
