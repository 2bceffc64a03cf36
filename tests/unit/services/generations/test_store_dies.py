"""The real engine, which dies in the middle of a validation: what was measured is kept."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.fakes import FaultyIndexStore
from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.report.report import Outcome, Report
from surefind.evaluation.statistics.significance import Verdict
from surefind.interfaces.cli.validation.validate import _exit_code
from surefind.interfaces.failures import UNAVAILABLE
from surefind.model import Mode
from surefind.services.generations.readers import Readers
from surefind.services.validation.extra.load_test import LoadOptions
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

NUMBERS = range(12)
PAGES = {f"{number}.md": f"# Page {number}\n\nall about number {number}" for number in NUMBERS}
GOLDEN = GoldenSet(
    "golden.yaml",
    tuple(
        GoldenTest(f"t{number}", f"number {number}", expected=(BySource(f"docs/{number}.md"),))
        for number in NUMBERS
    ),
    top_k=12,
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    installation.index = FaultyIndexStore(installation.index)
    installation.readers = Readers(installation.index, installation.catalogs)
    yield installation
    await installation.close()


async def validated(home: Installation, searches: int, **options: object) -> Report:
    assert isinstance(home.index, FaultyIndexStore)
    home.index.left = searches + 1  # each finds all points, and the first has to name them
    validator = Validator(home.readers, home.searcher, "test")
    wanted = RunRequest(concurrency=1, mode=Mode.DENSE, **options)  # type: ignore[arg-type]
    return await validator.run(GOLDEN, wanted)


async def test_the_tests_until_then_are_reported_and_the_rest_is_not_run(
    home: Installation,
) -> None:
    told = await validated(home, searches=5)
    outcomes = [test.outcome for test in told.tests]
    assert outcomes[:5] == [Outcome.PASSED] * 5
    assert outcomes[5:8] == [Outcome.ERROR] * 3
    assert outcomes[8:] == [Outcome.NOT_RUN] * 4
    assert (told.store_away, told.verdict, _exit_code(told)) == (
        True,
        Verdict.INCONCLUSIVE,
        UNAVAILABLE,
    )
    assert told.reasons[-1].startswith("the run ended early, 4 of 12 tests not run: ")
    assert (told.means.judged, len(told.means.failed)) == (8, 3)
    assert told.latency.searches == 5


async def test_a_store_that_dies_after_the_tests_leaves_them_standing(home: Installation) -> None:
    assert isinstance(home.index, FaultyIndexStore)
    home.index.loses = lambda _point: False
    told = await validated(home, searches=len(NUMBERS) + 2, index_recall=True)
    assert told.totals.passed == len(NUMBERS)
    assert told.index_recall is None
    assert (told.store_away, told.verdict, _exit_code(told)) == (
        True,
        Verdict.INCONCLUSIVE,
        UNAVAILABLE,
    )


async def test_a_store_that_dies_under_load_is_errors_of_the_load(home: Installation) -> None:
    told = await validated(home, searches=len(NUMBERS) + 2, load=LoadOptions(0.05, 200.0))
    assert told.load is not None
    assert told.load.errors == {"StoreError": 8}
    assert told.load.answered == 2
    assert told.verdict is Verdict.FAIL
