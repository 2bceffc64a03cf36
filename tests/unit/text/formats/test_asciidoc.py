"""AsciiDoc; `tests/sites` compares a whole site with Asciidoctor itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.text.formats.asciidoc.preprocessor import expand_asciidoc
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse


def read(text: str) -> ParsedPage:
    return parse(text.encode(), ".adoc")


def anchors(text: str) -> list[tuple[int, str, str]]:
    headings = read(text).structure.headings
    return [(heading.level, heading.title, heading.anchor) for heading in headings]


def test_the_header_is_not_text() -> None:
    page = read(
        "// a comment\n:early: yes\n= Pump: `run` [[top]]\n"
        "Jane Doe <https://example.com[@jane]>\n:description: All about pumps\n"
        "v1.0, 2026-01-01: first\n:page-kind: howto\n:keywords: a, \\\nb\n\nWords {early}.\n"
    )
    assert page.text == "# Pump: `run`\n\nWords yes.\n\n"
    assert page.title == "Pump: `run`"
    assert page.front_matter == {
        "author": "Jane Doe",
        "description": "All about pumps",
        "keywords": "a, b",
        "kind": "howto",
    }
    assert read("Only words.").text == "Only words.\n\n"
    assert read("").text == read(":a: b\n").text == ""
    assert read("---\ntitle: T\n---\n= A\n").front_matter == {"title": "T"}


def test_ids_as_asciidoctor_derives_them() -> None:
    assert anchors(
        "= Doc\n\n== What's New -- 2.0?\n\n== Install & _Run_\n\n"
        "== Install & Run\n\n"
        "=== Deeper `code` (C)\n\n[[own]]\n== Owned\n\n[#two]\n== Second\n\n== Third [[three]]\n\n"
        "[id=four]\n== Fourth\n\n[discrete]\n=== Aside\n\nTwo lines\n---------\n\n"
        "Über uns\n~~~~~~~~\n"
    ) == [
        (1, "Doc", ""),
        (2, "What's New -- 2.0?", "_whats_new2_0"),
        (2, "Install & Run", "_install_run"),
        (2, "Install & Run", "_install_run_2"),
        (3, "Deeper `code` ©", "_deeper_code"),
        (2, "Owned", "own"),
        (2, "Second", "two"),
        (2, "Third", "three"),
        (2, "Fourth", "four"),
        (3, "Aside", "_aside"),
        (2, "Two lines", "_two_lines"),
        (3, "Über uns", "_über_uns"),
    ]


@pytest.mark.parametrize(
    ("attributes", "anchor"),
    [
        (":idprefix:\n:idseparator: -\n", "a-b-2.0"),
        (":idprefix: sec-\n", "sec-a_b_2_0"),
        (":idseparator:\n", "_ab2.0"),
        (":sectids!:\n", ""),
        (":!sectids:\n", ""),
    ],
)
def test_attributes_change_the_ids(attributes: str, anchor: str) -> None:
    expected = anchor.replace("2.0", "2-0") if "idseparator: -" in attributes else anchor
    assert anchors(f"= Doc\n{attributes}\n== A B 2.0\n")[1][2] == expected


def test_lists_with_attached_blocks() -> None:
    text = read(
        "* one\ngoes on\n** two\n* [x] done\n+\n----\ncode\n----\n+\nparagraph\n\n* [ ] open\n\n"
        ". first\n.. a\n. second\n\n//-\n\n- dash\n\nterm:: definition\nempty::\n\n  later\n"
        "other::\n* item\n"
    ).text
    assert text.startswith(
        "- one\n  goes on\n   - two\n- ✓ done\n\n  ```\n  code\n  ```\n\n  paragraph\n- ☐ open\n"
    )
    for part in ("1. first\n", "1. a\n", "2. second", "- dash", "term\n"):
        assert part in text
    for part in (": definition", "empty\n", "later", "other\n", "- item"):
        assert part in text


def test_blocks() -> None:
    text = read(
        ".Example\n[source,python]\n----\n  print(1) # <1>\n----\n<1> Prints.\n\n"
        "[source%linenums,subs=attributes+]\n----\n{backend}\n----\n\n"
        "NOTE: Mind\nthe gap.\n\n[WARNING]\n====\nHot.\n\n* a\n====\n\n[TIP]\nTry it.\n\n"
        "[CAUTION]\n====\n----\nrm\n----\n====\n\n"
        ".Side\n****\nAside.\n****\n\n[quote,Jane,Book]\n____\nWise.\n____\n\n"
        "[quote,Jane]\nShort.\n\n[verse,Poet]\nline one\nline two\n\n"
        "--\nopen\n--\n\n....\nliteral\n....\n\n indented\n  code\n\n```js\nlet a\n```\n\n"
        "++++\n<p>from <b>HTML</b></p>\n++++\n\n[stem]\n++++\nx^2\n++++\n\n////\nhidden\n////\n"
        "// hidden\n[comment]\nhidden\n\n'''\n<<<\nimage::a.png[The pump,100]\n\ntoc::[]\n\n"
        "video::b.mp4[width=2]\n\nmacro::x[words]\n\n# no heading"
    ).text
    for part in (
        *("Example\n\n```python\nprint(1) (1)\n```\n\n1. Prints.", "```\nhtml5\n```"),
        *("Note: Mind\nthe gap.", "Warning: Hot.\n\n- a", "Tip: Try it.", "Side\n\nAside."),
        *("Caution:\n\n```\nrm\n```", "Wise.\n\n— Jane, Book", "Short.\n\n— Jane"),
        *("line one\nline two\n\n— Poet", "open", "```\nliteral\n```", "```\nindented\n code\n```"),
        *("```js\nlet a\n```", "from HTML", "```\nx^2\n```", "The pump", "words"),
    ):
        assert part in text
    assert "hidden" not in text
    assert "width" not in text


def test_tables() -> None:
    text = read(
        '.Sizes\n[cols="1,2a",options="header"]\n|===\n|Name |Value\n\n|volt\n|230 `V`\n\n'
        "a|* x\n* y\n|z\n\n2+|both \\| sides\n3*|same\n|===\n\n"
        ",===\na,b\nc,d\n,===\n\n[format=dsv]\n|===\ne:f\n|===\n\n"
        "[cols=2*]\n!===\n!g !h\n!===\n\n[cols=1m]\n|===\n|code\n|===\n\n|===\n|===\n"
    ).text
    assert "Sizes\n\n| Name | Value |\n| --- | --- |\n| volt | 230 `V` |\n" in text
    assert "| - x - y | z |\n| both \\| sides |  |" in text
    for part in (
        "| same | same |",
        "| a | b |",
        "| c | d |",
        "| e | f |",
        "| g | h |",
        "| `code` |",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("*bold* _it_ `code *x*` **b**old __i__t #mark# [.role]#r# H~2~O x^2^", ""),
        ("snake_case and 2*3*4 stay", "snake_case and 2*3*4 stay"),
        ("`+{name}+` +++<u>raw</u>+++ pass:[*x*] $$_y_$$ +z+", "`{name}` <u>raw</u> *x* _y_ z"),
        ("\\*no* \\{name} {undefined} {cpp}", "*no* {name} {undefined} C++"),
        ("\"`quoted`\" and '`single`'", "“quoted” and \u2018single\u2019"),
        ("https://a.org[The site^] https://b.org. <https://c.org>", ""),
        ("link:d.html[Page,window=_blank] mailto:a@b.org[Mail] link:e.pdf[]", "Page Mail e.pdf"),
        ("xref:other.adoc#x[Other] xref:more.adoc[] <<gone>> <<gone,here>>", ""),
        ("kbd:[Ctrl+C] btn:[OK] menu:File[Save > As] icon:x[] image:y.png[Pump,9]", ""),
        ("word((term)) (((a, b))) indexterm:[c]indexterm2:[d]", "wordterm  d"),
        ("text footnote:[A note.] [[id]]anchor:id2[] stem:[x^2]", "text  (A note.)  x^2"),
        ("a +\nb &amp; &#169; (R)", "a\nb & © ®"),
    ],
)
def test_inline_markup_becomes_text(source: str, text: str) -> None:
    expected = {
        "*bold*": "bold it `code x` bold it mark r H2O x2",
        "https": "The site https://b.org. https://c.org",
        "xref": "Other more.adoc [gone] here",
        "kbd:": "Ctrl+C OK File > Save > As  Pump",
    }
    wanted = text or next(value for key, value in expected.items() if source.startswith(key))
    assert read(source).text.strip("\n") == wanted


def test_references_show_the_titles_of_sections_and_blocks() -> None:
    page = read(
        "See <<_later>>, <<own>>, <<fig>>, <<ref>>, <<Later>> and xref:#own[].\n\n== Later\n\n"
        "[#own]\n== My own\n\n[[fig]]\n.The pump\n----\ncode\n----\n\n[[ref,Its text]]\nWords.\n"
    )
    assert page.text.startswith("See Later, My own, The pump, Its text, Later and My own.\n")


def test_conditionals_are_plain_data() -> None:
    text = (
        ":a: 1\n\nifdef::a[]\nyes1\nendif::a[]\nifndef::a[no]\nifdef::b,a[yes2]\nifdef::a+b[no]\n"
        'ifeval::["{a}" == "1"]\nyes3\nifdef::b[]\nno\nendif::[]\nendif::[]\n'
        "ifeval::[{a} > 1]\nno\nendif::[]\nifeval::[{a} <= 1]\nyes4\nendif::[]\n"
        'ifeval::[nonsense]\nno\nendif::[]\nifeval::["a" < 1]\nno\nendif::[]\nendif::[]\n'
        "ifdef::no[]\nifdef::a[no]\nifdef::a[]\nno\nendif::[]\nendif::[]\n\\ifdef::kept[]\n"
    )
    words = read(text).text.split()
    assert words == ["yes1", "yes2", "yes3", "yes4", "ifdef::kept[]"]


FILES = {
    "docs/part.adoc": "= Part\n\nText of the part.\n\n== Inner\n\n\\include::kept[]\n",
    "docs/code.py": "# tag::a[]\na = 1\n# end::a[]\n# tag::b[]\n  b = 2\n# end::b[]\nc = 3\n",
    "docs/loop.adoc": "x\n\ninclude::loop.adoc[]\n",
    "docs/twice.adoc": "include::twice.adoc[]\ninclude::twice.adoc[]\n",
}


def included(text: str) -> tuple[str, tuple[str, ...]]:
    def file(path: str) -> str | None:
        if path.startswith(".."):
            raise InputError("which is outside the project")
        return FILES.get(path)

    return expand_asciidoc("docs/index.adoc", text, file)


def test_includes() -> None:
    text, warnings = included(
        ":dir: .\n\n== One\n\ninclude::{dir}/part.adoc[leveloffset=+1]\n\n== Two\n\n----\n"
        "include::code.py[tag=a]\ninclude::code.py[tags=*;!b]\ninclude::code.py[lines=5..6,indent=0]\n"
        "include::code.py[lines=2;7..]\n----\n"
    )
    assert warnings == ()
    assert [heading[:2] for heading in anchors(text)] == [
        *((2, "One"), (2, "Part"), (3, "Inner"), (2, "Two"))
    ]
    code = read(text).text.split("```")[1]
    assert code == "\na = 1\na = 1\nc = 3\nb = 2\na = 1\nc = 3\n"
    assert "include::kept[]" in read(text).text


def test_includes_that_are_refused_are_named() -> None:
    text, warnings = included(
        "include::../../secret.adoc[]\ninclude::gone.adoc[]\ninclude::maybe.adoc[opts=optional]\n"
        "include::https://example.com/a.adoc[]\ninclude::/etc/passwd[]\nwords\n"
    )
    assert text == "words\n"
    assert warnings == (
        "it includes ../../secret.adoc, which is outside the project",
        "it includes gone.adoc, which does not exist",
        "it includes https://example.com/a.adoc, which is not a file of the project",
        "it includes /etc/passwd, which is not a file of the project",
    )


@pytest.mark.parametrize("name", ["loop", "twice"])
def test_includes_that_repeat_themselves_end(name: str) -> None:
    _, warnings = included(f"include::{name}.adoc[]")
    assert warnings == (f"it includes {name}.adoc, because its includes are too many or too deep",)


def test_blocks_in_each_other_are_read_up_to_a_depth() -> None:
    lines = ["=" * number for number in range(4, 60)]
    page = read("\n".join([*lines, "deep words", *reversed(lines)]))
    assert "deep words" in page.text
    assert "item" in read("\n".join("*" * (n % 5 + 1) + " item" for n in range(400))).text


@given(st.text(alphabet="=-*_.+/|:[]<>{}`#a1 \n", max_size=120))
def test_any_text_is_read(text: str) -> None:
    page = read(text)
    assert all(heading.end <= len(page.text) for heading in page.structure.headings)
