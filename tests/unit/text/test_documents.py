"""Pages become documents: clean text, front matter, titles, addresses."""

import json
from collections.abc import Callable, Mapping

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.model import (
    Document,
    PageLocation,
    SkippedPage,
    SourcePage,
    as_stored,
    reader_path,
    unpublished_url,
)
from surefind.text import front_matter
from surefind.text.anchors import GITHUB
from surefind.text.documents import PlacesPages, ReadPage, read_document
from surefind.text.formats.encodings import clean
from surefind.text.formats.registry import parse
from surefind.text.front_matter import read_front_matter, split_front_matter
from surefind.text.sites.plain import PlainSite, ReaderSite, page_url
from surefind.text.slugs import chunk_id, slug_of


def title_of(text: str, path: str = "some-page_name.md") -> str:
    return read(SourcePage(f"docs/{path}", path, text.encode()), ReaderSite("docs", "docs")).title


def read(page: SourcePage, site: PlacesPages) -> Document:
    found = read_document(page, site)
    assert isinstance(found, ReadPage)
    return found.document


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfbom", "bom"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\u200bb\u2060c\ufeffd\x07e\x0bf".encode(), "abcdef"),
        ("zero\u200dwidth \u200c joiners stay".encode(), "zero\u200dwidth \u200c joiners stay"),
        ("a\u2028b\u2029c\x85d".encode(), "a\nb\nc\nd"),
        ("\u202bעברית\u202c tab\tstays".encode(), "\u202bעברית\u202c tab\tstays"),
        (b"", ""),
    ],
)
def test_text_is_cleaned(content: bytes, text: str) -> None:
    assert clean(content) == text


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\x89PNG\x00\x01", "binary"), (b"caf\xe9 au lait", "byte 3")]
)
def test_bytes_that_are_not_text_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        clean(content)


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text.replace("\x00", "").encode("utf-8", "replace"))
    assert clean(once.encode()) == once


@pytest.mark.parametrize(
    ("text", "values", "body"),
    [
        ("---\ntitle: A\n---\nbody", {"title": "A"}, "body"),
        ("---\n---\nbody", {}, "body"),
        ("---\n# only a comment\n---\n", {}, ""),
        ("---\n1: one\n---\n", {"1": "one"}, ""),
        ("no front matter", {}, "no front matter"),
        ("---\n\nnot: [closed\n---\nbody", {}, "body"),
        ("---\nA rule, [some text\n---\nbody", {}, "---\nA rule, [some text\n---\nbody"),
        ("---\njust text\n---\nbody", {}, "---\njust text\n---\nbody"),
        ("---\nnever closed", {}, "---\nnever closed"),
        ("text\n---\na: b\n---", {}, "text\n---\na: b\n---"),
        ('+++\nt = "A"\nd = 2024-01-02\n+++\nx', {"t": "A", "d": "2024-01-02"}, "x"),
        ("+++\nt = A\n+++\nx", {}, "x"),
        ("+++\nnever = 'closed'", {}, "+++\nnever = 'closed'"),
        ("+++\na = 1\n---\nx", {}, "+++\na = 1\n---\nx"),
        ('{\n"a": [1]\n}\nx', {"a": [1]}, "x"),
        ('{"a": 1}', {"a": 1}, ""),
        ('{"a": 1} is an object', {}, '{"a": 1} is an object'),
        ('{"a": }', {}, '{"a": }'),
        ('{"a":' * 9_000, {}, '{"a":' * 9_000),
    ],
)
def test_front_matter_is_split_off_or_left_unchanged(
    text: str, values: dict[str, object], body: str
) -> None:
    assert split_front_matter(text) == (values, body)


