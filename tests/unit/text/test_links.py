"""The links and anchors of a page, as its source spells them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.text.formats.registry import parse
from surefind.text.links import References, references, relinked, suffix_of


def found(text: str, suffix: str = ".md") -> References:
    parsed = parse(text.encode(), suffix)
    return references(text.encode(), suffix, parsed.structure)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](b.md) and [c](d.md#e 'title')", ("b.md", "d.md#e")),
        ("[a](<with space.md>) [b](x_(1).md)", ("with space.md", "x_(1).md")),
        ("[a][r]\n\n[r]: r.md\n[^1]: note.md", ("r.md",)),
        ("> [r]: <r.md> 'title'", ("r.md",)),
        ("<https://docs.example.com/a>", ("https://docs.example.com/a",)),
        ('<a class="x" href="b.html">b</a>', ("b.html",)),
        ("![pic](p.png) twice [x](b.md) [y](b.md)", ("p.png", "b.md")),
        ("`[a](b.md)` ``[c](`d.md)`` [e](f.md) ` [g](h.md)", ("f.md", "h.md")),
        ("```\n[a](b.md)\n```\n[c](d.md)\n~~~~\n[e](f.md)\n~~~\n[g](h.md)", ("d.md",)),
        ("- item\n\n  ```\n  [a](b.md)\n  ```\n\n  [c](d.md)", ("d.md",)),
        ("<!-- [a](b.md) -->[c](d.md)", ("d.md",)),
        ("[a](" + "x" * 3000 + ")", ()),
        ("[a]() [b]( )", ()),
        ("no link ](here", ()),
    ],
)
def test_links_of_markdown(text: str, links: tuple[str, ...]) -> None:
    assert found(text).links == links


def test_links_of_mdx() -> None:
    text = (
        "import Link from '@docusaurus/Link';\n\n"
        "<Link to=\"/docs/a\">A</Link> <Link to={'/docs/b'} /> {/* [c](d.md) */} [e](f.md) {/* open"
    )
    assert set(found(text, ".mdx").links) == {"/docs/a", "/docs/b", "f.md"}


def test_links_of_html_and_restructured_text() -> None:
    html = '<main><a href="b.html#x">b</a><p id="here">text</p><a name=old></a></main>'
    assert found(html, ".html").links == ("b.html#x",)
    assert {"here", "old"} <= found(html, ".html").anchors
    rst = "Title\n=====\n\n.. _my_label:\n\n`a <b.html>`_ c_\n\n.. _c: d.html\n"
    assert found(rst, ".rst").links == ("b.html", "d.html")
    assert "my-label" in found(rst, ".rst").anchors


def test_anchors_are_headings_and_whatever_else_has_a_name() -> None:
    text = (
        "# Über uns\n\n## Set up {#setup}\n\n## Set up\n\n## A & B\n\n"
        "<a name='old'></a> <span id=\"new\"></span>\n\nparagraph\n{: .note #block }\n\n"
        "## Named {/* #comment-id */}\n"
    )
    anchors = found(text).anchors
    assert {"über-uns", "setup", "set-up", "a--b", "old", "new", "block"} <= anchors
    assert {"uber-uns", "a-b"} <= anchors, "as MkDocs spells them"
    assert "comment-id" in found(text, ".mdx").anchors
    twice = found("# Same\n\n# Same\n\n# !\n\n# !\n").anchors
    assert {"same", "same-1", "same_1", "_1", "_2"} <= twice


def test_what_comes_from_another_file_is_not_known() -> None:
    assert not found("import Part from './_part.mdx';\n\n<Part />\n", ".mdx").whole
    assert found("import Tabs from '@theme/Tabs';\n", ".mdx").whole
    assert found("import Part from './_part.mdx';\n").whole
    assert "disableInDev" in found("| `disableInDev` | x |\n", ".mdx").anchors


@pytest.mark.parametrize(
    ("path", "suffix"),
    [("a/b.md", ".md"), ("a/B.MD", ".md"), ("docs/1.2", ""), ("docs/a", ""), ("docs/", "")],
)
def test_a_suffix_is_that_of_a_file(path: str, suffix: str) -> None:
    assert suffix_of(path) == suffix


@given(st.text(alphabet="[]()<>`~{}/*#!-:= \n\t\"'aid", max_size=200))
def test_any_text_has_links_and_anchors(text: str) -> None:
    result = found(text)
    assert all(link and link in text for link in result.links)


@pytest.mark.parametrize("piece", ["](", "[a](", "`", "``` ", "<a ", "{/*", "{#", "<!--", "[a]:"])
def test_hostile_pages_are_read_in_time(piece: str) -> None:
    """Half a million characters: what is not linear would not come back within the time limit."""
    text = (piece * 500_000)[:500_000]
    result = references(text.encode(), ".md", parse(b"", ".md").structure)
    assert all(link in text for link in result.links)


@given(st.text(alphabet="ab`[]()<>: \n\t~#{*/}", max_size=200))
def test_text_without_other_targets_stays_as_it_is(text: str) -> None:
    assert relinked(text, lambda _: None) == text
    assert relinked(text, lambda link: link) == text


def test_links_in_code_keep_their_targets() -> None:
    text = (
        "[a](a.md) ``[b](a.md) ` `` [c](<a.md>) `open [d](a.md)\r\n```\n[e](a.md)\n```\n"
        "[f]: a.md 'title'\n~~~\n[g](a.md)"
    )
    assert relinked(text, {"a.md": "b.md"}.get) == (
        "[a](b.md) ``[b](a.md) ` `` [c](<b.md>) `open [d](b.md)\r\n```\n[e](a.md)\n```\n"
        "[f]: b.md 'title'\n~~~\n[g](a.md)"
    )
