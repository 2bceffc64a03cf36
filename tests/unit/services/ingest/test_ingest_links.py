"""What an ingest says of links and addresses."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from support.fakes import PageSource, WordEmbedder
from surefind.errors import EmbeddingError
from surefind.model import (
    BrokenLink,
    PageFailure,
    PageLocation,
    PageUnchanged,
    SkippedPage,
    SourcePage,
)
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.plain import PlainSite
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
    assert (await home.ingest(PAGES, dry_run=True)).broken_links is None
    assert (await home.ingest(PAGES, dry_run=True, check_links=True)).broken_links == BROKEN
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


async def test_a_page_that_is_left_out_may_be_linked_to(home: Installation) -> None:
    config = "export default {url: 'https://x.example', baseUrl: '/', presets: [['classic', {}]]}"
    site = DocusaurusSite.from_config(config)
    pages = {"docs/a.md": "# A\n\n[draft](b.md)", "docs/b.md": "---\ndraft: true\n---\n# B"}
    report = await home.ingest_from(PageSource(pages, site=site), check_links=True)
    assert ([left.source_path for left in report.left_out], report.broken_links) == (
        ["docs/docs/b.md"],
        (),
    )


async def test_links_to_an_unreadable_page_are_not_reported(home: Installation) -> None:
    """Unchanged, and read well the last time: now its site stumbles over it, or leaves it out."""

    class Changing(PlainSite):
        answer: PageLocation | SkippedPage | None = None

        def place(  # type: ignore[override]
            self, site_path: str, front_matter: Mapping[str, object]
        ) -> PageLocation | SkippedPage:
            if site_path == "index.md" and isinstance(self.answer, SkippedPage):
                return self.answer
            if site_path == "index.md" and self.answer is not None:
                raise RuntimeError("a fault of our own")
            return super().place(site_path, front_matter)

    site = Changing("https://x.example")
    await home.ingest_from(PageSource(PAGES, site=site))
    for answer in (SkippedPage("no longer"), PageLocation("https://x.example/")):
        site.answer = answer
        report = await home.ingest_from(PageSource(PAGES, site=site), check_links=True)
        assert (report.unchanged, report.broken_links) == (3, ())


async def test_a_page_that_only_its_source_knows_is_taken_at_its_word(home: Installation) -> None:
    class Sure(PageSource):
        async def pages(
            self, known: Mapping[str, str] | None = None
        ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
            async for page in super().pages(known):
                yield page
            yield PageUnchanged("docs/never-seen.md")

    report = await home.ingest_from(Sure(PAGES))
    assert (report.added, report.unchanged) == (3, 1)


async def test_an_embedder_that_can_not_count_tokens_stops_the_run(
    home: Installation,
) -> None:
    class Uncounting(WordEmbedder):
        def count_tokens(self, passage: str) -> int:
            raise EmbeddingError("the tokenizer is gone")

    home.embedder = Uncounting()
    with pytest.raises(EmbeddingError, match="the tokenizer is gone"):
        await home.ingest(PAGES)
