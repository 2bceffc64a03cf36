"""Docusaurus: the real address of every page, and why some pages have none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import PageLocation
from unit.text.sites.docusaurus_sites import (
    PLAIN,
    SITE,
    Matter,
    config,
    path_of,
    reason_of,
    site_of,
)


@pytest.mark.parametrize(
    ("path", "matter", "address"),
    [
        ("intro.md", {}, "/docs/intro"),
        ("guide/intro.mdx", {}, "/docs/guide/intro"),
        ("api/docusaurus.config.js.mdx", {}, "/docs/api/docusaurus.config.js"),
        ("Guide/Case-Kept.md", {}, "/docs/Guide/Case-Kept"),
        # numbers in front
        ("01-intro.md", {}, "/docs/intro"),
        ("1.intro.md", {}, "/docs/intro"),
        ("001 - intro.md", {}, "/docs/intro"),
        ("1_intro.md", {}, "/docs/intro"),
        ("1---intro.md", {}, "/docs/intro"),
        ("3 _intro.md", {}, "/docs/intro"),
        ("01-guide/02-intro.md", {}, "/docs/guide/intro"),
        ("2021-11-intro.md", {}, "/docs/2021-11-intro"),
        ("31.01.2021 - intro.md", {}, "/docs/31.01.2021%20-%20intro"),
        ("7.0-intro.md", {}, "/docs/7.0-intro"),
        ("8_0/intro.md", {}, "/docs/8_0/intro"),
        ("01.md", {}, "/docs/01"),
        ("1-.md", {}, "/docs/1-"),
        ("a1-intro.md", {}, "/docs/a1-intro"),
        ("1 intro.md", {}, "/docs/1%20intro"),
        ("²-intro.md", {}, "/docs/%C2%B2-intro"),
        ("01-a/02-b.md", {"parse_number_prefixes": False}, "/docs/01-a/02-b"),
        # the page of a folder
        ("index.md", {}, "/docs/"),
        ("README.md", {}, "/docs/"),
        ("guide/index.md", {}, "/docs/guide/"),
        ("guide/inDEx.mdx", {}, "/docs/guide/"),
        ("guide/ReadMe.md", {}, "/docs/guide/"),
        ("guide/guide.md", {}, "/docs/guide/"),
        ("Guide/guide.md", {}, "/docs/Guide/"),
        ("01-guide/01-guide.md", {}, "/docs/guide/"),
        ("01-guide/guide.md", {}, "/docs/guide/guide"),
        ("guide/01-guide.md", {}, "/docs/guide/guide"),
        ("guide/01-index.md", {}, "/docs/guide/index"),
        ("docs.md", {}, "/docs/docs"),
        ("guide/index.md", {"id": "other"}, "/docs/guide/"),
        ("guide/index.md", {"slug": "other"}, "/docs/guide/other"),
        ("guide/guides.md", {}, "/docs/guide/guides"),
        # id
        ("guide/intro.md", {"id": "start"}, "/docs/guide/start"),
        ("guide/intro.md", {"id": "01-start"}, "/docs/guide/01-start"),
        ("guide/intro.md", {"id": 2}, "/docs/guide/2"),
        ("guide/intro.md", {"id": 2.0}, "/docs/guide/2"),
        ("guide/intro.md", {"id": 2.5}, "/docs/guide/2.5"),
        ("guide/intro.md", {"id": True}, "/docs/guide/intro"),
        ("guide/intro.md", {"id": None, "slug": ""}, "/docs/guide/intro"),
        # slug
        ("guide/intro.md", {"slug": "/"}, "/docs/"),
        ("guide/intro.md", {"slug": "/bonjour"}, "/docs/bonjour"),
        ("guide/intro.md", {"slug": "/a/b/"}, "/docs/a/b/"),
        ("guide/intro.md", {"slug": "bonjour"}, "/docs/guide/bonjour"),
        ("01-guide/intro.md", {"slug": "02-bonjour"}, "/docs/guide/02-bonjour"),
        ("guide/intro.md", {"slug": "./bonjour"}, "/docs/guide/bonjour"),
        ("guide/intro.md", {"slug": "./a/../b"}, "/docs/guide/b"),
        ("guide/deep/intro.md", {"slug": "../bonjour"}, "/docs/guide/bonjour"),
        ("guide/intro.md", {"slug": "../../../../bonjour"}, "/docs/bonjour"),
        ("guide/intro.md", {"slug": "bonjour/"}, "/docs/guide/bonjour/"),
        ("guide/deep/intro.md", {"slug": ".."}, "/docs/guide/"),
        ("guide/intro.md", {"slug": "."}, "/docs/guide/"),
        ("guide/intro.md", {"slug": ".."}, "/docs/"),
        ("guide/intro.md", {"id": "a", "slug": "b"}, "/docs/guide/b"),
        ("guide/intro.md", {"slug": "/api/@scope/package"}, "/docs/api/@scope/package"),
        ("guide/intro.md", {"slug": "page.html"}, "/docs/guide/page.html"),
        ("guide/intro.md", {"slug": 404}, "/docs/guide/404"),
        # letters
        ("a b/ü ß.md", {}, "/docs/a%20b/%C3%BC%20%C3%9F"),
        ("漢字.md", {}, "/docs/%E6%BC%A2%E5%AD%97"),
        ("beginner's guide (1).md", {}, "/docs/beginner's%20guide%20(1)"),
        ("c++ & $x, y=1;.md", {}, "/docs/c++%20&%20$x,%20y=1;"),
        ("caf.md", {"slug": "/caf%C3%A9"}, "/docs/caf%C3%A9"),
        ("100%.md", {}, "/docs/100%25"),
        ("a[1].md", {}, "/docs/a%5B1%5D"),
        # served, although the name may look otherwise
        ("x.test.md", {}, "/docs/x.test"),
        ("a_b/c_.md", {}, "/docs/a_b/c_"),
        ("intro.md", {"draft": False, "unlisted": "no"}, "/docs/intro"),
    ],
)
def test_a_doc_has_the_address_of_its_site(path: str, matter: Matter, address: str) -> None:
    assert path_of(site_of(PLAIN), f"docs/{path}", matter) == address


@pytest.mark.parametrize(
    ("path", "matter", "reason"),
    [
        ("docs/intro.md", {"draft": True}, "draft"),
        ("docs/intro.md", {"draft": "true"}, "draft"),
        ("docs/intro.md", {"unlisted": True}, "unlisted"),
        ("docs/_partial.mdx", {}, "excludes"),
        ("docs/_parts/a/intro.md", {}, "excludes"),
        ("docs/a/__tests__/intro.md", {}, "excludes"),
        ("docs/.hidden/intro.md", {}, "hidden"),
        ("docs/notes.txt", {}, "does not include"),
        ("docs/intro.md", {"id": "a/b"}, "has a slash"),
        ("docs/intro.md", {"slug": "//"}, "refuses"),
        ("docs/intro.md", {"slug": "/a/../b"}, "refuses"),
        ("docs/intro.md", {"slug": "/a?b"}, "refuses"),
        ("docs/intro.md", {"slug": "/a#b"}, "refuses"),
        ("docs/intro.md", {"slug": "/a\\b"}, "refuses"),
        ("docs/intro.md", {"slug": "/a "}, "refuses"),
        ("docs/what?.md", {}, "refuses"),
        ("docs/a [1].md", {}, "refuses"),
        ("blog/2024-01-01-x.md", {}, "blog pages"),
        ("i18n/en/docusaurus-plugin-content-blog/2024-01-01-x.md", {}, "blog pages"),
        ("README.md", {}, "does not build pages from its folder"),
        ("documents/intro.md", {}, "does not build pages from its folder"),
        ("versioned_docs/version-1.0/intro.md", {}, "version 1.0"),
        ("other_versioned_docs/version-1.0/intro.md", {}, "does not build pages from its folder"),
        ("i18n/fr/docusaurus-plugin-content-docs/current/intro.md", {}, "locale fr"),
        ("i18n/en/docusaurus-plugin-content-docs/intro.md", {}, "a version of the translated docs"),
        ("i18n/en/docusaurus-plugin-content-docs-api/current/intro.md", {}, "no docs instance api"),
        ("src/pages/_part.md", {}, "excludes"),
        ("src/pages/about.md", {"draft": True}, "draft"),
    ],
)
def test_a_page_that_is_left_out_says_why(path: str, matter: Matter, reason: str) -> None:
    assert reason in reason_of(site_of(PLAIN), path, matter)


@pytest.mark.parametrize(
    ("path", "matter", "address"),
    [
        ("about.md", {}, "/about"),
        ("index.md", {}, "/"),
        ("a/INDEX.mdx", {}, "/a/"),
        ("README.md", {}, "/README"),
        ("01-about.md", {}, "/01-about"),
        ("a/myindex.md", {}, "/a/myindex"),
        ("a/a.md", {}, "/a/a"),
        ("a b/c&d.md", {}, "/a%20b/c%26d"),
        ("about.md", {"slug": "/us"}, "/us"),
        ("deep/about.md", {"slug": "us"}, "/us"),
    ],
)
def test_a_page_of_its_own_is_served_under_its_path(
    path: str, matter: Matter, address: str
) -> None:
    assert path_of(site_of(PLAIN), f"src/pages/{path}", matter) == address


@pytest.mark.parametrize(
    ("setting", "addresses"),
    [
        ("", ["/docs/", "/docs/guide/", "/docs/guide/intro", "/docs/a/", "/", "/a/"]),
        ("trailingSlash: undefined,", ["/docs/", "/docs/guide/", "/docs/guide/intro", "/docs/a/"]),
        ("trailingSlash: true,", ["/docs/", "/docs/guide/", "/docs/guide/intro/", "/docs/a/", "/"]),
        ("trailingSlash: false,", ["/docs", "/docs/guide", "/docs/guide/intro", "/docs/a", "/"]),
    ],
)
def test_slashes_at_the_end_follow_the_config(setting: str, addresses: list[str]) -> None:
    pages: list[tuple[str, Matter]] = [
        ("docs/index.md", {}),
        ("docs/guide/index.md", {}),
        ("docs/guide/intro.md", {}),
        ("docs/x.md", {"slug": "/a/"}),
        ("src/pages/index.md", {}),
        ("src/pages/a/index.md", {}),
    ]
    site = site_of(config(setting))
    found = [path_of(site, path, matter) for path, matter in pages]
    assert found[: len(addresses)] == addresses


@pytest.mark.parametrize(
    ("base", "route", "path", "address"),
    [
        ("/", "docs", "docs/a.md", "/docs/a"),
        ("/", "/", "docs/a.md", "/a"),
        ("/", "/", "docs/index.md", "/"),
        ("/", "/handbook/", "docs/index.md", "/handbook/"),
        ("/base/", "docs", "docs/a.md", "/base/docs/a"),
        ("base", "docs", "docs/a.md", "/base/docs/a"),
        ("/base/", "/", "docs/index.md", "/base/"),
        ("/base/", "/", "docs/a/index.md", "/base/a/"),
        ("/base/", "a/b", "docs/a.md", "/base/a/b/a"),
        ("/base/", "docs", "src/pages/index.md", "/base/"),
    ],
)
def test_bases_and_routes_are_joined(base: str, route: str, path: str, address: str) -> None:
    text = config(docs=f"{{routeBasePath: '{route}'}}", base=base)
    assert path_of(site_of(text), path) == address
    closed = config("trailingSlash: false,", docs=f"{{routeBasePath: '{route}'}}", base=base)
    root = {"/", f"/{base.strip('/')}/"}
    expected = address if address in root else address.rstrip("/")
    assert path_of(site_of(closed), path) == expected


def test_a_base_url_replaces_that_of_the_config() -> None:
    site = site_of(config(base="/base/"), base_url="https://y.org/docs-site/")
    assert site.place("docs/a.md", {}) == PageLocation("https://y.org/docs-site/docs/a")
    assert site_of(None, base_url="/only/path").place("docs/a.md", {}) == PageLocation(
        "/only/path/docs/a"
    )
    unknown = site_of("export default {presets: ['classic']}")
    assert unknown.place("docs/a.md", {}) == PageLocation("/docs/a")
    assert any("url" in note for note in unknown.notes)


@pytest.mark.parametrize(
    ("path", "matter", "address"),
    [
        ("guide/01-intro.md", {}, "/guide/intro"),
        ("index.md", {}, "/"),
        ("a.md", {"slug": "/b"}, "/b"),
        ("docs/a.md", {"slug": "/b"}, "/docs/b"),
        ("versioned_docs/version-1.0/a.md", {}, "/docs/a"),
        ("i18n/en/docusaurus-plugin-content-docs/version-1.0/a.md", {}, "/docs/a"),
        ("blog/2024-01-01-x.md", {}, "/blog/2024-01-01-x"),
    ],
)
def test_without_a_config_the_folder_is_the_docs_or_has_them(
    path: str, matter: Matter, address: str
) -> None:
    versions = ["1.0"] if "1.0" in path else []
    assert path_of(site_of(None, *versions, base_url=SITE), path, matter) == address


PLAIN_SITE = site_of(PLAIN)


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["id", "slug"]), st.text(max_size=20)))
def test_any_page_has_a_place_or_a_reason(path: str, matter: dict[str, object]) -> None:
    place = PLAIN_SITE.place(f"docs/{path}.md", matter)
    if isinstance(place, PageLocation):
        assert place.url.startswith(f"{SITE}/docs/")
        assert place.url.isascii()
        assert not set(' <>"?#') & set(place.url)
    else:
        assert place.reason
