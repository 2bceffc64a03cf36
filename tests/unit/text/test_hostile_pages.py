"""Pages that are made to take time: each is read soon, or refused with the reason.

Nothing here looks at a clock. Work is counted, or an input is so large that what grew with its
square, or faster, would not end before the run is killed.
"""

import re
import sys
from types import FrameType
from typing import Any

import pytest

from surefind.errors import InputError
from surefind.model import ChunkerSettings, Document
from surefind.services.search.filters import read_expressions
from surefind.text.chunking import chunk_document
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse

LARGE = 400_000
MANY = 100_000  # rows or cells, which take work of Python's own


def read(text: str, suffix: str) -> ParsedPage:
    return parse(text.encode(), suffix)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("## a {#" + " " * LARGE + "x", ".md"),
        ("a|b\n-" + "|  " * LARGE + "x", ".md"),
        ("<b/>\n# a <b/> " + " " * LARGE + "b", ".mdx"),
        ("{//" * LARGE, ".mdx"),
        ("<h1>" + "`" * LARGE + "</h1>", ".html"),
        (":a:`" * LARGE, ".rst"),
        ("{a" * LARGE, ".rst"),
        ("<table><tr>" + "<td>a" * MANY + "<tr><td>x" * MANY, ".html"),
        ("=== " * MANY + "\n" + "=== " * MANY + "\n" + "x\n" * MANY + "=== " * MANY, ".rst"),
        (f".. csv-table::\n\n   {'a,' * MANY}\n" + "   x\n" * MANY, ".rst"),
    ],
    ids=[
        *("blanks", "table", "MDX heading", "braces", "ticks", "roles", "word"),
        *("short rows", "simple table", "CSV table"),
    ],
)
def test_a_page_of_one_sign_over_and_over_is_read(text: str, suffix: str) -> None:
    read(text, suffix)


def test_elements_in_each_other_are_read_up_to_a_limit() -> None:
    assert "deep" in read("<div>" * 10_000 + "deep", ".html").text
    with pytest.raises(InputError, match="nested too deeply"):
        read("<div>" * 40_000 + "deep", ".html")
    with pytest.raises(InputError, match="nested too deeply"):
        read("<div>" * 9_000 + "<b></b>" * 20_000, ".html")


def test_many_elements_beside_each_other_are_not_nesting() -> None:
    page = "<ul>" + "<li>item<p>words<br>more" * 20_000 + "</ul>" + "<div>a</div>" * 20_000
    assert read(page, ".html").text.count("words") == 20_000


@pytest.mark.parametrize("page", [".. a:: a\n\n" * 300, ".. image:: a\n\n" * 300])
def test_what_is_taken_out_of_a_page_is_not_searched_for_one_by_one(page: str) -> None:
    """To find each of many children again takes time with the square of their number."""
    searches = 0

    def watch(_frame: FrameType, event: str, function: Any) -> None:
        nonlocal searches
        searched = event == "c_call" and isinstance(function.__self__, list)
        searches += searched and function.__name__ in {"remove", "index"}

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        read(page, ".rst")
    finally:
        sys.setprofile(before)
    assert searches < 100


def test_mdx_that_is_too_tangled_is_read_as_markdown_and_says_so() -> None:
    page = "# Title\n\n" + "{//" * 20_000 + "\n" + "words\n" * 20_000
    parsed = read(page, ".mdx")
    assert parsed.warnings == ("its braces are too complex to parse as MDX; parsed as Markdown",)
    assert [heading.title for heading in parsed.structure.headings] == ["Title"]


def test_the_opening_of_a_block_that_is_longer_than_a_chunk_is_not_counted_again() -> None:
    """Tokens are counted over the text about once, and not once more for each piece."""
    text = "```" + "info " * 20_000 + "\n" + "code of a line\n" * 5_000 + "```\n"
    parsed, counted = read(text, ".md"), 0

    def count(words: str) -> int:
        nonlocal counted
        counted += len(words)
        return len(words) // 4

    document = Document("a.md", "", "a", "A", parsed.text, "")
    chunks = chunk_document(document, parsed.structure, ChunkerSettings(), count)
    assert len(chunks) > 50
    assert counted < 10 * len(text)


@pytest.mark.parametrize("blank", [" ", "\t", "\n", " \n"])
def test_an_expression_of_blanks_is_refused_and_repeated_in_part(blank: str) -> None:
    with pytest.raises(InputError, match="is not a valid condition") as refusal:
        read_expressions([blank * LARGE + "x"])
    assert len(str(refusal.value)) < 1000
    with pytest.raises(InputError, match=re.escape("is not a valid condition")):
        read_expressions([" " * LARGE + "=x"])
