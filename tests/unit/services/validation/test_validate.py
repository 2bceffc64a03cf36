"""Golden tests and questions on a whole installation: outcomes, verdicts, the run."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from surefind.contracts.validation_run import validation_report_of
from surefind.errors import InputError, UnknownCollection
from surefind.evaluation.golden.expectations import ByChunk, BySource, ByText, Expectation
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, read_golden_yaml, read_questions
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.report import Outcome, Report, TestOutcome
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import ChunkerSettings, Collapse, Mode
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.unjudged_sets import MAX_STARTERS, starter_set
from surefind.services.validation.validate import Validator
from unit.installation import Installation
from unit.services.validation.validating import (
    FISH,
    FOOD,
    PAGES,
    outcome_of,
    refuses,
    validate,
    wants,
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES, base_url="https://x.org/")
    yield installation
    await installation.close()


# --- outcomes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expected",
    [FOOD, BySource("docs/cats.md"), ByText("eat  fish"), ByText("sunshine ## Food cats")],
    ids=str,
)
async def test_what_is_found_passes_however_it_is_named(
    home: Installation, expected: Expectation
) -> None:
    told = await outcome_of(home, wants(FISH, expected))
    assert (told.outcome, told.accuracy, told.cause) == (Outcome.PASSED, 1.0, "")
    assert told.sought[0].rank is not None
    assert told.found[told.sought[0].rank - 1].labels == ("expected-1",)
    assert told.latency_ms is not None
    assert told.executed_at is not None


async def test_accuracy_is_found_of_expected(home: Installation) -> None:
    both = (FOOD, BySource("docs/dogs.md"))
    lenient = await outcome_of(home, wants(FISH, *both, accuracy=0.5), top_k=2)
    assert (lenient.outcome, lenient.accuracy) == (Outcome.PASSED, 0.5)
    strict = await outcome_of(home, wants(FISH, *both, accuracy=0.6), top_k=2)
    assert (strict.outcome, strict.accuracy) == (Outcome.FAILED, 0.5)
    assert strict.measures["R@2"] == 0.5


async def test_what_was_outranked_says_by_what(home: Installation) -> None:
    told = await outcome_of(home, wants(FISH, BySource("docs/dogs.md")), top_k=3)
    assert (told.outcome, told.cause, told.accuracy) == (Outcome.FAILED, "outranked", 0.0)
    assert told.message.startswith("docs/dogs.md: it ranks ")
    assert told.sought[0].ahead == tuple(hit.chunk_id for hit in told.found)


async def test_what_is_below_the_threshold_or_filtered_says_so(home: Installation) -> None:
    dogs = BySource("docs/dogs.md")
    below = await outcome_of(home, wants(FISH, dogs, similarity=0.9))
    assert (below.cause, below.min_similarity_score) == ("below_threshold", 0.9)
    filtered = await outcome_of(home, wants("dogs run", dogs, where=("source_path^=docs/more",)))
    assert filtered.cause == "filtered"


async def test_a_near_copy_that_is_shown_instead_is_named(home: Installation) -> None:
    copies = [BySource(f"docs/copy-{which}.md") for which in "ab"]
    text = "the same long words about many green parrots"
    told = [
        await outcome_of(home, wants(text, copy), top_k=1, collapse=Collapse.OFF) for copy in copies
    ]
    missing = next(one for one in told if one.outcome is Outcome.FAILED)
    assert missing.cause == "duplicate"
    assert missing.sought[0].ahead == (missing.found[0].chunk_id,)


async def test_what_is_not_there_any_more_is_stale_and_no_failure(home: Installation) -> None:
    told = await validate(home, wants(FISH, ByChunk("gone")), wants(FISH, FOOD, ByText("gone")))
    assert [test.outcome for test in told.tests] == [Outcome.STALE, Outcome.STALE]
    assert {test.cause for test in told.tests} == {"stale_label"}
    assert "chunk gone" in told.tests[0].message
    assert told.verdict is Verdict.INCONCLUSIVE
    assert (told.means.judged, told.means.unjudged) == (1, 1)


async def test_a_stale_label_does_not_hide_a_failure(home: Installation) -> None:
    test = wants(FISH, ByChunk("gone"), BySource("docs/dogs.md"))
    assert (await outcome_of(home, test, top_k=1)).outcome is Outcome.FAILED


async def test_an_empty_expectation_is_invalid_and_never_a_pass(home: Installation) -> None:
    told = await validate(home, wants(FISH))
    assert (told.tests[0].outcome, told.tests[0].cause) == (Outcome.INVALID, "empty_expectation")
    assert told.verdict is Verdict.INCONCLUSIVE


async def test_expectations_survive_other_chunks(home: Installation) -> None:
    """The ids change; headings, pages and words do not."""
    tests = [wants(FISH, one) for one in (FOOD, BySource("docs/cats.md"), ByText("eat fish"))]
    long = {"cats.md": PAGES["cats.md"] + "\n\n" + " ".join(f"word{n}" for n in range(300)) + "."}
    for pages, size in ((PAGES, 400), (PAGES | long, 32)):
        home.chunker = ChunkerSettings(max_tokens=size)
        await home.ingest(pages, base_url="https://x.org/", rebuild=True)
        told = await validate(home, *tests)
        assert told.verdict is Verdict.PASS, told.tests


# --- negatives --------------------------------------------------------------------------------


async def test_a_negative_passes_when_nothing_reaches_its_threshold(home: Installation) -> None:
    told = await validate(home, refuses("zebra quantum", 0.99), refuses(FISH, 0.2))
    assert [test.outcome for test in told.tests] == [Outcome.PASSED, Outcome.FAILED]
    assert told.tests[1].cause == "answered"
    assert "reaches the threshold" in told.tests[1].message
    assert (told.negatives.total, told.negatives.accepted) == (2, 1)
    assert told.means.judged == 0


async def test_a_negative_without_a_threshold_goes_by_the_calibration(home: Installation) -> None:
    told = await outcome_of(home, refuses(FISH))
    assert (told.outcome, told.cause) == (Outcome.FAILED, "answered")
    thin = await outcome_of(home, refuses("zebra quantum lasagne"))
    assert (thin.outcome, thin.cause) == (Outcome.PASSED, "")
    lexical = await outcome_of(home, refuses(FISH), mode=Mode.LEXICAL)
    assert (lexical.outcome, lexical.cause) == (Outcome.INVALID, "no_threshold")


# --- the run ----------------------------------------------------------------------------------


async def test_plain_questions_are_asked_and_counted(home: Installation) -> None:
    golden = read_questions("questions.txt", b"cats\nfish\n")
    told = await Validator(home.readers, home.searcher, "test").run(golden)
    assert (told.totals.passed, told.means.judged, told.means.unjudged) == (2, 0, 2)
    assert (told.integrity.hits, told.integrity.complete) == (10, 10)
    assert 0 < told.integrity.mean_similarity <= 1
    assert told.verdict is Verdict.PASS
    published = validation_report_of(told)
    assert published.errors == []
    assert "✅ All validations passed successfully!" in published.to_summary()
    assert published.metadata_completeness == 1.0
    assert published.collection_stats["vector_count"] == 15


async def test_the_published_report_has_the_published_stats(home: Installation) -> None:
    stats = validation_report_of(await validate(home)).collection_stats
    assert {name: type(value) for name, value in stats.items()} == {
        "collection_name": str,
        "vector_count": int,
        "vector_dim": int,
        "distance": str,
        "indexed": bool,
        "collection_exists": bool,
    }


async def test_no_queries_give_a_report(home: Installation) -> None:
    told = await validate(home)
    assert told.verdict is Verdict.INCONCLUSIVE
    summary = validation_report_of(told).to_summary()
    assert "Total Queries: 0" in summary
    assert "All validations passed" not in summary


async def test_how_it_is_asked_is_settled_by_the_caller_then_the_file(home: Installation) -> None:
    validator = Validator(home.readers, home.searcher, "test")
    golden = GoldenSet("g", (wants(FISH, FOOD),), top_k=2, mode=Mode.DENSE)
    by_file = await validator.run(golden)
    assert (by_file.subject.top_k, by_file.subject.mode) == (2, Mode.DENSE)
    by_caller = await validator.run(golden, RunRequest(top_k=3, mode=Mode.LEXICAL))
    assert (by_caller.subject.top_k, by_caller.subject.mode) == (3, Mode.LEXICAL)
    usual = await validator.run(replace(golden, top_k=None, mode=None))
    assert (usual.subject.top_k, usual.subject.mode) == (5, Mode.HYBRID)
    assert list(usual.means.values) == ["nDCG@5", "R@5", "P@5", "hit@5", "MRR", "MAP"]


async def test_measures_and_gates_must_fit_the_number_of_results(home: Installation) -> None:
    validator = Validator(home.readers, home.searcher, "test")
    golden = GoldenSet(
        "g",
        (wants(FISH, FOOD),),
        measures=(Measure.parse("MRR"),),
        gates=(QualityRule.parse(RuleSeverity.FAIL, "R@3 < 0.5"),),
    )
    told = await validator.run(golden)
    assert list(told.means.values) == ["MRR", "R@3"]
    with pytest.raises(InputError, match="R@3 needs 3 results, but top_k is 2; set top_k to 3"):
        await validator.run(golden, RunRequest(top_k=2))
    written = b"top_k: 2\nmeasures: [MRR]\nwarn_if:\n  - R@3 < 0.5\ntests: []"
    with pytest.raises(InputError, match=r"^golden\.yaml, line 4: R@3 needs 3 results"):
        await validator.run(read_golden_yaml("golden.yaml", written))
    with pytest.raises(InputError, match="top_k must be between 1 and 1000, not 0"):
        await validator.run(golden, RunRequest(top_k=0))
    with pytest.raises(InputError, match="concurrency must be between 1 and 64, not 65"):
        await validator.run(golden, RunRequest(concurrency=65))
    with pytest.raises(UnknownCollection):
        await validator.run(golden, RunRequest(collection="nothing"))


async def test_any_concurrency_gives_the_same_report(home: Installation) -> None:
    tests = [
        wants(f"{FISH} topic {number}", BySource(f"docs/more/{number}.md")) for number in range(10)
    ]
    one, many = [await validate(home, *tests, concurrency=count) for count in (1, 8)]

    def timeless(told: Report) -> list[TestOutcome]:
        return [replace(test, latency_ms=None, executed_at=None) for test in told.tests]

    assert timeless(one) == timeless(many)
    assert one.golden_digest == many.golden_digest
    assert (one.latency.concurrency, many.latency.concurrency) == (1, 8)


async def test_progress_is_reported(home: Installation) -> None:
    seen: list[tuple[int, int]] = []
    golden = GoldenSet("g", (wants(FISH, FOOD), wants("dogs", FOOD)))
    validator = Validator(home.readers, home.searcher, "test")
    await validator.run(golden, None, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


# --- the starter set --------------------------------------------------------------------------


async def starters(home: Installation, most: int = MAX_STARTERS) -> GoldenSet:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        return await starter_set(generation.catalog, most)


async def test_a_collection_gives_its_own_tests(home: Installation) -> None:
    golden = await starters(home)
    questions = [test.query_text for test in golden.tests]
    assert "Cats: Food" in questions
    assert "Cats" in questions
    assert "Copy" not in questions  # two pages bear that name
    told = await Validator(home.readers, home.searcher, "test").run(golden)
    assert told.totals.total == len(questions) == 13
    assert told.totals.stale == 0
    assert told.verdict is Verdict.PASS


async def test_a_large_collection_gives_an_even_few(home: Installation) -> None:
    everything, some = await starters(home), await starters(home, 4)
    assert len(some.tests) == 4
    assert {test.query_text for test in some.tests} < {test.query_text for test in everything.tests}
    assert some == await starters(home, 4)
