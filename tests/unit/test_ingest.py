"""Ingest: what changes, what stays, what is refused."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from fakes import MemoryCatalogStore, MemoryIndexStore, PageSource, WordEmbedder
from surefind.adapters.payload import to_payload
from surefind.adapters.sqlite import SqliteCatalogStore
from surefind.errors import EmbeddingError, GuardStopped, InputError, StoreBusy, StoreError
from surefind.model import (
    ChunkerSettings,
    GenerationRef,
    Left,
    PageFailure,
    PageUnchanged,
    Place,
    SourcePage,
)
from surefind.services import ingest as ingest_module
from surefind.services.inspect import inspect
from surefind.text.sites import PlainSite
from unit.installation import Crash, Installation

GUIDE = "# Guide\n\nwelcome\n\n## Install\n\nrun the installer\n\n## Use\n\nask a question"
PAGES = {"index.md": "# Home\n\nhello", "guide/a.md": GUIDE, "guide/b.md": "# Other\n\nwords"}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    yield installation
    await installation.close()


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


async def test_a_page_that_fails_keeps_its_chunks_and_is_named(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    report = await home.ingest(left, {"guide/a.md": "it can't be read"})
    assert [f.source_path for f in report.failures] == ["docs/guide/a.md"]
    assert not report.published
    assert await home.texts() == before
    report = await home.ingest({**PAGES, "guide/b.md": b"\x00binary", "index.md": "# Home\n\nnew"})
    assert "binary" in report.failures[0].reason
    assert (await home.texts())["docs/guide/b.md"] == before["docs/guide/b.md"]
    assert (await home.texts())["docs/index.md"] == ["# Home\n\nnew"]


async def test_pages_without_text_are_named_each_time(home: Installation) -> None:
    pages = {**PAGES, "empty.md": "", "only.md": "---\ntitle: x\n---\n"}
    for _ in range(2):
        report = await home.ingest(pages)
        assert report.empty_pages == ("docs/empty.md", "docs/only.md")
        assert (report.documents, report.chunks) == (5, 5)


async def test_a_collection_may_hold_nothing_but_empty_pages(home: Installation) -> None:
    report = await home.ingest({"empty.md": ""})
    assert (report.chunks, report.index_points, report.published) == (0, 0, True)
    result = await home.search("anything")
    assert (result.hits, result.chunks) == ((), 0)
    assert (await home.ingest({"empty.md": "now text"})).chunks == 1


@pytest.mark.parametrize(
    ("pages", "failing", "message"),
    [
        ({}, {}, "no page to read in docs"),
        ({"a.md": b"\x00"}, {"b.md": "gone"}, "none of the 2 pages in docs could be used"),
    ],
)
async def test_a_source_without_usable_pages_is_an_error(
    home: Installation, pages: dict[str, bytes], failing: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        await home.ingest(pages, failing)
    assert await home.catalogs.current("docs") is None
    assert await home.catalogs.unfinished("docs") == []


async def test_a_source_that_shrank_is_refused_and_nothing_changes(home: Installation) -> None:
    pages = {f"{section}/{n}.md": f"text {n}" for section in "ab" for n in range(4)}
    await home.ingest(pages)
    before = await home.texts()
    less = {k: v for k, v in pages.items() if k.startswith("a/")}
    with pytest.raises(GuardStopped, match="section docs/b is missing entirely"):
        await home.ingest({**less, "a/0.md": "edited"})
    assert await home.texts() == before
    assert await home.catalogs.unfinished("docs") == []
    report = await home.ingest(less, allow_shrink=True)
    assert (report.removed, report.chunks) == (4, 4)


async def test_another_model_or_chunker_is_refused_until_a_rebuild(home: Installation) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    home.embedder = WordEmbedder(dimensions=48, weights="words-2")
    with pytest.raises(InputError, match=r"32 dimensions, words-1.*48 dimensions, words-2"):
        await home.ingest(PAGES)
    home.embedder = WordEmbedder()
    home.chunker = ChunkerSettings(max_tokens=40)
    with pytest.raises(InputError, match=r"at most 400 tokens.*at most 40 tokens"):
        await home.ingest(PAGES)
    home.chunker = ChunkerSettings(overlap_tokens=50)
    with pytest.raises(InputError, match=r"1999 characters, and now.*, 50 tokens repeated"):
        await home.ingest(PAGES)
    assert await home.texts() == before
    home.embedder = WordEmbedder(dimensions=48, weights="words-2")
    report = await home.ingest(PAGES, rebuild=True)
    assert (report.embedded, report.generation, report.chunks) == (5, 2, 5)
    assert (await home.search("install")).hits[0].record.section == "Install"


async def test_a_rebuild_keeps_the_chunks_of_pages_that_fail(home: Installation) -> None:
    await home.ingest(PAGES)
    home.embedder = WordEmbedder(dimensions=48)
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    report = await home.ingest(left, {"guide/a.md": "it can't be read"}, rebuild=True)
    assert (report.chunks, report.index_points, report.embedded) == (5, 5, 5)
    assert len((await home.texts())["docs/guide/a.md"]) == 3


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


async def test_only_so_many_generations_are_kept(home: Installation) -> None:
    for number in range(4):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=2)
    report = await home.ingest({"a.md": "version 4"}, keep_generations=2)
    assert report.pruned == (3,)
    assert [m.number for m in await home.generations.list()] == [4, 5]
    report = await home.ingest({"a.md": "version 5"}, keep_generations=1)
    assert (report.pruned, report.generation) == ((4, 5), 6)


async def test_a_failing_embedder_leaves_what_readers_see_and_what_was_paid_for(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    monkeypatch.setattr("surefind.services.building.BATCH", 4)
    many = {**PAGES, **{f"new/{n}.md": f"new page {n}" for n in range(20)}}
    home.embedder.passages, home.embedder.calls, home.embedder.fail_at = [], 0, 4
    with pytest.raises(EmbeddingError):
        await home.ingest(many)
    assert await home.texts() == before
    assert await home.catalogs.unfinished("docs") == []
    paid = len(home.embedder.passages)
    assert paid > 0
    home.embedder.fail_at = None
    report = await home.ingest(many)
    assert report.embedded == 20 - paid
    assert len(set(home.embedder.passages)) == len(home.embedder.passages) == 20


async def test_what_a_dead_run_left_is_removed_by_the_next(home: Installation) -> None:
    await home.ingest(PAGES)
    writer = await home.catalogs.create(GenerationRef("docs", 2), None)
    await writer.abandon()
    report = await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    assert await home.catalogs.unfinished("docs") == []
    assert [m.number for m in await home.generations.list()] == [1, report.generation]


async def test_a_damaged_old_generation_is_no_hindrance(home: Installation) -> None:
    for number in range(3):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=3)
    (home.root / "collections" / "docs" / "0001" / "manifest.json").write_text("{}")
    report = await home.ingest({"a.md": "version 3"}, keep_generations=3)
    assert (report.pruned, report.generation) == ((1,), 4)


async def test_old_generations_that_can_not_be_removed_do_not_undo_what_was_published(
    home: Installation,
) -> None:
    class Clinging(MemoryCatalogStore):
        async def drop(self, ref: GenerationRef) -> None:
            raise StoreError("it can't be removed")

    home.catalogs, home.index = Clinging(), MemoryIndexStore()
    await home.ingest({"a.md": "one"}, keep_generations=1)
    report = await home.ingest({"a.md": "two"}, keep_generations=1)
    assert (report.published, report.pruned) == (True, ())


async def test_a_lost_index_is_built_anew_without_being_asked(home: Installation) -> None:
    await home.ingest(PAGES)
    await home.index.drop(GenerationRef("docs", 1))
    report = await home.ingest(PAGES)
    assert (report.published, report.generation, report.unchanged) == (True, 2, 3)
    assert (report.embedded, report.from_cache, report.index_points) == (0, 5, 5)
    assert (await home.search("install")).hits[0].record.section == "Install"


@pytest.mark.parametrize("file", ["catalog.sqlite", "manifest.json"])
async def test_a_damaged_generation_is_rebuilt_when_asked(home: Installation, file: str) -> None:
    await home.ingest(PAGES)
    (home.root / "collections" / "docs" / "0001" / file).write_bytes(b"junk" * 500)
    with pytest.raises(StoreError, match="or --rebuild makes it anew"):
        await home.ingest(PAGES)
    report = await home.ingest(PAGES, rebuild=True)
    assert (report.generation, report.added, report.embedded) == (2, 3, 0)
    assert len(await home.texts()) == 3


async def test_an_index_with_another_text_than_the_catalog_is_never_published(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    monkeypatch.setattr(
        "surefind.adapters.qdrant_edge.to_payload",
        lambda record: {**to_payload(record), "text": "something else"},
    )
    with pytest.raises(StoreError, match="the index does not hold"):
        await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    assert await home.texts() == before


async def test_a_page_that_should_have_been_read_anew_is_when_it_is_back(
    home: Installation,
) -> None:
    """It failed while the site moved: its old address must not stay for ever."""
    await home.ingest(PAGES)
    left = {k: v for k, v in PAGES.items() if k != "guide/a.md"}
    await home.ingest(left, {"guide/a.md": "gone today"}, base_url="https://x.org")
    still = await home.ingest(
        {**left, "new.md": "x"}, {"guide/a.md": "gone today"}, base_url="https://x.org"
    )
    assert still.added == 1
    back = await home.ingest({**PAGES, "new.md": "x"}, base_url="https://x.org")
    assert back.changed_pages == ("docs/guide/a.md",)
    assert (await home.search("install")).hits[0].record.link == "https://x.org/guide/a#install"
    assert not (await home.ingest({**PAGES, "new.md": "x"}, base_url="https://x.org")).published


async def test_a_folder_that_can_not_be_read_keeps_all_its_pages(home: Installation) -> None:
    await home.ingest(PAGES)
    report = await home.ingest({"index.md": PAGES["index.md"]}, {"guide/": "it can't be read"})
    assert (report.removed, report.published) == (0, False)
    assert len(await home.texts()) == 3


async def test_pages_that_lost_all_their_text_count_as_gone(home: Installation) -> None:
    pages = {f"{n}.md": f"text {n}" for n in range(10)}
    await home.ingest(pages)
    with pytest.raises(GuardStopped, match="10 of 10 pages"):
        await home.ingest(dict.fromkeys(pages, ""))
    assert len(await home.texts()) == 10


async def test_after_a_rollback_the_good_generation_is_kept_and_gone_back_to(
    home: Installation,
) -> None:
    for number in range(5):
        await home.ingest({"a.md": f"version {number}"}, keep_generations=5)
    await home.generations.rollback(to=1)
    report = await home.ingest({"a.md": "version 5"}, keep_generations=5)
    assert (report.generation, report.pruned) == (6, (2,))
    assert (await home.generations.rollback()).number == 1


async def test_what_readers_see_is_never_dropped(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pointer moved, and then something failed: the generation is the current one now."""
    await home.ingest(PAGES)
    point_to = SqliteCatalogStore.point_to

    async def fail_late(store: SqliteCatalogStore, ref: GenerationRef) -> None:
        await point_to(store, ref)
        raise StoreError("the disk did not answer")

    monkeypatch.setattr(SqliteCatalogStore, "point_to", fail_late)
    with pytest.raises(StoreError, match="did not answer"):
        await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    monkeypatch.undo()
    assert (await home.texts())["docs/index.md"] == ["# Home\n\nnew"]
    (home.root / "collections" / "docs" / "0002" / "manifest.json").unlink()
    with pytest.raises(StoreError, match="--rebuild"):
        await home.ingest(PAGES)
    assert (home.root / "collections" / "docs" / "0002" / "catalog.sqlite").exists()
    assert (await home.ingest(PAGES, rebuild=True)).generation == 3


