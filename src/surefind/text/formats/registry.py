"""Selects the reader of a page by its suffix."""

import re
from collections.abc import Callable, Mapping

from surefind.errors import InputError
from surefind.model import AnchorRule
from surefind.text.anchors import GITHUB
from surefind.text.encodings import decode
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.restructured import read_restructured
from surefind.text.front_matter import split_front_matter
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import Outline, outline
from surefind.text.markdown.javascript import TooComplex
from surefind.text.markdown.mdx import strip_comments, strip_mdx

_BLANK_LINES = re.compile(r"(?:^|\n)[ \t]*\n\s*?(?=[ \t]*\S)")
_MDX_SYNTAX = re.compile(r"[<{]|:::|^(?:import|export)\b", re.MULTILINE)


def parse(content: bytes, suffix: str, anchors: AnchorRule = GITHUB) -> ParsedPage:
    """Parse a page: `parse(b"# Title", ".md")`. `anchors` applies to Markdown.

    InputError, with the reason, if the bytes are not text or the suffix is not supported.
    """
    reader = READERS.get(suffix.lower())
    if reader is None:
        supported = ", ".join(sorted(SUFFIXES))
        found = f"files ending in {suffix}" if suffix else "files without a suffix"
        raise InputError(f"{found} are not supported; supported are {supported}")
    return reader(content, anchors)


def _read_markdown(content: bytes, anchors: AnchorRule) -> ParsedPage:
    text, warnings = decode(content)
    front_matter, body = split_front_matter(text)
    if "<!--" in body:
        body = strip_comments(body)
    return ParsedPage(front_matter, body, outline(body, anchors), warnings=warnings)


def _read_mdx(content: bytes, anchors: AnchorRule) -> ParsedPage:
    text, warnings = decode(content)
    front_matter, body = split_front_matter(text)
    if _MDX_SYNTAX.search(body):
        try:
            body = strip_mdx(body)
        except TooComplex:
            warnings += ("its braces are too complex to parse as MDX; parsed as Markdown",)
    return ParsedPage(front_matter, body, outline(body, anchors), warnings=warnings)


def _read_html(content: bytes, _: AnchorRule) -> ParsedPage:
    text, warnings = decode(content, meta_charset=True)
    above, body = split_front_matter(text)
    page = html_to_markdown(body)
    declared = {
        "canonical_url": page.canonical_url,
        "description": page.description,
        "language": page.language,
    }
    front_matter = {**{key: value for key, value in declared.items() if value}, **above}
    return ParsedPage(front_matter, page.text, outline(page.text), page.title, warnings)


def _read_plain_text(content: bytes, _: AnchorRule) -> ParsedPage:
    text, warnings = decode(content)
    borders = tuple(border.end() for border in _BLANK_LINES.finditer(text))
    return ParsedPage({}, text, Outline((), borders, ()), warnings=warnings)


READERS: Mapping[str, Callable[[bytes, AnchorRule], ParsedPage]] = {
    ".htm": _read_html,
    ".html": _read_html,
    ".markdown": _read_markdown,
    ".md": _read_markdown,
    ".mdx": _read_mdx,
    ".rst": lambda content, _: read_restructured(content),
    ".txt": _read_plain_text,
}
SUFFIXES = frozenset(READERS)
