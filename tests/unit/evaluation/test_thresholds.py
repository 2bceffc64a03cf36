"""Thresholds that golden tests teach: how they are chosen, how often they err, who goes by them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.homes import copy_home
from surefind.errors import NotComparable
from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.thresholds import Separation, separate
from surefind.evaluation.report.report import Report
from surefind.evaluation.statistics.significance import wilson_interval
from surefind.model import Evidence, Mode
from surefind.services.validation.calibration import learn_threshold
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation


def separated(positives: list[float], negatives: list[float], cost: float = 1.0) -> Separation:
    told = separate(positives, negatives, cost)
    assert told is not None
    return told


# --- choosing ---------------------------------------------------------------------------------


def test_a_gap_puts_the_threshold_in_its_middle() -> None:
    told = separated([0.7 + n / 100 for n in range(10)], [0.4 + n / 100 for n in range(10)])
    assert told.similarity == pytest.approx((0.49 + 0.70) / 2)
    assert (told.false_accepts.value, told.false_rejects.value, told.overlap) == (0.0, 0.0, 0.0)


def test_certainty_is_never_claimed_of_a_few() -> None:
    told = separated([0.8, 0.81, 0.82, 0.83, 0.84], [0.4, 0.41, 0.42, 0.43, 0.44])
    assert told.similarity is not None
    assert told.false_accepts.high == pytest.approx(wilson_interval(0, 5)[1])
    assert told.false_accepts.high > 0.4


def test_of_two_equally_good_gaps_the_wider_one_is_taken() -> None:
    """Both thresholds err on a fifth of one kind: .35 accepts it, .775 rejects it."""
    told = separated([0.6] * 20 + [0.8] * 80, [0.1] * 80 + [0.75] * 20)
    assert told.similarity == pytest.approx(0.35)
    assert told.overlap == pytest.approx(0.2)
    assert told.false_accept_cost == 1.0


def test_the_ends_of_the_overlap_belong_to_it() -> None:
    assert separated([0.5, 0.7], [0.5, 0.7]).overlap == 1.0
    assert separated([0.7, 0.8], [0.6, 0.7]).overlap == 0.5


def test_a_few_that_overlap_are_called_inseparable() -> None:
    told = separated([0.5, 0.8, 0.81, 0.82], [0.3, 0.31, 0.32, 0.5])
    assert told.false_accepts.value + told.false_rejects.value < 1
    assert told.message.startswith("positives and negatives can't be separated: 25% of them")


def test_a_false_accept_costs_as_much_as_a_false_reject_by_default() -> None:
    positives, negatives = [0.6] * 10 + [0.8] * 30, [0.1] * 30 + [0.7] * 10
    assert separate(positives, negatives) == separate(positives, negatives, 1.0)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_teach_nothing(count: int) -> None:
    told = separated([0.8 + n / 100 for n in range(count)], [0.3 + n / 100 for n in range(count)])
    assert told.similarity is None
    assert "add tests" in told.message or "can't be separated" in told.message


def test_one_kind_of_test_alone_gives_no_threshold() -> None:
    assert separate([], [0.4]) is None
    assert separate([0.4], []) is None


def test_a_false_acceptance_may_cost_more() -> None:
    chance = np.random.default_rng(3)
    positives = chance.normal(0.7, 0.05, 200).tolist()
    negatives = chance.normal(0.6, 0.05, 200).tolist()
    even, dear = separated(positives, negatives), separated(positives, negatives, 10.0)
    assert even.similarity is not None
    assert dear.similarity is not None
    assert even.similarity == pytest.approx(0.65, abs=0.03)
    assert dear.similarity > even.similarity
    assert dear.false_accepts.value < even.false_accepts.value
    assert dear.false_rejects.value > even.false_rejects.value


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0.1, 10),
)
def test_rates_are_rates_whatever_the_numbers(
    positives: list[float], negatives: list[float], cost: float
) -> None:
    told = separated(positives, negatives, cost)
    for rate in (told.false_accepts, told.false_rejects):
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert (told.similarity is None) == bool(told.message)
    if told.similarity is not None:
        assert 0 <= told.similarity <= 1
        assert told.slope is not None
        assert told.slope > 0


# --- honesty, by simulation -------------------------------------------------------------------


def test_what_is_the_same_is_hardly_ever_called_separable() -> None:
    """Both kinds from one distribution: the rule that stores a threshold must almost never."""
    chance = np.random.default_rng(7)
    draws = chance.normal(0.6, 0.1, (200, 2, 30)).tolist()
    told = [separated(positives, negatives) for positives, negatives in draws]
    assert sum(one.similarity is not None for one in told) <= 10


def test_reported_rates_are_those_of_unseen_questions() -> None:
    """Cross-validated, so that they do not flatter: their mean is that on fresh draws."""
    chance = np.random.default_rng(11)
    told_errors, true_errors = [], []
    for _ in range(100):
        told = separated(
            chance.normal(0.7, 0.05, 25).tolist(), chance.normal(0.6, 0.05, 25).tolist()
        )
        if told.similarity is None:
            continue
        told_errors.append(told.false_accepts.value + told.false_rejects.value)
        fresh_good = chance.normal(0.7, 0.05, 2000) < told.similarity
        fresh_bad = chance.normal(0.6, 0.05, 2000) >= told.similarity
        true_errors.append(fresh_good.mean() + fresh_bad.mean())
    assert len(told_errors) > 80
    assert np.mean(told_errors) == pytest.approx(np.mean(true_errors), abs=0.04)


@pytest.mark.parametrize(("share", "total"), [(0.05, 20), (0.3, 50)])
def test_the_interval_of_a_share_holds_it_as_often_as_it_says(share: float, total: int) -> None:
    chance = np.random.default_rng(5)
    inside = 0
    for count in chance.binomial(total, share, 2000):
        low, high = wilson_interval(int(count), total)
        inside += low <= share <= high
    assert 0.9 <= inside / 2000 <= 0.995


def test_an_interval_of_nothing_says_nothing() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)


# --- kept with the generation -----------------------------------------------------------------

ANIMALS = ("cats", "dogs", "parrots", "horses", "whales", "beavers", "spiders", "llamas")
STRANGE = (
    *("zinc", "yolk", "vortex", "quartz", "onyx", "jazz", "fjord", "waltz"),
    *("sphinx", "nymph", "gypsum", "crypt"),
)
PAGES = {f"{name}.md": f"# {name.title()}\n\nall about {name} here" for name in ANIMALS}
GOLDEN = GoldenSet(
    "golden.yaml",
    (
        *(
            GoldenTest(name, f"all about {name} here", expected=(BySource(f"docs/{name}.md"),))
            for name in ANIMALS
        ),
        *(GoldenTest(word, f"{word} xylophone {word}", TestKind.NEGATIVE) for word in STRANGE),
    ),
)


async def validated(home: Installation, **options: object) -> Report:
    validator = Validator(home.readers, home.searcher, "test")
    return await validator.run(GOLDEN, RunRequest(**options))  # type: ignore[arg-type]


async def test_searches_go_by_what_was_learned_at_once(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.search("all about cats here")
    assert before.confidence is None or not before.confidence.learned
    report = await validated(home)
    threshold = await learn_threshold(report, home.catalogs)
    good = await home.search("all about cats here")
    bad = await home.search("jazz xylophone jazz")
    assert good.confidence is not None
    assert bad.confidence is not None
    assert (good.confidence.learned, good.confidence.threshold) == (True, threshold.similarity)
    assert good.confidence.evidence is not Evidence.THIN
    assert bad.confidence.evidence is Evidence.THIN
    again = await validated(home)
    assert (again.negatives.accepted, again.totals.invalid) == (0, 0)


async def test_the_next_generation_keeps_it_while_it_fits(home: Installation) -> None:
    await home.ingest(PAGES)
    threshold = await learn_threshold(await validated(home), home.catalogs)
    await home.ingest({**PAGES, "cats.md": "# Cats\n\nall about cats here and there"})
    assert (await home.generations.one()).threshold == threshold
    many = {f"more/{number}.md": f"# Number {number}\n\nabout {number}" for number in range(20)}
    await home.ingest({**PAGES, **many})
    assert (await home.generations.one()).threshold is None


async def test_a_folder_that_is_copied_takes_it_along(home: Installation, tmp_path: Path) -> None:
    await home.ingest(PAGES)
    threshold = await learn_threshold(await validated(home), home.catalogs)
    copy_home(home.root, tmp_path / "copy")
    copy = Installation(tmp_path / "copy")
    assert (await copy.generations.one()).threshold == threshold
    await copy.close()


async def test_a_few_negatives_set_no_threshold_unless_forced(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await validated(home)
    told = report.separation
    assert told is not None
    few = replace(report, separation=replace(told, negatives=11))
    with pytest.raises(NotComparable, match=r"only 11 negative tests, .* at least 12 .* --force"):
        await learn_threshold(few, home.catalogs)
    assert (await home.generations.one()).threshold is None
    threshold = await learn_threshold(few, home.catalogs, force=True)
    assert (await home.generations.one()).threshold == threshold


@pytest.mark.parametrize(
    ("positives", "negatives", "message"),
    [
        ([0.7], [0.4], "1 positive and 1 negative are too few"),
        ([0.7, 0.8], [0.4], "2 positives and 1 negative are too few"),
        ([0.4], [0.7], "can't be separated: 100% of them"),
    ],
)
def test_a_doubt_about_a_few_tests_has_the_right_reason(
    positives: list[float], negatives: list[float], message: str
) -> None:
    assert message in separated(positives, negatives).message


async def test_what_is_not_taught_is_not_stored(home: Installation) -> None:
    await home.ingest({"cats.md": "# Cats\n\nall about cats here"})
    with pytest.raises(NotComparable, match="mode hybrid or dense"):
        await learn_threshold(await validated(home, mode=Mode.LEXICAL), home.catalogs)
    with pytest.raises(NotComparable, match=r"can't be separated|too few"):
        await learn_threshold(await validated(home), home.catalogs)
    assert (await home.generations.one()).threshold is None
