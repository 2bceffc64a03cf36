"""Hugo: the address of every page, and why some have none. tests/sites compares with Hugo."""

from collections.abc import Mapping
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import PageLocation, SkippedPage
from surefind.text.documents import PlacesPages
from surefind.text.sites.hugo.addresses import HugoSite
from surefind.text.sites.hugo.config import HugoConfig

SITE = "https://x.org/p"
CONFIG = f'baseURL = "{SITE}/"\n'
LANGUAGES = '[languages.en]\n[languages.de]\ncontentDir = "inhalt"\n[languages.fr]\n'


def site_of(config: str = "", pages: Mapping[str, str] | None = None) -> HugoSite:
    files = {"hugo.toml": CONFIG + config}
    known = pages or {}
    return HugoSite(HugoConfig(files), None, known, known.get, date(2026, 5, 1))


def path_of(site: PlacesPages, site_path: str, **front_matter: object) -> str:
    place = site.place(site_path, front_matter)
    assert isinstance(place, PageLocation), place
    assert place.url.startswith(SITE)
    return place.url.removeprefix(SITE)


def reason_of(site: PlacesPages, site_path: str, **front_matter: object) -> str:
    place = site.place(site_path, front_matter)
    assert isinstance(place, SkippedPage), place
    return place.reason


@pytest.mark.parametrize(
    ("page", "address", "ugly"),
    [
        ("_index.md", "/", "/"),
        ("docs/_index.md", "/docs/", "/docs/"),
        ("docs/install.md", "/docs/install/", "/docs/install.html"),
        ("docs/bundle/index.md", "/docs/bundle/", "/docs/bundle.html"),
        ("Sub Dir/V1.2 (x).md", "/sub-dir/v1.2-x/", "/sub-dir/v1.2-x.html"),
        ("a/C++ & C#.markdown", "/a/c++--c%23/", "/a/c++--c%23.html"),
        ("ü/50%25.md", "/%C3%BC/50%25/", "/%C3%BC/50%25.html"),
        ("README.md", "/readme/", "/readme.html"),
        ("page.html", "/page/", "/page.html"),
    ],
)
def test_a_page_has_the_address_of_its_site(page: str, address: str, ugly: str) -> None:
    assert path_of(site_of(), f"content/{page}") == address
    assert path_of(site_of("uglyURLs = true"), f"content/{page}") == ugly


def test_single_sections_can_have_ugly_urls_and_paths_can_keep_their_case() -> None:
    site = site_of("disablePathToLower = true\n[uglyURLs]\nPosts = true")
    assert path_of(site, "content/posts/A b.md") == "/posts/A-b.html"
    assert path_of(site, "content/Docs/A b.md") == "/Docs/A-b/"


@pytest.mark.parametrize(
    ("front_matter", "address"),
    [
        ({"slug": "A & B"}, "/docs/a-b/"),
        ({"slug": 123}, "/docs/123/"),
        ({"slug": "/a/b/"}, "/docs/a/b/"),
        ({"slug": ""}, "/docs/a/"),
        ({"url": "/x"}, "/x/"),
        ({"url": "x/y/"}, "/x/y/"),
        ({"url": "/x/y.html"}, "/x/y.html"),
        ({"url": "/../../up/"}, "/up/"),
        ({"url": "/"}, "/"),
        ({"url": "/:year/:slug/", "date": "2020-02-03T04:05:06", "title": "T / t"}, "/2020/t-t/"),
        ({"url": "/:unknown/"}, "/:unknown/"),
        ({"URL": "/x/", "Slug": "y"}, "/x/"),
        ({"url": ["/x/"], "slug": None}, "/docs/a/"),
    ],
)
def test_front_matter_moves_a_page(front_matter: dict[str, object], address: str) -> None:
    assert path_of(site_of(), "content/docs/a.md", **front_matter) == address


@pytest.mark.parametrize(
    ("pattern", "address"),
    [
        ("/:section/:title/", "/blog/how-to/"),
        ("/:sections/:slug/", "/blog/sub/how-to/"),
        ("/:sections[1:]/:filename/", "/sub/a/"),
        ("/:sections[last]/:contentbasename/", "/sub/a/"),
        ("/:sections[:last]/:slugorfilename/", "/blog/a/"),
        ("/:sections[0]/:slugorcontentbasename", "/blog/a/"),
        ("/:sections[x]/a/", "/blog/sub/a/"),
        ("/:sections[:]/a/", "/blog/sub/a/"),
        ("/:year/:month/:day/:yearday/", "/2024/03/05/65/"),
        ("/:monthname/:weekdayname/:weekday/", "/march/tuesday/2/"),
        ("/:nonsense/", "/blog/sub/a/"),
    ],
)
def test_permalinks_are_patterns(pattern: str, address: str) -> None:
    site = site_of(f'[permalinks]\nblog = "{pattern}"', {"content/blog/sub/_index.md": ""})
    front_matter = {"title": "How to", "date": "2024-03-05"}
    assert path_of(site, "content/blog/sub/a.md", **front_matter) == address
    assert any("nonsense" in note for note in site.notes) == ("nonsense" in pattern)
    assert path_of(site, "content/docs/a.md") == "/docs/a/"


