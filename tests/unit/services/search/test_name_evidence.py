"""The words of a query, which say more about the evidence than the similarity."""

from pathlib import Path

import pytest

from surefind.model import Confidence, Evidence
from surefind.services.encoding.confidence import judge
from surefind.services.encoding.name_evidence import with_words
from unit.installation import Installation

PAGES = {
    f"page-{number}.md": f"# Part {number}\n\nThe pump of part {number} runs, as max_flow shows.\n"
    for number in range(8)
} | {
    "errors.md": "# E04: no answer\n\nThe wires are loose, or the boiler is off.\n",
    "install.md": "# Install Ember\n\nPut the controller on the wall, then switch Ember on.\n",
}


async def evidence(home: Installation, question: str) -> tuple[Confidence, Confidence]:
    """By the similarity alone, and with the names in the question."""
    result = await home.search(question)
    [manifest] = await home.generations.list()
    plain = judge(manifest.calibration, result.best_similarity)
    assert plain is not None
    assert result.confidence is not None
    return plain, result.confidence


@pytest.fixture
async def home(tmp_path: Path) -> Installation:
    home = Installation(tmp_path / "data")
    await home.ingest(PAGES)
    return home


async def test_a_rare_code_in_a_hit_is_evidence(home: Installation) -> None:
    plain, named = await evidence(home, "what should I do about E04 in my cellar?")
    assert named.value > plain.value
    assert named.threshold == plain.threshold


async def test_a_frequent_code_does_not_count(home: Installation) -> None:
    plain, named = await evidence(home, "what should I do about max_flow in my cellar?")
    assert named == plain


@pytest.mark.parametrize("name", ["Kubernetes", "E99", "min_flow", "PumpFactory"])
async def test_a_name_that_does_not_occur_is_evidence_against_an_answer(
    home: Installation, name: str
) -> None:
    plain, named = await evidence(home, f"install {name} on the wall")
    assert named.value < plain.value


@pytest.mark.parametrize(
    "question",
    [
        "install Ember on the wall",
        "How Do I Install Anything",
        "install something on the wall",
        "Put the controller on the wall",
        "install it on the wall, The end",
    ],
)
async def test_other_words_change_nothing(home: Installation, question: str) -> None:
    plain, named = await evidence(home, question)
    assert named == plain


async def test_an_absent_name_does_not_outweigh_a_passage_that_says_the_same(
    home: Installation,
) -> None:
    question = "Put the controller on the wall, then switch Umber on."
    _, named = await evidence(home, question)
    assert named.evidence is not Evidence.THIN


async def shifted_from_even(home: Installation, question: str) -> float:
    """The value of a confidence of 0.5 after the words of the question."""
    result = await home.search(question)
    async with home.reader.lease() as generation:
        indexes = [(generation.index, generation.manifest.chunks)]
        even = Confidence(0.5, Evidence.FAIR, 0.7)
        found = await with_words(even, question, result.hits, indexes, home.terms, ["en"])
    return found.value


async def test_capitals_that_no_hit_has_are_evidence_against(home: Installation) -> None:
    one = await shifted_from_even(home, "is the PUMP of part 3 loose?")
    two = await shifted_from_even(home, "is the PUMP of PART 3 loose?")
    assert two < one < 0.5
    assert await shifted_from_even(home, "is the pump of part 3 loose?") == 0.5
    assert await shifted_from_even(home, "IS THE PUMP OF PART 3 LOOSE?") == 0.5
    await home.ingest({**PAGES, "sql.md": "# Queries\n\nRun SELECT on the table of pumps.\n"})
    assert await shifted_from_even(home, "can I run SELECT on a table?") == 0.5


async def test_few_words_in_common_with_the_hits_are_evidence_against(home: Installation) -> None:
    """Words that no passage has do not count: the question may be in another language."""
    assert await shifted_from_even(home, "wires boiler controller wall pump runs") < 0.5
    assert await shifted_from_even(home, "wires boiler pump") == 0.5
    assert await shifted_from_even(home, "wo sind denn hier boiler wires") == 0.5
    assert await shifted_from_even(home, "boiler") == 0.5
