"""reStructuredText is read for its words, whatever Sphinx adds to it."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefind.text.formats.restructured import read_restructured


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
        (".. automodule:: a.b\n   :members:\n\nwords", "words"),
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


def test_a_long_line_is_no_error() -> None:
    assert markdown("word " * 4000).count("word") == 4000


@given(st.text(alphabet="ab:`*_|.=- \n[]<>\\", max_size=60))
@settings(deadline=None)
def test_nothing_breaks_it_and_no_message_leaks(source: str) -> None:
    with warnings.catch_warnings(record=True):
        found = markdown(source)
    assert "rror" not in found
    assert "system" not in found
