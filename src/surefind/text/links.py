"""Finds the links and anchors in a page's source.

Markdown is scanned, not parsed, in one pass and linear time. Ambiguous text counts as an anchor and
not as a link, because a false report of a broken link is worse than a missed one.
"""

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from surefind.text.html.facts import read_facts
from surefind.text.markdown.blocks import Heading, Outline
from surefind.text.markdown.mdx import strip_comments
from surefind.text.slugs import anchor_of

_MAX_LENGTH = 2_000
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})")
_TICKS = re.compile(r"(`+)")
_INLINE = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*))(?=[\s)])")
_DEFINITION = re.compile(r"[ \t>]{0,12}\[(?!\^)[^\]\n]{1,999}\]:[ \t]*<?([^\s<>]+)")
_TAG = re.compile(r"<(?:a|area|Link)\s[^<>]{0,2000}", re.IGNORECASE)
_TARGET = re.compile(r"\s(?:href|to)\s*=\s*\{?\s*(?:\"([^\"\n]*)\"|'([^'\n]*)')", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")
_ID = re.compile(r"\b(?:id|name)\s*=\s*\{?\s*(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"'{}<>]+))")
_ATTRIBUTE_LIST = re.compile(r"\{[:/*]{0,2}[ \t]*(?:[.\w=\"'-]+[ \t]+){0,5}#([^\s{}*]+)")
_DIRECTIVE_TARGET = re.compile(r"^[ \t]*(?:\.\. _([^:\n]+):|\(([\w.-]+)\)=)", re.MULTILINE)
_LISTED_NAME = re.compile(r"^[ \t]*\|[ \t]*`([^`|\s]+)`", re.MULTILINE)
_IMPORTS_PAGE = re.compile(r"^import\s[^\n]{0,500}\.mdx?[\"'];?[ \t]*$", re.MULTILINE)
_RESTRUCTURED = re.compile(
    r"<([^<>`\s]{1,2000})>`_|^\.\. _[^:\n]{1,500}:[ \t]+(\S+)[ \t]*$", re.MULTILINE
)
_HTML = frozenset({".html", ".htm"})
_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_COMMENT = ("{/*", "*/}")


@dataclass(frozen=True, slots=True)
class References:
    """`links` as written, each once; `anchors` are all valid fragments.

    `whole` is true if the page neither includes other files nor is an included file.
    """

    links: tuple[str, ...]
    anchors: frozenset[str]
    whole: bool = True


def references(content: bytes, suffix: str, structure: Outline) -> References:
    """The links and anchors of a page's source."""
    raw = content.decode("utf-8", "replace")
    links = dict.fromkeys(_links(content, raw, suffix))
    ids = list(_named(raw))
    if suffix == ".mdx":  # components create anchors for the names in a table
        ids += _LISTED_NAME.findall(raw)
    headings = (heading.anchor for heading in structure.headings)
    slugs = _python_markdown_slugs(structure.headings)
    return References(
        tuple(link for link in links if 0 < len(link) <= _MAX_LENGTH),
        frozenset((*headings, *slugs, *ids)),
        whole=suffix != ".mdx" or _IMPORTS_PAGE.search(raw) is None,
    )


def markdown_links(text: str) -> Iterator[str]:
    """The links of cleaned Markdown, as written and in order; links in code are skipped."""
    return (link for link in _markdown_links(_prose(text)) if 0 < len(link) <= _MAX_LENGTH)


def relinked(text: str, target_for: Callable[[str], str | None]) -> str:
    """The text with other link targets; None keeps one. Links in code stay as they are."""
    return "".join(
        _relinked_line(line, target_for) if is_prose and "]" in line else line
        for line, is_prose in _lines(text.splitlines(keepends=True))
    )


def _relinked_line(line: str, target_for: Callable[[str], str | None]) -> str:
    blanked = _with_blank_code_spans(line)
    spans = [match.span(match.lastindex or 0) for match in _INLINE.finditer(blanked)]
    definition = _DEFINITION.match(blanked)
    if definition is not None:
        spans.append(definition.span(1))
    for start, end in sorted(spans, reverse=True):
        target = target_for(line[start:end].strip())
        if target is not None:
            line = line[:start] + target + line[end:]
    return line


def suffix_of(path: str) -> str:
    """`.md` of `guide/install.md`; empty for a version such as `guide/1.2`."""
    suffix = posixpath.splitext(path)[1].lower()
    return suffix if suffix[1:2].isalpha() else ""


def _links(content: bytes, raw: str, suffix: str) -> Iterable[str]:
    if suffix in _MARKDOWN:
        return _markdown_links(_prose(raw))
    if suffix in _HTML:
        return read_facts(content, "").links
    if suffix == ".rst":
        return (match.group(1) or match.group(2) for match in _RESTRUCTURED.finditer(raw))
    return ()


# --- Markdown ---------------------------------------------------------------------------------


def _prose(text: str) -> Iterator[str]:
    """Lines that are neither code nor comments. An unclosed fence extends to the end."""
    for line, is_prose in _lines(_without_comments(strip_comments(text)).splitlines()):
        if is_prose:
            yield _without_code_spans(line)


def _lines(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is outside of fenced code."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            run = line.strip(" \t\r\n>")
            if run.startswith(fence) and not run.strip(fence[0]):
                fence = ""
            yield line, False
        elif mark is not None:
            fence = mark.group(1)
            yield line, False
        else:
            yield line, True


def _without_comments(text: str) -> str:
    """Uses `find` and stops at an unclosed comment, to stay linear on hostile pages."""
    opening, closing = _COMMENT
    kept, position = [], 0
    while (start := text.find(opening, position)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        if _looks_like_id(text[start : end + len(closing)]):
            end = start  # kept: it names a heading
            kept.append(text[position : end + len(opening)])
            position = end + len(opening)
            continue
        kept.append(text[position:start])
        position = end + len(closing)
    return "".join((*kept, text[position:]))


def _looks_like_id(comment: str) -> bool:
    return len(comment) < _MAX_LENGTH and _ATTRIBUTE_LIST.match(comment) is not None


def _without_code_spans(line: str) -> str:
    """A span ends at the next run of equally many backticks; unmatched runs are text."""
    parts = _TICKS.split(line)
    if len(parts) < 4:
        return line
    ends = _span_ends(parts)
    kept, place = [parts[0]], 1
    while place < len(parts):
        place = ends.get(place, place) + 1
        kept.append(parts[place])
        place += 1
    return " ".join(kept)


def _with_blank_code_spans(line: str) -> str:
    """As long as the line, so that offsets are the same."""
    parts = _TICKS.split(line)
    ends = _span_ends(parts)
    kept, place = [parts[0]], 1
    while place < len(parts):
        end = ends.get(place)
        kept.append(parts[place] if end is None else " " * len("".join(parts[place : end + 1])))
        place = (place if end is None else end) + 1
        kept.append(parts[place])
        place += 1
    return "".join(kept)


def _span_ends(parts: Sequence[str]) -> dict[int, int]:
    """Of a line split at its runs of backticks: the closing run of each opening one."""
    following: dict[int, int] = {}
    ends: dict[int, int] = {}
    for place in range(len(parts) - 2, 0, -2):
        length = len(parts[place])
        if length in following:
            ends[place] = following[length]
        following[length] = place
    return ends


def _markdown_links(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        for match in _INLINE.finditer(line):
            yield (match.group(1) or match.group(2) or "").strip()
        definition = _DEFINITION.match(line)
        if definition is not None:
            yield definition.group(1)
        if "<" in line:
            yield from _AUTOLINK.findall(line)
            for tag in _TAG.finditer(line):
                target = _TARGET.search(tag.group())
                if target is not None:
                    yield (target.group(1) or target.group(2) or "").strip()


# --- anchors ----------------------------------------------------------------------------------


def _named(raw: str) -> Iterator[str]:
    """Ids of tags and attribute lists, and targets of reStructuredText and MyST."""
    for pattern in (_ID, _ATTRIBUTE_LIST):
        for match in pattern.finditer(raw):
            yield next(group for group in match.groups() if group)
    for match in _DIRECTIVE_TARGET.finditer(raw):
        yield _docutils_id(match.group(1) or match.group(2))


def _docutils_id(name: str) -> str:
    return name.strip().replace("_", "-").lower()


def _python_markdown_slugs(headings: Iterable[Heading]) -> Iterator[str]:
    """MkDocs' anchors: ASCII letters only, with the suffix `_1` for duplicates."""
    seen: Counter[str] = Counter()
    for heading in headings:
        if not heading.anchor.startswith(anchor_of(heading.title)):
            continue  # it has an explicit id
        plain = unicodedata.normalize("NFKD", heading.title).encode("ascii", "ignore").decode()
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        seen[slug] += 1
        repeats = seen[slug] - bool(slug)
        yield f"{slug}_{repeats}" if repeats else slug
