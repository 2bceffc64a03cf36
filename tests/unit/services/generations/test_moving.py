"""A generation as a file, and into other stores."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surefind.adapters.files.archive import Archive, write_archive
from surefind.adapters.qdrant.edge import Bm25Analyzer
from surefind.errors import StoreError, UnknownCollection
from surefind.model import ChunkRecord, GenerationRef, Manifest, Mode
from surefind.ports import MovedPage
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.generations.index_building import Progress, both_stores
from surefind.services.generations.transfer import TransferTarget, kept_in, pages_of
from unit.installation import PAGES, Crash, Installation

FRONT = "---\nlevel: 3\ntags: [a, b]\n---\n# Größe\n\nwörds with ümlauts"
ONE = GenerationRef("docs", 1)


def quiet(_: Progress) -> None:
    pass


async def exported(home: Installation, path: Path) -> Manifest:
    manifest = await home.catalogs.manifest(ONE)
    async with both_stores(ONE, home.index, home.catalogs) as (index, catalog):
        await write_archive(path, manifest, pages_of(catalog, kept_in(index)), lambda _: None)
    return manifest


def named_in(record: ChunkRecord, collection: str) -> ChunkRecord:
    """As stored in this collection: the URL of an unpublished page names it."""
    return replace(record, url=record.url.replace("://docs/", f"://{collection}/", 1))


def destination(home: Installation) -> TransferTarget:
    return TransferTarget(home.index, home.catalogs, home.terms, "test")


@pytest.fixture
async def archive(tmp_path: Path) -> Path:
    home = Installation(tmp_path / "here")
    await home.ingest({**PAGES, "größe.md": FRONT, "empty.md": ""})
    await exported(home, tmp_path / "docs.surefind")
    await home.close()
    return tmp_path / "docs.surefind"


async def test_a_generation_arrives_elsewhere_as_it_was(tmp_path: Path, archive: Path) -> None:
    here, there = Installation(tmp_path / "here"), Installation(tmp_path / "there")
    opened = Archive(archive)
    moved = await destination(there).receive("manual", opened.manifest, opened.pages, quiet)
    assert (moved.collection, moved.number, moved.follows) == ("manual", 1, None)
    before = await here.catalogs.manifest(ONE)
    same = ("collection", "number", "created_at", "surefind_version", "based_on", "follows")
    assert replace(moved, **{name: getattr(before, name) for name in same}) == before
    for mode in Mode:
        for where in ("installer", "ümlauts", "question"):
            one = await here.search(where, mode=mode)
            other = await there.search(where, mode=mode, collection="manual")
            assert [(hit.record, hit.score) for hit in other.hits] == [
                (named_in(hit.record, "manual"), hit.score) for hit in one.hits
            ]
    for home, name in ((here, "docs"), (there, "manual")):
        catalog = await home.catalogs.open(GenerationRef(name, 1))
        page = await catalog.whole_document("docs/größe.md")
        assert page.front_matter == {"level": 3, "tags": ["a", "b"]}
        assert page.attributes == {"level": 3, "tags": ("a", "b")}
        await catalog.close()
        await home.close()


async def test_what_readers_saw_before_can_be_gone_back_to(tmp_path: Path, archive: Path) -> None:
    there = Installation(tmp_path / "there")
    await there.ingest({"other.md": "# Other\n\nsomething else"})
    opened = Archive(archive)
    moved = await destination(there).receive("docs", opened.manifest, opened.pages, quiet)
    assert (moved.number, moved.follows) == (2, 1)
    assert "docs/guide/a.md" in await there.texts()
    await there.generations.rollback()
    assert list(await there.texts()) == ["docs/other.md"]
    await there.close()


async def test_words_are_recounted_if_the_analyzer_differs(tmp_path: Path, archive: Path) -> None:
    class OtherRules(Bm25Encoder):
        @property
        def name(self) -> str:
            return "other"

    there = Installation(tmp_path / "there", terms=OtherRules(Bm25Analyzer()))
    opened = Archive(archive)
    moved = await destination(there).receive("docs", opened.manifest, opened.pages, quiet)
    assert moved.lexical.analyzer == "other"
    assert moved.lexical.mean_terms == opened.manifest.lexical.mean_terms
    found = await there.search("installer", mode=Mode.LEXICAL)
    assert found.hits[0].record.chunk.source_path == "docs/guide/a.md"
    await there.close()


@pytest.mark.parametrize("crash_at", [1, 2, 3])
async def test_a_crash_on_the_way_leaves_nothing(
    tmp_path: Path, archive: Path, crash_at: int
) -> None:
    there, opened, seen = Installation(tmp_path / "there"), Archive(archive), 0

    def report(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == crash_at:
            raise Crash

    with pytest.raises(Crash):
        await destination(there).receive("docs", opened.manifest, opened.pages, report)
    assert await there.catalogs.current("docs") is None
    assert await there.catalogs.unfinished("docs") == []
    with pytest.raises(UnknownCollection):
        await there.search("installer")
    moved = await destination(there).receive("docs", opened.manifest, opened.pages, quiet)
    assert moved.chunks == opened.manifest.chunks
    await there.close()


async def test_pages_that_are_missing_or_broken_are_not_published(
    tmp_path: Path, archive: Path
) -> None:
    there, opened = Installation(tmp_path / "there"), Archive(archive)

    async def all_but_one() -> AsyncIterator[MovedPage]:
        pages = [page async for page in opened.pages()]
        for page in pages[1:]:
            yield page

    async def not_a_number() -> AsyncIterator[MovedPage]:
        async for page in opened.pages():
            yield replace(page, vectors=np.full_like(page.vectors, np.nan))

    for pages, reason in ((all_but_one, "its manifest says"), (not_a_number, "not finite")):
        with pytest.raises(StoreError, match=reason):
            await destination(there).receive("docs", opened.manifest, pages, quiet)
        assert await there.catalogs.current("docs") is None
    await there.close()


async def test_an_export_that_fails_leaves_what_was_there(tmp_path: Path, archive: Path) -> None:
    before = archive.read_bytes()
    manifest = Archive(archive).manifest

    async def failing() -> AsyncIterator[MovedPage]:
        async for page in Archive(archive).pages():
            yield page
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await write_archive(archive, manifest, failing(), lambda _: None)
    assert archive.read_bytes() == before
    assert [path.name for path in tmp_path.glob("*.surefind*")] == [archive.name]
    with pytest.raises(StoreError, match="can't be written"):
        await write_archive(tmp_path / "no" / "x", manifest, failing(), lambda _: None)
