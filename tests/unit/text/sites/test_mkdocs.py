"""MkDocs: the real address of every page, its title in the navigation, and why some have none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import PageLocation, SkippedPage, SourcePage
from surefind.text.documents import PlacesPages, ReadPage, read_document
from surefind.text.sites.mkdocs.addresses import MkDocsSite
from surefind.text.sites.mkdocs.config import MkDocsConfig, inherited_config

SITE = "https://x.org/p"


def site_of(config: str = "", *pages: str) -> MkDocsSite:
    return MkDocsSite.from_config(f"site_name: P\nsite_url: {SITE}/\n{config}", pages=pages)


def path_of(site: PlacesPages, site_path: str) -> str:
    place = site.place(site_path, {"slug": "/never-read", "draft": True})
    assert isinstance(place, PageLocation), place
    assert place.url.startswith(SITE)
    return place.url.removeprefix(SITE)


def reason_of(site: PlacesPages, site_path: str) -> str:
    place = site.place(site_path, {})
    assert isinstance(place, SkippedPage), place
    return place.reason


@pytest.mark.parametrize(
    ("path", "address", "file_address"),
    [
        ("index.md", "/", "/index.html"),
        ("README.md", "/", "/index.html"),
        ("readme.md", "/readme/", "/readme.html"),
        ("Index.md", "/Index/", "/Index.html"),
        ("install.md", "/install/", "/install.html"),
        ("guide/index.md", "/guide/", "/guide/index.html"),
        ("guide/README.md", "/guide/", "/guide/index.html"),
        ("guide/guide.md", "/guide/guide/", "/guide/guide.html"),
        ("guide/01-setup.markdown", "/guide/01-setup/", "/guide/01-setup.html"),
        ("v1.2.md", "/v1.2/", "/v1.2.html"),
        ("a b/ü.md", "/a%20b/%C3%BC/", "/a%20b/%C3%BC.html"),
        ("_partial.md", "/_partial/", "/_partial.html"),
        ("guide/templates/a.md", "/guide/templates/a/", "/guide/templates/a.html"),
    ],
)
def test_a_page_has_the_address_of_its_site(path: str, address: str, file_address: str) -> None:
    assert path_of(site_of(), f"docs/{path}") == address
    assert path_of(site_of("use_directory_urls: true"), f"docs/{path}") == address
    assert path_of(site_of("use_directory_urls: false"), f"docs/{path}") == file_address


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("README.md", "not in the docs folder docs"),
        ("documents/a.md", "not in the docs folder"),
        ("docs/a.txt", "not a Markdown"),
        ("docs/a.mdx", "not a Markdown"),
        ("docs/.hidden.md", "hidden"),
        ("docs/.github/a.md", "hidden"),
        ("docs/templates/a.md", "excludes"),
    ],
)
def test_a_page_that_is_left_out_says_why(path: str, reason: str) -> None:
    assert reason in reason_of(site_of(), path)


@pytest.mark.parametrize(
    ("patterns", "out", "served"),
    [
        ("*.tmp.md", ["a.tmp.md", "b/a.tmp.md"], ["a.md", "tmp.md"]),
        ("drafts/", ["drafts/a.md", "b/drafts/a.md"], ["drafts.md", "b/drafts.md"]),
        ("/drafts", ["drafts/a.md"], ["b/drafts/a.md"]),
        ("b/drafts", ["b/drafts/a.md"], ["c/b/drafts/a.md", "drafts/a.md"]),
        ("**/b/*.md", ["b/a.md", "c/b/a.md"], ["b.md", "a/c.md"]),
        ("api/**", ["api/a.md", "api/b/a.md"], ["api.md"]),
        ("a?.md", ["ab.md"], ["a.md", "abc.md"]),
        ("v[0-9].md", ["v1.md"], ["vx.md"]),
        ("{a,b}.md", ["{a,b}.md"], ["a.md"]),
        ("*.md\n!index.md", ["a.md", "b/c.md"], ["index.md", "b/index.md"]),
        ("!.hidden.md", [".other.md"], [".hidden.md"]),
        ("# all\n\n\\#a.md", ["#a.md"], ["a.md"]),
    ],
)
def test_patterns_are_those_of_gitignore(patterns: str, out: list[str], served: list[str]) -> None:
    block = "\n".join(f"  {line}" for line in patterns.split("\n"))
    excluding, drafting = site_of(f"exclude_docs: |\n{block}"), site_of(f"draft_docs: |\n{block}")
    for page in out:
        assert "excludes" in reason_of(excluding, f"docs/{page}")
    for page in served:
        path_of(excluding, f"docs/{page}")
    for page in out:
        if not page.startswith("."):
            assert "draft" in reason_of(drafting, f"docs/{page}")


def test_pages_that_the_navigation_does_not_name_are_served() -> None:
    site = site_of("nav: [a.md]\nnot_in_nav: |\n  b.md")
    assert path_of(site, "docs/b.md") == "/b/"


def test_an_index_page_wins_over_a_readme_in_one_folder() -> None:
    site = site_of(
        "exclude_docs: out/index.md", "docs/index.md", "docs/a/b.md", "docs/out/index.md"
    )
    assert reason_of(site, "docs/README.md") == "the index page of its folder has the same URL"
    assert path_of(site, "docs/index.md") == "/"
    assert path_of(site, "docs/a/README.md") == "/a/"
    assert path_of(site, "docs/out/README.md") == "/out/"


@pytest.mark.parametrize(
    ("folder", "page"),
    [("docs", "docs/a.md"), ("./manual/en/", "manual/en/a.md"), (".", "a.md")],
)
def test_the_docs_folder_is_the_configs(folder: str, page: str) -> None:
    assert path_of(site_of(f"docs_dir: {folder}"), page) == "/a/"


def test_a_base_url_replaces_that_of_the_config() -> None:
    config = "site_url: https://x.org/a"
    assert MkDocsSite.from_config(config).place("docs/b.md", {}) == PageLocation(
        "https://x.org/a/b/"
    )
    site = MkDocsSite.from_config(config, "https://y.org")
    assert site.place("docs/b.md", {}) == PageLocation("https://y.org/b/")
    assert site.notes == ()
    unknown = MkDocsSite.from_config("site_name: P")
    assert unknown.place("docs/b.md", {}) == PageLocation("/b/")
    assert "site_url" in unknown.notes[0]


def title_of(site: PlacesPages, site_path: str) -> str:
    place = site.place(site_path, {"title": "Its own"})
    assert isinstance(place, PageLocation)
    return place.title


def test_titles_are_those_of_the_navigation() -> None:
    site = site_of("""
