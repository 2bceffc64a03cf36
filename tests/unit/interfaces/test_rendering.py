"""What rendering makes of Markdown, and that it is safe to show."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.interfaces.rendering.elements import Element, html_of, json_of, marked, text_of
from surefind.interfaces.rendering.rendered_markdown import MAX_LENGTH, is_safe, render
from surefind.interfaces.rendering.rendered_page import PassageAnchor, rendered_page
from surefind.interfaces.rendering.rendered_passage import rendered_passage
from surefind.interfaces.rendering.site_syntax import without_site_syntax


def html(text: str) -> str:
    return html_of(render(text, lambda link: link))


def plain(text: str) -> str:
    return text_of(render(text))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("one **two** `three`", "<p>one <strong>two</strong> <code>three</code></p>"),
        ("- a\n  - b\n", "<ul><li>a<ul><li>b</li></ul></li></ul>"),
        ("- [x] done\n- [ ] not", "<ul><li>☑ done</li><li>☐ not</li></ul>"),
        ("3. three\n4. four", '<ol start="3"><li>three</li><li>four</li></ol>'),
        ("> said\n> *softly*", "<blockquote><p>said\n<em>softly</em></p></blockquote>"),
        ("a  \nb", "<p>a<br>b</p>"),
        ("~~old~~\n\n***", "<p><s>old</s></p><hr>"),
        (
            "|a|b|\n|-|-|\n|1|`2`|",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table>",
        ),
        ("    indented\n", "<pre>indented</pre>"),
        ("```js\n<b>x</b> & y\n```", "<pre>&lt;b&gt;x&lt;/b&gt; &amp; y</pre>"),
        (
            '```js title="a.js"\n// highlight-start\nx\n  # highlight-end\n```',
            '<p class="file"><code>a.js</code></p><pre>x</pre>',
        ),
        ('```\n$ <font color="red">go</font> &amp;\n```', "<pre>$ go &amp;</pre>"),
        ("Title { #id .wide }\n=====", "<h1>Title</h1>"),
        ("press <kbd>x</kbd><br/>H<sub>2</sub>O", "<p>press <kbd>x</kbd><br>H<sub>2</sub>O</p>"),
        ("List<T> and <Tab>", "<p>List&lt;T&gt; and &lt;Tab&gt;</p>"),
        ("<!-- never -->\n\nsaid <!-- nor --> here", "<p>said  here</p>"),
        ('<div class="termy">\n\ntext\n\n</div>', "<p>text</p>"),
        ("<div>\nkept &amp; <b>bold</b>\n</div>", "<p>kept &amp; bold</p>"),
        ("<details>\n<summary>More</summary>\n\ntext\n</details>", "<p>More</p><p>text</p>"),
        ("![a heater](https://evil.example/x.png)", "<p>a heater</p>"),
        ('<img src="https://evil.example/x.png" alt="a map">', "<p>a map</p>"),
        ("[text](./x.md){.button}", '<p><a href="./x.md">text</a></p>'),
        ('<a href="#here">in</a> page', '<p><a href="#here">in</a> page</p>'),
        ("<a href='/x'>never closed", "<p>never closed</p>"),
        ("<b>one</i> two</b>", "<p><b>one two</b></p>"),
        (
            "[out](https://example.com)",
            '<p><a href="https://example.com" rel="noopener noreferrer nofollow">out</a></p>',
        ),
        ("[run](javascript:x) [data](data:x)", "<p>run data</p>"),
        ("[r][ref]\n\n[ref]: /there", '<p><a href="/there">r</a></p>'),
    ],
)
def test_markdown_becomes_elements(markdown: str, expected: str) -> None:
    assert html(markdown) == expected


@pytest.mark.parametrize(
    ("syntax", "shown"),
    [
        (":::tip Cheap\n\nText\n\n:::", "Tip: Cheap|Text"),
        (":::note\nText\n:::", "Note|Text"),
        ("::::warning[Hot *pipes*]\nText\n::::", "Warning: Hot pipes|Text"),
        ("!!! danger\n    Text\n\n    More\n\nAfter", "Danger|Text|More|After"),
        ('??? note "Open me"\n    Text', "Note: Open me|Text"),
        ('!!! note ""\n    Text', "Note|Text"),
        ('=== "Linux"\n\n    Text\n\n=== "macOS"\n\n    Other', "Linux|Text|macOS|Other"),
        ("/// tab | Linux\nText\n///", "Linux|Text"),
        ("/// details | Why\n    type: info\nText\n///", "Why|Text"),
        ("/// caption\nA heater\n///", "A heater"),
        ("> [!TIP]\n> Text", "Tip|Text"),
        ("{{< callout >}}\nText\n{{% /callout %}}", "Text"),
        ("import Tabs from '@theme/Tabs';\n\nText", "Text"),
        ("[TOC]\n\nText :material-check: and[^1]\n\n[^1]: a note", "Text  and|a note"),
        ("Heading {/* #own-id */}\n---", "Heading"),
        ("- a\n\n    !!! note\n        Text", "a|Note|Text"),
    ],
)
def test_the_syntax_of_site_generators_becomes_text(syntax: str, shown: str) -> None:
    assert re.sub(r"\n+", "|", _lines(render(syntax)).strip("\n")) == shown
    assert without_site_syntax(syntax).count("\n") == syntax.count("\n")


def _lines(nodes: Any) -> str:
    ends = {"p", "li", "h1", "h2", "pre", "br"}
    return "".join(
        node
        if isinstance(node, str)
        else f"{'' if node.tag != 'ul' else chr(10)}{_lines(node.nodes)}"
        + ("\n" if node.tag in ends else "")
        for node in nodes
    )


def test_site_syntax_in_code_stays() -> None:
    code = "!!! note\n:::tip\n[TOC]\n{{< x >}}"
    assert plain(f"```\n{code}\n```") == code
    assert plain("`{{< x >}}` and `[^1]`") == "{{< x >}} and [^1]"


def test_texts_that_would_take_too_long_are_not_parsed() -> None:
    assert json_of(render("*a*" + " " * MAX_LENGTH)) == [
        ["pre", {}, "*a*" + " " * MAX_LENGTH],
    ]
    assert plain("[" * 2_000 + "<b>x</b>") == "[" * 2_000 + "x"
    assert plain("<b>" * 20 + "x" + "</b>" * 20) == "x"


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://example.com", True),
        ("/read/x", True),
        ("#x", True),
        ("//evil.example", False),
        ("javascript:x", False),
        ("JAVASCRIPT:x", False),
        ("data:text/html,x", False),
        ("http://[", False),
    ],
)
def test_only_links_to_pages_are_safe(address: str, safe: bool) -> None:
    assert is_safe(address) is safe


class _Audit(HTMLParser):
    """Collects every tag and attribute of a rendered text."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            self.seen.add(f"@{name}")
            assert name != "href" or is_safe(value or "")


