"""reStructuredText is read for its words, whatever Sphinx adds to it."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefind.text.formats.restructured.conversion import read_restructured


def markdown(source: str) -> str:
    return read_restructured(source.encode()).text.rstrip("\n")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Title\n=====\n\nwords\n\nSub\n---\n\nmore",
         "# Title {#title}\n\nwords\n\n## Sub {#sub}\n\nmore"),
        (".. _my-target:\n\nTitle\n=====\n", "# Title {#title}"),
        ("*em* **bold** ``code`` `name <https://x.org>`_", "em bold `code` name"),
        ("- a\n\n  - b\n- c\n\n#. one\n#. two", "- a\n  - b\n- c\n\n1. one\n2. two"),
        ("term\n  definition", "term\n: definition"),
        ("Code::\n\n  # x\n", "Code:\n\n```\n# x\n```"),
        ("+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+",
         "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (".. code-block:: python\n   :linenos:\n   :caption: Cap\n\n   # no heading\n",
         "Cap\n\n```python\n# no heading\n```"),
        (".. code::\n\n   x\n", "```\nx\n```"),
        (".. note:: Mind\n   :unknown: x\n\n   this\n", "Note\n\nMind\n\nthis"),
        (".. image:: x.png\n   :alt: Alt\n   :scale: no number\n", ""),
        (".. image:: x.png\n   :alt: Alt\n   :scale: 50\n", "Alt"),
        (".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\nwords", "words"),
        (".. automodule:: a.b\n   :members:\n\nwords", "`a.b`\n\nwords"),
        (".. literalinclude:: secret.txt\n\nwords", "words"),
        (".. include:: /etc/passwd\n\nwords", "words"),
        (".. csv-table::\n   :file: /etc/passwd\n\nwords", "words"),
        (".. raw:: html\n\n   <b>raw</b>\n\nwords", "words"),
        (".. contents::\n\nA\n=\n\nwords\n\nB\n=\n\nmore",
         "# A {#a}\n\nwords\n\n# B {#b}\n\nmore"),
        (".. versionadded:: 1.2\n\n.. deprecated:: 2 Use *that*.",
         "Added in version 1.2\n\nDeprecated since version 2: Use that."),
        (".. only:: html\n\n   words", "words"),
        (".. tab-set::\n\n   .. tab-item:: npm\n\n      Use :file:`npm`.\n", "npm\n\nUse `npm`."),
        (".. py:function:: f(a)\n   :noindex:\n\n   Does it.", "`f(a)`\n\nDoes it."),
        (".. option:: --all\n\n   Everything.", "`--all`\n\nEverything."),
        (":ref:`text <target>` :doc:`guide` :term:`word`", "text guide word"),
        (":class:`~a.b.C` :py:func:`f()` :meth:`!g` :kbd:`Ctrl`", "`C` `f()` `g` `Ctrl`"),
        (":sup:`2` :code:`x`", "2 `x`"),
        ("|version| and broken_ and `this one`_", "version and broken and this one"),
        (".. |x| unknown:: y\n\nwords |x|", None),
        (".. a comment\n\nwords [1]_\n\n.. [1] Note.", "words [1]\n\n[1]\n\nNote."),
        ("Title\n==\n\n``unclosed", None),
        ("", ""),
    ],
)  # fmt: skip
def test_words_and_structure_are_kept(source: str, text: str | None) -> None:
    found = markdown(source)
    if text is None:
        assert "rror" not in found
        assert "arning" not in found
        assert {"words", "Title"} & set(found.replace("#", " ").split())
    else:
        assert found == text


def test_the_fields_that_open_a_page_are_about_it() -> None:
    page = read_restructured(b".. note\n\n:orphan:\n:author: Ann\n\nTitle\n=====\n\nwords")
    assert page.front_matter == {"orphan": "", "author": "Ann"}
    assert page.text == "# Title {#title}\n\nwords\n"
    assert page.title == "Title"


def test_a_page_nested_too_deep_is_read_as_it_is() -> None:
    source = "".join(" " * depth + "x\n\n" for depth in range(0, 1600, 2))
    page = read_restructured(source.encode())
    assert page.text == source
    assert page.warnings == ("it is nested too deeply; parsed as plain text",)


@pytest.mark.parametrize("odd", ["*a ", "`a ", "**a ", "``a ", "|a ", "a_ ", ":x:`a ", "*a\n\n"])
def test_markup_that_is_broken_all_over_is_read_as_it_is(odd: str) -> None:
    """docutils alone would take half a minute for each of these, and ten times that for 90 KB."""
    source = odd * (30_000 // len(odd))
    page = read_restructured(source.encode())
    assert page.text == source
    assert page.warnings == ("its markup is broken; parsed as plain text",)


def test_markup_that_is_broken_here_and_there_keeps_its_structure() -> None:
    page = read_restructured(("Title\n=====\n\n" + "Takes *args and **kwargs.\n\n" * 100).encode())
    assert page.text.startswith("# Title {#title}")
    assert page.text.count("Takes *args and **kwargs.") == 100
    assert page.warnings == ()


def test_a_long_line_is_not_an_error() -> None:
    assert markdown("word " * 4000).count("word") == 4000


@given(st.text(alphabet="ab:`*_|.=- \n[]<>\\", max_size=60))
@settings(deadline=None)
def test_nothing_breaks_it_and_no_message_leaks(source: str) -> None:
    with warnings.catch_warnings(record=True):
        found = markdown(source)
    assert "rror" not in found
    assert "system" not in found


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".. py:function:: f(a)\n\n   Does it.", "## `f` {#f}\n\n`f(a)`\n\nDoes it."),
        (".. currentmodule:: m.n\n\n.. function:: f(a) -> int\n   :async:",
         "## `m.n.f` {#m.n.f}\n\n`async m.n.f(a) -> int`"),
        (".. class:: A.B(x)\n   :module: m\n\n   .. method:: c()\n      :classmethod:\n\n"
         "   .. attribute:: A.B.d\n      :type: int\n      :value: 3",
         "## `A.B` {#m.A.B}\n\n`class A.B(x)`\n\n### `c` {#m.A.B.c}\n\n`classmethod c()`\n\n"
         "### `d` {#m.A.B.d}\n\n`d: int = 3`"),
        (".. py:data:: X\n\nwords", "`X`\n\nwords"),
        (".. py:data:: X\n\n.. py:data:: X", "`X`\n\n`X`"),
        (".. py:data:: X\n   :no-index:", "`X`"),
        (".. py:function:: broken(\n\n   a", "`broken(`\n\na"),
        (".. program:: my tool\n\n.. option:: -a <b>, --all\n\n   All.\n\n"
         ".. program:: None\n\n.. option:: name",
         "## `-a <b>, --all` {#cmdoption-my-tool-a}\n\nAll.\n\n## `name` {#cmdoption-arg-name}"),
        (".. option:: =", "`=`"),
        (".. confval:: a_b", "## `a_b` {#confval-a_b}"),
        (".. default-domain:: c\n\n.. function:: int f(void)", "`int f(void)`"),
        (".. class:: big\n\nwords", "words"),
        (".. js:function:: f(a)", "`f(a)`"),
        (".. py:function:: f(a)\n\n   :param int a: One.\n   :param b: Two\n   :type b: str\n"
         "   :type c: no\n   :raises E: Never.\n   :rtype: x\n   :meta: y",
         "## `f` {#f}\n\n`f(a)`\n\nParameters:\n\n- a (int) – One.\n- b (str) – Two\n\n"
         "Raises:\n\n- E – Never.\n\nReturn type:\n\n- x\n\nMeta:\n\n- y"),
        (".. py:function:: f(a)\n\n   :arg a:", "## `f` {#f}\n\n`f(a)`\n\nParameters:\n\n- a"),
    ],
)  # fmt: skip
def test_objects_are_headings_where_nothing_else_follows(source: str, text: str) -> None:
    assert markdown(f"T\n=\n\n{source}") == f"# T {{#t}}\n\n{text}"


def test_objects_outside_of_sections_are_text() -> None:
    assert markdown(".. py:data:: X\n") == "`X`"


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("html", True), ("latex", False), ("not latex", True), ("html and not latex", True),
        ("latex or html", True), ("latex or not html", False), ("(html)", True),
        ("html and", False),
        ("a " * 60, True),
    ],
)  # fmt: skip
def test_only_what_websites_show_is_read(condition: str, *, shown: bool) -> None:
    assert markdown(f".. only:: {condition}\n\n   words") == ("words" if shown else "")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".. seealso:: That page.\n", "See also\n\nThat page."),
        (".. todo:: Later.\n", ""),
        (".. sidebar:: Side\n   :subtitle: Sub\n\n   words\n", "Side\n\nSub\n\nwords"),
        (".. productionlist::\n   a: `b` c\n   d   : e\n", "```\na ::= b c\nd ::= e\n```"),
        (":abbr:`POS (point of sale)` :file:`a/{b}.txt`", "POS `a/b.txt`"),
        (".. _One:\n\nOne\n===\n\nwords", "# One {#one}\n\nwords"),
    ],
)  # fmt: skip
def test_sphinx_shows_more_than_docutils(source: str, text: str) -> None:
    assert markdown(source) == text
