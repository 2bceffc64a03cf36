"""What every source promises."""

import os
from pathlib import Path

import pytest

from fakes import PageSource
from surefind.adapters.filesystem import FolderSource, sources_of
from surefind.errors import InputError
from surefind.model import PageFailure, SourcePage
from surefind.ports import Source

PAGES = {"index.md": b"# Home", "guide/b.mdx": b"b", "guide/a.md": b"a", "z.markdown": b"z"}


async def collect(source: Source) -> list[SourcePage | PageFailure]:
    return [page async for page in source.pages()]


class SourceContract:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        raise NotImplementedError

    async def test_every_page_comes_once_and_in_order(self, source: Source) -> None:
        pages = await collect(source)
        assert pages == [
            SourcePage(f"{source.name}/{path}", path, PAGES[path])
            for path in ("guide/a.md", "guide/b.mdx", "index.md", "z.markdown")
        ]

    async def test_it_can_be_read_twice(self, source: Source) -> None:
        assert await collect(source) == await collect(source)


class TestPageSource(SourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        return PageSource(PAGES)


class TestFolderSource(SourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        for path, content in PAGES.items():
            (tmp_path / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "docs" / path).write_bytes(content)
        (tmp_path / "docs" / "picture.png").write_bytes(b"\x89PNG")
        (tmp_path / "docs" / ".hidden.md").write_text("hidden")
        for pruned in (".git", "node_modules"):
            (tmp_path / "docs" / pruned).mkdir()
            (tmp_path / "docs" / pruned / "x.md").write_text("x")
        return FolderSource(tmp_path / "docs")

    async def test_the_directory_it_is_run_from_does_not_matter(
        self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        absolute = await collect(source)
        monkeypatch.chdir(tmp_path)
        assert await collect(sources_of([Path("docs")])[0]) == absolute
        monkeypatch.chdir(tmp_path / "docs")
        assert await collect(sources_of([Path()])[0]) == absolute

    async def test_files_of_one_folder_are_one_source(self, source: Source, tmp_path: Path) -> None:
        files = [tmp_path / "docs" / "z.markdown", tmp_path / "docs" / "index.md"]
        [chosen] = sources_of(files)
        assert [page.source_path for page in await collect(chosen)] == [
            "docs/index.md",
            "docs/z.markdown",
        ]

    async def test_a_link_that_leads_back_is_no_loop(self, source: Source, tmp_path: Path) -> None:
        (tmp_path / "docs" / "guide" / "again").symlink_to(tmp_path / "docs")
        assert len(await collect(source)) == len(PAGES)

    async def test_a_page_that_can_not_be_read_is_a_failure_and_the_rest_goes_on(
        self, source: Source, tmp_path: Path
    ) -> None:
        (tmp_path / "docs" / "broken.md").symlink_to(tmp_path / "nowhere.md")
        pages = await collect(source)
        [failure] = [page for page in pages if isinstance(page, PageFailure)]
        assert failure.source_path == "docs/broken.md"
        assert "can't be read" in failure.reason
        assert len(pages) == len(PAGES) + 1

    async def test_a_name_that_is_no_text_is_a_failure(
        self, source: Source, tmp_path: Path
    ) -> None:
        (Path(os.fsdecode(os.fsencode(tmp_path / "docs") + b"/\xff.md"))).write_text("x")
        [failure] = [page for page in await collect(source) if isinstance(page, PageFailure)]
        assert "rename it" in failure.reason
        assert failure.source_path == "docs/\ufffd.md"

    def test_what_is_no_source_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(InputError, match="does not exist"):
            sources_of([tmp_path / "missing"])
        (tmp_path / "picture.png").write_bytes(b"x")
        with pytest.raises(InputError, match="no Markdown file"):
            sources_of([tmp_path / "picture.png"])
        monkeypatch.setattr("os.access", lambda *_: False)  # root may read everything
        with pytest.raises(InputError, match="can't be read"):
            sources_of([tmp_path])
