"""A load: stalls must show in the percentiles, and failures in the verdict."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.fakes import WordEmbedder
from surefind.errors import EmbeddingError, InputError, Overloaded
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, TestKind
from surefind.evaluation.measures.latency import UNANSWERED, LoadResult, SentRequest, load_of
from surefind.evaluation.report.report import Report
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.reports.json_report import read_report, report_text
from surefind.interfaces.reports.terminal import terminal
from surefind.model import Query, SearchResult, Status, Timings
from surefind.ports import Vector
from surefind.services.search.search import Searcher
from surefind.services.validation.extra.load_test import LoadOptions, LoadStopped, run_load_test
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

QUERIES = [Query("one"), Query("two")]


class Server:
    """Answers at once, but for a stall that begins with one of the searches."""

    def __init__(self, stall_at: int | None = None, stall_s: float = 0.0) -> None:
        self.asked: list[str] = []
        self._stall_at = stall_at
        self._stall_s = stall_s
        self._free = asyncio.Event()
        self._free.set()

    async def search(self, query: Query) -> SearchResult:
        self.asked.append(query.text)
        if len(self.asked) == self._stall_at:
            self._free.clear()
            asyncio.get_running_loop().call_later(self._stall_s, self._free.set)
        await self._free.wait()
        await asyncio.sleep(0.001)
        return SearchResult(query, (), Status.NO_RESULTS, None, 1, 0, Timings(0, 0, 0, 0, 0))


def answered(dues_and_ends: Sequence[tuple[float, float]]) -> list[SentRequest]:
    return [SentRequest(due, end) for due, end in dues_and_ends]


# --- counting ---------------------------------------------------------------------------------


def test_latency_begins_when_a_request_was_due() -> None:
    """Ten a second; the server stalls for half a second, and all who came meanwhile waited."""
    dues = [number / 10 for number in range(20)]
    sent = [
        SentRequest(due, max(due + 0.01, 1.0) if 0.5 <= due < 1.0 else due + 0.01) for due in dues
    ]
    told = load_of(sent, 1, 2.0, 10.0)
    assert told.max_ms == pytest.approx(500)
    assert told.p95_ms > 300
    assert told.p50_ms == pytest.approx(10)
    assert (told.implied, told.achieved_per_s) == (0, 10.0)


def test_without_a_rate_a_stall_counts_for_the_requests_it_delayed() -> None:
    """99 answers in 10 ms and one in a second: a steady user would have asked 99 times more."""
    quick = answered([(number / 100, number / 100 + 0.01) for number in range(99)])
    told = load_of([*quick, SentRequest(0.99, 1.99)], 1, 2.0, None)
    assert told.sent == 100
    assert 95 <= told.implied <= 99
    assert told.p50_ms == pytest.approx(10, abs=15)
    assert told.p95_ms > 800
    assert told.max_ms == pytest.approx(1000)


def test_without_requests_there_are_no_latencies() -> None:
    told = load_of([], 1, 1.0, 5.0)
    assert (told.sent, told.p99_ms, told.error_rate, told.achieved_per_s) == (0, 0.0, 0.0, 0.0)


def test_a_server_without_latency_implies_nothing() -> None:
    assert load_of(answered([(0.0, 0.0)] * 3), 1, 1.0, None).implied == 0


# --- running ----------------------------------------------------------------------------------


async def test_at_a_rate_a_stall_shows_in_the_percentiles() -> None:
    """Two at a time, 200 a second for .3 s, and the tenth search blocks everything for .2 s."""
    server = Server(stall_at=10, stall_s=0.2)
    told = await run_load_test(server.search, QUERIES, LoadOptions(0.3, 200.0), concurrency=2)
    assert (told.sent, told.answered, told.errors) == (60, 60, {})
    assert told.max_ms >= 150
    assert told.p95_ms >= 100
    assert server.asked.count("one") == server.asked.count("two") == 30


async def test_as_fast_as_they_are_answered_a_stall_shows_too() -> None:
    server = Server(stall_at=20, stall_s=0.2)
    told = await run_load_test(server.search, QUERIES, LoadOptions(0.3), concurrency=2)
    assert told.offered_per_s is None
    assert told.implied > 0
    assert told.p95_ms >= 50


async def test_what_is_never_answered_is_an_error_that_waited() -> None:
    server = Server(stall_at=3, stall_s=60.0)
    told = await run_load_test(
        server.search, QUERIES, LoadOptions(0.05, 200.0, 0.05), concurrency=2
    )
    assert (told.sent, told.answered) == (10, 2)
    assert told.errors == {UNANSWERED: 8}
    assert told.max_ms >= 50
    closed = await run_load_test(
        server.search, QUERIES, LoadOptions(0.05, grace_s=0.05), concurrency=2
    )
    assert closed.errors == {UNANSWERED: 2}


async def test_failures_are_counted_by_kind_and_stop_nothing() -> None:
    async def search(query: Query) -> SearchResult:
        await asyncio.sleep(0)
        raise Overloaded("full") if query.text == "one" else EmbeddingError("away")

    told = await run_load_test(search, QUERIES, LoadOptions(0.05, 200.0), concurrency=1)
    assert told.errors == {"EmbeddingError": 5, "Overloaded": 5}
    assert told.error_rate == 1.0


async def test_a_bug_is_not_counted_as_a_failure_of_the_server() -> None:
    async def search(_query: Query) -> SearchResult:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_load_test(search, QUERIES, LoadOptions(0.02), concurrency=1)


@pytest.mark.parametrize(
    ("duration_s", "rate", "message"),
    [
        (0.0, None, "duration"),
        (float("nan"), None, "duration"),
        (3601.0, None, "duration"),
        (1.0, 0.0, "rate"),
        (1.0, -5.0, "rate"),
        (3600.0, 100_000.0, "360,000,000 searches"),
    ],
)
def test_what_can_not_be_put_on_is_refused(
    duration_s: float, rate: float | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        LoadOptions(duration_s, rate)


# --- as a validation --------------------------------------------------------------------------

PAGES = {"cats.md": "# Cats\n\nall about cats"}


async def loaded(
    home: Installation,
    *rules: str,
    under_load: Searcher | None = None,
    duration_s: float = 0.05,
    partial: bool = True,
) -> Report:
    golden = GoldenSet(
        "golden.yaml",
        (GoldenTest("cats", "cats", TestKind.QUERY),),
        gates=tuple(QualityRule.parse(RuleSeverity.FAIL, rule) for rule in rules),
    )
    validator = Validator(home.readers, home.searcher, "test", under_load)
    options = RunRequest(
        concurrency=2, load=LoadOptions(duration_s, rate_per_s=100.0), partial=partial
    )
    return await validator.run(golden, options)


class Refusing(WordEmbedder):
    async def embed_query(self, query: str) -> Vector:
        raise EmbeddingError("too busy")


async def test_limits_of_the_file_speak_of_the_load(home: Installation) -> None:
    await home.ingest(PAGES)
    fine = await loaded(home, "p99_ms > 60000", "error_rate > 0")
    assert fine.verdict is Verdict.PASS
    assert isinstance(fine.load, LoadResult)
    assert fine.gates[0].value == fine.load.p99_ms
    slow = await loaded(home, "max_ms > 0.0001")
    assert slow.verdict is Verdict.FAIL


async def test_errors_under_load_fail_a_run_unless_the_file_allows_some(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    refusing = Searcher(home.readers, Refusing(), home.terms)
    told = await loaded(home, under_load=refusing)
    assert told.verdict is Verdict.FAIL
    assert told.reasons == ("5 of 5 searches under load failed: 5 EmbeddingError",)
    allowed = await loaded(home, "error_rate > 1", under_load=refusing)
    assert allowed.verdict is Verdict.PASS


async def test_a_load_test_needs_questions(home: Installation) -> None:
    await home.ingest(PAGES)
    validator = Validator(home.readers, home.searcher, "test")
    golden = GoldenSet("golden.yaml", (GoldenTest("cats", "cats", TestKind.QUERY),))
    with pytest.raises(InputError, match="no queries for a load test"):
        await validator.run(replace(golden, tests=()), RunRequest(load=LoadOptions(1.0)))
    with pytest.raises(InputError, match="false_accept_cost"):
        await validator.run(golden, RunRequest(false_accept_cost=0.0))


class Waiting(WordEmbedder):
    """Answers the first few questions, and then none any more."""

    def __init__(self, answered: int = 0) -> None:
        super().__init__()
        self.stuck = asyncio.Event()
        self._left = answered

    async def embed_query(self, query: str) -> Vector:
        if self._left:
            self._left -= 1
            return await super().embed_query(query)
        self.stuck.set()
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_stopped_load_reports_what_it_measured(home: Installation) -> None:
    """What was still waited for is no error: it was not given the time."""
    await home.ingest(PAGES)
    waiting = Waiting(answered=3)
    searcher = Searcher(home.readers, waiting, home.terms)
    run = asyncio.create_task(loaded(home, under_load=searcher, duration_s=3000.0))
    await waiting.stuck.wait()
    run.cancel()
    told = await run
    assert told.totals.passed == 1
    assert re.fullmatch(r"load test stopped after \d+\.\d of 3000 s", told.interrupted)
    assert told.reasons == (f"the run ended early: {told.interrupted}",)
    assert told.verdict is Verdict.INCONCLUSIVE
    load = told.load
    assert load is not None
    assert (load.answered, load.errors) == (3, {})
    assert load.waiting == load.sent - 3 > 0
    assert 0 < load.duration_s < 60
    assert f"unanswered when stopped: {load.waiting}" in terminal(told)
    assert read_report("r", report_text(told).encode()) == told


async def test_a_load_that_is_stopped_has_what_was_due_until_then() -> None:
    """A hundred a second, two at a time, and the third search hangs: the others queue up."""
    server = Server(stall_at=3, stall_s=3600.0)
    run = asyncio.create_task(
        run_load_test(server.search, QUERIES, LoadOptions(600.0, 100.0), concurrency=2)
    )
    await asyncio.sleep(0.25)
    run.cancel()
    with pytest.raises(LoadStopped) as stopped:
        await run
    told = stopped.value.load
    assert (told.answered, told.errors) == (2, {})
    assert told.sent == pytest.approx(100 * told.duration_s, abs=2)
    assert told.max_ms >= 150
    eager = asyncio.create_task(
        run_load_test(server.search, QUERIES, LoadOptions(600.0), concurrency=2)
    )
    await asyncio.sleep(0.01)
    eager.cancel()
    with pytest.raises(LoadStopped) as stopped:
        await eager
    assert (stopped.value.load.sent, stopped.value.load.waiting) == (2, 2)


async def test_a_load_that_may_not_be_stopped_halfway_is_cancelled(home: Installation) -> None:
    await home.ingest(PAGES)
    waiting = Waiting()
    searcher = Searcher(home.readers, waiting, home.terms)
    run = asyncio.create_task(loaded(home, under_load=searcher, partial=False))
    await waiting.stuck.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
