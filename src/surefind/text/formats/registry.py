"""Selects the reader of a page by its suffix."""

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec

from surefind.errors import InputError
from surefind.model import AnchorRule, FormatOptions
from surefind.text.anchors import GITHUB
from surefind.text.formats.asciidoc.document import read_asciidoc
from surefind.text.formats.docx import read_docx
from surefind.text.formats.encodings import decode
from surefind.text.formats.notebook import read_notebook
from surefind.text.formats.openapi.api_reference import read_openapi
from surefind.text.formats.openapi.detection import is_openapi
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.pdf import read_pdf
from surefind.text.formats.restructured.conversion import read_restructured
from surefind.text.front_matter import read_front_matter
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import Heading, Outline, outline
from surefind.text.markdown.entities import without_entities
from surefind.text.markdown.heading_attributes import without_attributes
from surefind.text.markdown.highlights import without_highlights
from surefind.text.markdown.javascript import TooComplex
from surefind.text.markdown.link_references import inline_references
from surefind.text.markdown.mdx import read_mdx, strip_comments
from surefind.text.markdown.raw_html import without_raw_html

_BLANK_LINES = re.compile(r"(?:^|\n)[ \t]*\n\s*?(?=[ \t]*\S)")
_ANY_TAG = re.compile(r"<[^<>]*>")
_MDX_SYNTAX = re.compile(r"[<{]|:::|^(?:import|export)\b", re.MULTILINE)


def parse(
    content: bytes,
    suffix: str,
    anchors: AnchorRule = GITHUB,
    options: FormatOptions | None = None,
) -> ParsedPage:
    """Parse a page: `parse(b"# Title", ".md")`. `anchors` applies to Markdown.

    InputError, with the reason, if the bytes are not text or the suffix is not supported.
    """
    reader = READERS.get(suffix.lower())
    document_reader = DOCUMENT_READERS.get(suffix.lower())
    if document_reader is not None:
        return _shown(document_reader(content, options or FormatOptions()))
    if reader is None:
        supported = ", ".join(sorted(SUFFIXES))
        found = f"files ending in {suffix}" if suffix else "files without a suffix"
        raise InputError(f"{found} are not supported; supported are {supported}")
    return _shown(reader(content, anchors))


def _shown(page: ParsedPage) -> ParsedPage:
    text, structure = without_attributes(page.text, page.structure)
    return replace(page, text=text, structure=structure)


def _read_markdown(content: bytes, anchors: AnchorRule) -> ParsedPage:
    text, warnings = decode(content)
    front_matter, body, problems = read_front_matter(text)
    body = without_highlights(body)
    if "<!--" in body:
        body = strip_comments(body)
    if "<" in body:
        body = without_raw_html(body, _element)
    body = inline_references(body)
    if "&" in body:  # afterwards, because titles of references may contain &quot;
        body = without_entities(body)
    return ParsedPage(front_matter, body, outline(body, anchors), warnings=warnings + problems)


def _element(html: str) -> str:
    """An element of raw HTML as Markdown; what is nested too deeply loses only its tags."""
    try:
        return html_to_markdown(html).text
    except InputError:
        return _ANY_TAG.sub(" ", html)


def _read_mdx(content: bytes, anchors: AnchorRule) -> ParsedPage:
    text, warnings = decode(content)
    front_matter, body, problems = read_front_matter(text)
    warnings += problems
    unread: tuple[str, ...] = ()
    body = without_highlights(body)
    if _MDX_SYNTAX.search(body):
        try:
            body, unread = read_mdx(body)
        except TooComplex:
            warnings += ("its braces are too complex to parse as MDX; parsed as Markdown",)
    body = inline_references(body)
    if "&" in body:  # afterwards, because titles of references may contain &quot;
        body = without_entities(body)
    structure = outline(body, anchors)
    return ParsedPage(front_matter, body, structure, warnings=warnings, unread=unread)


def _read_html(content: bytes, anchors: AnchorRule) -> ParsedPage:
    text, warnings = decode(content, meta_charset=True)
    above, body, problems = read_front_matter(text)
    page = html_to_markdown(body)
    declared = {
        "canonical_url": page.canonical_url,
        "description": page.description,
        "language": page.language,
    }
    front_matter = {**{key: value for key, value in declared.items() if value}, **above}
    structure = outline(page.text, GITHUB)
    if not anchors.in_html:
        structure = _with_own_anchors(structure)
    return ParsedPage(front_matter, page.text, structure, page.title, warnings + problems)


def _with_own_anchors(structure: Outline) -> Outline:
    """Without invented anchors. Headings keep their names, and so passages their ids."""
    declared = [start for start, _ in structure.attributes]

    def is_declared(heading: Heading) -> bool:
        return bisect_left(declared, heading.start) < bisect_left(declared, heading.end)

    headings = (
        heading if is_declared(heading) else replace(heading, anchor="")
        for heading in structure.headings
    )
    return replace(structure, headings=tuple(headings))


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
DOCUMENT_READERS: Mapping[str, Callable[[bytes, FormatOptions], ParsedPage]] = {
    ".adoc": lambda content, _: read_asciidoc(content),
    ".asciidoc": lambda content, _: read_asciidoc(content),
    ".docx": lambda content, _: read_docx(content),
    ".ipynb": read_notebook,
    ".json": read_openapi,
    ".pdf": lambda content, _: read_pdf(content),
    ".yaml": read_openapi,
    ".yml": read_openapi,
}
SUFFIXES = frozenset((*READERS, *DOCUMENT_READERS))
ASCIIDOC_SUFFIXES = frozenset({".adoc", ".asciidoc"})
BINARY_SUFFIXES = frozenset({".docx", ".pdf"})
DATA_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""Most files with these suffixes are data and not pages: see `is_page`."""
_EXTRAS = {".docx": ("docx", "mammoth"), ".pdf": ("pdf", "pypdfium2")}


def is_page(content: bytes, suffix: str) -> bool:
    """False for files of data that only share their suffix with a format."""
    return suffix not in DATA_SUFFIXES or is_openapi(content, suffix)


def missing_extra(suffix: str) -> str:
    """The extra of surefind that a format needs and that is not installed; else empty."""
    extra, module = _EXTRAS.get(suffix, ("", ""))
    return extra if extra and find_spec(module) is None else ""