@pytest.mark.parametrize(
    "block",
    [
        "title: x\nwhen: !!timestamp foo",
        'a: !!int ""',
        "a: &x [*x]",
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]",
        "a: " + "x" * 70_000,
    ],
    ids=["timestamp", "int", "loop", "bomb", "long"],
)
def test_front_matter_that_bites_is_ignored_with_a_warning(block: str) -> None:
    values, body, warnings = read_front_matter(f"---\n{block}\n---\nbody")
    assert (values, body) == ({}, "body")
    assert len(warnings) == 1
    assert warnings[0].startswith("its front matter was ignored: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\ntitle: A\ntags: [a\n---\nbody", "line 3: expected ',' or ']'"),
        ("---\ntitle: Ice: cream\n---\nbody", "line 2: mapping values are not allowed here"),
        ("+++\na = 1\ntitle = A\n+++\nbody", "line 3: "),
    ],
)
@pytest.mark.parametrize("suffix", [".md", ".mdx", ".html", ".adoc"])
def test_broken_front_matter_is_named_with_its_line_and_is_not_text(
    text: str, problem: str, suffix: str
) -> None:
    page = parse(text.encode(), suffix)
    assert page.text.strip() == "body"
    assert page.warnings[0].startswith(f"its front matter was ignored: {problem}")


YAML_BITS = st.sampled_from(
    [
        *"abé🎉0-1.:#,'\"[]{} \n~=<+/()",
        *(": ", "\n", "\n  ", "\n- ", " #", "---", "a: ", "b: ", "- ", "\n\n", "key: value\n"),
        *("yes", "null", "~", "0x1F", "017", "1_000", "1:30", "1e3", ".inf", "2024-01-01", "<<: "),
        *("\t", "?", "!", "|", ">", "&a ", "*a", "%", "\\", "!!str ", "\xa0"),
    ]
)


@given(st.lists(YAML_BITS, max_size=30).map("".join))
def test_front_matter_means_what_the_reference_parser_says(block: str) -> None:
    """The fast parser is asked only where the two agree."""

    def said(load: Callable[[str], object]) -> str:
        try:
            return repr(load(block))
        except (yaml.YAMLError, ValueError):
            return "refused"

    assert said(front_matter._loaded) == said(yaml.safe_load)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "a: {", "? ", "- [", "[{"])
def test_front_matter_as_deep_as_a_well_is_not_read(opening: str) -> None:
    """A parser in C that follows it down would take the process along."""
    text = f"---\n{opening * (65_000 // len(opening))}\n---\nbody"
    values, body = split_front_matter(text)
    assert values == {}
    assert body in {text, "body"}


def test_front_matter_can_always_be_written_as_json() -> None:
    block = 'title: "Hello \\ud83d\\ude00"\nversions: {2024-01-01: x}\nwhen: 2024-01-01'
    block += "\nlist: [1, null]"
    values, _ = split_front_matter(f"---\n{block}\n---\n")
    assert json.loads(json.dumps(values)) == {
        "title": "Hello \U0001f600",
        "versions": {"2024-01-01": "x"},
        "when": "2024-01-01",
        "list": [1, None],
    }


def test_the_title_is_declared_or_a_heading_or_the_name() -> None:
    assert title_of("---\ntitle: '  Declared  title '\n---\n# Top") == "Declared title"
    assert title_of("---\ntitle: 2024\n---\n# Top") == "2024"
    assert title_of("---\ntitle: ''\n---\n## Second\n# Top **bold**") == "Top bold"
    assert title_of("words\n\n## Second &amp; more\n\n### Third") == "Second & more"
    assert title_of("words") == "some page name"
    assert title_of("words", "---.md") == "---.md"
    assert len(title_of(f"# {'long ' * 100}")) <= 255


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("guide/install.md", "https://x.org/docs/guide/install"),
        ("guide/index.md", "https://x.org/docs/guide"),
        ("README.md", "https://x.org/docs/"),
        ("a b/ü.md", "https://x.org/docs/a%20b/%C3%BC"),
    ],
)
def test_pages_have_the_addresses_of_their_site(path: str, url: str) -> None:
    assert page_url(path, "https://x.org/docs/") == page_url(path, "https://x.org/docs") == url
    page = SourcePage(f"docs/{path}", path, b"words")
    assert read(page, PlainSite("https://x.org/docs")).url == url


