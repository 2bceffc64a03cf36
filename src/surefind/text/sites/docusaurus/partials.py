"""Puts the files that an MDX page imports where the page shows them.

`import Steps from './_steps.mdx'` makes `<Steps />` the text of that file, and
`import code from '!!raw-loader!./code.js'` makes `{code}` its content.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Sequence

from surefind.text.anchors import DOCUSAURUS
from surefind.text.front_matter import split_front_matter
from surefind.text.markdown.heading_attributes import with_ids
from surefind.text.markdown.javascript import STRING, TooComplex, literal
from surefind.text.markdown.mdx import strip_mdx
from surefind.text.markdown.mdx_scanner import RemovedSpan, Scanner, balanced
from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions, ReadFile

_IMPORTS = re.compile(r"^import\b[^\n]*(?:\.mdx?|raw-loader![^\n]*)['\"]", re.MULTILINE)
_IMPORT = re.compile(
    r"\bimport\s+([A-Za-z_$][\w$]*)\s*(?:,\s*\{[^{}]{0,2000}\}\s*)?from\s*['\"]([^'\"\n]{1,500})['\"]"
    r"[ \t]*;?"
)
_PROP = re.compile(rf"([\w$]+)\s*=\s*(?:({STRING})|\{{\s*({STRING})\s*\}})", re.DOTALL)
_PROP_USE = re.compile(r"\{\s*props\.([\w$]+)\s*\}")
_LINE_START = re.compile(r"[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?")
_SITE = (IncludeFolder(),)


def with_partials(site_path: str, text: str, read: ReadFile) -> tuple[str, tuple[str, ...]]:
    """(the page with the text of its partials, warnings)."""
    start = len(text) - len(split_front_matter(text)[1])
    if _IMPORTS.search(text, start) is None:
        return text, ()
    inclusions = Inclusions(site_path, read)
    try:
        body = _expanded(text[start:], posixpath.dirname(site_path), inclusions)
    except TooComplex:
        return text, ()  # it is reported when the page is parsed
    return text[:start] + body, inclusions.warnings


def _expanded(text: str, folder: str, inclusions: Inclusions) -> str:
    cuts, _ = balanced(Scanner(text, jsx=True).cuts())
    partials = dict(_partials(text, cuts, folder))
    pieces, position = [], 0
    for cut in cuts:
        if cut.role == "module":
            words = _statement(text[cut.start : cut.end], folder, inclusions)
        elif cut.tag not in partials:
            continue
        elif cut.role == "close":
            words = ""
        else:
            words = _placed(text, cut, _partial(text, cut, partials[cut.tag], inclusions))
        pieces += [text[position : cut.start], words]
        position = cut.end
    return "".join((*pieces, text[position:]))


def _partials(text: str, cuts: Sequence[RemovedSpan], folder: str) -> Iterator[tuple[str, str]]:
    """(name, path) of the imported pages."""
    for cut in cuts:
        if cut.role == "module":
            for name, written in _IMPORT.findall(text, cut.start, cut.end):
                path = _path(written, folder)
                if path is not None and "!" not in written and _is_page(written):
                    yield name, path


def _statement(statement: str, folder: str, inclusions: Inclusions) -> str:
    """A statement without imports of pages; an imported text becomes a constant."""

    def changed(found: re.Match[str]) -> str:
        name, written = found.groups()
        path = _path(written.rpartition("!")[2], folder)
        if path is None:
            return found[0]
        if "raw-loader!" not in written:
            return "" if _is_page(written) else found[0]
        lines = inclusions.take(path, _SITE)
        if lines is None:
            return ""
        inclusions.close()
        return f"export const {name} = {_as_literal(chr(10).join(lines))}"

    return _IMPORT.sub(changed, statement)


def _path(written: str, folder: str) -> str | None:
    """The path of a file below the site's folder; None for a package."""
    if written.startswith("@site/"):
        return posixpath.normpath(written.removeprefix("@site/"))
    if written.startswith("."):
        return posixpath.normpath(posixpath.join(folder, written))
    return None


def _is_page(written: str) -> bool:
    return written.endswith((".md", ".mdx"))


def _as_literal(text: str) -> str:
    """A string of JavaScript."""
    return (
        json.dumps(text)
        .replace("\\r", "\\u000d")
        .replace("\\b", "\\u0008")
        .replace("\\f", "\\u000c")
    )


def _partial(text: str, tag: RemovedSpan, path: str, inclusions: Inclusions) -> str:
    """The Markdown of a partial, with the properties that its tag gives it."""
    lines = inclusions.take(path, _SITE)
    if lines is None:
        return ""
    body = split_front_matter("\n".join(lines))[1]
    given = {
        name: literal(plain or braced) or ""
        for name, plain, braced in _PROP.findall(text, tag.start, tag.end)
    }
    body = _PROP_USE.sub(
        lambda use: f"{{{_as_literal(given[use[1]])}}}" if use[1] in given else use[0], body
    )
    body = _expanded(body, posixpath.dirname(path), inclusions)
    inclusions.close()
    return with_ids(strip_mdx(body), DOCUSAURUS).strip("\n")


def _placed(text: str, tag: RemovedSpan, words: str) -> str:
    """The text of a partial as a block of its own, in the column of its tag; or in a sentence."""
    before = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    end = text.find("\n", tag.end)
    alone = not text[tag.end : len(text) if end < 0 else end].strip()
    if not alone or _LINE_START.fullmatch(before) is None:
        return f"\n\n{words}\n\n" if "\n\n" in words else " ".join(words.split())
    margin = " " * len(before.expandtabs(4))
    block = f"\n{margin}".join(words.split("\n"))
    return f"{block}\n" if before.strip() else f"\n{margin}{block}\n"
