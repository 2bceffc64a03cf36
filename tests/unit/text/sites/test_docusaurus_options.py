"""Docusaurus: what its config asks for, and what of it is computed and so not known."""

import pytest

from surefind.model import PageLocation
from unit.text.sites.docusaurus_sites import config, path_of, reason_of, site_of


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
        assert "does not build pages from its folder" in reason_of(site, page)
    else:
        assert path_of(site, page) == address


def test_what_a_config_computes_is_reported_and_takes_its_default() -> None:
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
    assert site.place("docs/01-a.md", {}) == PageLocation("/docs/a")
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
