"""Files that MDX pages of Docusaurus import."""

from collections.abc import Mapping

import pytest

from surefind.errors import InputError
from surefind.text.sites.docusaurus.partials import with_partials


def expanded(text: str, files: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    def read(path: str) -> str | None:
        if path == "secret.mdx":
            raise InputError("which is outside the project")
        return files.get(path)

    return with_partials("docs/guide/page.mdx", text, read)


def body(text: str, **files: str) -> str:
    named = {name.replace("__", "/") + ".mdx": content for name, content in files.items()}
    found, warnings = expanded(text, named)
    assert warnings == ()
    return found.strip()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("import S from './_s.mdx'\n\n<S />", "The *partial*."),
        (
            'import S from "./_s.mdx";\n\nBefore\n\n<S></S>\n\nAfter',
            "Before\n\nThe *partial*.\n\nAfter",
        ),
        ("import S, {toc} from '@site/docs/guide/_s.mdx'\n\n<S />", "The *partial*."),
        ("import S from './_s.mdx'\n\nIn <S /> a line.", "In The *partial*. a line."),
        ("import S from './_s.mdx'\n\n- <S />\n- b", "- The *partial*.\n\n- b"),
        ("import S from './_s.mdx'\n\n1. a\n\n   <S />\n", "1. a\n\n   \n   The *partial*."),
        ("import S from './_s.mdx'\n\n```\n<S />\n```", "```\n<S />\n```"),
        (
            "import T from '@theme/T'\nimport S from './_s.mdx'\n\n<T/><S/>",
            "import T from '@theme/T'\n\n\n<T/>The *partial*.",
        ),
    ],
)
def test_a_partial_is_read_where_the_page_shows_it(page: str, text: str) -> None:
    assert body(page, docs__guide___s="The *partial*.\n") == text


def test_front_matter_stays_and_that_of_a_partial_goes() -> None:
    page = "---\ntitle: T\n---\nimport S from './_s.mdx'\n\n<S/>"
    assert body(page, docs__guide___s="---\na: b\n---\nText") == "---\ntitle: T\n---\n\n\n\nText"


def test_partials_import_others_relative_to_themselves() -> None:
    files = {"docs__x___a": "import B from './_b.mdx'\n\nA\n\n<B/>", "docs__x___b": "B"}
    assert body("import A from '../x/_a.mdx'\n\n<A/>", **files) == "A\n\n\nB"


def test_a_partial_gets_the_properties_of_its_tag() -> None:
    page = "import S from './_s.mdx'\n\n<S name=\"Ada\" of={'x'} />"
    text = "{props.name} of {props.of}, {props.unknown}"
    assert body(page, docs__guide___s=text) == "Ada of x, {props.unknown}"


def test_headings_of_partials_keep_their_own_anchors() -> None:
    page = "import S from './_s.mdx'\n\n## A\n\n<S/>"
    partial = "# T\n\n## A\n\n## A ##\n\n## B {#own}\n\nUnder\n-----\n\n##\n"
    assert body(page, docs__guide___s=partial) == (
        "## A\n\n\n# T {#t}\n\n## A {#a}\n\n## A {#a-1}\n\n## B {#own}\n\n## Under {#under}\n\n##"
    )


def test_raw_files_become_constants() -> None:
    files = {"docs/guide/a.js": 'say("\\n")\r\n\f', "static/b.txt": "b"}
    page = (
        "import A from '!!raw-loader!./a.js'\nimport B from \"raw-loader!@site/static/b.txt\";\n\n"
        "<CodeBlock>{A}</CodeBlock> {B}"
    )
    found, warnings = expanded(page, files)
    assert warnings == ()
    assert found == (
        'export const A = "say(\\"\\\\n\\")\\u000d\\n\\u000c"\nexport const B = "b"\n\n'
        "<CodeBlock>{A}</CodeBlock> {B}"
    )


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (
            "import S from './_no.mdx'\n\n<S/> words",
            "it includes docs/guide/_no.mdx, which is missing; the include was dropped",
        ),
        (
            "import S from '!!raw-loader!./_no.js'\n\n{S} words",
            "it includes docs/guide/_no.js, which is missing; the include was dropped",
        ),
        (
            "import S from '../../secret.mdx'\n\n<S/> words",
            "it includes secret.mdx, which is outside the project; the include was dropped",
        ),
        (
            "import S from './_self.mdx'\n\n<S/> words",
            "it includes docs/guide/_self.mdx, which includes itself or is nested too deeply; the "
            "include was dropped",
        ),
    ],
)
def test_a_file_that_is_not_there_is_named(page: str, warning: str) -> None:
    found, warnings = expanded(
        page, {"docs/guide/_self.mdx": "import S from './_self.mdx'\n\n<S/>"}
    )
    assert warnings == (warning,)
    assert found.endswith("words")


def test_pages_without_imports_of_files_stay_as_they_are() -> None:
    for page in ("# A", "import T from '@theme/Tabs'\n\n<T/>", "text\nimport S from './_s.mdx'"):
        assert expanded(page, {"docs/guide/_s.mdx": "S"}) == (page, ())


def test_packages_are_not_read() -> None:
    page = "import S from 'package/_s.mdx'\n\n<S/>"
    assert expanded(page, {}) == (page, ())


def test_too_complex_pages_are_left_to_the_parser() -> None:
    page = "import S from './_s.mdx'\n\n" + "{//" * 20_000 + "\n" + "words\n" * 20_000
    assert expanded(page, {}) == (page, ())
