"""Sites whose configuration is neither in the folder that is named nor above it."""

from pathlib import Path

import pytest

from surefind.adapters.sources.filesystem import FolderSource, sources_of
from surefind.model import SkippedPage, SourcePage
from surefind.text.documents import read_document

CONFIG = (
    "export default {url: 'https://x.org', baseUrl: '/', presets: "
    "[['classic', {docs: {path: '../docs', routeBasePath: '/'}}]]}"
)
CLASSIC = "export default {url: 'https://x.org', baseUrl: '/', presets: [['classic', {}]]}"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Pages in `docs`, and their site in `website`."""
    root = tmp_path / "product"
    put(root, ".git/HEAD", "ref: refs/heads/main")
    put(root, "README.md", "# Read me")
    put(root, "docs/a.md", "# A")
    put(root, "docs/guide/b.md", "# B")
    put(root, "website/docusaurus.config.js", CONFIG)
    put(root, "website/src/pages/about.md", "# About")
    return root


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def read(*given: Path) -> dict[str, str]:
    """The URL of each page by source path, or the reason why it has none."""
    found = {}
    for source in sources_of(given, "docs", None):
        async for page in source.pages():
            assert isinstance(page, SourcePage), page
            seen = read_document(page, source.site)
            reason = seen.reason if isinstance(seen, SkippedPage) else seen.document.url
            found[page.source_path] = reason
    return found


def only(given: Path) -> FolderSource:
    [source] = sources_of([given], "docs", None)
    return source


async def test_the_docs_folder_finds_the_site_beside_it(repository: Path) -> None:
    assert await read(repository / "docs") == {
        "docs/a.md": "https://x.org/a",
        "docs/guide/b.md": "https://x.org/guide/b",
    }
    assert only(repository / "docs").notes[0] == (
        "using the configuration of the site in ../website."
    )


async def test_a_part_of_the_docs_finds_it_too(repository: Path) -> None:
    assert await read(repository / "docs" / "guide") == {"guide/b.md": "https://x.org/guide/b"}


async def test_the_root_of_the_repository_finds_the_site_below(repository: Path) -> None:
    assert await read(repository) == {
        "product/README.md": "the site does not build pages from its folder",
        "product/docs/a.md": "https://x.org/a",
        "product/docs/guide/b.md": "https://x.org/guide/b",
        "product/website/src/pages/about.md": "https://x.org/about",
    }
    assert only(repository).notes[0] == "using the configuration of the site in website."


async def test_the_folder_of_the_site_means_its_docs_as_well(repository: Path) -> None:
    expected = {
        "docs/a.md": "https://x.org/a",
        "docs/guide/b.md": "https://x.org/guide/b",
        "website/src/pages/about.md": "https://x.org/about",
    }
    assert await read(repository / "website") == expected
    assert await read(repository / "website", repository / "docs") == expected


async def test_a_page_named_by_itself_finds_the_site(repository: Path) -> None:
    assert await read(repository / "docs" / "a.md") == {"docs/a.md": "https://x.org/a"}


async def test_without_a_repository_only_neighbours_are_searched(repository: Path) -> None:
    (repository / ".git" / "HEAD").unlink()
    (repository / ".git").rmdir()
    assert await read(repository / "docs") == {
        "docs/a.md": "https://x.org/a",
        "docs/guide/b.md": "https://x.org/guide/b",
    }
    assert await read(repository / "docs" / "guide") == {"guide/b.md": "surefind://docs/guide/b.md"}


async def test_pages_outside_the_repository_are_never_read(repository: Path) -> None:
    put(repository.parent, "secret/a.md", "# Secret")
    put(repository, "website/docusaurus.config.js", CONFIG.replace("../docs", "../../secret"))
    sources = sources_of([repository / "website"], "docs", None)
    assert [source.name for source in sources] == ["website"]
    assert sources[0].notes == (
        "the docs folder ../../secret is outside the project and was not read.",
    )


async def test_a_symlink_does_not_lead_the_docs_out_of_the_repository(repository: Path) -> None:
    put(repository.parent, "secret/a.md", "# Secret")
    (repository / "linked").symlink_to(repository.parent / "secret")
    put(repository, "website/docusaurus.config.js", CONFIG.replace("../docs", "../linked"))
    assert [source.name for source in sources_of([repository / "website"], "docs", None)] == [
        "website"
    ]


async def test_a_site_with_a_few_of_the_pages_is_not_the_site_of_all(tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md", "sample/docs/d.md"):
        put(tmp_path, f"handbook/{name}", "# A")
    put(tmp_path, "handbook/sample/docusaurus.config.js", CLASSIC)
    assert await read(tmp_path / "handbook" / "a.md") == {
        "handbook/a.md": "surefind://docs/handbook/a.md"
    }
    assert only(tmp_path / "handbook").notes == ()


def test_one_of_several_sites_has_to_be_chosen(tmp_path: Path) -> None:
    for name in ("en", "de", "fr", "it"):
        put(tmp_path, f"all/{name}/docs/a.md", "# A")
        put(tmp_path, f"all/{name}/docusaurus.config.js", CLASSIC)
    assert only(tmp_path / "all").notes == (
        "it contains 4 sites (de, en, fr, …); name one of their folders as the source to get links "
        "to its published pages.",
    )


def test_examples_and_tests_are_not_the_site(tmp_path: Path) -> None:
    for name in ("examples/site", "tests/site", "node_modules/site", ".hidden/site"):
        put(tmp_path, f"all/{name}/docs/a.md", "# A")
        put(tmp_path, f"all/{name}/docusaurus.config.js", CLASSIC)
    assert only(tmp_path / "all").notes == ()
    assert only(tmp_path / "all").fingerprint == "unpublished docs"
