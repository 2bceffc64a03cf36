"""References of mkdocstrings are read from the source of the project, which is never imported."""

import pytest

from surefind.errors import InputError
from surefind.text.formats.registry import parse
from surefind.text.sites.mkdocs.addresses import MkDocsSite

SOURCE = """
raise SystemExit("a source is never run")

LIMIT = 20  #: The most tickets.


class Ticket:
    '''Opens a gate.'''

    def __init__(self, price: int = 3) -> None:
        '''Print it.

        Args:
            price: In cents,
                not in euros.
        '''

    def b(self) -> None:
        '''Second.'''

    def a(self) -> None:
        '''First.

        ## Heading
        '''

    def _hidden(self) -> None:
        '''Hidden.'''

    def silent(self) -> None: ...


def sell(count: Annotated[int, Doc("How many.")], **more: Annotated[str, Doc("Notes.")]) -> "T":
    '''Sell.'''
"""
CONFIG = "plugins: [{mkdocstrings: {handlers: {python: {paths: [src]}}}}]"


def read(text: str, options: str = "", source: str = SOURCE) -> tuple[str, list[tuple[str, str]]]:
    """(text, (title, anchor) of each heading)."""
    config = CONFIG.replace("[src]", f"[src], options: {{{options}}}")
    site = MkDocsSite.from_config(config)
    files = {"src/kiosk.py": source}
    shown, _ = site.with_included("docs/a.md", text, files.get)
    page = parse(shown.encode(), ".md", site.anchors)
    return shown, [(one.title, one.anchor) for one in page.structure.headings]


def test_objects_have_their_anchors_and_docstrings() -> None:
    text, headings = read("# API\n\n::: kiosk\n\nAfter.")
    assert headings == [
        ("API", "api"),
        ("LIMIT", "kiosk.LIMIT"),
        ("Ticket", "kiosk.Ticket"),
        ("__init__", "kiosk.Ticket.__init__"),
        ("a", "kiosk.Ticket.a"),
        ("b", "kiosk.Ticket.b"),
        ("sell", "kiosk.sell"),
    ]
    assert "Parameters:\n\n- `price` (`int`, default: `3`): In cents,\n    not in euros." in text
    assert "sell(count: int, **more: str) -> T" in text
    assert "- `more` (`str`): Notes." in text
    assert "- `count` (`int`): How many." in text
    assert "**Heading**" in text
    assert text.endswith("\nAfter.")


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        ("members: false", []),
        ("members: [b, a]", ["b", "a"]),
        ("members_order: source, filters: ['!^_']", ["b", "a"]),
        ("show_root_heading: true, members: []", ["kiosk.Ticket"]),
        ("show_root_heading: true, show_root_full_path: false, members: []", ["Ticket"]),
        ("merge_init_into_class: true", ["a", "b"]),
        ("show_if_no_docstring: true, filters: ['!^_', '!(a+)+$']", ["a", "b", "silent"]),
        ("filters: 1, members: 3", ["__init__", "a", "b"]),
    ],
)
def test_options_of_the_site_or_of_a_reference_choose_what_is_shown(
    options: str, titles: list[str]
) -> None:
    assert [title for title, _ in read("::: kiosk.Ticket", options)[1]] == titles
    own = f"::: kiosk.Ticket\n    options: {{{options}}}"
    assert [title for title, _ in read(own)[1]] == titles


def test_a_name_that_the_project_does_not_define_is_kept() -> None:
    text = "::: a.b\n    options:\n        x: 1\n\ntext\n\n```\n::: c\n```\n\n## ::: d.e"
    assert read(text)[0] == ("\n`a.b`\n\ntext\n\n```\n::: c\n```\n\n\n## `d.e`\n")
    assert MkDocsSite.from_config("plugins: [search]").with_included(
        "docs/a.md", text, lambda _: None
    ) == (text, ())


@pytest.mark.parametrize(
    "source", ["def (", "class A(A): ...", "\0", "(" * 5_000, "x = " + "[" * 300 + "]" * 300]
)
def test_a_broken_source_leaves_the_name(source: str) -> None:
    assert "`kiosk.A`" in read("::: kiosk.A", source=source)[0] or source.startswith("class")


@pytest.mark.parametrize("options", ["[1, 2", "!!python/object:os.system {}", "- 1", "x" * 9_000])
def test_broken_options_are_ignored(options: str) -> None:
    assert ("sell", "kiosk.sell") in read(f"::: kiosk\n    {options}")[1]


def test_sources_outside_of_the_project_are_not_read() -> None:
    def refuse(_: str) -> str:
        raise InputError("which is outside the project")

    site = MkDocsSite.from_config(CONFIG.replace("src", "../../secret"))
    assert "`kiosk`" in site.with_included("docs/a.md", "::: kiosk", refuse)[0]
