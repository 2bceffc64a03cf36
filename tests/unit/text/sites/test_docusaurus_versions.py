"""Docusaurus: versions, translations and several docs instances in one site."""

import pytest

from surefind.model import PageLocation
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from unit.text.sites.docusaurus_sites import PLAIN, SITE, config, path_of, reason_of, site_of


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
    assert site_of(PLAIN).place("docs/a.md", {}) == PageLocation(f"{SITE}/docs/a")
    many = config("i18n: {defaultLocale: 'en', locales: ['en', 'fr']},")
    site = site_of(many, "2.0", "1.0")
    assert site.place("docs/a.md", {}) == PageLocation(f"{SITE}/docs/next/a", "current", "en")
    page = "i18n/fr/docusaurus-plugin-content-docs/version-1.0/a.md"
    assert site.place(page, {}) == PageLocation(f"{SITE}/fr/docs/1.0/a", "1.0", "fr")
    assert site.place("src/pages/a.md", {}) == PageLocation(f"{SITE}/a", "", "en")


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
    assert site_of(text).place(page, {}) == PageLocation("https://fr.x.org/docs/a", "", "fr")
    own = site_of(text, base_url="https://y.org/z")
    assert own.place(page, {}) == PageLocation("https://y.org/z/fr/docs/a", "", "fr")


def test_locales_that_are_computed_are_all_believed() -> None:
    site = site_of(config("i18n: {defaultLocale: 'en', locales: [...all]},"))
    page = "i18n/fr/docusaurus-plugin-content-docs/current/a.md"
    assert site.place(page, {}) == PageLocation(f"{SITE}/fr/docs/a", "", "fr")
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
    assert reason_of(site, "news/a.md") == "blog pages are skipped"
    assert site.notes == ()


@pytest.mark.parametrize("text", ["{", "[1]", '"1.0"', "null", "[" * 100_000])
def test_a_versions_file_that_is_not_a_list_of_names_is_reported(text: str) -> None:
    site = DocusaurusSite.from_config(PLAIN, text)
    assert path_of(site, "docs/a.md") == "/docs/a"
    assert "versions.json" in site.notes[0]