ALLOWED = {
    *("a", "b", "blockquote", "br", "code", "em", "hr", "i", "kbd", "li", "ol", "p", "pre", "s"),
    *("strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *(f"h{level}" for level in range(1, 7)),
    *("@href", "@rel", "@start", "@class"),
}
_PIECES = st.sampled_from(
    [
        *("<script>", "</script>", "<img src=x onerror=y>", "<a href='javascript:x'>", "</a>"),
        *("<svg onload=x>", "[x](javascript:y)", "![z](http://e/x)", "`", "```\n", "\n\n", "\n"),
        *("- ", "> ", "| a |", "|--|\n", "<", ">", '"', "&lt;script&gt;", "<b>", "</b>", "!!! x\n"),
        *(
            ":::tip\n",
            "    ",
            "<!--",
            "-->",
            "<div style=x>",
            "<iframe src=x>",
            "\\",
            "[",
            "](",
            ")",
        ),
    ]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=30))
def test_whatever_a_page_contains_only_known_elements_are_rendered(pieces: list[str]) -> None:
    audit = _Audit()
    audit.feed(html("".join(pieces)))
    assert audit.seen <= ALLOWED


def test_matches_are_marked_in_every_text() -> None:
    nodes = marked(
        render("warm **warm** `warm x`"), lambda text: [m.span() for m in re.finditer("warm", text)]
    )
    assert html_of(nodes) == (
        "<p><mark>warm</mark> <strong><mark>warm</mark></strong> "
        "<code><mark>warm</mark> x</code></p>"
    )
    assert (
        html_of([Element("a", ("x",), {"href": '"><b>'})]) == '<a href="&quot;&gt;&lt;b&gt;">x</a>'
    )


@pytest.mark.parametrize(
    ("text", "breadcrumb", "kind", "expected"),
    [
        ("# A\n\n## B\n\ntext", "A > B", "text", "<p>text</p>"),
        ("## C\n\ntext", "A > B", "text", "<h2>C</h2><p>text</p>"),
        ("# A", "A", "text", "<h1>A</h1>"),
        ("x = 1\n\n- not a list", "A", "code", "<pre>x = 1\n\n- not a list</pre>"),
        ("x = `1`\n```\n\ntext", "A", "mixed", "<pre>x = `1`</pre><p>text</p>"),
        ("```py\nx = 1", "A", "code", "<pre>x = 1</pre>"),
        ("```py\nx\n```", "A", "code", "<pre>x</pre>"),
        (
            "| 1 | 2 |\n| 3 | 4 |",
            "A",
            "table",
            "<table><tbody><tr><td>1</td><td>2</td></tr>"
            "<tr><td>3</td><td>4</td></tr></tbody></table>",
        ),
        (
            "| a |\n|---|\n| 1 |",
            "A",
            "table",
            "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>",
        ),
        ("<p>Plug <b>it</b> in.</p><p>Wait.</p>", "", "", "<p>Plug it in.</p><p>Wait.</p>"),
        ("the tags <b></b> and List<T>", "", "", "<p>the tags  and List&lt;T&gt;</p>"),
    ],
)
def test_a_passage_is_rendered_as_the_part_of_its_page_that_it_is(
    text: str, breadcrumb: str, kind: str, expected: str
) -> None:
    assert html_of(rendered_passage(text, breadcrumb, kind)).startswith(expected)


PAGE = """\
intro

# One

text

## Two

- a
- b

```
# not a heading
```

## Two

end
"""


def test_a_page_has_sections_with_the_anchors_of_the_collection() -> None:
    second = PAGE.index("## Two")
    anchors = [
        PassageAnchor("", "", 0),
        PassageAnchor("own-two", "Two", second),
        PassageAnchor("own-two", "Two", second + 10),
    ]
    nodes = rendered_page(PAGE, anchors, lambda _: None)
    found = re.findall(r"<section( id=\"[\w-]+\")?><(\w+)", html_of(nodes))
    assert found == [
        ("", "p"),
        (' id="one"', "h1"),
        (' id="own-two"', "h2"),
        (' id="two-1"', "h2"),
    ]


def test_the_blocks_of_the_passage_are_marked() -> None:
    start = PAGE.index("## Two")
    end = PAGE.index("```\n\n##") + 3
    body = html_of(rendered_page(PAGE, (), lambda _: None, (start, end)))
    assert re.findall(r"<(\w+) class=\"found\"", body) == ["h2", "ul", "pre"]
