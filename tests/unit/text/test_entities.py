"""Character references become the characters that readers see."""

import pytest
from hypothesis import given

from surefind.text.formats.registry import parse
from surefind.text.markdown.entities import without_entities
from unit.text.markdown_strategies import any_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a&nbsp;b &copy; 2024&ndash;25 caf&eacute; &#x26; co", "a b © 2024–25 café & co"),
        ("&nbsp;&nbsp;&nbsp;&nbsp;a", "a"),
        ("> &nbsp;a", "> a"),
        ("List&lt;T&gt;, 1 &lt; 2 &amp;&amp; 3 &gt; 2", "List\\<T>, 1 < 2 && 3 > 2"),
        ("2 &#42; 3 &#124; &#96;x&#96; &#91;y&#93;", "2 \\* 3 \\| \\`x\\` \\[y\\]"),
        ("snake&#95;case &#95;x", "snake_case \\_x"),
        ("&#35; none\n&gt; none", "\\# none\n\\> none"),
        ("write &amp;nbsp; or \\&nbsp;", "write \\&nbsp; or \\&nbsp;"),
        ("[a](x?b=1&amp;c=2)", "[a](x?b=1&c=2)"),
        ("long&shy;word&#8203;s", "longwords"),
        ("`&nbsp;` and ``a`&lt;``", "`&nbsp;` and ``a`&lt;``"),
        ("```\n&lt;\n```\n", "```\n&lt;\n```\n"),
        ("&unknown; &nbsp &#99999999; AT&T;", "&unknown; &nbsp &#99999999; AT&T;"),
        ("<p>a&nbsp;&lt;b&gt;</p>", "a \\<b>"),
        ('[a][b]\n\n[b]: x "in &quot;quotes&quot;"', "[a](x)\n"),
    ],
)
@pytest.mark.parametrize("suffix", [".md", ".mdx"])
def test_readers_see_no_references(text: str, shown: str, suffix: str) -> None:
    assert parse(text.encode(), suffix).text == shown


def test_indented_code_stays() -> None:
    assert without_entities("a&nbsp;b\n\n    &gt;\n") == "a b\n\n    &gt;\n"


def test_anchors_of_headings_stay() -> None:
    text = "# A &amp; B&nbsp;C `&lt;`\n\n## a&#95;b &lt;T&gt; {#id}\n"
    page = parse(text.encode(), ".md")
    assert [(one.title, one.anchor) for one in page.structure.headings] == [
        ("A & B\N{NO-BREAK SPACE}C &lt;", "a--bc-lt"),
        ("a_b <T>", "id"),
    ]
    assert page.text == "# A & B\N{NO-BREAK SPACE}C `&lt;`\n\n## a_b \\<T>\n"


@given(any_text)
def test_text_without_references_stays(text: str) -> None:
    clean = text.replace("&", "")
    assert without_entities(clean) == clean
