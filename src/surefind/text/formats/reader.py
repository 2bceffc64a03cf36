"""A source page in any of the formats we read becomes text with its structure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.text.encodings import decoded
from surefind.text.formats.restructured import restructured_to_markdown
from surefind.text.front_matter import split_front_matter
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import Outline, outline
from surefind.text.markdown.javascript import TooComplex
from surefind.text.markdown.mdx import strip_comments, strip_mdx

_BLANK_LINES = re.compile(r"(?:^|\n)[ \t]*\n\s*?(?=[ \t]*\S)")
_PROGRAM = re.compile(r"[<{]|:::|^(?:import|export)\b", re.MULTILINE)  # no MDX is without


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """`title` is what the format itself declares.

    `text` is Markdown for every format but plain text, and `structure` speaks about it.
    """

    front_matter: Mapping[str, object]
    text: str
    structure: Outline
    title: str = ""
    warnings: tuple[str, ...] = ()


def parse(content: bytes, suffix: str) -> ParsedPage:
    """InputError, with the reason, where the bytes are no text or the format is not known.

    `suffix` is that of the file's name: `parse(b"# Title", ".md")`.
    """
    reader = _READERS.get(suffix.lower())
    if reader is None:
        known = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{suffix or 'no suffix'} is no format that is read here ({known})")
    text, warnings = decoded(content, declares=reader is _html)
    return reader(text, warnings)


def _markdown(text: str, warnings: tuple[str, ...]) -> ParsedPage:
    front_matter, body = split_front_matter(text)
    if "<!--" in body:
        body = strip_comments(body)
    return ParsedPage(front_matter, body, outline(body), warnings=warnings)


def _mdx(text: str, warnings: tuple[str, ...]) -> ParsedPage:
    front_matter, body = split_front_matter(text)
    if _PROGRAM.search(body):
        try:
            body = strip_mdx(body)
        except TooComplex:
            warnings += ("its braces are too tangled to be read as MDX; read as Markdown",)
    return ParsedPage(front_matter, body, outline(body), warnings=warnings)


def _html(text: str, warnings: tuple[str, ...]) -> ParsedPage:
    page = html_to_markdown(text)
    declared = {
        "canonical_url": page.canonical_url,
        "description": page.description,
        "language": page.language,
    }
    front_matter = {key: value for key, value in declared.items() if value}
    structure = outline(page.text)
    return ParsedPage(front_matter, page.text, structure, page.title, warnings)


def _restructured(text: str, warnings: tuple[str, ...]) -> ParsedPage:
    page = restructured_to_markdown(text)
    structure = outline(page.text)
    warnings += page.warnings
    return ParsedPage(page.fields, page.text, structure, page.title, warnings)


def _plain(text: str, warnings: tuple[str, ...]) -> ParsedPage:
    borders = tuple(border.end() for border in _BLANK_LINES.finditer(text))
    return ParsedPage({}, text, Outline((), borders, ()), warnings=warnings)


_READERS: Mapping[str, Callable[[str, tuple[str, ...]], ParsedPage]] = {
    ".htm": _html,
    ".html": _html,
    ".markdown": _markdown,
    ".md": _markdown,
    ".mdx": _mdx,
    ".rst": _restructured,
    ".txt": _plain,
}
SUFFIXES = frozenset(_READERS)
