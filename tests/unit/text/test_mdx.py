"""MDX pages keep every word a reader sees, and lose the program around them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.text.markdown.blocks import outline
from surefind.text.markdown.mdx import strip_comments, strip_mdx
from surefind.text.markdown.writer import fenced, guarded
from unit.text.markdown_strategies import (
    atx_headings,
    fences,
    rules,
    setext_headings,
    tables,
    titles,
)


@pytest.mark.parametrize(
    "statement",
    [
        "import Tabs from '@theme/Tabs';",
        "import './styles.css'",
        'import * as All from "all"',
        "import One, {two} from 'numbers';",
        "import type {One} from 'numbers';",
        "import {\n  one,\n  two,\n} from 'numbers';",
        "import One from\n  'one';",
        "export {one} from 'numbers';",
        "export * from 'numbers';",
        "export const answer = 42",
        "export const answer =\n  42;",
        "export let {a} = b;",
        "export default config;",
        "export default function Home() {\n  return <b>{'}'}</b>;\n}",
        "export async function load() { return 1 }",
        "export class A extends B {\n\n  x = `}`;\n}",
        "export type A = {\n  b: string;\n};",
        "export type {A} from 'letters';",
        "export type * from 'letters';",
        "export declare const a: string;",
        "export const enum Size { Small, Large }",
        "export namespace One.Two {\n\n  const a = 1;\n}",
        "export const List = ({items}) => (\n  <ul>\n\n    {items}\n  </ul>\n);",
        "export const F = () => {\n  // don't } stop\n  /* nor } here */\n  return 'it\\'s }';\n}",
        "export const a = 1;\nexport const b = 2;",
        "export const long = one\n  .two()\n  .three();",
        "export const smile = <b>:(</b>",
    ],
)
def test_statements_are_not_text(statement: str) -> None:
    assert strip_mdx(f"{statement}\n\nwords stay\n") == "words stay\n"
    assert strip_mdx(f"# Title\n{statement}\n\nwords stay\n") == "# Title\n\nwords stay\n"


@pytest.mark.parametrize(
    "prose",
    [
        "import the data from 'a.csv' first",
        "export default settings of the tool here",
        "words\nimport A from 'a'",
        "exporting is easy",
        "export const a = {\n\nnever closed",
        "a < b and c > d, a <b, 1<2",
        "<unclosed and {unbalanced",
        "List<T> and Map<String, Integer>",
        "</nothing> was opened",
        "<a <b>",
        '<a b="never closed',
        "<a {never closed",
        "<https://x.org> and <me@x.org>",
        "/users/{id} is a path, {x + 1} too",
        r"\<b> and \{x} are escaped\ ",
        "ends with \\",
        "a line\\\nbreak",
        "## Title {#my-id}",
        "## Title {/* #my-id */}",
        "::: ",
        "::: [words] without a kind",
        ":::\nnothing to close",
        "> [!NOTE]\n> Useful.",
        '!!! note "Title"\n    Indented `x`.',
        "`<Foo>` and `` {x} ` <Bar/> `` and `{a}\n<b>c</b>`",
        "``` is inline ``` <https://x.org>",
        "```jsx\nimport A from 'a'\n<Foo>{x}</Foo>\n:::note\n```",
        "~~~\n<Foo/>\n```\n~~~",
        "- ```js\n  <Foo/>\n  ```",
        "> ```js\n> <Foo/>\n> ```",
        "```\n<Foo/> {/* never closed */}",
        "<!-- never closed",
        "$\\frac{a}{b}$",
        "",
        "\n\n\n",
    ],
)
def test_text_without_programs_is_untouched(prose: str) -> None:
    assert strip_mdx(prose) == prose


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<Foo />\n\nwords", "words"),
        ("a\n\n<Foo />\n\nb\n", "a\n\nb\n"),
        ("a\n<Foo />\n---\n", "a\n\n---\n"),
        ("<Foo>\nwords\n</Foo>\n", "words\n"),
        ("<>\nwords\n</>\n", "words\n"),
        (
            "<Foo\n  on={() => x > 1}\n  s={{a: '}'}}\n  t=\"a > b\"\n  {...rest}\n/>\nwords",
            "words",
        ),
        ("<Foo a={`x > ${y}`} b='c' d=e f>words</Foo>", "words"),
        ("one<Foo/>two", "one two"),
        ("<td>one</td><td>two</td>", "one two"),
        ("bo<b>ld</b> x<sup>2</sup>", "bold x2"),
        ("on the <Foo/> branch", "on the branch"),
        ("line<br/>break and <br> another", "line break and another"),
        ("<p># no heading</p>", "\\# no heading"),
        ("<Foo>\n\n# Heading\n\n</Foo>\n", "# Heading\n"),
        ("{/* comment */}\nwords {/* inside */} stay", "words stay"),
        ("{/* over\n\nlines */}\n\nwords", "words"),
        ("{props.children}\n\nwords", "words"),
        ("<Foo>{props.children}</Foo> \n", ""),
        ("{list.map((x) => <b>{x}</b>)} words", " words"),
        ("{'literal'} and {\"it's\"} and {`t`}", "literal and it's and t"),
        ("a{' '}b {'\\u007B'} {'\\''}", "a b { '"),
        ("<Code>{`one\ntwo`}</Code>\n", "```\none\ntwo\n```\n"),
        ("see <Code>{'a\\n' + 'b'}</Code> here\n", "see\n```\na\nb\n```\n here\n"),
        ('<img alt="A picture" src="x" />', "A picture"),
        ('see <img alt="A picture" src="x" />here', "see A picture here"),
        ('<Card title="One" description={\'Two\'} label="One">words</Card>', "One: Two\nwords"),
        ("<Card title={`A &amp;`} alt='B &amp; C' summary={x}/>", "A &amp;: B & C"),
        ('<Foo title="T">\n---\n</Foo>', "T\n\n---\n"),
        ('<Foo title="# T" />', "\\# T"),
        ("<!-- comment -->\nwords <!-- more\n --> stay", "words stay"),
        ("## Title <!-- #my-id -->\n<!-- #x -->", "## Title {#my-id}\n"),
        ("## Title <!-- #x --> words", "## Title words"),
        ("## Title \\{#my-id}\n", "## Title {#my-id}\n"),
        ("<style>{`a > b {}`}</style>\n<script>if (a <b) {</script>\nwords", "words"),
        ("```mdx-code-block\nimport A from 'a';\n\n<A>words</A>\n```\n", "words\n"),
        ("> ```\n> <A/>\nout <A/>", "> ```\n> <A/>\nout"),
        ("---\ntitle: <A/>\n---\n<A/>\nwords", "---\ntitle: <A/>\n---\nwords"),
        ("export const s = <b>:(</b>\n\nwords\n", "words\n"),
        ("a <Foo/> <Bar/> b", "a b"),
        ("see:<img alt='x'/>", "see: x"),
        ("export const a = 1", ""),
        ("<div><p>words</div>", "<p>words"),
        ("<Foo>\n  <Bar\n    a\n  />\n</Foo>\nwords", "words"),
        ("{ '{ ' {b} {", "{ '{ ' {b} {"),
        ("`a\n- <b>c</b>`", "`a\n- c`"),
    ],
)
def test_tags_and_expressions_go_and_words_stay(source: str, text: str) -> None:
    assert strip_mdx(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (":::note\n\nwords\n\n:::\n", "Note\n\nwords\n"),
        (":::warning Mind the gap\nwords\n:::", "Warning: Mind the gap\nwords\n"),
        ("::::tip[A **bold** <b>title</b> `:::`]{.x #y}\n:::note\na\n:::\n::::", None),
        (":::my-kind{#id}\nwords\n:::", "My kind\nwords\n"),
        ("::: {.callout}\nwords\n:::", "words\n"),
        (":::note[never closed\nwords\n:::", "Note: never closed\nwords\n"),
        (":::note\n---\n:::", "Note\n\n---\n"),
        ("- a\n\n  :::tip\n\n  b\n\n  :::\n", "- a\n\n  Tip\n\n  b\n"),
    ],
)
def test_admonitions_keep_their_kind_and_title(source: str, text: str | None) -> None:
    expected = "Tip: A **bold** title `:::`\nNote\na\n" if text is None else text
    assert strip_mdx(source) == expected


def test_tabs_keep_their_labels_and_content_moves_to_the_column_of_its_tag() -> None:
    page = """\
