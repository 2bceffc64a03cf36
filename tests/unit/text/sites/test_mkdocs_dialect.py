"""Python-Markdown's dialect: what MkDocs shows of it, its anchors and its other includes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.text.sites.mkdocs.addresses import MkDocsSite
from surefind.text.sites.mkdocs.dialect import plain_markdown
from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions
from surefind.text.sites.mkdocs.mdx_includes import expand_mdx_includes

ALL = (
    *(
        "abbr",
        "admonition",
        "attr_list",
        "def_list",
        "footnotes",
        "pymdownx.blocks.tab",
        "pymdownx.details",
    ),
    *("pymdownx.emoji", "pymdownx.inlinehilite", "pymdownx.keys", "pymdownx.tabbed"),
)


def plain(text: str) -> str:
    return plain_markdown(text, ALL)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('!!! note "Mind it"\n\n    Words.\n\nAfter.', "Note: Mind it\nWords.\n\nAfter."),
        ("!!! note\n    Words.\nAfter.", "Note\nWords.\n\nAfter."),
        ('!!! danger ""\n    Words.', "Words."),
        ('??? tip "T"\n    !!! info\n        In.\n    Out.', "Tip: T\n\nInfo\nIn.\n\nOut."),
        ('=== "Linux"\n\n    ```sh\n    a\n\n      b\n    ```', "Linux\n```sh\na\n\n  b\n```"),
        ('1. S\n\n    === "A"\n\n        In.\n\n    On.', "1. S\n\n    A\n    In.\n\n    On."),
        ("/// tab | One\n    new: true\n\nText.\n///\nOn.", "One\nText.\n\nOn."),
        ('```\n!!! note\n=== "A"\n{ .x }\n```', '```\n!!! note\n=== "A"\n{ .x }\n```'),
        ('    !!! note\n    === "in code"', '    !!! note\n    === "in code"'),
        ('=== "A"\n    ===\n    b', "A\n\\===\nb"),
        ("[a](b){ .c } `{ .d }` *e*{: #f}", "[a](b) `{ .d }` *e*"),
        ("Words\n{: .lead }\nmore", "Words\nmore"),
        ("*[HTML]: Hyper\nHTML", "HTML"),
        ("An :octicons-x-16: icon[^1].\n\n[^1]: Note.", "An  icon.\n\nNote."),
        ("`#!py range()` and `#!/bin/sh`", "`range()` and `#!/bin/sh`"),
        ("#Tight\n[TOC]", "# Tight"),
        ("## A { #b }", "## A { #b }"),
        ('`a`\n\n:   One:\n\n    === "A"\n\n        B.', "`a`\n\nOne:\n\nA\nB."),
        ('Press ++ctrl+arrow-up+"x"++, c++ `++a++`', "Press Ctrl+Up+x, c++ `++a++`"),
        ("[a]\n[b], [c] [b] [a]\n[x]\n\n[b]: u", "[a][b], [c][b] [a]\n[x]\n\n[b]: u"),
        ("Term\n:   Words\n    more\nAfter.", "Term\n\nWords\nmore\n\nAfter."),
    ],
)  # fmt: skip
def test_blocks_become_their_label_and_text(written: str, read: str) -> None:
    assert plain(written) == read


def test_without_its_extension_a_syntax_is_text() -> None:
    text = '!!! note "A"\n    b { .c } :material-x:\n\n*[d]: e\n\n/// f\n\n=== "g"'
    assert plain_markdown(text, ()) == text


@given(st.text('ab \n\t!=?/`"{}[]:#.^-', max_size=60))
def test_no_word_is_lost_outside_of_markup(text: str) -> None:
    assert text.count("b") >= plain(text).count("b")
    words = text.replace("\n", "\n\n")
    assert "kept" in plain(f"{words}\n\n\nkept") or "`" in text or "~" in text


@pytest.mark.parametrize(
    ("config", "titles", "anchors"),
    [
        ("", ["A b", "A b", "A_b_1", "é & co -- x"], ["a-b", "a-b_1", "a_b_1", "e-co-x"]),
        ("", ["日本", "中文", ""], ["_1", "_2", ""]),
        ("", ["A { #x }"], ["a-x"]),
        ("- attr_list", ["A { #x .y z }", "B {: id='q' }", "C { w }"], ["x", "q", "c"]),
        ("- toc: {separator: _}", ["A  b-c"], ["a_b-c"]),
        ("- toc: {slugify: !!python/name:pymdownx.slugs.slugify }", ["Ä  B"], ["Ä-B"]),
        (
            "- toc: {slugify: !!python/object/apply:pymdownx.slugs.slugify"
            " {kwds: {case: lower, percent_encode: true}}}",
            ["Ä B"],
            ["%C3%A4-b"],
        ),
        (
            "- toc: {slugify: !!python/name:markdown.extensions.toc.slugify_unicode }",
            ["Ä B"],
            ["ä-b"],
        ),
    ],
)  # fmt: skip
def test_headings_have_the_anchors_of_the_site(
    config: str, titles: list[str], anchors: list[str]
) -> None:
    from surefind.text.markdown.blocks import outline

    site = MkDocsSite.from_config(f"site_name: P\nmarkdown_extensions:\n{config}")
    text = "\n\n".join(f"## {title}" for title in titles)
    assert [heading.anchor for heading in outline(text, site.anchors).headings] == anchors


@pytest.mark.parametrize("name", ["my.own.slugify", "pymdownx.slugs.other", "pymdownx.x.slugify"])
def test_an_unknown_rule_for_anchors_is_noted(name: str) -> None:
    config = f"site_url: /\nmarkdown_extensions:\n- toc: {{slugify: !!python/name:{name} }}"
    assert any("toc.slugify" in note for note in MkDocsSite.from_config(config).notes)


@pytest.mark.parametrize(
    ("case", "anchor"),
    [("fold", "strasse-a"), ("lower-ascii", "straße-a"), ("none", "Straße-A")],
)
def test_the_cases_of_pymdown_are_known(case: str, anchor: str) -> None:
    apply = f"!!python/object/apply:pymdownx.slugs.slugify {{kwds: {{case: {case}}}}}"
    site = MkDocsSite.from_config(f"markdown_extensions:\n  toc:\n    slugify: {apply}")
    assert site.anchors.slug("Straße A") == anchor


FILES = {
    "../src/app.py": "one\ntwo\nthree\nfour\n",
    "a.md": "A\n{!b.md!}\n",
    "b.md": "B",
    "loop.md": "{!loop.md!}",
}


def expand(text: str) -> tuple[str, tuple[str, ...]]:
    inclusions = Inclusions("docs/page.md", FILES.get)
    found = expand_mdx_includes(text, (IncludeFolder(),), inclusions, variants=True)
    return found, inclusions.warnings


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{! a.md !}", "A\nB"),
        ("{!- a.md !}", "A\n{!b.md!}"),
        ("  {!> a.md !}", "  A\n  B"),
        ("x {!b.md!} y {!b.md | utf-8 !}", "x B y B"),
        ("{!../src/app.py[ln:2-3]!}", "two\nthree"),
        ("{!../src/app.py [ln:1,3-] !}", "one\nthree\nfour"),
        (r"\{!a.md!}", "{!a.md!}"),
        ("{* ../src/app.py ln[2:3] hl[2] *}", "```py\ntwo\nthree\n```"),
        ('{* ../src/app.py title["App"] *}', '```py title="App"\none\ntwo\nthree\nfour\n```'),
        ("text {* ../src/app.py *}", "text {* ../src/app.py *}"),
    ],
)
def test_files_beside_the_site_are_taken_in(text: str, expanded: str) -> None:
    assert expand(text) == (expanded, ())


def test_files_that_are_missing_are_named_once_for_each_reason() -> None:
    text, warnings = expand("{!x.md!}\n{!y.md!}\n{* z.py *}\n{!loop.md!}")
    assert text.strip() == ""
    assert warnings[0] == (
        "it includes x.md and 2 more files, which is missing; the includes were dropped"
    ) or warnings[0].startswith("it includes z.py and 2 more files")
    assert "includes itself" in warnings[1]