def test_permalinks_differ_for_pages_and_sections() -> None:
    site = site_of('[permalinks.page]\na = "/p/:slug/"\nb = 1\n[permalinks.section]\na = "/s/"')
    assert path_of(site, "content/a/x.md", title="X") == "/p/x/"
    assert path_of(site, "content/a/_index.md") == "/s/"
    assert path_of(site, "content/b/x.md") == "/b/x/"


def test_file_names_can_hold_dates() -> None:
    site = site_of(
        '[frontmatter]\ndate = [":filename", "date"]\n[permalinks]\nblog = "/:year/:slug/"'
    )
    assert path_of(site, "content/blog/2024-01-02-news.md", title="T") == "/2024/news/"
    assert path_of(site, "content/blog/2024-99-99-x.md", lastmod="2023-01-01") == "/2023/x/"
    assert path_of(site, "content/blog/plain.md", title="T") == "/0001/t/"
    assert path_of(site_of(), "content/blog/2024-01-02-news.md") == "/blog/2024-01-02-news/"


@pytest.mark.parametrize(
    ("front_matter", "reason"),
    [
        ({"draft": True}, "draft"),
        ({"headless": True}, "does not render"),
        ({"build": {"render": "never"}}, "does not render"),
        ({"_build": {"render": "link"}}, "does not render"),
        ({"_build": {"render": False}}, "does not render"),
        ({"date": "2026-05-02"}, "will be published on 2026-05-02"),
        ({"publishDate": "2026-05-02T00:00:00Z", "date": "2020-01-01"}, "will be published"),
        ({"expiryDate": "2026-05-01"}, "expired on 2026-05-01"),
    ],
)
def test_a_page_that_is_left_out_says_why(front_matter: dict[str, object], reason: str) -> None:
    assert reason in reason_of(site_of(), "content/a.md", **front_matter)


def test_the_config_can_publish_drafts_and_pages_of_other_times() -> None:
    site = site_of("buildDrafts = true\nbuildFuture = true\nbuildExpired = true")
    times = {"date": "2999-01-01", "expiryDate": "2001-01-01"}
    assert path_of(site, "content/a.md", draft=True, **times) == "/a/"
    assert path_of(site_of(), "content/a.md", date="soon", build={"render": "always"}) == "/a/"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("README.md", "not in the content folder content"),
        ("contents/a.md", "not in the content folder"),
        ("content/a.rst", "not a content page"),
        ("content/a.draft.md", "the config ignores it"),
        ("content/tags/_index.md", "pages of the kind section"),
    ],
)
def test_other_files_are_not_pages(page: str, reason: str) -> None:
    site = site_of('ignoreFiles = ["\\\\.draft\\\\.md$"]\ndisableKinds = ["section"]')
    assert reason in reason_of(site, page)


def test_a_bundle_owns_the_pages_in_its_folder() -> None:
    pages = dict.fromkeys(("content/a/index.md", "content/a/b/c.md", "content/index.md"), "")
    site = site_of("", pages)
    assert path_of(site, "content/a/index.md") == "/a/"
    assert reason_of(site, "content/a/x.md").startswith("it is a part of the page /a")
    assert reason_of(site, "content/a/b/_index.md").startswith("it is a part of the page /a")
    assert path_of(site, "content/ab/x.md") == "/ab/x/"
    assert path_of(site, "content/a/_index.md") == "/a/"


@pytest.mark.parametrize(
    ("cascade", "hidden", "shown"),
    [
        ("build: {render: never}", ["d/_index", "d/a", "d/e/f/a"], ["a", "da/a"]),
        ("draft: true", ["d/a"], ["a"]),
        ("[{_target: {path: '/d/e/**'}, build: {render: never}}]", ["d/e/a"], ["d/_index", "d/a"]),
        ("{target: {path: '/D/{a,b}'}, draft: true}", ["d/a", "d/b"], ["d/c"]),
        ("{target: {kind: page}, draft: true}", [], ["d/a"]),
        (f"{{target: {{path: '{'*' * 300}'}}, draft: true}}", [], ["d/a"]),
        ("[1, {params: {x: 1}}]", [], ["d/a"]),
    ],
)
def test_a_section_passes_settings_on(cascade: str, hidden: list[str], shown: list[str]) -> None:
    index = f"---\ncascade: {cascade}\n---\n"
    if ": " in cascade and not cascade.startswith(("[", "{")):
        index = f"---\ncascade:\n  {cascade}\n---\n"
    site = site_of("", {"content/d/_index.md": index})
    for page in hidden:
        assert reason_of(site, f"content/{page}.md")
    for page in shown:
        path_of(site, f"content/{page}.md")