<Tabs>
    <TabItem value="a" label="npm">

        ## Heading

        ```bash
        npm i
          indented
        ```

    </TabItem>
    <TabItem value="Yarn">yarn add</TabItem>
</Tabs>

<details>
  <summary>More</summary>

Flush text.

</details>
"""
    text = strip_mdx(page)
    assert text == (
        "npm\n\n## Heading\n\n```bash\nnpm i\n  indented\n```\n\nYarn\nyarn add\n\n"
        "More\n\nFlush text.\n"
    )
    assert [heading.title for heading in outline(text).headings] == ["Heading"]


def test_markdown_loses_its_comments_only() -> None:
    page = "a <!-- b --> c\n\n<!--\n# no\n-->\n\n`<!-- d -->` <Foo/> {x}\n\n```\n<!-- e -->\n```\n"
    assert strip_comments(page) == ("a c\n\n`<!-- d -->` <Foo/> {x}\n\n```\n<!-- e -->\n```\n")


def test_lines_are_guarded_and_fences_are_long_enough() -> None:
    assert [guarded(line) for line in ("# a", " ```", "---", "<pre>", "a # b", "")] == [
        "\\# a", " \\```", "\\---", "\\<pre>", "a # b", "",
    ]  # fmt: skip
    assert fenced("a\n````\nb", "md") == "`````md\na\n````\nb\n`````"


prose = st.text(alphabet=st.sampled_from("abcdef ABC 012 äé漢😀.,;:!?()'\"-_*>&|/#~="), max_size=40)
paragraphs = st.lists(prose, min_size=1, max_size=4).map("\n".join)
markdown = st.one_of(atx_headings, setext_headings, paragraphs, fences, tables, rules)


@given(st.lists(markdown, max_size=10).map("\n\n".join))
def test_markdown_without_jsx_is_untouched(text: str) -> None:
    assert strip_mdx(text) == text
    assert strip_comments(text) == text


words = st.lists(titles.map(lambda title: title.replace(" ", "")), min_size=1, max_size=5)
programs = st.sampled_from(
    [
        "import Zed from '@zed/zed';\n\n{}",
        "export const zed = (q) => (\n  <Zed>{{q}}</Zed>\n);\n\n{}",
        "<Zed zap={{() => zip > 1}}>\n\n{}\n\n</Zed>",
        "<Zed\n  zap='zip'\n>\n{}\n</Zed>",
        "<Zed>{}</Zed>",
        "{}\n\n<Zed />",
        "{{/* zed */}}\n\n{}",
        "<zed-zap>\n  <Zed.Zip>\n    {}\n  </Zed.Zip>\n</zed-zap>",
        "{{zed.zap}}\n\n{}",
    ]
)
pages = st.lists(st.tuples(programs, words), max_size=8)


@given(pages)
def test_every_word_survives_and_no_program_does(parts: list[tuple[str, list[str]]]) -> None:
    text = strip_mdx("\n\n".join(shape.format(" ".join(said)) for shape, said in parts))
    assert text.split() == [word for _, said in parts for word in said]


@given(st.text(alphabet="<>{}/*`'\"\\ab=:#\n -!", max_size=60))
def test_nothing_breaks_it(text: str) -> None:
    once = strip_mdx(text)
    assert set(re.findall("[ab]", once)) <= set(text)
    strip_comments(text)


@pytest.mark.parametrize(
    "piece",
    ["<", "{", "<a ", "<a {", "{'", "{`", "{/*", "`` ` ", "<style>", "<!--", '<a b="', "{a} ",
     "<a>", "</a>", ":::a[", "export const a = (\n\n", "export const a = {\n\n", "import {\n\n",
     "{'\\'", "# {/* #a */} ", "<a>\n  ", "- ", ">", "word <b>x</b> {y}\n\n"],
)  # fmt: skip
def test_the_time_grows_with_the_page_only(piece: str) -> None:
    """Of the worst; anything that looks at everything twice would run into the time limit."""
    page = piece * (100_000 // len(piece))
    assert len(strip_mdx(page)) <= 2 * len(page)


def test_a_page_of_400_kb_is_read_at_once() -> None:
    page = "## Title\n\n<Foo a={() => 1}>\n\nwords `x` {y}\n\n</Foo>\n\n" * 8000
    assert strip_mdx(page).count("words") == 8000


@pytest.mark.parametrize(
    ("heading", "title", "anchor"),
    [
        ('## Foo <a id="x"></a>', "Foo", "foo-"),
        ("## <Icon /> Foo", "Foo", "-foo"),
        ('## API <Badge label="New" />', "API New", "api-"),
        ("## <span>Normal</span>", "Normal", "normal"),
        (
            "## `accessible` <div class='label'>Android</div>",
            "accessible Android",
            "accessible-android",
        ),
        ("## Foo <b>bar</b> ##", "Foo bar", "foo-bar"),
        ("## **Foo** <Icon/>bar", "Foo bar", "foo-bar"),
        ("## Foo <Icon /> {#own}", "Foo", "own"),
        ("## <Icon />", None, ""),
    ],
)
def test_the_anchor_of_a_heading_with_tags_is_that_of_docusaurus(
    heading: str, title: str | None, anchor: str
) -> None:
    found = outline(strip_mdx(f"{heading}\n\nwords")).headings
    assert [(h.title, h.anchor) for h in found] == [(title or "", anchor)]


@pytest.mark.parametrize("line", ["{name} is required", "Enter {name}", "<b>Enter</b> {name} here"])
def test_an_expression_beside_words_is_a_placeholder(line: str) -> None:
    words = re.sub(r"</?b>", "", line)
    assert strip_mdx(f"before\n\n{line}\n").split("\n\n")[1].strip() in {line, words}


@pytest.mark.parametrize("line", ["{name}", "  {name}  ", "<Box>{name}</Box>", "{name}<br/>"])
def test_an_expression_alone_on_its_line_goes(line: str) -> None:
    assert "name" not in strip_mdx(f"before\n\n{line}\n\nafter\n")
