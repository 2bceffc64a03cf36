"""Reference links of Markdown."""

import pytest

from surefind.text.markdown.link_references import inline_references

DEFINED = '\n\n[a]: /x "Title"\n'


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("[text][a]", "[text](/x)"),
        ("[A][]", "[A](/x)"),
        ("[a]", "[a](/x)"),
        ("![text][a]", "![text](/x)"),
        ("[![img][a]][a]", "[![img](/x)](/x)"),
        ("[x [a] y][unknown]", "[x [a](/x) y][unknown]"),
        ("[two\nlines][a]", "[two\nlines](/x)"),
        ("| [a] | b |", "| [a](/x) | b |"),
        ("[unknown] and [text][unknown]", "[unknown] and [text][unknown]"),
        ("`[a]` ``[a] ` b`` \\[a]", "`[a]` ``[a] ` b`` \\[a]"),
        ("[a](/own) [a]: [^a]", "[a](/own) [a]: [^a]"),
        ("```\n[a]\n[a]: /y\n```", "```\n[a]\n[a]: /y\n```"),
        ("text\n\n    [a]\n    [b]: /y", "text\n\n    [a]\n    [b]: /y"),
        ("- item\n\n    [a]", "- item\n\n    [a](/x)"),
    ],
)
def test_links_get_their_addresses_and_definitions_go(written: str, read: str) -> None:
    assert inline_references(written + DEFINED).strip() == read


@pytest.mark.parametrize(
    ("definition", "link"),
    [
        ("[a]: <>", "[a](<>)"),
        ("[a]: <two words>", "[a](<two words>)"),
        ("[a]: https://x.org/b(c)", "[a](<https://x.org/b(c)>)"),
        ("  [A  a]: /x 'title'", "[a]"),
        ("> [a]: /x (title)", "[a](/x)"),
        ("[a]: /x\n   'A title below'", "[a](/x)"),
        ("[a]: /x\n[a]: /y", "[a](/x)"),
        ("[a]: two words", "[a]\n\n[a]: two words"),
        ("paragraph\n[a]: /x", "[a]\n\nparagraph\n[a]: /x"),
        ("# Heading\n[a]: /x", "[a](/x)\n\n# Heading"),
        ("[^a]: A footnote", "[a]\n\n[^a]: A footnote"),
        ("[a]:", "[a]\n\n[a]:"),
        ("```\ncode\n```\n[a]: /x", "[a](/x)\n\n```\ncode\n```"),
    ],
)
def test_what_a_definition_is(definition: str, link: str) -> None:
    assert inline_references(f"[a]\n\n{definition}").strip() == link


def test_text_without_definitions_is_not_touched() -> None:
    text = "[a][b]\n\n```\nx\n"
    assert inline_references(text) is text


@pytest.mark.parametrize(
    "hostile", ["[" * 50_000, "[a" * 50_000, "[a][" * 30_000, "a`" * 30_000, "[a]\n" * 20_000]
)
def test_hostile_brackets_take_linear_time(hostile: str) -> None:
    assert "[a]: " not in inline_references(hostile + DEFINED)
