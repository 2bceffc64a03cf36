"""Equal passages are folded for users, and so they are for tests: whose twin is shown is found."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from surefind.evaluation.golden.expectations import ByChunk, BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, read_golden_yaml
from surefind.evaluation.golden.resolution import ResolvedExpectations
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.judging import judge
from surefind.evaluation.report.report import Outcome, TestOutcome
from surefind.model import Collapse
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

SAME = "# Parrots\n\nthe same long words about many green parrots in a wide forest"
PAGES = {
    "a.md": SAME,
    "b.md": SAME,
    "cats.md": "# Cats\n\ncats sleep in the sunshine",
    **{f"more/{n}.md": f"# Topic {n}\n\ngreen parrots and topic {n}" for n in range(4)},
}
QUESTION = "the same long words about many green parrots"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


async def outcome(home: Installation, path: str, **options: object) -> TestOutcome:
    golden = GoldenSet("g", (GoldenTest("t", QUESTION, expected=(BySource(path),)),), top_k=1)
    validator = Validator(home.readers, home.searcher, "test")
    report = await validator.run(golden, RunRequest(**options))  # type: ignore[arg-type]
    return report.tests[0]


@pytest.mark.parametrize("path", ["docs/a.md", "docs/b.md"])
async def test_who_expects_the_twin_of_what_is_shown_is_served(
    home: Installation, path: str
) -> None:
    told = await outcome(home, path)
    assert (told.outcome, told.accuracy, told.sought[0].rank) == (Outcome.PASSED, 1.0, 1)
    assert len(told.found[0].twins) == 1
    assert told.found[0].labels == ("expected-1",)


async def test_without_folding_the_two_take_a_place_each(home: Installation) -> None:
    told = [await outcome(home, f"docs/{x}.md", collapse=Collapse.OFF) for x in "ab"]
    assert sorted(one.outcome.value for one in told) == ["failed", "passed"]
    assert {one.found[0].twins for one in told} == {()}


async def test_what_is_only_alike_is_a_near_duplicate_that_was_shown_instead(
    home: Installation,
) -> None:
    """Folded with `near`, its own words are not shown: that is a miss, and the cause says so."""
    await home.ingest({**PAGES, "b.md": SAME.replace("forest", "woods")})
    both = [await outcome(home, f"docs/{x}.md", collapse=Collapse.NEAR) for x in "ab"]
    [told] = [one for one in both if one.outcome is Outcome.FAILED]
    assert told.cause == "duplicate"
    assert told.sought[0].ahead == (told.found[0].chunk_id,)
    assert told.message.endswith("is nearly identical and is shown instead")


def test_a_folded_duplicate_counts_at_the_rank_of_its_hit() -> None:
    one, other = ByChunk("a"), ByChunk("b")
    meaning: ResolvedExpectations = {one: frozenset({"a"}), other: frozenset({"b"})}
    test = GoldenTest("t", "What?", expected=(one, other))
    judged = judge(test, meaning, ["x", "a"], [Measure.parse("MRR")], [[], ["b"]])
    assert [sought.rank for sought in judged.sought] == [2, 2]
    assert judged.labels == (("x",), ("a", "b"))
    assert (judged.accuracy, judged.measures["MRR"]) == (1.0, 0.5)


@pytest.mark.parametrize(("written", "meant"), [("off", "off"), ("near", "near"), ("same", "same")])
def test_a_file_may_say_what_is_folded(written: str, meant: str) -> None:
    golden = read_golden_yaml("g.yaml", f"collapse: {written}\ntests: []\n".encode())
    assert golden.collapse is Collapse(meant)
