"""Comments that highlight lines of code are not text."""

import pytest

from surefind.text.formats.registry import parse


@pytest.mark.parametrize("suffix", [".md", ".mdx"])
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("a\n// highlight-next-line\nb", "a\nb"),
        ("  # highlight-start\na\n  # highlight-end", "a"),
        ("{/* highlight-next-line */}\n<b/>", "<b/>"),
        ("<!-- highlight-start -->\n<p>", "<p>"),
        ("a // [!code focus]\nb # [!code ++]", "a\nb"),
        ("a // highlight-next-line is a comment", "a // highlight-next-line is a comment"),
        ("a // [!code]", "a // [!code]"),
    ],
)
def test_comments_for_highlighting_are_removed_from_code(
    suffix: str, code: str, shown: str
) -> None:
    assert parse(f"```js\n{code}\n```\n".encode(), suffix).text == f"```js\n{shown}\n```\n"


def test_comments_are_code_where_the_opening_names_lines() -> None:
    text = "```js {1,3-4}\n// highlight-next-line\na\n```\n"
    assert parse(text.encode(), ".mdx").text == text


def test_headings_of_that_name_stay() -> None:
    page = parse(b"# highlight-start\n\nwords\n\n```\ncode\n```\n\n# highlight-end", ".md")
    assert [heading.title for heading in page.structure.headings] == [
        "highlight-start",
        "highlight-end",
    ]
