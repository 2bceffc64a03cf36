"""The titles of pages and labelled sections, which references without a text of their own show."""

import posixpath
import re
from collections.abc import Callable, Collection, Mapping

_REFERENCE = re.compile(r":(?:std:)?(doc|ref):`([^`<>\n]{1,300})`")
_MYST_REFERENCE = re.compile(r"\{(doc|ref)\}`([^`<>\n]{1,300})`")
_UNDERLINE = re.compile(r"([!-/:-@[-`{-~])\1*[ \t]*$")
_LABEL = re.compile(r"\.\. _(?:`([^`]+)`|([^:\n]+)):[ \t]*$|\(([^()\n]+)\)=[ \t]*$")
_ATX = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$")
_MARKUP = re.compile(r"\*+|`+|:[\w:+-]+:(?=`)|\{[\w:+-]+\}(?=`)")
_TITLED = re.compile(r"`([^`<>]+?)\s*<[^<>`]*>`_*")


class Titles:
    """Reads all pages of a site once."""

    def __init__(self, pages: Collection[str], read: Callable[[str], str]) -> None:
        """`read` gives the text of a page by its path."""
        self._pages: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        for path in pages:
            name = path.rpartition(".")[0]
            title, labels = _titles(read(path), markdown=path.endswith(".md"))
            self._pages[name] = title
            self._labels.update(labels)

    def named(self, site_path: str, line: str) -> str:
        """A line of a page, with the titles of the pages and sections that it refers to."""
        if "`" not in line:
            return line
        folder = posixpath.dirname(site_path)
        line = _REFERENCE.sub(lambda found: self._titled(found, folder, ":{}:`{} <{}>`"), line)
        return _MYST_REFERENCE.sub(
            lambda found: self._titled(found, folder, "{{{}}}`{} <{}>`"), line
        )

    def _titled(self, found: re.Match[str], folder: str, form: str) -> str:
        kind, target = found[1], found[2].strip()
        if kind == "ref":
            title = self._labels.get(_normal(target), "")
        else:
            inside = "" if target.startswith("/") else folder
            path = posixpath.normpath(posixpath.join(inside, target.lstrip("/")))
            title = self._pages.get(path, "")
        return form.format(kind, title, target) if title else found[0]


def _titles(text: str, *, markdown: bool) -> tuple[str, Mapping[str, str]]:
    """(the first title of a page, the titles of its labelled sections)."""
    first, labels, waiting = "", dict[str, str](), list[str]()
    lines = text.split("\n")
    for number, line in enumerate(lines):
        label = _LABEL.match(line) if line[:1] in {".", "("} else None
        if label is not None:
            waiting.append(_normal(label[1] or label[2] or label[3]))
            continue
        title = _atx(line) if markdown else _underlined(lines, number)
        if title:
            first = first or title
            labels |= dict.fromkeys(waiting, title)
        if line.strip() and not (not markdown and _UNDERLINE.match(line)):
            waiting = []
    return first, labels


def _underlined(lines: list[str], number: int) -> str:
    line = lines[number].rstrip()
    below = lines[number + 1] if number + 1 < len(lines) else ""
    if not line.strip() or not _UNDERLINE.match(below) or _UNDERLINE.match(line):
        return ""
    return _plain(line) if len(below.rstrip()) >= min(len(line), 4) else ""


def _atx(line: str) -> str:
    found = _ATX.match(line) if line.lstrip(" ")[:1] == "#" else None
    return _plain(found[1]) if found else ""


def _plain(title: str) -> str:
    title = _TITLED.sub(r"\1", title)
    return _MARKUP.sub("", title).replace("<", "").replace(">", "").replace("\\", "").strip()


def _normal(label: str) -> str:
    return " ".join(label.lower().split())
