"""Headings, code and borders are where CommonMark says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from surefind.text.markdown.blocks import outline, plain
from unit.text.markdown_strategies import any_text, pages

ORACLE = MarkdownIt("commonmark")


def headings(text: str) -> list[tuple[int, str, str]]:
    return [(h.level, h.title, h.anchor) for h in outline(text).headings]


def oracle_headings(text: str) -> list[tuple[int, int, int]]:
    """(level, first line, line after) of the headings at the top level."""
    return [
        (int(token.tag[1]), token.map[0], token.map[1])
        for token in ORACLE.parse(text)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]


def our_headings(text: str) -> list[tuple[int, int, int]]:
    return [
        (h.level, text.count("\n", 0, h.start), text.rstrip("\n").count("\n", 0, h.end - 1) + 1)
        for h in outline(text).headings
    ]


@given(pages)
def test_headings_are_those_of_a_commonmark_parser(text: str) -> None:
    assert our_headings(text) == oracle_headings(text)


@pytest.mark.parametrize(
    "text",
    [
        "# a\n## b ##\n### c\\#\n#no\n####### no\n#\n##\tx",
        "    # indented code\n\n   # heading",
        "a\n===\nb\nc\n---\n---\n- x\n---\n> y\n===",
        "- item\n  # inside\n\n  still\n\n# out",
        "- item\nlazy\n---\n\nnext\n---",
        "1. one\n\n   ```\n   # code\n   ```\n\n# out\n2) two",
        "text\n2. no list\n---",
        "text\n1. a list\n---",
        "text\n-\n",
        "```\n# code\n~~~\n``\n```` \n# out",
        "~~~ a`b\n# code\n~~~\n# out",
        "``` a`b\n# out",
        "<!-- # no\n# no -->\n# out\n<pre>\n# no\n</pre>\n# out",
        "<!-- one line --> text\n# out\n<script>x</script>\n# out",
        "text\n***\n# a\n* * *\n_ _ _\nb\n---",
        "\n\n# a\n\n\n\nb\n\n",
        "```\nnever closed\n# code",
        "",
        "<?\n\n# no\n?>\n# out\n<!DOCTYPE\n# no\n>\n# out\n<![CDATA[\n\n# no\n]]>\n# out",
        ">\n0\n-",
        "-\n0\n---",
        "- # in\nout\n---",
        "> # in\nout\n---\n> > deep\nlazy\n---",
        "> ```\nout\n---",
        "-   a\n\n    # in\n\n-\n\n  # out",
        "<div>\n# no\n</div>\n# no\n\n# out",
        "words\n<table>\n# no\n\n<h2\n# no\n\n</SECTION>\n---\n\n<p/>\n# no",
        "<divs>\n# no\n\n<em>\n# no\n\n<em>a\n# out\n<dive a\n# out",
        "words\n<em>\n# out\nwords\n</em>\n===",
        "<x a=b c='d' e=\"f\" />\n# no\n\n<x a==b>\n# out\n</x y>\n# out",
        "- <div>\nout\n---\n\n> <em>\nout\n===\n\n- words\n<em>\n---",
        "<details>\n<summary>a</summary>\n\n## out\n\n</details>\n# no",
        "<div>\n```\n# no\n\n# out\n```\n# code",
    ],
)
def test_the_awkward_cases_agree_with_commonmark_too(text: str) -> None:
    assert our_headings(text) == oracle_headings(text)


def test_code_is_where_the_fences_are() -> None:
    text = "a\n\n```py\nx\n```\n\nb\n\n~~~\ny"
    assert [text[block.start : block.end] for block in outline(text).code] == [
        "```py\nx\n```\n",
        "~~~\ny",
    ]


def test_a_border_is_where_a_block_begins_and_never_inside_code() -> None:
    text = "a\nb\n\nc\n\n```\nx\n\ny\n```\n\n\nd"
    assert [text[border] for border in outline(text).borders] == ["c", "`", "d"]


def test_a_border_inside_a_list_is_an_inner_one() -> None:
    text = "a\n\n- x\n\n  more of x\n\n- y\n\nout\n\n1. one\n\n***\n\nend"
    found = outline(text)
    assert [text[border:].split("\n", maxsplit=1)[0] for border in found.inner_borders] == [
        "  more of x",
        "- y",
    ]
    assert [text[border:].split("\n", maxsplit=1)[0] for border in found.borders] == [
        "- x",
        "out",
        "1. one",
        "***",
        "end",
    ]


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\nstill\n\nout", ["| a | b |\n|---|---|\n"]),
        ("words\na | b\n:-- | --:\n1 | 2\n# out", ["a | b\n:-- | --:\n"]),
        ("| a |\n|---|", ["| a |\n|---|"]),
        ("a | b\n---\n1 | 2", []),
        ("no bars\n--- | ---", []),
        ("```\n| a |\n|---|\n```", []),
        ("- | a |\n  |---|", []),
    ],
)
def test_tables_are_where_github_sees_them(text: str, heads: list[str]) -> None:
    tables = outline(text).tables
    assert [text[table.start : table.head] for table in tables] == heads
    assert all("out" not in text[table.start : table.end] for table in tables)


def test_anchors_are_those_of_github_and_docusaurus() -> None:
    text = (
        "# Hello, World!\n## Hello World\n## Hello World\n## C++ & `code_x`\n## Über uns\n## A - B"
    )
    assert [anchor for _, _, anchor in headings(text)] == [
        "hello-world",
        "hello-world-1",
        "hello-world-2",
        "c--code_x",
        "über-uns",
        "a---b",
    ]


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("你好", "你好"),
        ("हिन्दी में", "हिन्दी-में"),
        ("I ♥ unicode", "i--unicode"),
        ("en–dash 😄_😄 x²", "endash-_-x"),
        ("Foo <a id='x'></a>", "foo"),
        ("<code>a_b</code> Ⅷ ٣", "a_b-ⅷ-٣"),
        ("!!!", ""),
    ],
)
def test_anchors_keep_the_letters_of_all_scripts(title: str, anchor: str) -> None:
    assert headings(f"## {title}") == [(2, plain(title), anchor)]


def test_an_explicit_anchor_wins() -> None:
    text = "# Title {#my-id}\n## Other {/* #other */}\n## Title {#my-id}"
    assert headings(text) == [
        (1, "Title", "my-id"),
        (2, "Other", "other"),
        (2, "Title", "my-id"),
    ]


def test_a_generated_anchor_avoids_one_that_is_taken() -> None:
    text = "# a\n# a-1\n# a\n# a"
    anchors = [anchor for _, _, anchor in headings(text)]
    assert anchors == ["a", "a-1", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("inline", "words"),
    [
        ("**bold** and _it_ and ~~gone~~", "bold and it and gone"),
        ("`code` [link](http://x) ![alt](y)", "code link alt"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`__init__` and **bold**", "__init__ and bold"),
        ("[ref][id]", "ref"),
        ('Foo <a id="x"></a>', "Foo"),
        ("<span class='n'>Normal</span> and <BR/> more", "Normal and  more"),
        ("`<a>` and List<T> and a < b > c", "<a> and List<T> and a < b > c"),
        ("\\<div> is a tag", "<div> is a tag"),
    ],
)
def test_a_title_is_what_a_reader_sees(inline: str, words: str) -> None:
    assert plain(inline) == words


@given(any_text)
def test_anchors_are_unique_and_spans_are_in_order(text: str) -> None:
    found = outline(text)
    anchors = [h.anchor for h in found.headings]
    assert len(set(anchors)) == len(anchors)
    edges = [edge for h in found.headings for edge in (h.start, h.end)]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)
    assert list(found.borders) == sorted(set(found.borders))


@given(st.text(max_size=200))
def test_no_text_breaks_the_scanner(text: str) -> None:
    assert all(text[h.start : h.end].strip() for h in outline(text).headings)