def test_without_a_site_a_page_is_read_in_surefinds_own_reader() -> None:
    url = unpublished_url("docs", "docs/a b.md")
    assert url == "surefind://docs/docs/a%20b.md"
    assert reader_path(url) == "/read/docs/docs/a%20b.md"
    assert reader_path("https://x.org/read/") is None
    assert reader_path("http://localhost:8000/read/docs/a.md") == "/read/docs/a.md"  # 0.9 and older


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("http://localhost:8000/read/docs/a.md", "surefind://docs/a.md"),
        ("http://127.0.0.1:9000/read/docs/a%20b.md#c", "surefind://docs/a%20b.md#c"),
        ("https://x.org/read/docs/a.md", "https://x.org/read/docs/a.md"),
        ("http://localhost:3000/guide", "http://localhost:3000/guide"),
        ("http://[::1/read/a", "http://[::1/read/a"),
        ("/read/docs/a.md", "/read/docs/a.md"),
    ],
)
def test_urls_of_local_readers_name_the_stored_page(url: str, stored: str) -> None:
    assert as_stored(url) == as_stored(stored) == stored


class Versioned:
    anchors = GITHUB

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage:
        if front_matter.get("draft"):
            return SkippedPage("it is a draft")
        return PageLocation(f"https://x.org/{front_matter['slug']}", version="2.0", locale="fr")


def test_a_site_places_a_page_by_its_front_matter_or_leaves_it_out() -> None:
    page = SourcePage("docs/a.md", "a.md", b"---\nslug: b\n---\nwords")
    document = read(page, Versioned())
    assert (document.url, document.version, document.locale) == ("https://x.org/b", "2.0", "fr")
    draft = SourcePage("docs/a.md", "a.md", b"---\ndraft: true\n---\nwords")
    assert read_document(draft, Versioned()) == SkippedPage("it is a draft")


def test_a_page_says_itself_how_it_is_written_where_its_path_does_not() -> None:
    page = SourcePage("x.org/a", "a", b"<h1>Title</h1><p>words</p>", suffix=".html")
    document = read(page, PlainSite("https://x.org"))
    assert document.title == "Title"
    assert "<p>" not in document.text


def test_slugs_keep_letters_of_all_scripts_and_are_never_too_long() -> None:
    assert slug_of("chapter-1/index.md") == "chapter-1-index"
    assert slug_of("Ünïcode & more_x.md") == "ünïcode-more-x"
    assert slug_of("U\u0308.md") == slug_of("Ü.md") == "ü"
    assert slug_of("漢字.md") == "漢字"
    assert slug_of("हिन्दी.md") == "हिन्दी"
    assert slug_of("🎉.md") != slug_of("🎈.md")
    assert slug_of("🎉.md").startswith("page-")
    long = [slug_of(f"{'very/long/' * 20}{name}.md") for name in "ab"]
    assert all(len(slug) == 100 for slug in long)
    assert long[0] != long[1]


@given(st.text(max_size=80), st.text(max_size=80), st.integers(0, 10**6))
def test_any_path_and_anchor_make_a_good_id(path: str, anchor: str, ordinal: int) -> None:
    name = chunk_id(path, anchor, ordinal)
    assert name == chunk_id(path, anchor, ordinal)
    assert 0 < len(name) <= 50
    assert name.isascii()
    assert name.isprintable()
    assert name != chunk_id(path, anchor, ordinal + 1)
    assert name != chunk_id(path + "x", anchor, ordinal)


def test_the_limit_of_values_counts_every_value() -> None:
    values = {"tags": ["a", "b"]}  # the mapping, the list and two texts
    assert front_matter.plain_values(values, max_values=4) == values
    with pytest.raises(ValueError, match="too many"):
        front_matter.plain_values(values, max_values=3)
