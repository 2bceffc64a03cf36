"""What an ingest says of links and addresses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from surefind.model import BrokenLink
from unit.installation import Installation

PAGES = {
    "index.md": "# Home\n\n[fine](guide/a.md#more) [gone](gone.md)",
    "guide/a.md": "# A\n\n## More\n\n[home](../index.md#hom)",
    "picture.md": "# Picture",
}
BROKEN = (
    BrokenLink("docs/guide/a.md", "../index.md#hom", "docs/index.md has no heading #hom"),
    BrokenLink("docs/index.md", "gone.md", "there is no page docs/gone.md"),
)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path)
    yield installation
    await installation.close()


async def test_links_are_checked_when_asked_for(home: Installation) -> None:
    assert (await home.ingest(PAGES, rehearse=True)).broken_links is None
    assert (await home.ingest(PAGES, rehearse=True, check_links=True)).broken_links == BROKEN
    assert (await home.ingest(PAGES, check_links=True)).broken_links == BROKEN


async def test_pages_that_have_not_changed_are_checked_too(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await home.ingest(PAGES, check_links=True)
    assert (report.unchanged, report.published, report.broken_links) == (3, False, BROKEN)
    mended = {**PAGES, "gone.md": "# Back"}
    assert (await home.ingest(mended, check_links=True)).broken_links == BROKEN[:1]


async def test_a_page_that_fails_is_still_there_and_its_anchors_are_not_judged(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    less = {path: text for path, text in PAGES.items() if path != "guide/a.md"}
    report = await home.ingest(less, {"guide/a.md": "it is busy"}, check_links=True)
    assert report.broken_links == BROKEN[1:]


async def test_two_pages_of_one_address_are_named_every_time(home: Installation) -> None:
    pages = {"guide.md": "# One", "guide/index.md": "# Two", "other.md": "# Three"}
    assert (await home.ingest(pages)).warnings == (), "the reader knows them apart"
    for expected in (True, False):
        report = await home.ingest(pages, base_url="https://x.example/")
        assert report.published is expected
        [warning] = report.warnings
        assert warning.source_path == "docs/guide.md"
        assert "https://x.example/guide is also that of docs/guide/index.md" in warning.reason
