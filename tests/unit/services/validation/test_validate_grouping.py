"""Judged documents are ranked as documents: a second passage of one takes no rank."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import GoldenSet, read_golden_yaml
from surefind.evaluation.golden.judged_sets import judged_set
from surefind.evaluation.report.report import Report
from surefind.model import Collapse, GroupBy, Mode
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

QUESTION = "cats eat fish"
PAGES = {
    "cats.md": "# Cats\n\ncats eat fish\n\n## A\n\ncats eat fish too\n\n## B\n\nfish: cats eat it",
    "fish.md": "# Fish\n\nsome fish swim far",
    **{f"more/{n}.md": f"# Topic {n}\n\nnothing {n}" for n in range(4)},
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


async def validated(home: Installation, golden: GoldenSet, mode: Mode) -> Report:
    request = RunRequest(top_k=2, mode=mode)
    return await Validator(home.readers, home.searcher, "test").run(golden, request)


def judged(grades: Mapping[str, int]) -> GoldenSet:
    return judged_set("set", {"q": QUESTION}, {"q": grades})


@pytest.mark.parametrize("mode", list(Mode))
async def test_the_second_page_has_the_second_rank(home: Installation, mode: Mode) -> None:
    report = await validated(home, judged({"cats": 1, "fish": 1}), mode)
    assert report.subject.group_by is GroupBy.DOCUMENT
    assert report.means.values["nDCG@2"] == 1.0
    assert sorted(one.rank or 0 for one in report.tests[0].sought) == [1, 2]


async def test_judged_passages_are_ranked_as_passages(home: Installation) -> None:
    async with home.reader.lease() as generation:
        [first, second, _] = await generation.require_catalog().document_chunks("docs/cats.md")
    report = await validated(home, judged({first.chunk.id: 1, second.chunk.id: 1}), Mode.LEXICAL)
    assert report.subject.group_by is None
    assert all(hit.chunk_id.startswith("cats-") for hit in report.tests[0].found)


def test_a_file_can_group_its_results() -> None:
    golden = read_golden_yaml("g.yaml", b"group_by: document\ntests: []\n")
    assert (golden.group_by, golden.collapse) == (GroupBy.DOCUMENT, None)
    assert judged({"a": 1}).collapse is Collapse.OFF
    with pytest.raises(InputError, match="group_by must be one of"):
        read_golden_yaml("g.yaml", b"group_by: page\ntests: []\n")
