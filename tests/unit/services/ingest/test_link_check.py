"""Links between pages, judged by the pages there are."""

from collections.abc import Mapping

import pytest

from surefind.model import SkippedPage, SourcePage
from surefind.ports import Site
from surefind.services.ingest.link_check import LinkCheck, SourceRoot
from surefind.text.documents import read_document
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.mkdocs.addresses import MkDocsSite
from surefind.text.sites.plain import PlainSite, ReaderSite

PAGES = {
    "index.md": "# Home",
    "guide/install.md": "# Install\n\n## Power {#volts}",
    "guide/index.md": "# Guide",
    "notes.txt": "plain",
}
MKDOCS = "site_url: https://d.example/v1/\n"
DOCUSAURUS = (
    "export default {url: 'https://d.example', baseUrl: '/base/', presets: [['classic', {}]],"
    " i18n: {defaultLocale: 'en', locales: ['en', 'fr']}}"
)


def of(site: Site, *, name: str = "docs", prefix: str = "") -> SourceRoot:
    return SourceRoot(name, site, prefix)


def broken(home: SourceRoot, link: str, more: Mapping[str, str] | None = None) -> list[str]:
    """The reasons why the links are broken, of one on `guide/page.md` and of those in `more`."""
    texts = {**PAGES, **(more or {}), "guide/page.md": f"# Page\n\n[x]({link})"}
    check = checked(home, texts)
    check.leave(f"{home.name}/guide/draft.md")
    return [item.reason for item in check.broken()]


def checked(home: SourceRoot, texts: Mapping[str, str]) -> LinkCheck:
    check = LinkCheck()
    for path, text in texts.items():
        page = SourcePage(f"{home.name}/{path}", f"{home.prefix}{path}", text.encode())
        read = read_document(page, home.site)
        if isinstance(read, SkippedPage):
            check.leave(page.source_path)
        else:
            check.add(page, home, read)
    return check


READER = of(ReaderSite("docs", "docs"))
PLAIN = of(PlainSite("https://d.example/v1"))
MK = of(MkDocsSite.from_config(MKDOCS), prefix="docs/")
DOCU = of(DocusaurusSite.from_config(DOCUSAURUS), prefix="docs/")


@pytest.mark.parametrize("source", [READER, PLAIN, MK, DOCU])
@pytest.mark.parametrize(
    "link",
    [
        "install.md",
        "../guide/install.md#volts",
        "install.md?plain=1#volts",
        "#",
        "#top",
        "#:~:text=page",
        "../notes.txt#anything",
        "draft.md",
        "../../outside.md",
        "https://elsewhere.example/gone",
        "//elsewhere.example/gone",
        "mailto:a@b.example",
        "pathname:///gone.html",
        "pathname:///gone.md",
        "picture.png",
        "gone.html",
        "http://[broken",
    ],
)
def test_these_are_fine_or_not_ours_to_judge(source: SourceRoot, link: str) -> None:
    assert broken(source, link) == []


@pytest.mark.parametrize("link", ["#page", "./install.md#install"])
def test_titles_have_anchors_except_in_docusaurus(link: str) -> None:
    """It renders headings of the first level without an id, and warns of such links, too."""
    assert [broken(source, link) for source in (READER, PLAIN, MK)] == [[], [], []]
    assert [reason.split(" has ")[1] for reason in broken(DOCU, link)] == [
        f"no heading {link[link.index('#') :]}"
    ]


@pytest.mark.parametrize("source", [READER, PLAIN, MK, DOCU])
@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("gone.md", "there is no page docs/guide/gone.md"),
        ("../gone.md#x", "there is no page docs/gone.md"),
        ("install.md#power", "docs/guide/install.md has no heading #power"),
        ("#gone", "docs/guide/page.md has no heading #gone"),
        ("install.md#Volts", "docs/guide/install.md has no heading #Volts"),
    ],
)
def test_these_are_broken_everywhere(source: SourceRoot, link: str, reason: str) -> None:
    assert broken(source, link) == [reason]


