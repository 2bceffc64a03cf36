"""Release notes, blog posts and other pages that are not ordinary documentation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import PageKind, PageLocation, SourcePage
from surefind.text.anchors import GITHUB
from surefind.text.documents import ReadPage, read_document
from surefind.text.page_kinds import is_link_list, updated_on

NOTES = "# History of {}\n\n## 2.1.0\n\nfixes\n\n## 2.0.1\n\nmore\n\n## [1.9] - 2026-01-31\n\nold\n"
LINKS = "\n".join(f"- [Chapter {n} of the book](c{n}.md)" for n in range(12))
PROSE = "# Install\n\nRun the installer, then read [the guide](guide.md).\n"


class OneSite:
    anchors = GITHUB

    def place(self, site_path: str, front_matter: object) -> PageLocation:
        return PageLocation(f"https://example.com/{site_path}")


def read(site_path: str, text: str = PROSE) -> dict[str, object]:
    page = SourcePage(f"docs/{site_path}", site_path, text.encode(), ".md")
    found = read_document(page, OneSite())
    assert isinstance(found, ReadPage)
    return dict(found.document.attributes)


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("guide/install.md", PROSE, None),
        ("guide/release-process.md", PROSE, None),
        ("guide/upgrade.md", PROSE, "upgrade"),
        ("guide/migrating-to-v3.md", PROSE, "upgrade"),
        ("a.md", "# Upgrading from 4.x to 5\n\nwords", "upgrade"),
        ("a.md", "# Upgrade your plan\n\nwords", None),
        ("CHANGELOG.md", PROSE, "changelog"),
        ("release_notes.md", PROSE, "changelog"),
        ("release-notes/index.md", PROSE, "changelog"),
        ("whatsnew/3.12.md", PROSE, "changelog"),
        ("a.md", "# What's New in 3.12\n\nwords", "changelog"),
        ("about.md", NOTES.format("us"), "changelog"),
        ("versions.md", "# Versions\n\n## 2.1\n\na\n\n## One\n\nb\n\n## Two\n\nc\n", None),
        ("blog/hello.md", PROSE, "blog"),
        ("2026-01-31-hello.md", PROSE, "blog"),
        ("news/2026/01/hello.md", PROSE, "blog"),
        ("a.md", "---\ndate: 2026-01-31\nauthors: [me]\n---\n" + PROSE, "blog"),
        ("a.md", "---\ndate: 2026-01-31\n---\n" + PROSE, None),
        ("blogging.md", PROSE, None),
        ("tags/api.md", PROSE, "index"),
        ("genindex.md", PROSE, "index"),
        ("contents.md", f"# The book\n\n{LINKS}\n", "index"),
        ("contents.md", f"# The book\n\n{LINKS}\n\n{PROSE * 9}", None),
        ("_dogfooding/page.md", PROSE, "test"),
        ("testing/unit-tests.md", PROSE, None),
        ("blog/hello.md", "---\nkind: page\n---\n" + PROSE, "page"),
        ("a.md", "---\nkind: blog\n---\n" + PROSE, "blog"),
        ("pods.md", "---\nkind: Pod\n---\n" + PROSE, "Pod"),
    ],
)
def test_the_kind_of_a_page(path: str, text: str, kind: str | None) -> None:
    assert read(path, text).get("kind") == kind


@pytest.mark.parametrize(
    ("front_matter", "updated"),
    [
        ("lastmod: 2026-01-31", "2026-01-31"),
        ("date: 2025-01-01\nlastmod: 2026-01-31", "2026-01-31"),
        ("last_update:\n  date: 2026-02-01\n  author: me", "2026-02-01"),
        ("date: 2026-01-31T12:00:00Z", "2026-01-31 12:00:00+00:00"),
        ("date: last spring", None),
        ("title: A", None),
    ],
)
def test_the_date_of_the_last_change(front_matter: str, updated: str | None) -> None:
    assert read("a.md", f"---\n{front_matter}\n---\n{PROSE}").get("updated") == updated


@given(st.dictionaries(st.sampled_from(("date", "lastmod", "updated")), st.text() | st.integers()))
def test_any_front_matter_has_a_date_or_none(attributes: dict[str, object]) -> None:
    assert updated_on(attributes) in {"", *attributes.values()}


@given(st.text(alphabet="[]() ab\n", max_size=300))
def test_any_text_is_a_list_of_links_or_not(text: str) -> None:
    assert not is_link_list(f"{text}\n{'word ' * 400}")
    assert is_link_list(LINKS)


def test_every_kind_is_a_word_that_a_filter_takes() -> None:
    assert all(kind.value.isalpha() for kind in PageKind)
