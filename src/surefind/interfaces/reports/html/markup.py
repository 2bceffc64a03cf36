"""HTML building blocks. All content of a report is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlsplit

_MARKS = {"pass": "✓", "passed": "✓", "fail": "✗", "failed": "✗", "error": "!"}


def text(value: str) -> str:
    return escape(value, quote=True)


def shortened(value: str, length: int) -> str:
    return value if len(value) <= length else f"{value[: length - 1].rstrip()}…"


def outcome(word: str, shown: str = "") -> str:
    """A badge for an outcome or verdict, with an optional label. Never marked by colour alone."""
    mark = _MARKS.get(word, "?")
    return (
        f'<span class="badge {text(word)}"><span aria-hidden="true">{mark}</span> '
        f"{text(shown or word.replace('_', ' '))}</span>"
    )


def link(url: str, words: str) -> str:
    """A link, but only to http and https URLs; otherwise plain text."""
    if not is_web_address(url):
        return text(words)
    return f'<a href="{text(url)}" rel="noreferrer noopener">{text(words)}</a>'


def is_web_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> str:
    """A table whose `rows` contain markup, with the row heading first. `numbers` are the
    right-aligned columns.
    """

    def cell(tag: str, at: int, inner: str) -> str:
        scope = {"th": ' scope="col"', "rowhead": ' scope="row"', "td": ""}[tag]
        name = "th" if tag == "rowhead" else tag
        number = ' class="number"' if at in numbers else ""
        return f"<{name}{scope}{number}>{inner}</{name}>"

    top = "".join(cell("th", at, text(name)) for at, name in enumerate(head))
    body = "".join(
        "<tr>"
        + "".join(cell("td" if at else "rowhead", at, inner) for at, inner in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text(caption)}"><table>'
        f'<caption class="hidden">{text(caption)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def section(identity: str, title: str, *parts: str) -> str:
    inner = "\n".join(part for part in parts if part)
    if not inner:
        return ""
    return (
        f'<section aria-labelledby="{identity}"><h2 id="{identity}">{text(title)}</h2>\n'
        f"{inner}\n</section>"
    )
