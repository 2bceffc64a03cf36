"""autodoc by syntax trees: what modules say about themselves, without importing any."""

import pytest

from surefind.errors import InputError
from surefind.text.sites.sphinx.addresses import SphinxSite
from surefind.text.sites.sphinx.config import SphinxConfig

PACKAGE = {
    "../src/kiosk/__init__.py": (
        '"""Sells."""\nfrom .tickets import *\nfrom .shop.till import Till as T\n'
    ),
    "../src/kiosk/tickets.py": (
        '"""Tickets."""\n__all__ = ["Ticket", "sell"]\n\n'
        "class Base:\n"
        "    def __init__(self, a, /, *, b: int = 1): pass\n"
        '    def inherited(self):\n        """Inherited."""\n\n'
        "class Ticket(Base):\n"
        '    """One.\n\n    More.\n    """\n'
        "    #: The price.\n    price = 3\n"
        "    width: int = 8\n"
        '    """The width."""\n'
        "    count = 1  #: The count.\n"
        "    bare = 0\n"
        '    @property\n    def label(self) -> str:\n        """Its label."""\n'
        '    @staticmethod\n    def still(a): \n        """Still."""\n'
        '    async def go(self, *a, **k):\n        """Goes."""\n'
        '    def __len__(self):\n        """Its length."""\n'
        '    def _hidden(self):\n        """Hidden."""\n\n'
        'def sell(kind: "str") -> "Ticket":\n    """Sell."""\n\n'
        'def other():\n    """Other."""\n'
    ),
    "../src/kiosk/shop/__init__.py": "",
    "../src/kiosk/shop/till.py": (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from ..tickets import Base\nimport missing\nfrom nowhere import Gone\n"
        "if True:\n"
        '    @dataclass(frozen=True)\n    class Till(Gone):\n        """A till."""\n'
        "        size: int\n        name: str = 'x'\n"
        'class TillError(ValueError):\n    """Broken."""\n'
    ),
    "../src/broken.py": "def (",
}  # fmt: skip


def documented(source: str, config: str = "extensions = []\n") -> str:
    def read(path: str) -> str | None:
        if path.startswith("../../"):
            raise InputError("which is outside the project")
        return PACKAGE.get(path)

    site = SphinxSite(SphinxConfig(config), "https://x.org")
    text, warnings = site.with_included("page.rst", source, read)
    assert warnings == ()
    return text


def heads(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if ".. py:" in line]


def test_a_function_with_its_signature() -> None:
    text = documented(".. autofunction:: kiosk.tickets.sell\n")
    assert ".. py:function:: sell(kind: str) -> Ticket" in text
    assert ":module: kiosk.tickets" in text
    assert "   Sell." in text


def test_a_given_signature_and_text_are_kept() -> None:
    text = documented(".. autofunction:: kiosk.sell(anything)\n\n   More about it.\n")
    assert heads(text) == [".. py:function:: sell(anything)"]
    assert "   More about it." in text


def test_a_class_shows_its_documented_members() -> None:
    text = documented(".. autoclass:: kiosk.Ticket\n   :members:\n")
    assert heads(text) == [
        ".. py:class:: Ticket(a, /, *, b: int=1)",
        ".. py:attribute:: count",
        ".. py:method:: go(*a, **k)",
        ".. py:property:: label",
        ".. py:attribute:: price",
        ".. py:method:: still(a)",
        ".. py:attribute:: width",
    ]
    for words in ("One.", "The price.", "The width.", "The count.", ":value: 3", ":type: int"):
        assert words in text
    assert ":async:" in text
    assert ":staticmethod:" in text
    assert "Hidden" not in text


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("", []),
        ("   :members: price, _hidden\n", ["_hidden", "price"]),
        ("   :members:\n   :exclude-members: go, label, still, price, width\n", ["count"]),
        ("   :members: go\n   :special-members:\n", ["__len__", "go"]),
        ("   :members: go\n   :special-members: __init__\n", ["go"]),
        ("   :members: go, label\n   :member-order: bysource\n", ["label", "go"]),
        ("   :members: inherited\n   :inherited-members:\n", ["inherited"]),
        ("   :members:\n   :undoc-members:\n   :private-members:\n",
         ["_hidden", "bare", "count", "go", "label", "price", "still", "width"]),
    ],
)  # fmt: skip
def test_options_choose_members(options: str, names: list[str]) -> None:
    _, *members = heads(documented(f".. autoclass:: kiosk.Ticket\n{options}"))
    assert [line.split(":: ")[1].partition("(")[0] for line in members] == names


def test_a_module_shows_what_it_exports() -> None:
    text = documented(".. automodule:: kiosk.tickets\n   :members:\n\n   More.\n")
    assert "Tickets." in text
    assert "More." in text
    assert [line for line in heads(text) if "class" in line or "function" in line] == [
        ".. py:function:: sell(kind: str) -> Ticket",
        ".. py:class:: Ticket(a, /, *, b: int=1)",
    ]
    everything = documented(".. automodule:: kiosk.tickets\n   :members:\n   :ignore-module-all:\n")
    assert ".. py:function:: other()" in heads(everything)


def test_names_are_found_through_imports_and_the_current_module() -> None:
    text = documented(".. currentmodule:: kiosk.shop.till\n\n.. autoclass:: Till\n")
    assert heads(text)[-1] == ".. py:class:: Till(size: int, name: str = 'x')"
    assert "A till." in documented(".. autoclass:: kiosk.T\n")
    assert ".. py:exception:: TillError" in documented(
        ".. autoexception:: kiosk.shop.till.TillError"
    )
    assert "Inherited." in documented(".. automethod:: kiosk.Ticket.inherited\n")


@pytest.mark.parametrize(
    "name",
    ["nowhere.Thing", "broken.f", "kiosk.Nothing", "kiosk.sell.inner", "kiosk.shop.till.Gone",
     "../etc/passwd", "kiosk.tickets.Ticket.nothing"],
)  # fmt: skip
def test_the_name_of_an_unknown_object_is_kept(name: str) -> None:
    assert f".. autoclass:: {name}" in documented(f".. autoclass:: {name}\n\n   Words.\n")


def test_other_auto_directives_stay() -> None:
    assert ".. autosectionlabel:: x" in documented(".. autosectionlabel:: x\n")


def test_a_summary_lists_objects_with_their_first_sentence() -> None:
    text = documented(".. autosummary::\n   :toctree: x\n\n   ~kiosk.Ticket\n   kiosk.nothing\n")
    assert "- ``kiosk.Ticket`` \N{EN DASH} One." in text
    assert "- ``kiosk.nothing``" in text


def test_default_options_of_the_config() -> None:
    config = (
        "extensions = []\nautodoc_default_options = {'members': True, 'undoc-members': False}\n"
        "autodoc_member_order = 'bysource'\n"
    )
    text = documented(".. autoclass:: kiosk.Ticket\n", config)
    names = [line.split(":: ")[1].partition("(")[0] for line in heads(text)]
    assert names == ["Ticket", "price", "width", "count", "label", "still", "go"]
    assert len(heads(documented(".. autoclass:: kiosk.Ticket\n   :no-members:\n", config))) == 1