async def test_a_large_index_is_not_patched_for_ever(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefind.services.draft._LARGE", 10)
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
    first = await home.ingest(PAGES, rehearse=True)
    assert (first.added, first.generation, first.new_chunks) == (3, 0, 5)
    assert await home.catalogs.current("docs") is None
    await home.ingest(PAGES)
    changed = {**PAGES, "index.md": "# Home\n\nnew", "more.md": "more words"}
    plan = await home.ingest(changed, rehearse=True)
    assert (plan.added, plan.changed, plan.published, plan.embedded) == (1, 1, False, 0)
    assert plan.new_tokens > 0
    less = {path: text for path, text in PAGES.items() if path != "guide/b.md"}
    assert (await home.ingest(less, rehearse=True)).removed_pages == ("docs/guide/b.md",)
    assert len(await home.texts()) == 3
    assert await home.catalogs.unfinished("docs") == []
    with pytest.raises(GuardStopped):
        await home.ingest({"index.md": "x"}, rehearse=True)


async def test_a_page_that_its_site_leaves_out_is_removed_and_listed(home: Installation) -> None:
    class Picky:
        def place(self, site_path: str, front_matter: Mapping[str, object]) -> Place | Left:
            return (
                Left("a draft")
                if front_matter.get("draft")
                else Place(f"https://x.org/{site_path}")
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


async def test_a_page_that_surefind_stumbles_over_is_named_and_the_rest_goes_on(
    home: Installation,
) -> None:
    class Stumbling(PlainSite):
        def place(self, site_path: str, front_matter: Mapping[str, object]) -> Place:
            if front_matter.get("trap"):
                raise RuntimeError("a fault of our own")
            return super().place(site_path, front_matter)

    source = PageSource({**PAGES, "trap.md": "---\ntrap: yes\n---\nx"})
    source.site = Stumbling("https://x.org")
    report = await home.ingest_from(source)
    assert len(await home.texts()) == 3
    [failure] = report.failures
    assert failure.source_path == "docs/trap.md"
    assert "(RuntimeError: a fault of our own); please report it" in failure.reason


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


async def test_a_page_that_can_not_be_read_can_not_be_inspected() -> None:
    source = PageSource({}, {"a.md": "it can't be read"})
    with pytest.raises(InputError, match=r"docs/a\.md: it can't be read"):
        await inspect(source, ChunkerSettings(), WordEmbedder())


async def test_a_second_writer_is_refused(home: Installation) -> None:
    async with home.catalogs.writing("ingest"):
        with pytest.raises(StoreBusy, match="another `surefind ingest`"):
            await home.ingest(PAGES)
        with pytest.raises(StoreBusy):
            await home.generations.rollback()


async def test_an_index_that_lost_a_point_is_never_published(
    home: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    monkeypatch.setattr("surefind.adapters.sqlite.SqliteCatalogWriter.finish", _finish_short)
    with pytest.raises(StoreError, match="not whole"):
        await home.ingest({**PAGES, "index.md": "# Home\n\nnew"})
    assert await home.texts() == before


async def _finish_short(writer: object) -> int:
    """A store that says it wrote less than it was given."""
    connection = writer._connection  # type: ignore[attr-defined]
    connection.execute("COMMIT")
    connection.close()
    return 4


def test_two_sources_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two sources are called docs"):
        ingest_module._check_sources([PageSource({}), PageSource({})])
    with pytest.raises(InputError, match="no source"):
        ingest_module._check_sources([])


async def test_a_page_that_comes_twice_is_refused(home: Installation) -> None:
    class Twice(PageSource):
        async def pages(
            self, known: Mapping[str, str] | None = None
        ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
            for _ in range(2):
                async for page in super().pages(known):
                    yield page

    with pytest.raises(InputError, match=r"docs/a\.md comes from two"):
        await home.ingest_from(Twice({"a.md": "x"}))


async def test_a_budget_that_the_model_can_not_read_is_refused(home: Installation) -> None:
    home.chunker = ChunkerSettings(max_tokens=10_000)
    with pytest.raises(InputError, match="max_tokens is 10000"):
        await home.ingest(PAGES)


@pytest.mark.parametrize("moment", range(1, 9))
async def test_broken_at_any_reported_moment_readers_see_the_old(
    home: Installation, moment: int
) -> None:
    await home.ingest(PAGES)
    before = await home.texts()
    changed = {**PAGES, "index.md": "# Home\n\nnew", "more.md": "more"}
    try:
        await home.ingest(changed, crash_at=moment)
    except Crash:
        assert await home.texts() == before
    else:
        assert moment == 9
    await home.ingest(changed)
    assert (await home.texts())["docs/more.md"] == ["more"]
