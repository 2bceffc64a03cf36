"""Golden tests and questions on a whole installation: outcomes, causes, verdicts."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import MemoryCatalogStore, MemoryIndex, MemoryIndexStore
from surefind.contracts.validation_run import validation_report_of
from surefind.errors import InputError, StoreError, UnknownCollection
from surefind.evaluation.expectations import (
    ByAddress,
    ByChunk,
    BySource,
    ByText,
    Expectation,
)
from surefind.evaluation.gates import Gate, Severity
from surefind.evaluation.golden import (
    GoldenSet,
    GoldenTest,
    SuccessCriteria,
    TestKind,
    read_questions,
)
from surefind.evaluation.metrics import Measure
from surefind.evaluation.report import Outcome, Report, TestOutcome
from surefind.evaluation.statistics import Verdict
from surefind.model import (
    ChunkerSettings,
    Collapse,
    GenerationRef,
    Mode,
    Query,
    Ranking,
    SearchResult,
)
from surefind.ports import DenseProbe, TermProbe
from surefind.services.candidates import Question
from surefind.services.reading import OpenGeneration, Readers
from surefind.services.search import Searcher
from surefind.services.starter import MAX_STARTERS, starter_set
from surefind.services.validate import ValidateOptions, Validator
from surefind.services.why_not import Cause, Explainer
from unit.installation import Installation

PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine\n\n## Food\n\ncats eat fish in the morning",
    "dogs.md": "---\nlevel: hard\n---\n# Dogs\n\ndogs run in the rain",
    "copy-a.md": "# Copy\n\nthe same long words about many green parrots in a wide forest",
    "copy-b.md": "# Copy\n\nthe same long words about many green parrots in a wide forest",
    **{f"more/{n}.md": f"# Topic {n}\n\ncats and topic {n}" for n in range(10)},
}
FOOD = ByAddress("https://x.org/cats", "Food")
FISH = "cats eat fish in the morning"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES, base_url="https://x.org/")
    yield installation
    await installation.close()


def wants(
    text: str,
    *expected: Expectation,
    accuracy: float = 1.0,
    similarity: float | None = None,
    where: tuple[str, ...] = (),
) -> GoldenTest:
    criteria = SuccessCriteria(accuracy, similarity)
    return GoldenTest(
        f"{text}/{expected}", text, TestKind.POSITIVE, expected, criteria, where=where
    )


def refuses(text: str, similarity: float | None = None) -> GoldenTest:
    return GoldenTest(text, text, TestKind.NEGATIVE, criteria=SuccessCriteria(1.0, similarity))


async def validate(
    home: Installation, *tests: GoldenTest, searcher: Searcher | None = None, **options: object
) -> Report:
    validator = Validator(home.readers, searcher or home.searcher, "test")
    golden = GoldenSet("golden", tests)
    return await validator.run(golden, ValidateOptions(**options))  # type: ignore[arg-type]


async def outcome_of(
    home: Installation, test: GoldenTest, searcher: Searcher | None = None, **options: object
) -> TestOutcome:
    [outcome] = (await validate(home, test, searcher=searcher, **options)).tests
    return outcome


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
    assert told.message.startswith("docs/dogs.md: it stands at rank ")
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
    assert "is given as an answer" in told.tests[1].message
    assert (told.negatives.total, told.negatives.accepted) == (2, 1)
    assert told.means.judged == 0


async def test_a_negative_without_a_threshold_goes_by_the_calibration(home: Installation) -> None:
    told = await outcome_of(home, refuses(FISH))
    assert (told.outcome, told.cause) == (Outcome.FAILED, "answered")
    thin = await outcome_of(home, refuses("zebra quantum lasagne"))
    assert (thin.outcome, thin.cause) == (Outcome.PASSED, "")
    lexical = await outcome_of(home, refuses(FISH), mode=Mode.LEXICAL)
    assert (lexical.outcome, lexical.cause) == (Outcome.INVALID, "no_threshold")


# --- failures ---------------------------------------------------------------------------------


class Moody(Searcher):
    """Fails for the questions that it was told to fail for."""

    def __init__(self, inner: Searcher, fails: str, error: Exception) -> None:
        self.__dict__.update(inner.__dict__)
        self._fails = fails
        self._error = error

    async def search(self, query: Query) -> SearchResult:
        if self._fails in query.text:
            raise self._error
        return await super().search(query)


async def test_one_of_ten_queries_fails_and_the_run_goes_on(home: Installation) -> None:
    tests = [wants(f"{FISH} {number}", FOOD) for number in range(10)]
    searcher = Moody(home.searcher, "morning 4", StoreError("the index is away"))
    told = await validate(home, *tests, searcher=searcher, concurrency=1)
    assert (told.totals.passed, told.totals.error, told.totals.not_run) == (9, 1, 0)
    assert (told.tests[4].cause, told.tests[4].message) == ("error", "the index is away")
    assert told.tests[4].measures["MRR"] == 0.0
    assert told.means.failed == (tests[4].test_id,)
    assert told.verdict is Verdict.FAIL
    published = validation_report_of(told)
    assert (published.successful_queries, published.failed_queries) == (9, 1)
    assert published.errors[0] == f"Query '{FISH} 4' failed: the index is away"
    assert published.connection_status == "connected"


async def test_a_question_that_can_not_be_asked_is_an_error_with_its_reason(
    home: Installation,
) -> None:
    told = await validate(
        home, wants("x" * 3000, FOOD), wants("a", FOOD, where=("nonsense",)), wants(FISH, FOOD)
    )
    assert [test.outcome for test in told.tests] == [Outcome.ERROR, Outcome.ERROR, Outcome.PASSED]
    assert "3000 characters" in told.tests[0].message
    assert not told.interrupted


async def test_a_store_that_dies_in_the_middle_leaves_what_was_measured(
    home: Installation,
) -> None:
    good = [wants(f"{FISH} {number}", FOOD) for number in range(3)]
    bad = [wants(f"dead {number}", FOOD) for number in range(20)]
    searcher = Moody(home.searcher, "dead", StoreError("the index is away"))
    told = await validate(home, *good, *bad, searcher=searcher, concurrency=2)
    assert told.totals.passed == 3
    assert 3 <= told.totals.error <= 4
    assert told.totals.not_run == 20 - told.totals.error
    assert (told.interrupted, told.store_away) == ("the index is away", True)
    assert told.verdict is Verdict.INCONCLUSIVE
    published = validation_report_of(told)
    assert (published.successful_queries, published.failed_queries) == (3, 20)
    assert published.connection_status == "failed"
    assert published.errors[-1].startswith("inconclusive: the run ended early")


async def test_a_store_that_is_away_from_the_beginning(home: Installation) -> None:
    searcher = Moody(home.searcher, "", StoreError("the index is away"))
    told = await validate(home, wants(FISH, FOOD), searcher=searcher)
    assert told.store_away
    assert validation_report_of(told).avg_query_time > 0


async def test_a_run_that_is_stopped_tells_what_it_found(home: Installation) -> None:
    class Slow(Searcher):
        def __init__(self, inner: Searcher) -> None:
            self.__dict__.update(inner.__dict__)
            self.waits = asyncio.Event()

        async def search(self, query: Query) -> SearchResult:
            if query.text == "wait":
                self.waits.set()
                await asyncio.Event().wait()
            return await super().search(query)

    slow = Slow(home.searcher)
    run = asyncio.create_task(
        validate(home, wants(FISH, FOOD), wants("wait", FOOD), searcher=slow, concurrency=1)
    )
    await slow.waits.wait()
    run.cancel()
    told = await run
    assert [test.outcome for test in told.tests] == [Outcome.PASSED, Outcome.NOT_RUN]
    assert (told.interrupted, told.verdict) == ("it was stopped", Verdict.INCONCLUSIVE)


async def test_a_generation_that_is_published_meanwhile_ends_the_run(home: Installation) -> None:
    class Publishing(Searcher):
        def __init__(self, inner: Searcher) -> None:
            self.__dict__.update(inner.__dict__)

        async def search(self, query: Query) -> SearchResult:
            if query.text == "publish":
                await home.ingest({**PAGES, "new.md": "# New"}, base_url="https://x.org/")
            return await super().search(query)

    tests = [wants(FISH, FOOD), wants("publish", FOOD), wants(FISH, BySource("docs/cats.md"))]
    told = await validate(home, *tests, searcher=Publishing(home.searcher), concurrency=1)
    assert told.interrupted == "generation 2 took the place of 1 while it ran"
    assert (told.totals.not_run, told.store_away) == (1, False)


async def test_causes_that_can_not_be_found_out_do_not_stop_the_run(home: Installation) -> None:
    class Dying(Searcher):
        """Answers the test, and not the question why."""

        def __init__(self, inner: Searcher) -> None:
            self.__dict__.update(inner.__dict__)
            self.asked = 0

        async def question(
            self, query: Query, generations: Mapping[str, OpenGeneration]
        ) -> Question:
            self.asked += 1
            if self.asked > 1:
                raise StoreError("the index is away")
            return await super().question(query, generations)

    test = wants(FISH, BySource("docs/dogs.md"))
    told = await outcome_of(home, test, searcher=Dying(home.searcher), top_k=1)
    assert (told.outcome, told.cause) == (Outcome.FAILED, "error")
    assert "could not be explained: the index is away" in told.message


async def test_a_tampered_chunk_is_named(home: Installation, tmp_path: Path) -> None:
    before = await validate(home, wants(FISH, FOOD))
    assert before.integrity.tampered == ()
    [found] = [hit for hit in before.tests[0].found if hit.section == "Food"]
    await home.close()
    [path] = (tmp_path / "data").rglob("*catalog*.sqlite")
    with sqlite3.connect(path) as database:
        changed = database.execute(
            "UPDATE chunk SET text = replace(text, 'fish', 'fowl') WHERE chunk_id = ?",
            (found.chunk_id,),
        )
        assert changed.rowcount == 1
    database.close()
    again = Installation(tmp_path / "data")
    told = await validate(again, wants(FISH, BySource("docs/cats.md")))
    await again.close()
    assert told.integrity.tampered == (found.chunk_id,)
    assert told.verdict is Verdict.FAIL


class Forgetful(MemoryIndex):
    async def probe(self, probes: Sequence[DenseProbe | TermProbe]) -> list[Ranking]:
        exact = [isinstance(p, DenseProbe) and (p.exact or p.among is not None) for p in probes]
        return [
            ranking if whole else _without_dogs(ranking, self)
            for whole, ranking in zip(exact, await super().probe(probes), strict=True)
        ]


def _without_dogs(ranking: Ranking, index: MemoryIndex) -> Ranking:
    pairs = zip(ranking.points, ranking.scores, strict=True)
    kept = [pair for pair in pairs if index._entries[pair[0]].record.title != "Dogs"]
    return Ranking([point for point, _ in kept], [score for _, score in kept])


class ForgetfulStore(MemoryIndexStore):
    async def open(self, ref: GenerationRef) -> MemoryIndex:
        return Forgetful(self.generations[ref])


async def test_what_the_approximate_index_lost_is_told_from_what_was_outranked(
    tmp_path: Path,
) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = ForgetfulStore(), MemoryCatalogStore()
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    told = await outcome_of(home, wants("dogs run in the rain", BySource("docs/dogs.md")))
    assert (told.outcome, told.cause) == (Outcome.FAILED, "lost")


async def test_without_a_catalog_nobody_knows_what_is_expected(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    catalogs = MemoryCatalogStore()
    home.index, home.catalogs = MemoryIndexStore(), catalogs
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    catalogs.away = True
    with pytest.raises(StoreError, match="catalog is away, and only it knows what the tests"):
        await validate(home, wants(FISH, FOOD))
    plain = await validate(home, GoldenTest("q", FISH, TestKind.QUERY))
    assert plain.verdict is Verdict.PASS


async def test_a_chunk_that_has_left_meanwhile_is_absent(home: Installation) -> None:
    explainer = Explainer(home.readers, home.searcher)
    result = await home.searcher.search(Query(FISH))
    answer = await explainer.why_none_of(result, "chunk gone", {"gone"})
    assert (answer.cause, answer.message) == (
        Cause.ABSENT,
        "the collection no longer holds chunk gone",
    )


async def test_a_second_stop_is_final(home: Installation) -> None:
    waits = asyncio.Event()

    class Stuck(Searcher):
        def __init__(self, inner: Searcher) -> None:
            self.__dict__.update(inner.__dict__)

        async def search(self, query: Query) -> SearchResult:
            waits.set()
            await asyncio.Event().wait()
            raise AssertionError

    run = asyncio.create_task(validate(home, wants(FISH, FOOD), searcher=Stuck(home.searcher)))
    await waits.wait()
    run.cancel()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_the_published_report_names_the_first_fifty_errors(home: Installation) -> None:
    tests = [wants("x" * (3000 + number), FOOD) for number in range(60)]
    lines = validation_report_of(await validate(home, *tests)).errors
    assert lines[50:] == ["and 10 more", "fail: 60 queries could not be answered"]


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
    by_caller = await validator.run(golden, ValidateOptions(top_k=3, mode=Mode.LEXICAL))
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
        gates=(Gate.parse(Severity.FAIL, "R@3 < 0.5"),),
    )
    told = await validator.run(golden)
    assert list(told.means.values) == ["MRR", "R@3"]
    with pytest.raises(InputError, match="R@3 looks at 3 results, and only 2 are asked for"):
        await validator.run(golden, ValidateOptions(top_k=2))
    with pytest.raises(InputError, match="top_k: it is 0"):
        await validator.run(golden, ValidateOptions(top_k=0))
    with pytest.raises(InputError, match="concurrency: it is 65, it must be from 1 to 64"):
        await validator.run(golden, ValidateOptions(concurrency=65))
    with pytest.raises(UnknownCollection):
        await validator.run(golden, ValidateOptions(collection="nothing"))


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


async def test_progress_is_told(home: Installation) -> None:
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
