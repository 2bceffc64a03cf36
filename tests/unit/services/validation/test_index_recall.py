"""Whether the approximate index finds what an exact search finds, with and without filters."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.fakes import FaultyIndexStore
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.index_recall import QueryRecall, recall_at, recall_under
from surefind.evaluation.report.report import Report
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.reports.extra_checks import extra_check_lines
from surefind.model import AnyOf, Condition, Ranking, Under
from surefind.services.generations.readers import Readers
from surefind.services.validation.extra.index_recall import suggested
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

WORDS = ("cats", "dogs", "owls", "bees", "ants", "pigs")
PAGES = {
    f"{'rare' if number == 0 else 'guide' if number < 20 else 'more'}/{number}.md": (
        f"---\nlevel: {number % 2}\n---\n# {WORDS[number % 6].title()}\n\n"
        f"{WORDS[number % 6]} number {number} and {WORDS[number % 5]}"
    )
    for number in range(40)
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def ranking(*scores: float) -> Ranking:
    return Ranking(list(range(len(scores))), list(scores))


async def measured(home: Installation, *rules: str, asked: bool = True) -> Report:
    tests = [GoldenTest(word, f"{word} number", TestKind.QUERY) for word in WORDS]
    tests.append(GoldenTest("own", "cats", TestKind.QUERY, where=("level=1",)))
    tests.append(GoldenTest("wrong", "cats", TestKind.QUERY, where=("nothing=1",)))
    gates = tuple(QualityRule.parse(RuleSeverity.FAIL, rule) for rule in rules)
    validator = Validator(home.readers, home.searcher, "test")
    golden = GoldenSet("golden.yaml", tuple(tests), gates=gates, top_k=5)
    return await validator.run(golden, RunRequest(index_recall=asked))


def lossy(home: Installation, share: int) -> Installation:
    home.index = FaultyIndexStore(home.index, loses=lambda point: point % share == 0)
    home.readers = Readers(home.index, home.catalogs)
    return home


async def test_a_small_index_is_not_exercised_and_says_so(home: Installation) -> None:
    told = await measured(home, "index_recall < 0.95")
    assert told.index_recall is not None
    assert (told.index_recall.exercised, told.index_recall.under) == (False, ())
    assert told.gates[0].value == 1.0
    assert "not measured; none of the 40 vectors is indexed" in extra_check_lines(told)[0][0]


async def test_index_recall_is_measured_only_on_request_or_for_a_gate(
    home: Installation,
) -> None:
    assert (await measured(home, asked=False)).index_recall is None
    gated = await measured(home, "index_recall < 0.95", asked=False)
    assert gated.index_recall is not None


async def test_an_index_that_finds_all_has_a_recall_of_one(home: Installation) -> None:
    home.index = FaultyIndexStore(home.index, loses=lambda _point: False)
    home.readers = Readers(home.index, home.catalogs)
    told = (await measured(home)).index_recall
    assert told is not None
    assert (told.exercised, told.indexed, told.lowest) == (True, 40, 1.0)
    assert all(one.recall == 1.0 and one.low < 1.0 and not one.worst for one in told.under)


async def test_what_is_lost_is_counted_under_every_filter_and_the_worst_are_named(
    home: Installation,
) -> None:
    told = (await measured(lossy(home, 2))).index_recall
    assert told is not None
    names = [one.condition for one in told.under]
    assert names[:2] == ["", "the tests' own filters"]
    # Half of them, a tenth, and a single page: what the collection itself suggests.
    assert len(names) >= 4
    shares = [one.share for one in told.under if one.condition and one.share is not None]
    assert shares == sorted(shares, reverse=True)
    whole = told.under[0]
    assert (whole.queries, whole.share) == (7, 1.0)
    assert 0.1 < whole.recall < 0.9
    assert whole.low <= whole.recall <= whole.high
    assert whole.worst[0].recall == min(one.recall for one in whole.worst)
    assert whole.worst[0].query_text


async def test_a_gate_fails_on_the_lowest(home: Installation) -> None:
    told = await measured(lossy(home, 3), "index_recall < 0.95", "errors > 5")
    assert told.index_recall is not None
    assert told.gates[0].value == min(one.recall for one in told.index_recall.under)
    assert told.verdict is Verdict.FAIL
    assert any(reason.startswith("index_recall < 0.95: it is") for reason in told.reasons)


def test_ties_with_the_last_that_counts_may_take_its_place() -> None:
    assert recall_at(2, ranking(0.9, 0.5, 0.5), ranking(0.9, 0.5)) == 1.0
    assert recall_at(2, ranking(0.9, 0.5), ranking(0.9, 0.4)) == 0.5
    assert recall_at(2, ranking(0.9, 0.5), ranking()) == 0.0
    assert recall_at(2, ranking(), ranking()) is None


def test_the_interval_narrows_with_more_queries() -> None:
    asked = [QueryRecall(str(number), "q", 1.0 - (number % 2) / 2) for number in range(100)]
    few, many = recall_under("", 1.0, asked[:10]), recall_under("", 1.0, asked)
    assert few.recall == many.recall == 0.75
    assert many.high - many.low < few.high - few.low


def test_filters_are_suggested_by_falling_shares() -> None:
    counts: Counter[Condition] = Counter(
        {Under("source_path", "docs"): 1000, Under("source_path", "docs/a"): 480}
        | {AnyOf("tag", (f"t{count}",)): count for count in (90, 80, 22, 4)}
    )
    chosen = suggested(counts, 1000)
    assert [round(share, 3) for _, share in chosen] == [0.48, 0.09, 0.022, 0.004]
    assert suggested(Counter({Under("source_path", "docs"): 1000}), 1000) == []
