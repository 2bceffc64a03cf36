"""What every source promises."""

import os
from pathlib import Path

import pytest

from support.fakes import PageSource
from surefind.adapters.sources.filesystem import MAX_PAGE_BYTES, sources_of
from surefind.adapters.sources.memory import sources_of_pages
from surefind.errors import InputError
from surefind.model import Page, PageFailure, PageLocation, PageUnchanged, SourcePage
from surefind.ports import Source

PAGES = {"index.md": b"# Home", "guide/b.mdx": b"b", "guide/a.md": b"a", "z.markdown": b"z"}


async def collect(source: Source) -> list[SourcePage | PageFailure | PageUnchanged]:
    return [page async for page in source.pages()]


class SourceContract:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        raise NotImplementedError

    async def test_every_page_comes_once_and_in_order(self, source: Source) -> None:
        pages = await collect(source)
        assert pages == [
            SourcePage(f"{source.name}/{path}", path, PAGES[path], path[path.rindex(".") :])
            for path in ("guide/a.md", "guide/b.mdx", "index.md", "z.markdown")
        ]

    async def test_it_can_be_read_twice(self, source: Source) -> None:
        assert await collect(source) == await collect(source)


class TestPageSource(SourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        return PageSource(PAGES)


class TestMemorySource(SourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        pages = [Page(f"docs/{path}", text.decode()) for path, text in PAGES.items()]
        [source] = sources_of_pages(pages, "docs", None)
        return source

    async def test_any_other_suffix_is_markdown(self) -> None:
        pages = [Page("docs/v1.2", "# Two"), Page("docs/plain.TXT", "two")]
        [source] = sources_of_pages(pages, "docs", None)
        read = [page for page in await collect(source) if isinstance(page, SourcePage)]
        assert [page.suffix for page in read] == [".txt", ".md"]

    def test_its_fingerprint_covers_addresses_and_not_texts(self) -> None:
        def fingerprint(page: Page, base_url: str | None = None) -> str:
            [source] = sources_of_pages([page], "docs", base_url)
            return source.fingerprint

        before = fingerprint(Page("docs/a.md", "# A"))
        assert fingerprint(Page("docs/a.md", "# B")) == before
        assert fingerprint(Page("docs/b.md", "# A")) == before
        others = {
            fingerprint(Page("docs/a.md", "# A", url="https://d.example/a")),
            fingerprint(Page("docs/a.md", "# A", title="Another")),
            fingerprint(Page("docs/a.md", "# A", version="2")),
            fingerprint(Page("docs/a.md", "# A", locale="de")),
            fingerprint(Page("docs/a.md", "# A"), "https://d.example"),
            fingerprint(Page("other/a.md", "# A")),
        }
        assert len(others | {before}) == 7


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
        return sources_of([tmp_path / "docs"], "docs", None)[0]

    async def test_the_directory_it_is_run_from_does_not_matter(
        self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        absolute = await collect(source)
        monkeypatch.chdir(tmp_path)
        assert await collect(sources_of([Path("docs")], "docs", None)[0]) == absolute
        monkeypatch.chdir(tmp_path / "docs")
        assert await collect(sources_of([Path()], "docs", None)[0]) == absolute

    async def test_files_of_one_folder_are_one_source(self, source: Source, tmp_path: Path) -> None:
        files = [tmp_path / "docs" / "z.markdown", tmp_path / "docs" / "index.md"]
        [chosen] = sources_of(files, "docs", None)
        assert [page.source_path for page in await collect(chosen)] == [
            "docs/index.md",
            "docs/z.markdown",
        ]

    async def test_a_link_that_leads_back_is_not_a_loop(
        self, source: Source, tmp_path: Path
    ) -> None:
        (tmp_path / "docs" / "guide" / "again").symlink_to(tmp_path / "docs")
        assert len(await collect(source)) == len(PAGES)

    async def test_a_link_out_of_the_source_is_refused_and_named(
        self, source: Source, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").mkdir()
        (tmp_path / "secret" / ".env").write_text("PASSWORD=1")
        (tmp_path / "docs" / "notes.md").symlink_to("../secret/.env")
        (tmp_path / "docs" / "more").symlink_to("../secret")
        (tmp_path / "docs" / "same.md").symlink_to("index.md")
        pages = await collect(source)
        [failure] = [page for page in pages if isinstance(page, PageFailure)]
        assert failure == PageFailure(
            "docs/notes.md",
            "it is a symlink to a file outside the source; replace it by a copy of the file",
        )
        assert len(pages) == len(PAGES) + 2
        assert source.skipped == [
            PageFailure(
                "docs/more/",
                "it is a symlink to a folder outside the source; name that folder as a source",
            )
        ]
        for named in (tmp_path / "docs" / "notes.md", f"{tmp_path}/docs/n*.md"):
            [chosen] = sources_of([named], "docs", None)
            assert [await collect(chosen)] == [[failure]]

    async def test_a_page_that_can_not_be_read_is_a_failure_and_the_rest_goes_on(
        self, source: Source, tmp_path: Path
    ) -> None:
        (tmp_path / "docs" / "broken.md").symlink_to(tmp_path / "nowhere.md")
        pages = await collect(source)
        [failure] = [page for page in pages if isinstance(page, PageFailure)]
        assert failure.source_path == "docs/broken.md"
        assert "can't be read" in failure.reason
        assert len(pages) == len(PAGES) + 1

    async def test_a_folder_that_can_not_be_read_is_a_failure_not_an_empty_one(
        self, source: Source, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scandir = os.scandir

        def refuse(path: str | int) -> object:  # root may read everything
            if str(path).endswith("guide"):
                raise PermissionError(13, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr("os.scandir", refuse)
        [failure] = [page for page in await collect(source) if isinstance(page, PageFailure)]
        assert failure == PageFailure("docs/guide/", "it can't be read: Permission denied")

    async def test_a_page_that_is_too_large_or_no_file_is_a_failure(
        self, source: Source, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "docs" / "pipe.md")
        (tmp_path / "docs" / "large.md").touch()
        os.truncate(tmp_path / "docs" / "large.md", MAX_PAGE_BYTES + 1)
        reasons = {
            page.source_path: page.reason
            for page in await collect(source)
            if isinstance(page, PageFailure)
        }
        assert "larger than" in reasons["docs/large.md"]
        assert "not a regular file" in reasons["docs/pipe.md"]

    async def test_a_page_that_changes_while_it_is_read_is_a_failure(
        self, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        page, read_bytes = tmp_path / "docs" / "index.md", Path.read_bytes

        def grow(path: Path) -> bytes:
            content = read_bytes(path)
            if path == page:
                page.write_bytes(content + b" more")
            return content

        monkeypatch.setattr(Path, "read_bytes", grow)
        [failure] = [page for page in await collect(source) if isinstance(page, PageFailure)]
        assert (failure.source_path, "changed during" in failure.reason) == ("docs/index.md", True)

    @pytest.mark.parametrize("given", ["site", "site/docs", "site/docs/01-intro.md"])
    async def test_a_site_is_known_by_its_configuration_here_or_above(
        self, tmp_path: Path, given: str
    ) -> None:
        (tmp_path / "site" / "docs").mkdir(parents=True)
        (tmp_path / ".git").mkdir()
        (tmp_path / "site" / "docs" / "01-intro.md").write_text("# Intro")
        (tmp_path / "site" / "docusaurus.config.js").write_text(
            "module.exports = {url: 'https://x.org', baseUrl: '/', "
            "presets: [['classic', {docs: {routeBasePath: 'guide'}}]]}"
        )
        [source] = sources_of([tmp_path / given], "docs", None)
        [page] = await collect(source)
        assert isinstance(page, SourcePage)
        assert page.suffix == ".mdx"
        assert source.site.place(page.site_path, {}) == PageLocation(
            "https://x.org/guide/intro", "", ""
        )
        before = source.fingerprint
        (tmp_path / "site" / "docusaurus.config.js").write_text("module.exports = {}")
        assert sources_of([tmp_path / given], "docs", None)[0].fingerprint != before

    async def test_a_mkdocs_site_has_its_own_addresses(self, tmp_path: Path) -> None:
        (tmp_path / "book" / "docs").mkdir(parents=True)
        (tmp_path / "book" / "docs" / "start.md").write_text("# Start")
        (tmp_path / "book" / "mkdocs.yml").write_text("site_url: https://x.org/book/\n")
        [source] = sources_of([tmp_path / "book"], "docs", None)
        [page] = await collect(source)
        assert isinstance(page, SourcePage)
        assert source.site.place(page.site_path, {}) == PageLocation("https://x.org/book/start/")

    async def test_a_name_that_is_not_text_is_a_failure(
        self, source: Source, tmp_path: Path
    ) -> None:
        (Path(os.fsdecode(os.fsencode(tmp_path / "docs") + b"/\xff.md"))).write_text("x")
        [failure] = [page for page in await collect(source) if isinstance(page, PageFailure)]
        assert "rename it" in failure.reason
        assert failure.source_path == r"docs/\xff.md"

    async def test_a_pattern_means_the_pages_that_match_it(self, tmp_path: Path) -> None:
        for name in ("a.md", "b.txt", "deep/er/c.md", "d[1].md", "picture.png"):
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("words")
        for pattern, wanted in {
            "*.md": ["docs/a.md", "docs/d[1].md"],
            "**/*.md": ["docs/a.md", "docs/d[1].md", "docs/deep/er/c.md"],
            "d[1].md": ["docs/d[1].md"],  # it is there: no pattern
            "*": ["docs/a.md", "docs/b.txt", "docs/d[1].md"],
        }.items():
            given = f"{tmp_path}/docs/{pattern}"
            [source] = sources_of([given, given], "docs", None)
            assert [page.source_path for page in await collect(source)] == wanted
        with pytest.raises(InputError, match="matches no page"):
            sources_of([f"{tmp_path}/docs/*.rst"], "docs", None)

    def test_an_unknown_source_is_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(InputError, match="does not exist"):
            sources_of([tmp_path / "missing"], "docs", None)
        (tmp_path / "picture.png").write_bytes(b"x")
        with pytest.raises(InputError, match="not a supported page"):
            sources_of([tmp_path / "picture.png"], "docs", None)
        monkeypatch.setattr("os.access", lambda *_: False)  # root may read everything
        with pytest.raises(InputError, match="can't be read"):
            sources_of([tmp_path], "docs", None)


async def test_sidebars_and_categories_change_no_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text("export default {url: 'https://x.org'}")
    (tmp_path / "docs/a.md").write_text("# A")
    [before] = sources_of([tmp_path], "docs", None)
    pages, fingerprint = await collect(before), before.fingerprint
    (tmp_path / "sidebars.js").write_text("export default {docs: [{type: 'autogenerated', ")
    (tmp_path / "docs/_category_.json").write_text('{"link": {"slug": "/elsewhere"')
    (tmp_path / "docs/_category_.yml").write_text("label: [")
    [after] = sources_of([tmp_path], "docs", None)
    assert (await collect(after), after.fingerprint) == (pages, fingerprint)
    assert after.site.place("docs/a.md", {}) == before.site.place("docs/a.md", {})


async def included(tmp_path: Path, page: str, options: str = "[markdown_include.include]") -> str:
    """The text of the one page of a site, and what it warns of."""
    (tmp_path / "site/docs").mkdir(parents=True, exist_ok=True)
    (tmp_path / "site/mkdocs.yml").write_text(f"site_name: S\nmarkdown_extensions: {options}\n")
    (tmp_path / "site/docs/page.md").write_text(page)
    [source] = sources_of([tmp_path / "site/docs/page.md"], "docs", None)
    [found] = await collect(source)
    assert isinstance(found, SourcePage)
    return "\n".join([found.content.decode(), *found.warnings])


async def test_a_page_of_mkdocs_comes_with_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "site/docs").mkdir(parents=True)
    (tmp_path / "site/README.md").write_bytes("gr\xfcn\r\n".encode("cp1252"))
    (tmp_path / "site/docs/picture.png").write_bytes(b"\x89PNG\x00")
    (tmp_path / "site/docs/huge.md").write_bytes(b"")
    os.truncate(tmp_path / "site/docs/huge.md", MAX_PAGE_BYTES + 1)
    assert await included(tmp_path, "see {!README.md!}") == "see grün"
    snippets = "[{pymdownx.snippets: {base_path: docs, restrict_base_path: false}}]"
    assert await included(tmp_path, '--8<-- "../README.md:1:1"', snippets) == "grün"
    for name, reason in (
        ("picture.png", "which is not text"),
        ("huge.md", "which can't be read (it is larger than 32 MB)"),
        ("no.md", "which is missing"),
        ("docs", "which is missing"),
        ("x" * 400, "which can't be read (File name too long)"),
    ):
        assert await included(tmp_path, f"words {{!{name}!}}") == (
            f"words \nit includes {name}, {reason}; the include was dropped"
        )


async def test_nothing_outside_of_the_sites_folder_is_ever_included(tmp_path: Path) -> None:
    (tmp_path / "site/docs").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "site/link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "site/folder").symlink_to(tmp_path)
    (tmp_path / "site/own.md").symlink_to(tmp_path / "site/docs/page.md")
    names = ("../secret.md", "docs/../../secret.md", "link.md", "folder/secret.md")
    for name in (*names, str(tmp_path / "secret.md")):
        text = await included(tmp_path, f"{{!{name}!}}")
        assert "outside the project" in text
        assert "secret\n" not in text
        assert not text.endswith("secret")
    assert (await included(tmp_path, "words {!own.md!}")).startswith("words words")


async def test_a_binary_page_is_given_on_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("markdown_extensions: [pymdownx.snippets]")
    (tmp_path / "a.md").write_bytes(b"\x00\xff")
    [source] = sources_of([tmp_path / "a.md"], "docs", None)
    assert await collect(source) == [
        SourcePage(f"{tmp_path.name}/a.md", "a.md", b"\x00\xff", ".md")
    ]
