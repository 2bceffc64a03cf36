"""A source page in any of the formats we read becomes text with its structure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from surefind.errors import InputError
from surefind.text.cleaning import clean
from surefind.text.front_matter import split_front_matter
from surefind.text.html import html_to_markdown
from surefind.text.markdown import Outline, outline
from surefind.text.mdx import strip_comments, strip_mdx
from surefind.text.restructured import restructured_to_markdown

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DECLARED = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_DECLARATION_PROBE_BYTES = 4096
# Encodings of text only: Python also knows codecs that run programs of another kind.
_TRUSTED = re.compile(
    r"(?:iso-?8859|iso-?2022|windows|cp|koi8|gb|big5|euc|shift|sjis|x-sjis|mac|us-ascii|latin|tis)"
    r"[\w.:-]*",
    re.IGNORECASE,
)
_LATIN_1 = re.compile(r"(?:iso-?8859-?1|latin-?1|us-ascii)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"(?:^|\n)[ \t]*\n\s*?(?=[ \t]*\S)")
_PROGRAM = re.compile(r"[<{]|:::|^(?:import|export)\b", re.MULTILINE)  # no MDX is without
_NOT_UTF_8 = "it is not UTF-8; read as windows-1252"


@dataclass(frozen=True, slots=True)
class Parsed:
    """`title` is what the format itself declares; `links` are addresses as the page spells them.

    `text` is Markdown for every format but plain text, and `structure` speaks about it.
    """

    front_matter: Mapping[str, object]
    text: str
    structure: Outline
    title: str = ""
    links: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def parse(content: bytes, suffix: str) -> Parsed:
    """InputError, with the reason, where the bytes are no text or the format is not known.

    `suffix` is that of the file's name: `parse(b"# Title", ".md")`.
    """
    reader = _READERS.get(suffix.lower())
    if reader is None:
        known = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{suffix or 'no suffix'} is no format that is read here ({known})")
    text, warnings = _decoded(content, declares=reader is _html)
    return reader(text, warnings)


def _decoded(content: bytes, *, declares: bool) -> tuple[str, tuple[str, ...]]:
    """UTF-8 before everything: text in another encoding is hardly ever valid UTF-8 by chance."""
    if content.startswith(_UTF_16):
        try:
            return clean(content.decode("utf-16").encode()), ()
        except UnicodeDecodeError as error:
            raise InputError(
                f"it is not UTF-16 text (byte {error.start}), though it begins like it; "
                "save it as UTF-8 or leave it out"
            ) from error
    try:
        return clean(content), ()
    except InputError:
        if b"\x00" in content:
            raise
    declared = _decoded_as_declared(content) if declares else None
    if declared is not None:
        return clean(declared.encode()), ()
    return clean(content.decode("windows-1252", "replace").encode()), (_NOT_UTF_8,)


def _decoded_as_declared(content: bytes) -> str | None:
    match = _DECLARED.search(content, 0, _DECLARATION_PROBE_BYTES)
    name = match.group(1).decode() if match else ""
    if _TRUSTED.fullmatch(name) is None:
        return None
    try:
        # Browsers read Latin-1 as the larger windows-1252, and pages are made for browsers.
        return content.decode("windows-1252" if _LATIN_1.fullmatch(name) else name)
    except (LookupError, UnicodeDecodeError):
        return None


def _markdown(text: str, warnings: tuple[str, ...]) -> Parsed:
    front_matter, body = split_front_matter(text)
    if "<!--" in body:
        body = strip_comments(body)
    return Parsed(front_matter, body, outline(body), warnings=warnings)


def _mdx(text: str, warnings: tuple[str, ...]) -> Parsed:
    front_matter, body = split_front_matter(text)
    if _PROGRAM.search(body):
        body = strip_mdx(body)
    return Parsed(front_matter, body, outline(body), warnings=warnings)


def _html(text: str, warnings: tuple[str, ...]) -> Parsed:
    page = html_to_markdown(text)
    declared = {
        "canonical_url": page.canonical_url,
        "description": page.description,
        "language": page.language,
    }
    front_matter = {key: value for key, value in declared.items() if value}
    structure = outline(page.text)
    return Parsed(front_matter, page.text, structure, page.title, page.links, warnings)


def _restructured(text: str, warnings: tuple[str, ...]) -> Parsed:
    page = restructured_to_markdown(text)
    structure = outline(page.text)
    warnings += page.warnings
    return Parsed(page.fields, page.text, structure, page.title, page.links, warnings)


def _plain(text: str, warnings: tuple[str, ...]) -> Parsed:
    borders = tuple(border.end() for border in _BLANK_LINES.finditer(text))
    return Parsed({}, text, Outline((), borders, ()), warnings=warnings)


_READERS: Mapping[str, Callable[[str, tuple[str, ...]], Parsed]] = {
    ".htm": _html,
    ".html": _html,
    ".markdown": _markdown,
    ".md": _markdown,
    ".mdx": _mdx,
    ".rst": _restructured,
    ".txt": _plain,
}
SUFFIXES = frozenset(_READERS)
