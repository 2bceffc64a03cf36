"""The text of llms.txt, and where the Markdown of a page is."""

from typing import Any

import pytest

from surefind.model import DocumentRecord, unpublished_url
from surefind.services.reading.llms_txt import PageList
from surefind.services.reading.markdown_twins import twins_of

SITE = "https://docs.example.com"


def page(path: str, title: str = "", url: str = "", **attributes: Any) -> DocumentRecord:
    address = url or unpublished_url("docs", path)
    return DocumentRecord(path, address, path, title or path, "", "", 1, attributes)


def listed(*documents: DocumentRecord) -> str:
    pages = PageList("docs", documents, lambda document: f"/{document.source_path}")
    return pages.llms_txt("/llms-full.txt")


def test_pages_are_listed_by_folder_with_the_index_first() -> None:
    text = listed(
        page("docs/zebra.md", "Zebra"),
        page("docs/index.md", "The handbook", description="All about\n the boiler"),
        page("docs/guide/b.md", "Second", description=3),
        page("docs/guide/README.md", "The guide"),
        page("docs/02-api_reference/x.md", "X"),
    )
    assert text == (
        "# The handbook\n\n> All about the boiler\n\n"
        "Every link is a page as Markdown. All pages in one file: /llms-full.txt\n\n"
        "## Pages\n\n- [The handbook](/docs/index.md): All about the boiler\n"
        "- [Zebra](/docs/zebra.md)\n\n"
        "## Api reference\n\n- [X](/docs/02-api_reference/x.md)\n\n"
        "## The guide\n\n- [The guide](/docs/guide/README.md)\n- [Second](/docs/guide/b.md)\n"
    )


def test_pages_that_assistants_rarely_need_are_optional() -> None:
    text = listed(
        page("a/changes.md", "Changes", kind="changelog"),
        page("a/links.md", "Links", kind="index"),
        page("a/b.md", "B"),
    )
    assert text.endswith("## Optional\n\n- [Changes](/a/changes.md)\n")
    assert text.index("[Links]") < text.index("## Optional")


def test_folders_with_one_name_are_one_section() -> None:
    text = listed(page("a/1-guide/x.md"), page("a/guide/y.md"))
    assert text.count("## Guide") == 1


def test_titles_do_not_break_links() -> None:
    assert r"- [a \[b\] \\ c](/x/y.md)" in listed(page("x/y.md", "a [b]\n \\ c"))


def test_an_empty_collection_and_odd_paths_are_listed() -> None:
    assert listed().startswith("# docs\n")
    text = listed(page("/abs/a.md"), page("rel/b.md"), page("c"))
    assert all(f"](/{path})" in text for path in ("/abs/a.md", "rel/b.md", "c"))


@pytest.mark.parametrize(
    ("url", "base_url", "place", "link"),
    [
        ("", None, "docs/a.md", "docs/a.md"),
        (f"{SITE}/guide/", None, "guide/index.html.md", f"{SITE}/guide/index.html.md"),
        (f"{SITE}/", None, "index.html.md", f"{SITE}/index.html.md"),
        (f"{SITE}/g/a.html", None, "g/a.html.md", f"{SITE}/g/a.html.md"),
        (f"{SITE}/a%20b?v=1", None, "a b.md", f"{SITE}/a%20b.md"),
        (f"{SITE}/v/2/a", f"{SITE}/v/", "2/a.md", f"{SITE}/v/2/a.md"),
        (f"{SITE}/v", f"{SITE}/v/", "index.html.md", f"{SITE}/v/index.html.md"),
        ("https://b.example.com/a", SITE, "b.example.com/a.md", "b.example.com/a.md"),
    ],
)
def test_the_markdown_of_a_page_is_beside_it(
    url: str, base_url: str | None, place: str, link: str
) -> None:
    [twin] = twins_of([page("docs/a.md", url=url)], base_url).values()
    assert (twin.place, twin.link) == (place, link)


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "a/../../b",
        "%2e%2e/a",
        "a//b",
        "./a",
        "a%00b",
        "a%0Ab",
        "a%5C..%5Cb",
        "x" * 300,
    ],
)
def test_a_page_with_an_unsafe_address_has_no_file(path: str) -> None:
    assert twins_of([page("docs/a.md", url=f"{SITE}/{path}")], None) == {}


def test_two_pages_never_share_a_file() -> None:
    addresses = ("a", "A", "a.md", "b", "b.md/c", "c/d.md/e", "c/d")
    documents = [page(f"docs/{at}.md", url=f"{SITE}/{url}") for at, url in enumerate(addresses)]
    places = [twin.place for twin in twins_of(documents, None).values()]
    assert places == ["a.md", "b.md", "c/d.md/e.md"]
