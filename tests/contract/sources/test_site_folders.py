"""The folder of a site: its configuration decides which files are pages, and where they are."""

from pathlib import Path

import pytest

from surefind.adapters.sources.filesystem import FolderSource, sources_of
from surefind.model import PageFailure, PageLocation, SkippedPage, SourcePage
from surefind.text.documents import read_document


def written(folder: Path, **files: str) -> Path:
    """A folder with files by name, in which `/` and `.` are written as `__` and `_dot_`."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def source_of(given: Path) -> FolderSource:
    [source] = sources_of([given], "docs", None)
    return source


async def urls_of(source: FolderSource) -> dict[str, str]:
    """The URL of each page, or the reason why it has none."""
    found = {}
    async for page in source.pages():
        assert isinstance(page, SourcePage), page
        read = read_document(page, source.site)
        reason = read.reason if isinstance(read, SkippedPage) else read.document.url
        found[page.site_path] = reason
    return found


@pytest.mark.parametrize("given", [".", "content", "content/docs"])
async def test_a_hugo_site_is_known_by_its_configuration(tmp_path: Path, given: str) -> None:
    written(
        tmp_path,
        hugo_dot_toml='baseURL = "https://x.org/"',
        content__docs__a_dot_md="+++\nslug = 'b'\n+++\nText",
    )
    assert await urls_of(source_of(tmp_path / given)) == {
        "content/docs/a.md": "https://x.org/docs/b/"
    }


async def test_templates_and_the_built_site_are_not_pages_of_hugo(tmp_path: Path) -> None:
    written(
        tmp_path,
        config___default__hugo_dot_yaml="baseURL: https://x.org/",
        content__a_dot_html="<p>A</p>",
        layouts__page_dot_html="<main></main>",
        public__a__index_dot_html="<p>A</p>",
        themes__t__content__b_dot_md="B",
        README_dot_md="# Read me",
    )
    assert await urls_of(source_of(tmp_path)) == {
        "README.md": "it is not in the content folder content",
        "content/a.html": "https://x.org/a/",
    }


async def test_a_change_of_what_a_section_passes_on_is_a_change_of_the_site(tmp_path: Path) -> None:
    written(tmp_path, hugo_dot_toml='baseURL = "https://x.org/"', content__a__b_dot_md="B")
    written(tmp_path, content__a___index_dot_md="---\ncascade: {draft: true}\n---\n")
    before = source_of(tmp_path)
    assert (await urls_of(before))["content/a/b.md"] == "it is a draft"
    written(tmp_path, content__a___index_dot_md="---\ncascade: {draft: false}\n---\n")
    after = source_of(tmp_path)
    assert (await urls_of(after))["content/a/b.md"] == "https://x.org/a/b/"
    assert before.fingerprint != after.fingerprint


def test_a_config_of_another_tool_makes_no_site(tmp_path: Path) -> None:
    source = source_of(written(tmp_path, config_dot_toml="[server]\nport = 1", a_dot_md="# A"))
    assert source.fingerprint == "unpublished docs"
    assert isinstance(source.site.place("a.md", {}), PageLocation)


async def test_a_broken_config_is_named_and_loses_no_page(tmp_path: Path) -> None:
    written(tmp_path, hugo_dot_toml="baseURL = ", content__a_dot_md="# A")
    source = source_of(tmp_path)
    assert not [page async for page in source.pages() if isinstance(page, PageFailure)]
    assert await urls_of(source) == {"content/a.md": "/a/"}
    assert "hugo.toml can't be read" in source.notes[0]


@pytest.mark.parametrize(
    ("other", "url"),
    [
        ({}, "https://x.org/a.html"),
        ({"_dot_readthedocs_dot_yaml": "sphinx:\n  builder: dirhtml\n"}, "https://x.org/a/"),
        ({"_dot_readthedocs_dot_yaml": "commands: [sphinx-build -b dirhtml docs out]"},
         "https://x.org/a/"),
        ({"docs__Makefile": "html:\n\tsphinx-build -M dirhtml . out\n"}, "https://x.org/a/"),
    ],
)  # fmt: skip
async def test_a_sphinx_site_is_known_by_its_conf_py(
    tmp_path: Path, other: dict[str, str], url: str
) -> None:
    written(
        tmp_path,
        docs__conf_dot_py="html_baseurl = 'https://x.org'\nextensions = []\n",
        docs__a_dot_rst="A\n=\n\n:doc:`b`\n\n.. include:: ../part.inc\n",
        docs__b_dot_rst="The other\n=========\n",
        docs__c_dot_md="# Not a page",
        part_dot_inc="included",
        _dot_git__HEAD="",
        **other,
    )
    source = source_of(tmp_path / "docs")
    urls = await urls_of(source)
    assert urls["a.rst"] == url
    assert set(urls) == {"a.rst", "b.rst"}
    texts = [page.content async for page in source.pages() if isinstance(page, SourcePage)]
    assert b":doc:`The other <b>`" in texts[0]
    assert b"included" in texts[0]


async def test_another_conf_py_is_not_a_site(tmp_path: Path) -> None:
    written(tmp_path, conf_dot_py="DEBUG = True\n", a_dot_md="A")
    assert await urls_of(source_of(tmp_path)) == {"a.md": f"surefind://docs/{tmp_path.name}/a.md"}


async def test_a_mkdocs_config_inherits_only_within_the_repository(tmp_path: Path) -> None:
    written(
        tmp_path,
        base_dot_yml="site_url: https://outside.org/",
        project__base_dot_yml="site_url: https://x.org/",
        project__de__mkdocs_dot_yml="INHERIT: ../base.yml",
        project__de__docs__a_dot_md="Text",
        project__fr__mkdocs_dot_yml="INHERIT: ../../base.yml",
        project__fr__docs__a_dot_md="Text",
    )
    (tmp_path / "project" / ".git").mkdir()
    inside = source_of(tmp_path / "project" / "de")
    assert await urls_of(inside) == {"docs/a.md": "https://x.org/a/"}
    outside = source_of(tmp_path / "project" / "fr")
    assert await urls_of(outside) == {"docs/a.md": "/a/"}
    assert "`INHERIT` names ../../base.yml, which is missing or outside the project." in (
        outside.notes
    )


@pytest.mark.parametrize("given", ["de", "de/docs", "de/docs/guide"])
async def test_translations_without_a_config_use_that_of_another_language(
    tmp_path: Path, given: str
) -> None:
    config = "site_url: https://x.org/p/\nextra: {alternate: [{link: /}, {link: /p/de/}, 1, {}]}"
    written(tmp_path, en__mkdocs_dot_yml=config, de__docs__guide__a_dot_md="Text")
    (tmp_path / ".git").mkdir()
    source = source_of(tmp_path / given)
    assert await urls_of(source) == {"docs/guide/a.md": "https://x.org/p/de/guide/a/"}
    assert source.notes[0] == ("using the configuration of ../en; it names https://x.org/p/de/.")


async def test_a_language_that_no_config_names_is_a_plain_folder(tmp_path: Path) -> None:
    config = "site_url: https://x.org/\nextra: {alternate: [{link: /de/}]}"
    written(tmp_path, en__mkdocs_dot_yml=config, fr__docs__a_dot_md="Text", guides__b_dot_md="B")
    for folder in ("fr", "guides"):
        found = await urls_of(source_of(tmp_path / folder))
        assert all(url.startswith("surefind://") for url in found.values())