@pytest.mark.parametrize(
    ("source", "link", "missing"),
    [
        (READER, "install", None),
        (READER, "../guide", None),
        (READER, "../guide/", None),
        (READER, "./", None),
        (READER, "instal", "surefind://docs/docs/guide/instal"),
        (READER, "/anything", None),
        (READER, "/anything.md", None),
        (READER, "/docs/index.md", None),
        (PLAIN, "install", None),
        (PLAIN, "/v1/guide/install/", None),
        (PLAIN, "https://d.example/v1/guide/install?x=1#volts", None),
        (PLAIN, "https://d.example/v1/guide/instal", "https://d.example/v1/guide/instal"),
        (PLAIN, "/v1/gone", "https://d.example/v1/gone"),
        (PLAIN, "/other/gone", None),
        (PLAIN, "/index.md", None),
        (PLAIN, "/v1/gone.md", "docs/v1/gone.md"),
        (MK, "../install/", None),
        (MK, "../", None),
        (MK, "install/", "https://d.example/v1/guide/page/install/"),
        (MK, "/v1/guide/", None),
        (DOCU, "install", None),
        (DOCU, "./instal", "https://d.example/base/docs/guide/instal"),
        (DOCU, "/docs/guide/install#volts", None),
        (DOCU, "/base/docs/guide/install", None),
        (DOCU, "/docs/gone", "https://d.example/base/docs/gone"),
        (DOCU, "https://d.example/base/docs/gone", "https://d.example/base/docs/gone"),
        (DOCU, "/", None),
        (DOCU, "/blog/gone", None),
        (DOCU, "/showcase", None),
        (DOCU, "/docs/category/guides", None),
        (DOCU, "/docs/tags/x", None),
        (DOCU, "@site/docs/guide/install.md", None),
        (DOCU, "@site/docs/gone.md", "docs/gone.md"),
        (DOCU, "@site/blog/gone.md", None),
        (DOCU, "/guide/install.md", None),
        (DOCU, "guide/install.md", None),
        (DOCU, "/guide/gone.md", "docs/guide/gone.md"),
    ],
)
def test_addresses_are_those_of_the_site(
    source: SourceRoot, link: str, missing: str | None
) -> None:
    assert broken(source, link) == ([f"there is no page {missing}"] if missing else [])


def test_of_docusaurus_only_the_same_version_is_judged() -> None:
    site = DocusaurusSite.from_config(DOCUSAURUS, '["2.0", "1.0"]')
    source = of(site, prefix="docs/")
    assert broken(source, "/docs/next/gone") == [
        "there is no page https://d.example/base/docs/next/gone"
    ]
    assert broken(source, "/docs/next/guide/install") == []
    assert broken(source, "/docs/gone") == []
    assert broken(source, "/docs/1.0/gone") == []


def test_of_docusaurus_what_is_in_no_version_is_not_judged() -> None:
    config = DOCUSAURUS.replace("{}]]", "{docs: {includeCurrentVersion: false}}]]")
    site = DocusaurusSite.from_config(config, '["2.0", "1.0"]')
    assert site.addresses("/docs/gone", "https://d.example/base/docs/1.0/a") == ()
    only = config.replace("false}", "false, lastVersion: '3.0'}")
    nowhere = DocusaurusSite.from_config(only, '["2.0", "1.0"]')
    assert nowhere.addresses("/docs/gone", "https://d.example/base/docs/1.0/a") == ()


def test_a_translated_page_links_within_its_language() -> None:
    home = of(DocusaurusSite.from_config(DOCUSAURUS), name="site")
    folder = "i18n/fr/docusaurus-plugin-content-docs/current"
    texts = {f"{folder}/a.md": "# A\n\n[b](/docs/b) [c](/docs/c)", f"{folder}/b.md": "# B"}
    assert [item.reason for item in checked(home, texts).broken()] == [
        "there is no page https://d.example/base/fr/docs/c"
    ]


def test_parts_of_pages_and_pages_with_parts_keep_their_secrets() -> None:
    assert broken(READER, "_part.md#x", more={"guide/_part.md": "# P\n\n[y](#gone)"}) == []


def test_html_files_link_to_html_files() -> None:
    pages = {"a.html": "<h1>A</h1><a href='b.html'>b</a><a href='c.html'>c</a>", "b.html": "<p>b"}
    reasons = broken(READER, "install.md", more=pages)
    assert reasons == ["there is no page surefind://docs/docs/c.html"]
