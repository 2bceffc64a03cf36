"""The config of a Docusaurus site is a program: what it writes out is read, and nothing is run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import PageLocation, SkippedPage
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.docusaurus.config import UNREAD, read_config

GARBAGE = 8_000
SHAPES = [
    "export default {%s}",
    "module.exports = {%s};",
    "const config = {%s}\nexport default config",
    "/** @type {import('x').Config} */\nconst config = ({%s});\nmodule.exports = config;",
    "const config: Config = {%s};\nexport default config;",
    "const config = {%s} satisfies Config;\nexport default config;",
    "export default {%s} as const satisfies Config<{a: 'b'}>",
    "export default async function create() {\n  const a = 1;\n  return {%s};\n}",
    "module.exports = async () => ({%s});",
    "export default defineConfig({%s});",
    "import {a} from 'b';\nconst x = require('y');\nlet z;\nexport default {%s};",
    "const other = {a: 1}, z = 2;\nexport default {%s};",
    "function f(a = {b: '}'}) { return /[}/'\"]/g.test(a) ? `{${a}` : 1 / 2 }\nexport default {%s}",
    "// it's a config {\n/* it's { one */\nexport default {%s}",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_exported_object_is_found_in_every_shape(shape: str) -> None:
    found, notes = read_config(shape % "baseUrl: '/b/', presets: ['classic',]")
    assert found["baseUrl"] == "/b/"
    assert found["presets"] == ["classic"]
    assert notes == ()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'a'", "a"),
        ('"it\'s"', "it's"),
        ("`a\nb`", "a\nb"),
        (r"`a\`b`", "a`b"),
        (r"'a\'b\n\u0041\x42\u{43}\q'", "a'b\nABCq"),
        ("'a\\\nb'", "ab"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("undefined", None),
        ("('a')", "a"),
        ("'a' as string", "a"),
        ("['a', , 'b',]", ["a", "b"]),
        ("[...list, 'c']", ["a", "b", "c"]),
        ("[...unknown, 'c']", [UNREAD, "c"]),
        ("{...object, c: 'd'}", {"a": "b", "c": "d"}),
        ("{...unknown}", {"...": UNREAD}),
        ("{'a-b': {'c': 'd'}, 1: 'e'}", {"a-b": {"c": "d"}, "1": "e"}),
        ("{list, x,}", {"list": ["a", "b"], "x": UNREAD}),
        ("{f() { return {a: 1}; }, a: 'b'}", {"f": UNREAD, "a": "b"}),
        (
            "{async f() {}, get g() { return 1 }, a: 'b'}",
            {"async": UNREAD, "get": UNREAD, "a": "b"},
        ),
        ("{[computed + '}']: 'x', a: 'b'}", {"a": "b"}),
        ("{a: 'b'; ) ] c: 'd'}", {"a": "b", "c": "d"}),
        ("list", ["a", "b"]),
        ("annotated", "x"),
        ("unknown", UNREAD),
        ("far", UNREAD),
        ("twice", UNREAD),
        ("itself", UNREAD),
        ("require.resolve('name')", "name"),
        ("require('name')", UNREAD),
        ("3.5", UNREAD),
        ("'a' + 'b'", UNREAD),
        ("a ? 'b' : 'c'", UNREAD),
        ("!a", UNREAD),
        ("(a, b) => ({c: 'd'})", UNREAD),
        ("() => {\n return {c: 'd'}\n}", UNREAD),
        ("function (a) { return '}' }", UNREAD),
        ("`a${`b${'`'}` + {}}c`", UNREAD),
        ("/['\"}]\\//g", UNREAD),
        ("/never closed", UNREAD),
        ("a / 2 / b", UNREAD),
        ("list[0]", UNREAD),
        ("{", {"after": "here"}),
    ],
)
def test_values_are_read_as_far_as_they_are_plain(written: str, value: object) -> None:
    text = f"""
        const list = ['a', "b"]
        const object = {{a: 'b'}};
        const annotated: Map<string, number> = 'x'
        const twice = 1; const twice = 'a';
        const itself = itself;
        const far: {"A | " * 40} B = 'x';
        for (const item of list) {{}}
        export default {{value: {written}, after: 'here'}}"""
    found, _ = read_config(text)
    assert found["value"] == value
    assert found.get("after", "here") == "here"


@pytest.mark.parametrize(
    "garbage",
    [
        "{",
        "[{(",
        ")]}",
        "'\\'",
        "`${",
        "/[a",
        "/*",
        "/",
        "const a=",
        "a:{b:",
        "...[",
        "(a,",
        "export default [(a,",
        "export default {",
        "export default {...{a,",
        "baseUrl:",
        "export default {a: [`]`",
        "{baseUrl,",
        "\x00\ud800é",
        "module.exports = ",
        "export default a.b(c => {\n",
        "const a = [...a, b]\n",
        "#!@%^&*~|\\",
    ],
)
def test_garbage_is_survived(garbage: str) -> None:
    for prefix in ("", "export default ", "export default {url: "):
        site = DocusaurusSite.from_config((prefix + garbage * GARBAGE)[:GARBAGE])
        assert isinstance(site.place("docs/a.md", {}), PageLocation | SkippedPage)
        assert site.notes


@pytest.mark.parametrize("text", ["", "   ", "no config at all", "export default", "{" * 1_048_576])
def test_a_config_that_says_nothing_is_reported(text: str) -> None:
    site = DocusaurusSite.from_config(text)
    assert "the config" in site.notes[0]
    assert site.place("docs/guide/index.md", {}) == PageLocation("/docs/guide/")


def test_long_chains_of_constants_do_not_overflow() -> None:
    chain = "".join(f"const a{n} = [a{n + 1}, ...a{n + 1}]\n" for n in range(1000))
    assert read_config(f"{chain}export default {{a: a0, b: a500}}")[0].keys() == {"a", "b"}
    many = "".join(f"k{n}: 'v'," for n in range(300))
    found, _ = read_config(f"const o = {{{many}}}\nexport default {{...o, a: [...o]}}")
    assert found == {"...": UNREAD, "a": [UNREAD]}


@given(st.text(alphabet="{}[]()'\"`$/\\*.,:;=>ab \n", max_size=80))
def test_any_text_is_a_config_that_can_be_asked(text: str) -> None:
    for config_text in (text, f"export default {{a: {text}"):
        site = DocusaurusSite.from_config(config_text)
        assert isinstance(site.place("docs/a.md", {}), PageLocation | SkippedPage)
