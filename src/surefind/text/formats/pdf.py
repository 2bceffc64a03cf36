"""Converts PDF to Markdown, with PDFium: paragraphs, headings by the outline, and page numbers.

Every part is linked as `#page=N`, which all browsers understand. pypdfium2 was chosen by
measurement: it finds the same words as pypdf in a tenth of the time, and marks hyphens at the ends
of lines.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path

from surefind.errors import InputError
from surefind.text.formats import pdf_worker
from surefind.text.formats.assembly import PageAssembler
from surefind.text.formats.page import ParsedPage
from surefind.text.markdown.blocks import TITLE_LENGTH
from surefind.text.markdown.writer import guarded

_MAX_WAIT_S = 300
_FULL_LINE = 0.75  # a shorter line ends its paragraph
_FEWEST_RUNNING = 3  # pages that repeat a line, for it to be a running header or footer
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
_MAX_TAIL = 600
_NOT_A_LETTER = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d{1,6}", re.ASCII)
_HYPHEN = "\ufffe"
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HYPHENATED = re.compile(rf"([^\W\d_]+){_HYPHEN}([^\W\d_]+)")
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\ufeff\ufffe\uffff]")
_NO_TITLE = re.compile(r"untitled|microsoft word|\S+\.\w{2,4}$", re.IGNORECASE)
_REASONS = {
    "encrypted": "it is encrypted; remove its password, or remove it from the source",
    "damaged": "it is not a valid PDF; export it again, or remove it from the source",
    "memory": "reading it needs more than 2 GB of memory; print it to a new PDF",
    "pages": f"it has more than {pdf_worker.MAX_PAGES} pages; split it",
    "length": f"it has more than {pdf_worker.MAX_CHARACTERS} characters; split it",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, or a heading with its level."""

    text: str
    level: int = 0


def read_pdf(content: bytes) -> ParsedPage:
    """Convert a PDF; InputError, with the reason, if it is encrypted, damaged or a bomb."""
    if b"%PDF-" not in content[:1024]:
        raise InputError("it is not a PDF, despite its name; rename it, or remove it")
    extracted = _extracted(content)
    pages = [_lines(page) for page in extracted["pages"]]
    _remove_running_lines(pages)
    _rejoin_words(pages)
    entries = _entries_by_page(extracted["outline"])
    blocks = [list(_blocks(lines, entries.get(number, ()))) for number, lines in enumerate(pages)]
    _move_tails(blocks)
    assembler = PageAssembler()
    for number, page in enumerate(blocks, 1):
        anchor = f"page={number}"
        if page and not page[0].level:
            assembler.place(anchor)
        for block in page:
            if block.level:
                assembler.heading(block.level, block.text, anchor)
            else:
                assembler.block("\n".join(map(guarded, block.text.split("\n"))), anchor)
    title = " ".join(str(extracted["title"]).split())
    warnings = () if any(pages) else ("its pages have no text, as if scanned; run OCR on it",)
    return assembler.parsed({}, "" if _NO_TITLE.match(title) else title, warnings)


def _extracted(content: bytes) -> Mapping[str, list]:  # type: ignore[type-arg]
    if find_spec("pypdfium2") is None:
        raise InputError("PDF needs another package; run pip install 'surefind[pdf]'")
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", Path(pdf_worker.__file__)],
            input=content,
            capture_output=True,
            check=False,
            timeout=_MAX_WAIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"reading it takes more than {_MAX_WAIT_S} s; split it") from error
    if done.returncode:
        raise InputError(
            "PDFium can't read it within its limits of 2 GB of memory and 120 s; print it to a "
            "new PDF, or remove it"
        )
    extracted: dict[str, list] = json.loads(done.stdout)  # type: ignore[type-arg]
    reason = _REASONS.get(str(extracted.get("error")))
    if reason:
        raise InputError(reason)
    return extracted


def _lines(page: str) -> list[str]:
    clean = _INVISIBLE.sub(lambda found: found[0] if found[0] == _HYPHEN else "", page)
    return [words for line in clean.splitlines() if (words := " ".join(line.split()))]


