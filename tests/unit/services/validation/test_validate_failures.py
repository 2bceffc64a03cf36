"""What fails in a validation is told, and leaves what was measured."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from support.fakes import ForgetfulIndexStore, MemoryCatalogStore, MemoryIndexStore
from surefind.adapters.files.checksums import Checksums
from surefind.contracts.validation_run import validation_report_of
from surefind.errors import StoreChanged, StoreError
from surefind.evaluation.golden.expectations import BySource, ByText
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.report import Outcome
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import Query, SearchResult
from surefind.services.generations.readers import OpenGeneration, Readers
from surefind.services.search.candidates import EncodedQuery
from surefind.services.search.search import Searcher
from surefind.services.search.why_not import Cause, Explainer
from surefind.services.validation.run_request import RunRequest
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


async def test_a_store_that_is_unavailable_from_the_start(home: Installation) -> None:
    searcher = Moody(home.searcher, "", StoreError("the index is away"))
    told = await validate(home, wants(FISH, FOOD), searcher=searcher)
    assert told.store_away
    assert validation_report_of(told).avg_query_time > 0


async def test_a_stopped_run_reports_what_it_found(home: Installation) -> None:
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
    assert (told.interrupted, told.verdict) == ("stopped", Verdict.INCONCLUSIVE)


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
    assert told.interrupted == "generation 2 replaced generation 1 during the run"
    assert (told.totals.not_run, told.store_away) == (1, False)


async def test_causes_that_can_not_be_found_out_do_not_stop_the_run(home: Installation) -> None:
    class Dying(Searcher):
        """Answers the test, and not the question why."""

        def __init__(self, inner: Searcher) -> None:
            self.__dict__.update(inner.__dict__)
            self.asked = 0

        async def encode(
            self, query: Query, generations: Mapping[str, OpenGeneration]
        ) -> EncodedQuery:
            self.asked += 1
            if self.asked > 1:
                raise StoreError("the index is away")
            return await super().encode(query, generations)

    test = wants(FISH, BySource("docs/dogs.md"))
    told = await outcome_of(home, test, searcher=Dying(home.searcher), top_k=1)
    assert (told.outcome, told.cause) == (Outcome.FAILED, "error")
    assert "no explanation available: the index is away" in told.message


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
    Checksums(path, path.with_suffix(".checksums")).write()  # a file that no reader refuses
    again = Installation(tmp_path / "data")
    with pytest.raises(StoreChanged, match=rf"{found.chunk_id} is damaged .*surefind ingest"):
        await validate(again, wants(FISH, BySource("docs/cats.md")))
    await again.close()


async def test_losses_of_the_approximate_index_are_distinguished_from_outranked_passages(
    tmp_path: Path,
) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = ForgetfulIndexStore("Dogs"), MemoryCatalogStore()
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    told = await outcome_of(home, wants("dogs run in the rain", BySource("docs/dogs.md")))
    assert (told.outcome, told.cause) == (Outcome.FAILED, "lost")


async def test_without_a_catalog_expectations_can_not_be_resolved(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    catalogs = MemoryCatalogStore()
    home.index, home.catalogs = MemoryIndexStore(), catalogs
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    catalogs.away = True
    with pytest.raises(StoreError, match="catalog is unavailable, and this request needs it"):
        await validate(home, wants(FISH, FOOD))
    plain = await validate(home, GoldenTest("q", FISH, TestKind.QUERY))
    assert plain.verdict is Verdict.PASS


async def test_a_hit_without_a_row_in_the_catalog_fails_its_test(tmp_path: Path) -> None:
    """The index's own payload stands in for the row, so a search alone does not show it."""
    home = Installation(tmp_path / "memory")
    catalogs = MemoryCatalogStore()
    home.index, home.catalogs = MemoryIndexStore(), catalogs
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    [pages] = catalogs.documents.values()
    pages["docs/dogs.md"] = (pages["docs/dogs.md"][0], [])
    dogs = "dogs run in the rain"
    tests = (
        wants(FISH, ByText(FISH)),
        GoldenTest("dogs", dogs, TestKind.QUERY),
        refuses(dogs, similarity=0.1),
    )
    gates = (QualityRule.parse(RuleSeverity.FAIL, "pass_rate < 0.1"),)
    golden = GoldenSet("golden", tests, (Measure.parse("MRR"),), gates, top_k=1)
    report = await Validator(home.readers, home.searcher, "test").run(golden)
    assert [test.outcome.value for test in report.tests] == ["passed", "failed", "failed"]
    assert {test.cause for test in report.tests[1:]} == {"catalog_row_missing"}
    assert "is in the index but not in the catalog" in report.tests[1].message
    [missing] = report.integrity.uncatalogued
    assert report.verdict is Verdict.FAIL
    assert f"the catalog has no row for 1 chunk of the hits: {missing}" in report.reasons
    await home.close()


async def test_a_chunk_that_has_left_meanwhile_is_absent(home: Installation) -> None:
    explainer = Explainer(home.readers, home.searcher)
    result = await home.searcher.search(Query(FISH))
    answer = await explainer.why_none_of(result, "chunk gone", {"gone"})
    assert (answer.cause, answer.message) == (
        Cause.ABSENT,
        "the collection no longer contains chunk gone",
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


@pytest.mark.parametrize("answered", [1, 2, 3])
async def test_a_stop_whose_cancellation_got_lost_ends_the_run(
    home: Installation, answered: int
) -> None:
    """Also one that comes with the last answer: the run is no baseline then."""
    done: list[int] = []
    golden = GoldenSet("a.yaml", (*(wants(f"{FISH} {number}", FOOD) for number in range(3)),))
    options = RunRequest(concurrency=1, stop_requested=lambda: len(done) >= answered)
    validator = Validator(home.readers, home.searcher, "test")
    told = await validator.run(golden, options, lambda count, _total: done.append(count))
    assert (told.totals.passed, told.totals.not_run) == (answered, 3 - answered)
    assert (told.interrupted, told.verdict) == ("stopped", Verdict.INCONCLUSIVE)


async def test_a_stop_while_the_index_is_measured_is_not_lost(home: Installation) -> None:
    """The tests are done by then, and only the meter is left to ask the index."""
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 2  # before the first question, and after it

    golden = GoldenSet("a.yaml", (wants(FISH, FOOD),))
    options = RunRequest(index_recall=True, stop_requested=stopped)
    told = await Validator(home.readers, home.searcher, "test").run(golden, options)
    assert (told.totals.passed, told.interrupted) == (1, "stopped")


async def test_a_stop_before_the_first_question_has_no_report(home: Installation) -> None:
    golden = GoldenSet("a.yaml", (wants(FISH, FOOD),))
    asked: list[int] = []
    validator = Validator(home.readers, home.searcher, "test")
    with pytest.raises(asyncio.CancelledError):
        await validator.run(
            golden,
            RunRequest(stop_requested=lambda: True),
            lambda count, _total: asked.append(count),
        )
    assert asked == []


async def test_the_published_report_names_the_first_fifty_errors(home: Installation) -> None:
    tests = [wants("x" * (3000 + number), FOOD) for number in range(60)]
    lines = validation_report_of(await validate(home, *tests)).errors
    assert lines[50:] == ["and 10 more", "fail: 60 queries could not be answered"]
