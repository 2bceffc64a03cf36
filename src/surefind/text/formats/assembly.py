"""Assembles a page from pieces of Markdown whose structure is known or parsed one by one.

So an unclosed fence in one piece can't swallow the headings of the next.
"""

from collections.abc import Mapping
from dataclasses import replace

from surefind.errors import InputError
from surefind.text.formats.page import ParsedPage
from surefind.text.markdown.blocks import (
    TITLE_LENGTH,
    Heading,
    OpenedBlock,
    Outline,
    escaped_tags,
    outline,
)

MAX_CHARACTERS = 32_000_000
_PLACE_LEVEL = 7  # below all headings
_DEEPEST = 6


class PageAssembler:
    """Collects blocks in order; InputError if they expand to more than a page can have."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._headings: list[Heading] = []
        self._borders: list[int] = []
        self._inner_borders: list[int] = []
        self._code: list[OpenedBlock] = []
        self._tables: list[OpenedBlock] = []
        self._attributes: list[tuple[int, int]] = []

    def place(self, anchor: str) -> None:
        """A new anchor without a heading, such as the start of a page."""
        self._headings.append(Heading(_PLACE_LEVEL, "", anchor, self._size, self._size))

    def heading(self, level: int, title: str, anchor: str) -> None:
        words = " ".join(title.split())[:TITLE_LENGTH]
        level = min(level, _DEEPEST)
        start = self._begin()
        line = f"{'#' * level} {escaped_tags(words)}"
        self._write(f"{line}\n\n")
        self._headings.append(Heading(level, words, anchor, start, start + len(line) + 1))

    def block(
        self, text: str, anchor: str = "", level: int = 0, anchors: Mapping[str, str] | None = None
    ) -> None:
        """Add Markdown. Its headings are below `level` and get the `anchors` of their titles."""
        text = text.strip("\n").rstrip()
        if not text.strip():
            return
        start = self._begin()
        self._write(f"{text}\n\n")
        inner = outline(text)
        for heading in inner.headings:
            own = (anchors or {}).get(heading.title, anchor)
            self._headings.append(
                Heading(
                    min(heading.level + level, _DEEPEST),
                    heading.title,
                    own,
                    heading.start + start,
                    heading.end + start,
                )
            )
        self._borders += [border + start for border in inner.borders if border]
        self._inner_borders += [border + start for border in inner.inner_borders if border]
        self._code += [_moved(block, start) for block in inner.code]
        self._tables += [_moved(block, start) for block in inner.tables]
        self._attributes += [(first + start, last + start) for first, last in inner.attributes]

    def parsed(
        self,
        front_matter: Mapping[str, object],
        title: str = "",
        warnings: tuple[str, ...] = (),
    ) -> ParsedPage:
        structure = Outline(
            tuple(self._headings),
            tuple(self._borders),
            tuple(self._inner_borders),
            tuple(self._code),
            tuple(self._tables),
            tuple(self._attributes),
        )
        return ParsedPage(front_matter, "".join(self._parts), structure, title, warnings)

    def _begin(self) -> int:
        if self._size:
            self._borders.append(self._size)
        return self._size

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > MAX_CHARACTERS:
            raise InputError(f"it expands to more than {MAX_CHARACTERS} characters; split it")


def _moved(block: OpenedBlock, by: int) -> OpenedBlock:
    return replace(block, start=block.start + by, head=block.head + by, end=block.end + by)
