"""Ingest: what changes and what stays."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from support.fakes import PageSource
from surefind.errors import GuardStopped
from surefind.model import (
    PageFailure,
    PageLocation,
    PageUnchanged,
    SkippedPage,
    SourcePage,
)
from surefind.text.anchors import GITHUB
from surefind.text.documents import TEXT_VERSION
from unit.installation import GUIDE, PAGES, Installation


async def ids(home: Installation) -> dict[str, str]:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        return {r.chunk.id: r.created_at.isoformat() async for r in generation.catalog.chunks()}


async def test_index_catalog_and_chunks_agree_and_the_report_says_so(home: Installation) -> None:
    report = await home.ingest(PAGES)
    assert (report.added, report.documents, report.published) == (3, 3, True)
    assert report.chunks == report.index_points == report.embedded == 5
    assert await home.texts() == {
        "docs/guide/a.md": [
            "# Guide\n\nwelcome",
            "## Install\n\nrun the installer",
            "## Use\n\nask a question",
        ],
        "docs/guide/b.md": ["# Other\n\nwords"],
        "docs/index.md": ["# Home\n\nhello"],
    }


async def test_unchanged_means_no_call_no_write_no_generation(
    home: Installation, tmp_path: Path
) -> None:
    await home.ingest(PAGES)
    calls, before = home.embedder.calls, await ids(home)
    report = await home.ingest(PAGES)
    assert home.embedder.calls == calls
    assert (report.unchanged, report.published, report.generation) == (3, False, 1)
    assert await ids(home) == before
    assert sorted(p.name for p in (tmp_path / "data/collections/docs").iterdir()) == [
        "0001",
        "CURRENT",
    ]


async def test_editing_one_section_embeds_only_its_chunks(home: Installation) -> None:
    await home.ingest(PAGES)
    before, home.embedder.passages = await ids(home), []
    edited = {**PAGES, "guide/a.md": GUIDE.replace("run the installer", "click the button")}
    report = await home.ingest(edited)
    assert (report.changed, report.unchanged, report.embedded) == (1, 2, 1)
    assert home.embedder.passages == ["Guide\n\n## Install\n\nclick the button"]
    after = await ids(home)
    assert after.keys() == before.keys()
    [touched] = [name for name in after if after[name] != before[name]]
    assert "install" in touched
    assert report.generation == 2


async def test_a_deleted_page_is_gone_from_both_stores_and_its_neighbour_is_not(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    before = await ids(home)
    report = await home.ingest({k: v for k, v in PAGES.items() if k != "guide/b.md"})
    assert (report.removed, report.unchanged, report.embedded) == (1, 2, 0)
    assert "docs/guide/b.md" not in await home.texts()
    assert (await ids(home)).items() <= before.items()


async def test_a_page_that_sorts_first_changes_no_other_id(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await ids(home)
    report = await home.ingest({"0.md": "# First\n\nnew", **PAGES})
    assert (report.added, report.embedded) == (1, 1)
    assert before.items() <= (await ids(home)).items()


async def test_a_renamed_page_is_not_embedded_again(home: Installation) -> None:
    await home.ingest(PAGES)
    renamed = {("guide/c.md" if k == "guide/b.md" else k): v for k, v in PAGES.items()}
    report = await home.ingest(renamed)
    assert (report.added, report.removed, report.embedded, report.from_cache) == (1, 1, 0, 1)


async def test_many_small_edits_and_one_fresh_build_score_alike(
    home: Installation, tmp_path: Path
) -> None:
    pages = {f"{n}.md": f"# Page {n}\n\n" + f"word{n} common " * (n + 1) for n in range(12)}
    for count in (3, 6, 12):
        await home.ingest(dict(list(pages.items())[:count]))
    fresh = Installation(tmp_path / "fresh")
    await fresh.ingest(pages)
    for question in ("word3 common", "page 7", "common"):
        one, other = await home.search(question), await fresh.search(question)
        assert [h.record.chunk.id for h in one.hits] == [h.record.chunk.id for h in other.hits]
        assert [h.score for h in one.hits] == pytest.approx([h.score for h in other.hits])
    await fresh.close()


async def test_pages_without_text_are_named_each_time(home: Installation) -> None:
    pages = {**PAGES, "empty.md": "", "only.md": "---\ntitle: x\n---\n"}
    for _ in range(2):
        report = await home.ingest(pages)
        assert report.empty_pages == ("docs/empty.md", "docs/only.md")
        assert (report.documents, report.chunks) == (5, 5)


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_run_that_would_publish_no_chunk_is_refused(
    home: Installation, *, dry_run: bool
) -> None:
    with pytest.raises(GuardStopped, match=r"no page has text .*docs/empty\.md: contains no text"):
        await home.ingest({"empty.md": "<!-- nothing -->"}, dry_run=dry_run)
    report = await home.ingest({"empty.md": "now text"})
    assert (report.generation, report.chunks) == (1, 1)
    with pytest.raises(GuardStopped, match="Nothing was changed"):
        await home.ingest({"empty.md": ""}, dry_run=dry_run)
    assert len((await home.search("text")).hits) == 1


async def test_a_dry_run_counts_what_the_run_will_have(home: Installation) -> None:
    await home.ingest(PAGES)
    changed = {**PAGES, "new.md": "# New\n\nwords"}
    planned = await home.ingest(changed, dry_run=True)
    report = await home.ingest(changed)
    assert (planned.documents, planned.chunks) == (report.documents, report.chunks)
    assert planned.added_pages == report.added_pages


async def test_a_rebuild_of_nothing_new_embeds_nothing(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await home.ingest(PAGES, rebuild=True)
    assert (report.generation, report.embedded, report.from_cache) == (2, 0, 5)


async def test_another_site_changes_every_address_and_embeds_nothing(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await home.ingest(PAGES, base_url="https://docs.example.com")
    assert (report.changed, report.embedded, report.published) == (3, 0, True)
    hit = (await home.search("install")).hits[0]
    assert hit.record.link == "https://docs.example.com/guide/a#install"
    report = await home.ingest(PAGES, base_url="https://docs.example.com")
    assert not report.published
    [*_, manifest] = await home.generations.list()
    assert f"text {TEXT_VERSION}" in manifest.sites, "a new version reads all pages again, too"


async def test_the_number_of_kept_generations_is_limited(home: Installation) -> None:
    for number in range(4):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=2)
    report = await home.ingest({"a.md": "version 4"}, keep_generations=2)
    assert report.pruned == (3,)
    assert [m.number for m in await home.generations.list()] == [4, 5]
    report = await home.ingest({"a.md": "version 5"}, keep_generations=1)
    assert (report.pruned, report.generation) == ((4, 5), 6)


async def test_after_a_rollback_the_good_generation_is_kept_and_gone_back_to(
    home: Installation,
) -> None:
    for number in range(5):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=5)
    await home.generations.rollback(to=1)
    report = await home.ingest({"a.md": "version 5"}, keep_generations=5)
    assert (report.generation, report.pruned) == (6, (2,))
    assert (await home.generations.rollback()).number == 1


async def test_a_large_index_is_eventually_rebuilt(home: Installation) -> None:
    home.optimized_from = 10
    pages = {f"{n:02}.md": f"some words on page {n}" for n in range(40)}
    await home.ingest(pages)
    numbers = []
    for number in range(4):
        pages[f"{number:02}.md"] = f"other words on page {number}"
        await home.ingest(pages)
        manifest = (await home.generations.list())[-1]
        numbers.append((manifest.based_on, manifest.replaced))
    assert numbers == [(1, 1), (2, 2), (None, 0), (4, 1)]


async def test_a_rehearsal_finds_what_a_run_would_and_keeps_nothing(home: Installation) -> None:
    first = await home.ingest(PAGES, dry_run=True)
    assert (first.added, first.generation, first.new_chunks) == (3, 0, 5)
    assert await home.catalogs.current("docs") is None
    await home.ingest(PAGES)
    changed = {**PAGES, "index.md": "# Home\n\nnew", "more.md": "more words"}
    plan = await home.ingest(changed, dry_run=True)
    assert (plan.added, plan.changed, plan.published, plan.embedded) == (1, 1, False, 0)
    assert plan.new_tokens > 0
    less = {path: text for path, text in PAGES.items() if path != "guide/b.md"}
    assert (await home.ingest(less, dry_run=True)).removed_pages == ("docs/guide/b.md",)
    assert len(await home.texts()) == 3
    assert await home.catalogs.unfinished("docs") == []
    with pytest.raises(GuardStopped):
        await home.ingest({"index.md": "x"}, dry_run=True)


async def test_a_page_that_its_site_leaves_out_is_removed_and_listed(home: Installation) -> None:
    class Picky:
        anchors = GITHUB

        def place(
            self, site_path: str, front_matter: Mapping[str, object]
        ) -> PageLocation | SkippedPage:
            return (
                SkippedPage("a draft")
                if front_matter.get("draft")
                else PageLocation(f"https://x.org/{site_path}")
            )

        def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
            return ()

    def source(pages: dict[str, str]) -> PageSource:
        made = PageSource(pages)
        made.site = Picky()
        return made

    await home.ingest_from(source(PAGES))
    report = await home.ingest_from(source({**PAGES, "guide/b.md": "---\ndraft: true\n---\nx"}))
    assert report.removed_pages == ("docs/guide/b.md",)
    assert [(n.source_path, n.reason) for n in report.left_out] == [("docs/guide/b.md", "a draft")]
    assert len(await home.texts()) == 2


async def test_a_page_that_its_source_knows_to_be_unchanged_stays(home: Installation) -> None:
    class Remembering(PageSource):
        asked: Mapping[str, str] | None = None

        async def pages(
            self, known: Mapping[str, str] | None = None
        ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
            self.asked = known
            for path in known or {}:
                yield PageUnchanged(path)

    await home.ingest(PAGES)
    source = Remembering({})
    report = await home.ingest_from(source)
    assert (report.unchanged, report.published) == (3, False)
    assert source.asked == dict.fromkeys(
        ("docs/guide/a.md", "docs/guide/b.md", "docs/index.md"), ""
    )
