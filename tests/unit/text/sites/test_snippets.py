"""`--8<-- "file"`: what PyMdown's snippets put into a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions
from surefind.text.sites.mkdocs.snippets import SnippetOptions, expand_snippets

FILES = {
    "docs/a.md": "one\ntwo\nthree\nfour",
    "docs/code.py": (
        "import x\n# --8<-- [start:f]\n    def f():\n# --8<-- [start:g]\n        pass\n"
        "# --8<-- [END:g]\n# ;--8<-- [start:shown]\n# --8<-- [end:f]\nrest"
    ),
    "docs/nested.md": '--8<-- "a.md:1:1"\n--8<-- "nested.md"\nend',
    "docs-other/b.md": "b",
    "links.md": "[x]: https://x.org",
}


def expand(text: str, **options: object) -> tuple[str, list[str]]:
    inclusions = Inclusions("docs/page.md", FILES.get)
    chosen = SnippetOptions(**{"bases": (IncludeFolder("docs"),), **options})  # type: ignore[arg-type]
    return expand_snippets(text, chosen, inclusions), list(inclusions.warnings)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ('--8<-- "a.md"', "one\ntwo\nthree\nfour"),
        ("-8<---- 'a.md'", "one\ntwo\nthree\nfour"),
        ('\t--8<-- "a.md:3"', "    three\n    four"),
        ('--8<-- "a.md:2:3"', "two\nthree"),
        ('--8<-- "a.md::2"', "one\ntwo"),
        ('--8<-- "a.md:1:1,3:3"', "one\nthree"),
        ('--8<-- "a.md:-2"', "three\nfour"),
        ('--8<-- "a.md:-9:-3"', "one\ntwo"),
        ('--8<-- "code.py:f"', "    def f():\n        pass\n# --8<-- [start:shown]"),
        ('--8<-- "code.py:g"', "        pass"),
        ('--8<-- "; a.md"', ""),
        ("--8<--\na.md:1:1\n\n; a.md\n  a.md:4\n--8<--", "one\n\n  four"),
        ('--8<--\n--8<-- "a.md"\n--8<--\nafter', "after"),
        (';--8<-- "a.md"\n;;--8<--\n;--8<-- [start:x]', '--8<-- "a.md"\n;--8<--\n--8<-- [start:x]'),
        ("a <!-- --8<-- [start:x] --> b\nc", "c"),
        ('--8<-- "a.md" \nx --8<-- "a.md"', '--8<-- "a.md" \nx --8<-- "a.md"'),
        ("--8<--\nnever closed", "--8<--\nnever closed"),
        ("--8<--\na.md:4\n--8<--\n--8<--\nwords", "four\n--8<--\nwords"),
    ],
)
def test_a_file_or_its_part_replaces_its_directive(text: str, expanded: str) -> None:
    assert expand(text) == (expanded, [])


def test_a_part_may_lose_its_indentation() -> None:
    assert expand('--8<-- "code.py:f"', dedents=True)[0].startswith("    def f():\n        pass")
    assert expand('--8<-- "code.py:g"', dedents=True) == ("pass", [])


def test_files_are_appended_to_every_page() -> None:
    text, _ = expand("words", appended=("links.md", "links.md"), bases=(IncludeFolder(),))
    assert text == "words\n\n\n[x]: https://x.org\n\n[x]: https://x.org\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('--8<-- "no.md"', "which is missing"),
        ('--8<-- ":3"', "which is empty"),
        ('--8<-- "a.md:nothing"', "which has no such section or lines"),
        ('--8<-- "a.md:9"', "which has no such section or lines"),
        ('--8<-- "nested.md"', "which includes itself"),
        ('--8<-- "https://x.org/a.md"', "which is a URL"),
        ('--8<-- "../links.md"', "outside"),
        ('--8<-- "../docs-other/b.md"', "outside"),
    ],
)
def test_what_can_not_be_included_is_reported_and_the_rest_stays(text: str, reason: str) -> None:
    expanded, [warning] = expand(f"before\n{text}\nafter")
    assert expanded.startswith("before")
    assert expanded.endswith("after")
    assert reason in warning


def test_a_site_may_let_snippets_leave_their_folder() -> None:
    assert expand('--8<-- "../links.md"', inside_bases=False) == ("[x]: https://x.org", [])
    _, [warning] = expand('--8<-- "../../links.md"', inside_bases=False)
    assert warning == "it includes ../../links.md, which is missing; the include was dropped"


@pytest.mark.parametrize("sign", ["-", ";", "8<", "-8<- [", "--8<-- [start:", ":", "-8<-\n"])
def test_long_lines_are_read_once(sign: str) -> None:
    line = sign * 100_000 + "8<"
    assert expand(line)[0]
    assert expand(f'--8<-- "{line}"')[0] in {"", f'--8<-- "{line}"'} or "\n" in sign


@given(st.text(alphabet="-8< \"'a.md:1,[start]end;\n\t", max_size=80))
def test_any_text_comes_to_an_end(text: str) -> None:
    assert isinstance(expand(text)[0], str)