def test_the_nearest_setting_wins() -> None:
    pages = {
        "content/_index.md": "---\ncascade: {draft: true}\n---\n",
        "content/a/_index.md": "---\ncascade: {draft: false}\n---\n",
    }
    site = site_of("[cascade]\nheadless = false", pages)
    assert reason_of(site, "content/b/x.md") == "it is a draft"
    assert path_of(site, "content/a/x.md") == "/a/x/"
    assert reason_of(site, "content/a/x.md", draft=True) == "it is a draft"
    assert path_of(site, "content/b/x.md", draft=False) == "/b/x/"


def test_languages_have_folders_or_suffixes() -> None:
    site = site_of(LANGUAGES)
    assert path_of(site, "content/a.md") == "/a/"
    assert path_of(site, "content/a.fr.md") == "/fr/a/"
    assert path_of(site, "content/a.xx.md") == "/a.xx/"
    assert path_of(site, "inhalt/a.md", url="b") == "/de/b/"
    assert path_of(site, "inhalt/a.md", url="/b") == "/b/"
    place = site.place("inhalt/_index.md", {})
    assert place == PageLocation(f"{SITE}/de/", locale="de")


def test_languages_can_be_off_have_their_own_site_and_live_in_subfolders() -> None:
    config = (
        'defaultContentLanguageInSubdir = true\ndisableLanguages = ["fr"]\n'
        '[languages.de]\nbaseURL = "https://x.org/p/deutsch"\n'
        '[languages.fr]\ncontentDir = "fr"\n[languages.it]\ncontentDir = "it"\ndisabled = true\n'
    )
    site = site_of(config)
    assert path_of(site, "content/a.md") == "/en/a/"
    assert path_of(site, "content/a.de.md") == "/deutsch/a/"
    assert reason_of(site, "fr/a.md") == "the site does not build the language fr"
    assert reason_of(site, "it/a.md") == "the site does not build the language it"


def test_mounts_replace_the_content_folder() -> None:
    mounts = [
        '{source = "docs", target = "content"}',
        '{source = "docs/api", target = "content/reference"}',
        '{source = "de", target = "content", lang = "de"}',
        '{source = "fr", target = "content", sites = {matrix = {languages = ["fr"]}}}',
        '{source = "xx", target = "content/xx", sites = {matrix = {languages = ["fr", "de"]}}}',
        '{source = "static", target = "static"}, {source = 1}, 2',
    ]
    site = site_of(
        f"[module]\nmounts = [{', '.join(mounts)}]\n[languages.en]\n[languages.de]\n[languages.fr]"
    )
    assert path_of(site, "docs/a.md") == "/a/"
    assert path_of(site, "docs/api/a.md") == "/reference/a/"
    assert path_of(site, "de/a.md") == "/de/a/"
    assert path_of(site, "fr/a.md") == "/fr/a/"
    assert path_of(site, "xx/a.md") == "/xx/a/"
    assert "not in the content folder docs/api or docs" in reason_of(site, "content/a.md")


def test_the_whole_folder_can_be_the_content() -> None:
    assert path_of(site_of('contentDir = "."'), "docs/a.md") == "/docs/a/"
    assert path_of(site_of('contentDir = "/content/en/"'), "content/en/a.md") == "/a/"


def test_links_to_an_alias_lead_to_the_page() -> None:
    site = site_of()
    url = f"{SITE}/docs/new/"
    site.place("content/docs/new.md", {"aliases": ["/old", "older/", 1]})
    assert site.addresses("/p/old/", f"{SITE}/a/") == (url,)
    assert site.addresses("older", f"{SITE}/docs/x") == (url,)
    assert site.addresses("../b/", f"{SITE}/a/") == (f"{SITE}/b/",)
    assert site.addresses("https://y.org/", f"{SITE}/a/") == ()


def test_the_base_url_can_be_replaced() -> None:
    site = HugoSite.from_config(CONFIG, "https://y.org/", pages=["content/a.md"])
    assert site.place("content/a.md", {}) == PageLocation("https://y.org/a/")


def test_a_site_without_a_base_url_says_so() -> None:
    site = HugoSite.from_config('title = "x"')
    assert site.place("content/a.md", {}) == PageLocation("/a/")
    assert "baseURL" in site.notes[0]


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=9), st.text(max_size=9)))
def test_no_page_breaks_a_site(path: str, front_matter: dict[str, str]) -> None:
    site = site_of('[permalinks]\na = "/:sections[2:1]/:title:slug/"')
    for page in (f"content/{path}.md", f"content/a/{path}"):
        site.place(page, front_matter)
        site.place(page, {"url": path, "slug": path, "aliases": path, "date": path})
