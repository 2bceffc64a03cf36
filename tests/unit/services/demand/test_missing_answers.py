"""A collection shows what its questions look like when no page answers them."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.model import GapReport, LoggedSearch
from surefind.ports import Embedder
from surefind.services.demand.gaps import GapOptions, find_gaps
from surefind.services.demand.missing_answers import FEWEST_TESTS, MissingAnswers
from unit.installation import Installation

SUBJECTS = [f"{one}{other}" for one in ("tele", "micro", "hydro", "photo", "thermo", "baro")
            for other in ("scope", "graph", "meter", "phone", "stat", "gauge")]  # fmt: skip
NOW = datetime.now(UTC)


def page_about(subject: str) -> str:
    return (
        f"# The {subject}\n\nEvery {subject} has a serial number on its back.\n\n"
        f"## Calibrating a {subject}\n\nTo calibrate the {subject}, hold its button.\n\n"
        f"## Cleaning a {subject}\n\nTo clean the {subject}, use a dry cloth.\n"
    )


def question(subject: str) -> str:
    return f"Calibrating a {subject}"


PAGES: Mapping[str, str] = {f"{subject}.md": page_about(subject) for subject in SUBJECTS}
TESTS = [
    GoldenTest(subject, question(subject), expected=(BySource(f"docs/{subject}.md"),))
    for subject in SUBJECTS
]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def missing_answers(home: Installation) -> MissingAnswers:
    return MissingAnswers(home.searcher, home.terms, "docs")


async def test_a_question_whose_page_is_missing_looks_unanswered(home: Installation) -> None:
    missing = missing_answers(home)
    assert await missing.learn(TESTS)
    alarms = [one for one in SUBJECTS if await missing.looks_unanswered(question(one))]
    assert not alarms
    for subject in ("zoetrope", "gyroscope"):
        assert await missing.looks_unanswered(question(subject))


async def test_a_few_questions_teach_nothing(home: Installation) -> None:
    assert not await missing_answers(home).learn(TESTS[: FEWEST_TESTS - 1])
    assert not await missing_answers(home).learn([])


def logged(text: str, confidence: float) -> LoggedSearch:
    return LoggedSearch(NOW, "docs", text, "hybrid", 5, confidence, 0.8)


async def reported(
    home: Installation, missing: MissingAnswers | None, *searches: LoggedSearch
) -> GapReport:
    async def embedder() -> Embedder:
        return home.embedder

    options = GapOptions(NOW - timedelta(days=1), NOW)
    return await find_gaps("docs", searches, embedder, options, missing)


async def test_possible_gaps_are_listed_beside_those_with_thin_evidence(
    home: Installation,
) -> None:
    missing = missing_answers(home)
    await missing.learn(TESTS)
    known, unknown = f"{question(SUBJECTS[0])} by its button", question("zoetrope")
    searches = (logged("who is there", 0.1), logged(known, 0.9), *[logged(unknown, 0.9)] * 2)
    report = await reported(home, missing, *searches)
    assert [gap.questions for gap in report.gaps] == [("who is there",)]
    assert [(gap.questions, gap.count) for gap in report.possible] == [((unknown,), 2)]
    assert report.thin == 1
    assert (await reported(home, None, *searches)).possible == ()


async def test_a_question_without_hits_is_not_a_failure(home: Installation) -> None:
    missing = missing_answers(home)
    nowhere = GoldenTest("x", "?!", expected=(BySource("docs/x.md"),), where=("source_path=x",))
    assert await missing.learn([*TESTS, nowhere])
    assert await missing.looks_unanswered("zoetrope ?")