def _remove_running_lines(pages: Sequence[list[str]]) -> None:
    """Remove headers and footers: first or last lines that repeat, except for the page number."""
    for at in (0, -1):
        forms = [
            _running_forms(page[at], number) if page else () for number, page in enumerate(pages, 1)
        ]
        found = Counter(form for some in forms for form in some)
        for page, some in zip(pages, forms, strict=True):
            if any(found[form] >= _FEWEST_RUNNING for form in some):
                del page[at]


def _running_forms(line: str, page: int) -> set[str]:
    """The line as it is, and with each number relative to the number of the page."""
    relative = (
        f"{line[: number.start()]}\0{int(number[0]) - page}\0{line[number.end() :]}"
        for number in islice(_NUMBER.finditer(line), 8)
    )
    return {line, *relative}


def _rejoin_words(pages: Sequence[list[str]]) -> None:
    """Join words cut at a line's end; with their hyphen if the document spells them so."""
    words = Counter(word for page in pages for line in page for word in _WORDS.findall(line))

    def whole(found: re.Match[str]) -> str:
        hyphenated = f"{found[1]}-{found[2]}"
        return hyphenated if words[hyphenated] > words[found[1] + found[2]] else found[1] + found[2]

    for page in pages:
        page[:] = [_HYPHENATED.sub(whole, line).replace(_HYPHEN, "-") for line in page]


def _entries_by_page(entries: Sequence[Sequence[object]]) -> dict[int, list[tuple[int, str]]]:
    found: dict[int, list[tuple[int, str]]] = {}
    for level, title, page in entries:
        words = " ".join(_INVISIBLE.sub("", str(title)).split())[:TITLE_LENGTH]
        if isinstance(page, int) and isinstance(level, int) and words:
            found.setdefault(page, []).append((level, words))
    return found


def _blocks(lines: Sequence[str], entries: Sequence[tuple[int, str]]) -> Iterator[_Block]:
    """The headings and paragraphs of a page; headings that are not in its text come first."""
    places: dict[int, tuple[_Block, int]] = {}
    keys = [_key(line) for line in lines]
    after = 0
    for level, title in entries:
        place, taken = _place_of(_key(title), keys, after)
        if place is None:
            yield _Block(title, level + 2)
        else:
            places[place] = (_Block(title, level + 2), taken)
            after = place + taken
    width = sorted(map(len, lines))[len(lines) * 9 // 10] if lines else 0
    start = 0
    for place, (heading, taken) in places.items():
        yield from _paragraphs(lines[start:place], width)
        yield heading
        start = place + taken
    yield from _paragraphs(lines[start:], width)


def _place_of(title: str, keys: Sequence[str], after: int) -> tuple[int | None, int]:
    """The line with a heading, and the number of its lines; it may begin with a number."""
    for place in range(after, len(keys)):
        key = keys[place]
        if key == title or (key.endswith(title) and key.removesuffix(title).isdigit()):
            return place, 1
        if key and title.startswith(key) and key + "".join(keys[place + 1 : place + 2]) == title:
            return place, 2
    return None, 0


def _key(line: str) -> str:
    return _NOT_A_LETTER.sub("", line).lower()


def _paragraphs(lines: Sequence[str], width: int) -> Iterator[_Block]:
    """Join the lines of paragraphs; short lines, such as those of code and lists, are kept."""
    written: list[str] = []
    goes_on = False
    for line in lines:
        full = len(line) >= _FULL_LINE * width
        if goes_on:
            written[-1] += f" {line}"
        elif full and written:
            yield _Block("\n".join(written))
            written = [line]
        else:
            written.append(line)
        if goes_on and not full:
            yield _Block("\n".join(written))
            written = []
        goes_on = full
    if written:
        yield _Block("\n".join(written))


def _move_tails(pages: Sequence[list[_Block]]) -> None:
    """Move the end of a sentence to the page on which the sentence begins."""
    for before, page in pairwise(pages):
        if not (before and page) or before[-1].level or page[0].level:
            continue
        text, rest = before[-1].text, page[0].text
        end = _SENTENCE_END.search(rest, 0, _MAX_TAIL)
        if end is None or not rest[0].islower() or text.endswith((".", "!", "?", ":")):
            continue
        before[-1] = _Block(f"{text} {rest[: end.end()].rstrip()}")
        page[:1] = [_Block(left)] if (left := rest[end.end() :].strip()) else []
