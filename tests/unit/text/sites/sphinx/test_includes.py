"""Directives that read files: what they show, and what they never do."""

import pytest

from surefind.errors import InputError
from surefind.text.sites.sphinx.addresses import SphinxSite
from surefind.text.sites.sphinx.config import SphinxConfig

CODE = (
    "import x\n\n\nclass A:\n    @p\n    def m(self):\n        return 1\n\n# end\ndef f(): pass\n"
)


def expanded(
    source: str, files: dict[str, str] | None = None, config: str = "extensions = []\n"
) -> tuple[str, tuple[str, ...]]:
    """The page `guide/page.rst` with the files of its project."""

    def read(path: str) -> str | None:
        if path.startswith("../../"):
            raise InputError("which is outside the project")
        return (files or {}).get(path)

    site = SphinxSite(SphinxConfig(config), "https://x.org")
    text, warnings = site.with_included("guide/page.rst", source, read)
    return text.strip(), warnings


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("", "one\ntwo\n[a]\nthree\n[b]\nfour"),
        ("   :start-line: 1\n   :end-line: -4\n", "two"),
        ("   :start-after: [a]\n   :end-before: [b]\n", "three"),
        ("   :literal:\n   :end-line: 1\n", ".. code-block::\n\n   one"),
        ("   :code: ini\n   :end-line: 1\n", ".. code-block:: ini\n\n   one"),
    ],
)
def test_include_takes_the_named_part(options: str, shown: str) -> None:
    files = {"guide/part.txt": "one\ntwo\n[a]\nthree\n[b]\nfour"}
    text, warnings = expanded(f".. include:: part.txt\n{options}\nafter", files)
    assert [line for line in text.split("\n") if line] == [
        *(line for line in shown.split("\n") if line),
        "after",
    ]
    assert warnings == ()


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("   :lines: 1,4-5\n", ["import x", "class A:", "    @p"]),
        ("   :lines: 9-\n", ["# end", "def f(): pass"]),
        ("   :pyobject: A.m\n", ["    @p", "    def m(self):", "        return 1"]),
        ("   :pyobject: A.m\n   :dedent:\n", ["@p", "def m(self):", "    return 1"]),
        ("   :pyobject: A.m\n   :dedent: 4\n", ["@p", "def m(self):", "    return 1"]),
        ("   :start-after: # end\n", ["def f(): pass"]),
        ("   :start-at: # end\n   :prepend: a\n   :append: b\n",
         ["a", "# end", "def f(): pass", "b"]),
        ("   :end-before: class A\n   :lines: 1\n", ["import x"]),
        ("   :start-at: @p\n   :end-at: @p\n", ["    @p"]),
    ],
)  # fmt: skip
def test_literalinclude_takes_the_named_lines(options: str, lines: list[str]) -> None:
    text, warnings = expanded(
        f".. literalinclude:: /src/code.py\n   :language: python\n{options}", {"src/code.py": CODE}
    )
    assert text == "\n".join(
        [".. code-block:: python", "", *(f"   {line}".rstrip() for line in lines)]
    )
    assert warnings == ()


@pytest.mark.parametrize(
    ("directive", "warning"),
    [
        (".. include:: nowhere.rst", "nowhere.rst, which is missing"),
        (".. include:: ../../../etc/passwd", "../../../etc/passwd, which is outside the project"),
        (".. include:: page.txt\n   :start-after: xyz", "page.txt, which does not contain 'xyz'"),
        (".. include:: page.txt\n   :end-before: xyz", "page.txt, which does not contain 'xyz'"),
        (".. literalinclude:: page.txt\n   :start-at: xyz",
         "page.txt, which does not contain 'xyz'"),
        (".. literalinclude:: page.txt\n   :end-at: xyz", "page.txt, which does not contain 'xyz'"),
        (".. literalinclude:: page.txt\n   :lines: 70-80", "page.txt, which does not have these"),
        (".. literalinclude:: page.txt\n   :pyobject: f", "page.txt, which is not valid Python"),
        (".. literalinclude:: code.py\n   :pyobject: g.h", "code.py, which does not define 'g.h'"),
        (".. csv-table:: T\n   :file: x.csv", "x.csv, which is missing"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_shown_is_named(directive: str, warning: str) -> None:
    files = {"guide/page.txt": "some words (", "guide/code.py": CODE}
    text, warnings = expanded(f"before\n\n{directive}\n\nafter", files)
    assert text.split() == ["before", "after"]
    [found] = warnings
    assert found.startswith(f"it includes {warning}")


def test_a_file_that_includes_itself_is_named() -> None:
    loop = {"guide/a.rst": ".. include:: b.rst\n", "guide/b.rst": "b\n\n.. include:: a.rst\n"}
    text, warnings = expanded(".. include:: a.rst\n", loop)
    assert text == "b"
    assert warnings == (
        "it includes a.rst, which includes itself or is nested too deeply; the include was dropped",
    )


def test_included_text_is_limited() -> None:
    huge = {"guide/a.txt": "word\n" * 300_000}
    source = ".. literalinclude:: a.txt\n\n" * 5
    text, warnings = expanded(source, huge)
    assert len(text) < 10_000_000
    assert warnings == (
        "it includes a.txt, but exceeds the limit of included text; the include was dropped",
    )


def test_directives_in_code_and_comments_are_not_changed() -> None:
    source = (
        "Text::\n\n   .. include:: a.rst\n\n"
        ".. code-block:: rst\n\n   .. include:: b.rst\n\n"
        ".. A comment\n   .. include:: c.rst\n\n"
        "- item::\n\n      .. include:: d.rst\n\nend"
    )
    assert expanded(source) == (source, ())


def test_nested_directives_keep_their_place() -> None:
    files = {"guide/a.rst": "one\n\n- two\n"}
    text, _ = expanded(".. note::\n\n   .. include:: a.rst\n\n   three", files)
    assert [line for line in text.split("\n") if line] == [
        ".. note::",
        "   one",
        "   - two",
        "   three",
    ]


def test_a_table_from_a_file() -> None:
    text, _ = expanded(
        ".. csv-table:: T\n   :file: a.csv\n   :header-rows: 1\n", {"guide/a.csv": "x,y\n1,2"}
    )
    assert text == ".. csv-table:: T\n   :header-rows: 1\n\n   x,y\n   1,2"


def test_the_config_adds_text_substitutions_and_roles() -> None:
    config = (
        "extensions = []\nversion = '2'\ndefault_role = 'py:obj'\n"
        "rst_prolog = '.. |a| replace:: b'\nrst_epilog = '.. |c| replace:: d'\n"
        "extlinks = {'issue': ('https://x.org/%s', '#%s'), 'pr': ('u%s', None), 'bad': 3}\n"
    )
    text, _ = expanded(
        ":orphan:\n\n|version| :issue:`7` :issue:`t <7>` :pr:`8` :bad:`9`", config=config
    )
    assert text.startswith(":orphan:\n\n")
    assert ".. default-role:: literal" in text
    assert "|version| #7 t u8 :bad:`9`" in text
    assert text.endswith(".. |version| replace:: 2")
    assert text.index("|a|") < text.index("#7") < text.index("|c|")
