"""Every format becomes the same thing: text, its structure, and what the page says of itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.text.formats.registry import SUFFIXES, parse


def titles(content: str, suffix: str) -> list[str]:
    return [heading.title for heading in parse(content.encode(), suffix).structure.headings]


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (
            ".md",
            "---\ntitle: T\n---\n# A\n\n<!-- # no -->\n\nwords\n\n## B\n\n[ref]: https://x.org\n",
        ),
        (".markdown", "# A\n\nwords\n\nB\n---\n"),
        (".mdx", "import X from 'x';\n\n# A\n\n<X>\n\nwords\n\n## B\n\n</X>\n"),
        (".html", "<nav>n</nav><h1>A</h1><p>words<h2>B</h2>"),
        (".htm", "<h1>A</h1>words<h2>B</h2>"),
        (".rst", "A\n=\n\nwords\n\nB\n-\n\nmore"),
        (".RST", "A\n=\n\nwords\n\nB\n-\n\nmore"),
    ],
)
def test_every_format_has_text_and_headings(suffix: str, content: str) -> None:
    parsed = parse(content.encode(), suffix)
    assert [heading.title for heading in parsed.structure.headings] == ["A", "B"]
    assert "words" in parsed.text
    assert "no" not in parsed.text.split()
    assert parsed.warnings == ()


def test_the_front_matter_of_each_format() -> None:
    assert parse(b"---\na: 1\n---\nb", ".md").front_matter == {"a": 1}
    assert parse(b"---\na: 1\n---\n<b/>c", ".mdx").front_matter == {"a": 1}
    assert parse(b":orphan:\n\nwords", ".rst").front_matter == {"orphan": ""}
    page = parse(
        b"<html lang=en><link rel=canonical href=https://x.org/a><title>T</title><a href=/b>b</a>",
        ".html",
    )
    assert page.front_matter == {"canonical_url": "https://x.org/a", "language": "en"}
    assert page.title == "T"


def test_plain_text_has_borders_and_no_headings() -> None:
    text = "# no heading\n\n  two\nlines\n\n \n\n```\nno code"
    parsed = parse(text.encode(), ".txt")
    assert parsed.text == text
    assert parsed.structure.headings == ()
    assert parsed.structure.code == ()
    assert [text[border:].split("\n", maxsplit=1)[0] for border in parsed.structure.borders] == [
        "  two",
        "```",
    ]


@pytest.mark.parametrize("suffix", [".md", ".mdx"])
def test_reference_links_become_inline_ones(suffix: str) -> None:
    text = parse(b"[a]\n\n[a]: https://x.org\n", suffix).text
    assert text.strip() == "[a](https://x.org)"


@pytest.mark.parametrize(
    ("content", "suffix", "text", "warned"),
    [
        ("é".encode(), ".txt", "é", False),
        (b"\xef\xbb\xbfbom", ".txt", "bom", False),
        ("é漢\r\n".encode("utf-16"), ".txt", "é漢\n", False),
        (b"\xfe\xff\x00a", ".txt", "a", False),
        (b"caf\xe9 \x93x\x94", ".txt", "café \u201cx\u201d", True),
        (b"\x81 caf\xe9", ".txt", "\ufffd café", True),
        (b"<meta charset=iso-8859-1><p>caf\xe9 \x93", ".html", "café \u201c\n", False),
        (b"<meta http-equiv=a content='text/html; charset=koi8-r'>\xc1", ".html", "а\n", False),
        (b"<meta charset='shift_jis'>\x8a\xbf", ".html", "漢\n", False),
        (b"<meta charset=utf-8>caf\xe9", ".html", "café\n", True),
        (b"<meta charset=euc-jp>caf\xe9", ".html", "café\n", True),
        (b"<meta charset=cp99999>caf\xe9", ".html", "café\n", True),
        (b"<p>caf\xe9", ".html", "café\n", True),
        (b"<meta charset=koi8-r> \xe9", ".txt", "<meta charset=koi8-r> é", True),
    ],
)
def test_bytes_are_read_in_their_encoding(
    content: bytes, suffix: str, text: str, warned: bool
) -> None:
    parsed = parse(content, suffix)
    assert parsed.text == text
    assert parsed.warnings == (("it is not UTF-8; read as windows-1252",) if warned else ())


@pytest.mark.parametrize(
    ("content", "suffix", "reason"),
    [
        (b"\x89PNG\x00\x01", ".md", "binary"),
        (b"\x89PNG" + b"x" * 9000 + b"\xff\x00", ".md", "not UTF-8"),
        (b"\xff\xfea", ".md", "not UTF-16"),
        (b"\xff\xfe\x00\x00a\x00\x00\x00", ".md", "binary"),
        (b"words", ".odt", r"files ending in \.odt are not supported"),
        (b"words", "", "files without a suffix"),
    ],
)
def test_unreadable_content_is_an_error_with_a_reason(
    content: bytes, suffix: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        parse(content, suffix)


def test_warnings_of_a_format_are_reported() -> None:
    source = "".join(" " * depth + "x\n\n" for depth in range(0, 1600, 2))
    warnings = parse(source.encode(), ".rst").warnings
    assert warnings == ("it is nested too deeply; parsed as plain text",)


@given(st.binary(max_size=80), st.sampled_from(sorted(SUFFIXES - {".rst"})))
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str) -> None:
    try:
        parsed = parse(content, suffix)
    except InputError:
        return
    assert all(heading.end <= len(parsed.text) for heading in parsed.structure.headings)
    assert all(0 < border < len(parsed.text) for border in parsed.structure.borders)


def test_a_heading_in_jsx_and_one_in_a_fence() -> None:
    assert titles("<A>\n    ## Yes\n\n    ```\n    # no\n    ```\n</A>", ".mdx") == ["Yes"]
