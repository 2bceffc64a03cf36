"""Ids and attributes that headings declare are no text, and everything after them moves."""

import pytest

from surefind.model import AnchorRule, ChunkerSettings, Document
from surefind.text.anchors import DOCUSAURUS, GITHUB, READER, attribute_list
from surefind.text.chunking import chunk_document
from surefind.text.formats.registry import parse
from surefind.text.markdown.blocks import outline
from surefind.text.sites.mkdocs.anchors import anchor_rule
from surefind.text.sites.mkdocs.config import MkDocsConfig
from surefind.text.sites.nextra.addresses import NextraSite

LISTS = AnchorRule(attribute_list, str.lower)
MKDOCS = anchor_rule(MkDocsConfig("markdown_extensions: [attr_list]"))
UNKNOWN = AnchorRule(lambda title: (title.removesuffix(" {#?}"), "?"), str.lower, unknown="?")
NEXTRA = NextraSite("", "/").anchors


@pytest.mark.parametrize(
    ("rule", "source", "text"),
    [
        (GITHUB, "# A {#own}\n\nb", "# A\n\nb"),
        (GITHUB, "# A {#own} #\n\nb", "# A #\n\nb"),
        (GITHUB, "A\nb \t{#own}  \n---\nc", "A\nb  \n---\nc"),
        (GITHUB, "# A {.own}\n", "# A {.own}\n"),
        (GITHUB, "# A {b} {#own}\n", "# A {b}\n"),
        (GITHUB, "# {#own}\n\nb", "# {#own}\n\nb"),
        (GITHUB, "{#own}\n---\n", "{#own}\n---\n"),
        (GITHUB, "```\n# A {#own}\n```\n", "```\n# A {#own}\n```\n"),
        (GITHUB, "b {#own}\n", "b {#own}\n"),
        (UNKNOWN, "# A {#?}\n", "# A\n"),
        (DOCUSAURUS, "# A {/* #own */}\n", "# A\n"),
        (LISTS, '## A {#own .b c="d"}\n', "## A\n"),
        (LISTS, "## A {.b}\n", "## A\n"),
        (MKDOCS, "## A `{b}` { #own .c }\n", "## A `{b}`\n"),
        (MKDOCS, '## A { #own title="{" }\n', "## A\n"),
        (NEXTRA, "## A [#own]\n", "## A\n"),
        (NEXTRA, "## A [b]\n", "## A [b]\n"),
    ],
)
def test_what_a_heading_declares_is_not_text(rule: AnchorRule, source: str, text: str) -> None:
    page = parse(source.encode(), ".md", rule)
    assert page.text == text
    anchors = [heading.anchor for heading in outline(source, rule).headings]
    assert [heading.anchor for heading in page.structure.headings] == anchors


def test_passages_keep_their_ids_and_borders() -> None:
    body = "words\n\n```py\ncode\n```\n\n- one\n\n  two\n\n|a|b|\n|-|-|\n|c|d|\n\n"
    declared = f"# Top {{#t}}\n\n{body}## One {{#one}}\n\n{body}Two {{#two}}\n---\n\n{body}"
    source = "".join(declared.split(" {#t}")).replace(" {#one}", "").replace(" {#two}", "")
    rule = AnchorRule(GITHUB.split, lambda title: {"Top": "t"}.get(title, title.lower()))
    page = parse(declared.encode(), ".md", rule)
    assert page.text == source
    assert page.structure == outline(source, rule)
    before = Document("a.md", "/a", "a", "Top", declared, "")
    after = Document("a.md", "/a", "a", "Top", page.text, "")
    settings = ChunkerSettings(max_tokens=20)
    first = chunk_document(before, outline(declared, rule), settings, len)
    last = chunk_document(after, page.structure, settings, len)
    assert [chunk.id for chunk in last[:1]] == [chunk.id for chunk in first[:1]]
    assert {chunk.anchor for chunk in last} == {"t", "one", "two"}
    assert not any("{#" in chunk.text for chunk in last)


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".html", "<h1 id=own>A</h1><p>b</p>"),
        (".rst", ".. _own:\n\n12\n==\n\nb\n"),
        (".mdx", "# A {#own}\n\nb\n"),
    ],
)
def test_no_format_shows_the_ids_of_headings(suffix: str, source: str) -> None:
    page = parse(source.encode(), suffix)
    assert page.text.strip() in {"# A\n\nb", "# 12\n\nb"}
    assert [heading.anchor for heading in page.structure.headings] == ["own"]


def test_html_pages_have_only_the_ids_that_are_in_them() -> None:
    content = b"<h1>Top</h1><p>a</p><h2 id=own>Own</h2><p>b</p><h2>Plain</h2><p>c</p>"
    headings = parse(content, ".html").structure.headings
    assert [(h.anchor, h.name) for h in headings] == [("", "top"), ("own", "own"), ("", "plain")]
    shown = parse(content, ".html", READER).structure.headings
    assert [h.anchor for h in shown] == ["top", "own", "plain"], "surefind's reader makes the rest"


def test_many_braces_in_a_heading_are_quick() -> None:
    calls = 0

    def split(title: str) -> tuple[str, str]:
        nonlocal calls
        calls += 1
        return explicit(title)

    explicit = GITHUB.split
    parse(f"# A {'{' * 400}}}\n".encode(), ".md", AnchorRule(split, str.lower))
    assert calls <= 5