nav:
  - Home: index.md
  - plain.md
  - Guide:
      - 'Set up': ./guide/setup.md
      - 404: guide/lost.md
      - Nested: [{Deep: deep.md}]
    Twice: twice.md
  - Elsewhere: https://y.org/
  - Nothing:
  - Again: twice.md
  - Late: plain.md
""")
    titles = {
        "docs/index.md": "Home",
        "docs/plain.md": "",
        "docs/guide/setup.md": "Set up",
        "docs/guide/lost.md": "404",
        "docs/deep.md": "Deep",
        "docs/twice.md": "Twice",
        "docs/other.md": "",
    }
    assert {page: title_of(site, page) for page in titles} == titles


def test_a_title_in_the_navigation_wins_over_the_pages_own() -> None:
    page = SourcePage("site/docs/a.md", "docs/a.md", b"---\ntitle: Own\n---\n# Heading\n\nwords")
    for nav, title in (("{Shown: a.md}", "Shown"), ("a.md", "Own")):
        read = read_document(page, site_of(f"nav: [{nav}]"))
        assert isinstance(read, ReadPage)
        assert read.document.title == title


def test_tags_are_tolerated_and_never_obeyed() -> None:
    site = MkDocsSite.from_config("""
site_url: !ENV [SITE_URL, 'https://x.org/p/']
docs_dir: !ENV DOCS_DIR
use_directory_urls: !ENV [A, B, false]
exclude_docs: !relative x
draft_docs: !!python/object/apply:os.system ['exit 1']
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
nav: !include nav.yml
""")
    assert path_of(site, "docs/a.md") == "/a.html"
    assert [note.split("`")[1] for note in site.notes] == ["docs_dir", "exclude_docs", "draft_docs"]
    assert "use_directory_urls" in site_of("use_directory_urls: !ENV X").notes[0]


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("plugins: [search, {mike: {}}]", "mike"),
        ("plugins: {material/blog: {}}", "material/blog"),
        (f"exclude_docs: {'a' * 300}", "pattern aaa"),
    ],
)
def test_what_may_change_addresses_is_reported(config: str, told: str) -> None:
    site = site_of(config)
    assert told in " ".join(site.notes)
    assert path_of(site, "docs/a.md") == "/a/"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "- a",
        "text",
        "a: [",
        "a: {" * 5000,
        "? " * 5000,
        "\x00",
        "a: 2024-99-99",
        "*x",
        "&a [*a]",
    ],
)
def test_an_invalid_config_is_reported(config: str) -> None:
    site = MkDocsSite.from_config(config)
    assert "not a YAML mapping" in site.notes[0]
    assert site.place("docs/a.md", {}) == PageLocation("/a/")


def test_a_navigation_that_repeats_itself_is_read_once() -> None:
    lists = "\n".join(
        f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9) if n else '{T: a.md}'}]" for n in range(40)
    )
    site = site_of(f"{lists}\nnav: *l39")
    assert title_of(site, "docs/a.md") == "T"


FILES = {"README.md": "readme", "docs/a.md": "a", "docs/guide/b.md": "b", "inc/c.md": "c"}


@pytest.mark.parametrize(
    ("extensions", "text", "expanded"),
    [
        ("[]", '{!docs/a.md!}\n--8<-- "docs/a.md"', '{!docs/a.md!}\n--8<-- "docs/a.md"'),
        ("[markdown_include.include]", "{!docs/a.md!} {!a.md!} {!README.md!}", "a a readme"),
        ("{markdown_include.include: {base_path: docs}}", "{!a.md!} {!../README.md!}", "a readme"),
        ("[{markdown_include.include: {headingOffset: 9}}, toc]", "{!a.md!}", "a"),
        ("[{markdown_include.include: {headingOffset: x}}]", "{!a.md!}", "a"),
        ("[pymdownx.snippets]", '--8<-- "README.md"\n{!a.md!}', "readme\n{!a.md!}"),
        ("[{pymdownx.snippets: {base_path: [inc, docs]}}]", '--8<-- "c.md"\n--8<-- "a.md"', "c\na"),
        ("[{pymdownx.snippets: {base_path: inc/c.md}}]", '--8<-- "c.md"', "c"),
        ("[{pymdownx.snippets: {base_path: !relative }}]", '--8<-- "b.md"', "b"),
        ("[{pymdownx.snippets: {base_path: [!relative $docs_dir]}}]", '--8<-- "a.md"', "a"),
        ("[{pymdownx.snippets: {base_path: [!relative $config_dir/inc]}}]", '--8<-- "c.md"', "c"),
        ("[{pymdownx.snippets: {auto_append: [inc/c.md, 3]}}]", "x", "x\n\n\nc\n"),
        ("[{pymdownx.snippets: null}]", '--8<-- "inc/c.md"', "c"),
        ("[{pymdownx.snippets: {base_path: !ENV X}}]", 'x\n--8<-- "a.md"', "x"),
        (
            "[markdown_include.include, pymdownx.snippets]",
            '---\ntitle: "{!a.md!}"\n---\n{!a.md!}\n--8<-- "inc/c.md"',
            '---\ntitle: "{!a.md!}"\n---\na\nc',
        ),
    ],
)
def test_pages_take_in_what_the_extensions_of_the_site_do(
    extensions: str, text: str, expanded: str
) -> None:
    site = site_of(f"markdown_extensions: {extensions}")
    assert site.with_included("docs/guide/page.md", text, FILES.get)[0] == expanded


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_config_and_page_have_an_answer(config: str, path: str) -> None:
    for text in (config, f"site_url: {SITE}\nexclude_docs: |\n  {config}"):
        place = MkDocsSite.from_config(text).place(f"docs/{path}.md", {})
        assert isinstance(place, SkippedPage) or place.url.isascii()


def test_a_config_inherits_from_others() -> None:
    own = "INHERIT: ../base.yml\nsite_url: https://x.org/de/\ntheme: {language: de}"
    base = "INHERIT: root.yml\nuse_directory_urls: false\ntheme: {name: material}"
    root = "site_url: https://x.org/\nmarkdown_extensions: [attr_list]"
    config = MkDocsConfig(own, base, root)
    assert config.text("site_url", "") == "https://x.org/de/"
    assert config.flag("use_directory_urls", default=True) is False
    assert config.values["theme"] == {"name": "material", "language": "de"}
    assert "attr_list" in config.extensions
    assert inherited_config(own) == "../base.yml"
    assert [inherited_config(text) for text in ("", "- INHERIT", "INHERIT: 1", "INHERIT: [")] == [
        "",
        "",
        "",
        "",
    ]
