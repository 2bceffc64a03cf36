"""Docusaurus: the real address of every page, and why some pages have none."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import Left, Place
from surefind.text.documents import Placing
from surefind.text.docusaurus import DocusaurusSite
from surefind.text.sites import PlainSite, ReaderSite, clashes, encode_uri, glob_expression

Matter = Mapping[str, object]

SITE = "https://x.org"
PLAIN = """export default {url: 'https://x.org', baseUrl: '/', presets: ['classic']};"""


def config(extra: str = "", *, docs: str = "{}", plugins: str = "", base: str = "/") -> str:
    return (
        f"export default {{url: '{SITE}', baseUrl: '{base}', {extra}\n"
        f"  presets: [['classic', {{docs: {docs}}}]], plugins: [{plugins}]}};"
    )


def site_of(config_text: str | None, *versions: str, **options: object) -> DocusaurusSite:
    text = json.dumps(versions) if versions else None
    return DocusaurusSite.from_config(config_text, text, **options)  # type: ignore[arg-type]


def path_of(site: Placing, site_path: str, matter: Matter | None = None) -> str:
    place = site.place(site_path, matter or {})
    assert isinstance(place, Place), place
    assert place.url.startswith(SITE)
    return place.url.removeprefix(SITE)


def reason_of(site: Placing, site_path: str, matter: Matter | None = None) -> str:
    place = site.place(site_path, matter or {})
    assert isinstance(place, Left), place
    return place.reason


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
        ("README.md", {}, "no folder"),
        ("documents/intro.md", {}, "no folder"),
        ("versioned_docs/version-1.0/intro.md", {}, "version 1.0"),
        ("other_versioned_docs/version-1.0/intro.md", {}, "no folder"),
        ("i18n/fr/docusaurus-plugin-content-docs/current/intro.md", {}, "locale fr"),
        ("i18n/en/docusaurus-plugin-content-docs/intro.md", {}, "no version"),
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


@pytest.mark.parametrize(
    ("docs", "current", "newest", "oldest"),
    [
        ("{}", "/docs/next/a", "/docs/a", "/docs/1.0/a"),
        ("{lastVersion: 'current'}", "/docs/a", "/docs/2.0/a", "/docs/1.0/a"),
        ("{lastVersion: '1.0'}", "/docs/next/a", "/docs/2.0/a", "/docs/a"),
        ("{lastVersion: '9'}", "/docs/next/a", "/docs/2.0/a", "/docs/1.0/a"),
        (
            "{versions: {current: {label: 'Dev', path: 'dev'}, '1.0': {path: 'old'}}}",
            "/docs/dev/a",
            "/docs/a",
            "/docs/old/a",
        ),
        (
            "{versions: {'2.0': {path: ''}, '1.0': {label}}}",
            "/docs/next/a",
            "/docs/a",
            "/docs/1.0/a",
        ),
        (
            "{lastVersion: 'current', versions: {current: {path: '3.0'}}}",
            "/docs/3.0/a",
            "/docs/2.0/a",
            "/docs/1.0/a",
        ),
        ("{routeBasePath: '/'}", "/next/a", "/a", "/1.0/a"),
        ("{includeCurrentVersion: false}", None, "/docs/a", "/docs/1.0/a"),
        ("{disableVersioning: true}", "/docs/a", None, None),
        ("{onlyIncludeVersions: ['current', '1.0']}", "/docs/next/a", None, "/docs/a"),
    ],
)
def test_versions_have_paths_of_their_own(
    docs: str, current: str | None, newest: str | None, oldest: str | None
) -> None:
    site = site_of(config(docs=docs), "2.0", "1.0")
    pages = ["docs/a.md", "versioned_docs/version-2.0/a.md", "versioned_docs/version-1.0/a.md"]
    for page, expected in zip(pages, (current, newest, oldest), strict=True):
        if expected is None:
            assert "does not include the docs version" in reason_of(site, page)
        else:
            assert path_of(site, page) == expected


def test_a_place_names_its_version_and_its_locale_where_there_are_several() -> None:
    assert site_of(PLAIN).place("docs/a.md", {}) == Place(f"{SITE}/docs/a")
    many = config("i18n: {defaultLocale: 'en', locales: ['en', 'fr']},")
    site = site_of(many, "2.0", "1.0")
    assert site.place("docs/a.md", {}) == Place(f"{SITE}/docs/next/a", "current", "en")
    page = "i18n/fr/docusaurus-plugin-content-docs/version-1.0/a.md"
    assert site.place(page, {}) == Place(f"{SITE}/fr/docs/1.0/a", "1.0", "fr")
    assert site.place("src/pages/a.md", {}) == Place(f"{SITE}/a", "", "en")


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("i18n/fr/docusaurus-plugin-content-docs/current/01-a/b.md", "/base/fr/docs/a/b"),
        ("i18n/en/docusaurus-plugin-content-docs/current/a.md", "/base/docs/a"),
        ("i18n/fr/docusaurus-plugin-content-docs/current/i18n/a.md", "/base/fr/docs/i18n/a"),
        ("i18n/fr/docusaurus-plugin-content-docs-api/current/a.md", "/base/fr/api/a"),
        ("i18n/fr/docusaurus-plugin-content-pages/index.md", "/base/fr/"),
        ("i18n/de-AT/docusaurus-plugin-content-docs/current/a.md", "/oesterreich/docs/a"),
        ("docs/i18n/intro.md", "/base/docs/i18n/intro"),
    ],
)
def test_translations_are_below_their_locale(path: str, address: str) -> None:
    locales = """i18n: {defaultLocale: 'en', locales: ['en', 'fr', 'de'], localeConfigs: {
        de: {label: 'Deutsch', path: 'de-AT', baseUrl: '/oesterreich'}}},"""
    plugins = "['@docusaurus/plugin-content-docs', {id: 'api', path: 'api', routeBasePath: 'api'}]"
    site = site_of(config(locales, plugins=plugins, base="/base/"))
    assert path_of(site, path) == address


def test_a_locale_may_have_a_domain_of_its_own() -> None:
    text = config("""i18n: {defaultLocale: 'en', locales: ['en', 'fr'], path: 'tr',
        localeConfigs: {fr: {url: 'https://fr.x.org/', baseUrl: '/'}}},""")
    page = "tr/fr/docusaurus-plugin-content-docs/current/a.md"
    assert site_of(text).place(page, {}) == Place("https://fr.x.org/docs/a", "", "fr")
    own = site_of(text, base_url="https://y.org/z")
    assert own.place(page, {}) == Place("https://y.org/z/fr/docs/a", "", "fr")


def test_locales_that_are_computed_are_all_believed() -> None:
    site = site_of(config("i18n: {defaultLocale: 'en', locales: [...all]},"))
    page = "i18n/fr/docusaurus-plugin-content-docs/current/a.md"
    assert site.place(page, {}) == Place(f"{SITE}/fr/docs/a", "", "fr")
    assert any("i18n.locales" in note for note in site.notes)


def test_a_translation_into_the_default_locale_replaces_the_page() -> None:
    own = {
        "docs/a.md": "i18n/en/docusaurus-plugin-content-docs/current/a.md",
        "versioned_docs/version-1/a.md": "i18n/en/docusaurus-plugin-content-docs/version-1/a.md",
        "api/a.md": "i18n/en/docusaurus-plugin-content-docs-api/current/a.md",
        "src/pages/a.md": "i18n/en/docusaurus-plugin-content-pages/a.md",
    }
    text = config(plugins="['content-docs', {id: 'api', path: 'api', routeBasePath: 'api'}]")
    site = site_of(text, "1", pages=[*own, *own.values(), "docs/b.md"])
    for page, translation in own.items():
        assert "translation" in reason_of(site, page)
        path_of(site, translation)
    assert path_of(site, "docs/b.md") == "/docs/next/b"


def test_every_docs_instance_has_its_own_folder_route_and_versions() -> None:
    plugins = """
        ['@docusaurus/plugin-content-docs', {id: 'community', path: './community/',
          routeBasePath: 'community'}],
        [require.resolve('@docusaurus/plugin-content-docs'), {id: 'tests', path: '_dog/_docs tests',
          routeBasePath: '/tests/docs', numberPrefixParser: false}],
        ['content-docs', {id: 'inner', path: 'docs/inner', routeBasePath: 'inner'}],
        ['content-blog', {id: 'news', path: 'news'}],
        ['content-pages', {id: 'more', path: 'more', routeBasePath: '/more'}],
        '@docusaurus/theme-mermaid', [], ['./own-plugin.js', {path: 'x'}]"""
    community = {"community": '["2.x", "1.x"]'}
    site = site_of(config(plugins=plugins), "3.0", instance_versions=community)
    assert path_of(site, "docs/a.md") == "/docs/next/a"
    assert path_of(site, "docs/inner/a.md") == "/inner/a"
    assert path_of(site, "community/0-support.mdx") == "/community/next/support"
    assert path_of(site, "community_versioned_docs/version-2.x/a.md") == "/community/a"
    assert path_of(site, "community_versioned_docs/version-1.x/a.md") == "/community/1.x/a"
    assert path_of(site, "_dog/_docs tests/1-a b.md") == "/tests/docs/1-a%20b"
    assert path_of(site, "more/a.md") == "/more/a"
    assert reason_of(site, "_dog/_docs tests/_a.md").startswith("the docs plugin excludes")
    assert reason_of(site, "news/a.md") == "blog pages are left out"
    assert site.notes == ()


def test_patterns_of_the_config_replace_the_defaults() -> None:
    docs = """{exclude: ['drafts', '**/*.draft.md', 'in/**', 'v[0-9]/[!a]?.{md,mdx}',
        '!(no)', 'z[9-0]'], include: ['**/*.md', 'x/*.mdx']}"""
    site = site_of(config(docs=docs))
    for page in ("drafts/a.md", "a.draft.md", "b/a.draft.md", "in/a/b.md", "v1/bc.md"):
        assert "excludes" in reason_of(site, f"docs/{page}")
    for page in ("_a.md", "v1/ab.md", "vx/bc.md", "drafts2/a.md", "a/drafts/b.md", "no.md"):
        path_of(site, f"docs/{page}")
    assert path_of(site, "docs/x/a.mdx") == "/docs/x/a"
    assert "does not include" in reason_of(site, "docs/a.mdx")
    assert [note.split(" is ")[0] for note in site.notes] == [
        "the pattern !(no)",
        "the pattern z[9-0]",
    ]
    unknown = site_of(config(docs=f"{{include: ['{'*/' * 20}*']}}"))
    assert path_of(unknown, "docs/a.md") == "/docs/a"


@pytest.mark.parametrize(
    ("text", "page", "address"),
    [
        ("{url: 'https://x.org', presets: [['classic', {docs: false}]]}", "docs/a.md", None),
        ("{url: 'https://x.org', presets: [['classic', {pages: false}]]}", "src/pages/a.md", None),
        ("{url: 'https://x.org', presets: []}", "docs/a.md", None),
        ("{url: 'https://x.org', presets: [['other', {docs: {}}]]}", "docs/a.md", "/docs/a"),
        ("{url: 'https://x.org', presets: [['other', {}]]}", "docs/a.md", None),
        ("{url: 'https://x.org', presets: makePresets()}", "docs/a.md", "/docs/a"),
        ("{url: 'https://x.org', presets: [[classic(), {docs: o}]]}", "docs/a.md", "/docs/a"),
    ],
)
def test_only_what_the_config_asks_for_is_built(text: str, page: str, address: str | None) -> None:
    site = site_of(f"module.exports = {text}")
    if address is None:
        assert "no folder" in reason_of(site, page)
    else:
        assert path_of(site, page) == address


def test_a_base_url_replaces_that_of_the_config() -> None:
    site = site_of(config(base="/base/"), base_url="https://y.org/docs-site/")
    assert site.place("docs/a.md", {}) == Place("https://y.org/docs-site/docs/a")
    assert site_of(None, base_url="/only/path").place("docs/a.md", {}) == Place("/only/path/docs/a")
    unknown = site_of("export default {presets: ['classic']}")
    assert unknown.place("docs/a.md", {}) == Place("/docs/a")
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


def test_what_a_config_computes_is_told_and_takes_its_default() -> None:
    text = """
        export default {
          url: process.env.URL, baseUrl: base(), trailingSlash: isPreview, ...shared,
          i18n: {defaultLocale: locale},
          presets: [['classic', {docs: {path: join('a', 'b'), routeBasePath: `x${y}`,
             numberPrefixParser: (name) => ({filename: name}), exclude: [all],
             versions: someVersions,
             includeCurrentVersion: flag || false}}], other],
          plugins: [function own() { return {name: 'own'}; }],
        };"""
    site = site_of(text)
    assert site.place("docs/01-a.md", {}) == Place("/docs/a")
    told = " ".join(site.notes)
    for name in (
        "`url`",
        "`baseUrl`",
        "`trailingSlash`",
        "`i18n.defaultLocale`",
        "`docs.path`",
        "`docs.routeBasePath`",
        "`docs.numberPrefixParser`",
        "`docs.exclude`",
        "`docs.versions`",
        "`docs.includeCurrentVersion`",
        "`presets`",
        "`plugins`",
    ):
        assert name in told
    assert len(site.notes) == len(set(site.notes))
    assert all(note.endswith(".") for note in site.notes)


@pytest.mark.parametrize("text", ["{", "[1]", '"1.0"', "null", "[" * 100_000])
def test_a_versions_file_that_is_no_list_of_names_is_told(text: str) -> None:
    site = DocusaurusSite.from_config(PLAIN, text)
    assert path_of(site, "docs/a.md") == "/docs/a"
    assert "versions.json" in site.notes[0]


@given(st.text(max_size=40), st.dictionaries(st.sampled_from(["id", "slug"]), st.text(max_size=20)))
def test_any_page_has_a_place_or_a_reason(path: str, matter: dict[str, object]) -> None:
    place = site_of(PLAIN).place(f"docs/{path}.md", matter)
    if isinstance(place, Place):
        assert place.url.startswith(f"{SITE}/docs/")
        assert place.url.isascii()
        assert not set(' <>"?#') & set(place.url)
    else:
        assert place.reason


# --- what sites share -------------------------------------------------------------------------


def test_a_plain_site_serves_every_page_under_its_path() -> None:
    site: Placing = PlainSite("https://x.org/docs/")
    assert site.place("guide/index.md", {"draft": True}) == Place("https://x.org/docs/guide")
    reader: Placing = ReaderSite("docs", "handbook")
    assert reader.place("a b.md", {}) == Place("http://localhost:8000/read/docs/handbook/a%20b.md")


def test_addresses_that_several_pages_claim_are_found() -> None:
    site = site_of(PLAIN)
    pages = ["docs/demo/demo.md", "docs/demo/index.md", "docs/demo/other.md", "docs/_a.md"]
    places = {page: site.place(page, {}) for page in pages}
    assert clashes(places) == {f"{SITE}/docs/demo": ("docs/demo/demo.md", "docs/demo/index.md")}


def test_paths_are_spelled_as_browsers_do() -> None:
    assert encode_uri("/a b/ü/%20/100%/[x]") == "/a%20b/%C3%BC/%20/100%25/%5Bx%5D"


def test_globs_that_could_never_end_are_refused() -> None:
    assert glob_expression("**/" * 20, braces=True) is None
    assert glob_expression("a" * 300, braces=True) is None
    assert glob_expression("[z-a]", braces=True) is None
    assert glob_expression("{a,b*}", braces=False) == r"\{a,b\*\}"
