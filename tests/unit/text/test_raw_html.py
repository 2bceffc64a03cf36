"""Raw HTML in Markdown becomes the text that readers see."""

import pytest
from hypothesis import given

from surefind.text.formats.registry import parse
from unit.text.markdown_strategies import any_text


def read(text: str) -> str:
    return parse(text.encode(), ".md").text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <b>bold</b> word<br>and <code>a&lt;b</code>", "a bold word and `a<b`"),
        ('<div class="x">\n\n**md**\n\n</div>\nafter', "\n**md**\n\nafter"),
        ("<details>\n<summary>More</summary>\n\ntext\n</details>", "More\n\ntext\n"),
        ('<p align=center>\n  <img src="a" alt="A &amp; B">\n</p>', "A & B\n"),
        ("<ul>\n<li>a</li><li>b</li>\n</ul>", "- a\n- b\n"),
        ("<pre><code>a\n  b\n</code></pre>", "```\na\n  b\n```\n"),
        ("<script>x()</script>y<style>\n.a{}\n</style>z", "yz"),
        ('<a href="x">link</a>.', "[link](x)."),
        (
            "See <a class='e' href='https://x.org/a?b&amp;c'>a b</a>",
            "See [a b](https://x.org/a?b&c)",
        ),
        ('<a href="javascript:run()">link</a>', "link"),
        ('<a href="mailto:a@b.org">write</a>', "write"),
        ('<a href="a (1).md">a [b]</a>', "a [b]"),
        ('<a href="x"><b>bold</b></a>', "bold"),
        ('<a name="here"></a>There', "There"),
        ('<a href="x">two\nlines</a>', "two\nlines"),
        ('<a href="x">open', "open"),
        ("un<b>believ</b>able", "unbelievable"),
        ("- a\n\n    <p>b</p>", "- a\n\n    b"),
        ("> <p>q</p>", "> q"),
        ("<p># no heading</p>", "\\# no heading"),
        ("<div>\n    <p>deep</p>\n    text\n</div>", "deep\ntext\n"),
        ("a</p> lone<hr>", "a lone"),
        ("<b>", ""),
    ],
)
def test_tags_are_dropped_and_their_text_stays(text: str, shown: str) -> None:
    assert read(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "List<T>, <name> and a < b > c",
        "`<b>` and `` `<i>` ``",
        "```\n<p>\n\n\n<b>\n```",
        "words\n\n    <div>code</div>\n\nwords",
        r"\<b> is escaped",
        "# A <small>title</small>",
    ],
)
def test_code_and_unknown_tags_stay(text: str) -> None:
    assert read(text) == text


def test_tables_stay_tables() -> None:
    rows = "<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td><code>x</code><br/>y|z</td></tr>"
    page = parse(f"<table>\n{rows}\n</table>\n\nafter".encode(), ".md")
    assert page.text.startswith("| A | B |\n| --- | --- |\n| 1 | `x` y\\|z |\n")
    assert len(page.structure.tables) == 1
    assert read(f"- item\n\n  <table>{rows}</table>\n").startswith(
        "- item\n\n  | A | B |\n  | --- | --- |\n  | 1 |"
    )


def test_markdown_in_a_table_is_not_lost() -> None:
    text = "<table><tr><td>\n\n```\n<td>\n```\n\n</td></tr></table>"
    assert "```\n<td>\n```" in read(text)


def test_a_table_that_is_nested_too_deeply_keeps_its_words() -> None:
    assert "word" in read("<table><tr><td>" * 20_000 + "word" + "</table>" * 20_000)


def test_headings_keep_their_anchors() -> None:
    page = parse(b"## Use <kbd>Ctrl</kbd>\n\n<div>\n\n### In a box\n\n</div>", ".md")
    assert [heading.anchor for heading in page.structure.headings] == ["use-ctrl", "in-a-box"]


@given(any_text)
def test_any_page_can_be_read_twice(text: str) -> None:
    once = read(text.replace("\0", "").encode("utf-8", "replace").decode())
    assert "\0" not in once
