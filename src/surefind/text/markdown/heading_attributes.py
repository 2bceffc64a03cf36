"""Removes the ids and other attributes that headings declare, and writes ids to included ones."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate, pairwise

from surefind.model import AnchorRule
from surefind.text.markdown.blocks import OpenedBlock, Outline, outline, without_closing

_ATX = re.compile(r" {0,3}(#{1,6})(?![^ \t])(.*)$")


def without_attributes(text: str, structure: Outline) -> tuple[str, Outline]:
    """`# Title {#id}` becomes `# Title`; the structure keeps its anchors and gets new offsets."""
    spans = structure.attributes
    if not spans:
        return text, structure
    borders = [0, *(border for span in spans for border in span), len(text)]
    kept = "".join(text[start:end] for start, end in list(pairwise(borders))[::2])
    ends = [end for _, end in spans]
    removed = [0, *accumulate(end - start for start, end in spans)]

    def moved(offset: int) -> int:
        return offset - removed[bisect_right(ends, offset)]

    def all_moved(offsets: Iterable[int]) -> tuple[int, ...]:
        return tuple(moved(offset) for offset in offsets)

    def blocks(opened: Iterable[OpenedBlock]) -> tuple[OpenedBlock, ...]:
        return tuple(
            OpenedBlock(moved(block.start), moved(block.head), moved(block.end)) for block in opened
        )

    headings = tuple(
        replace(heading, start=moved(heading.start), end=moved(heading.end))
        for heading in structure.headings
    )
    return kept, Outline(
        headings,
        all_moved(structure.borders),
        all_moved(structure.inner_borders),
        blocks(structure.code),
        blocks(structure.tables),
    )


def with_ids(markdown: str, rule: AnchorRule) -> str:
    """Declare the anchors of an included file, whose headings are numbered on their own."""
    pieces, position = [], 0
    for heading in outline(markdown, rule).headings:
        lines = markdown[heading.start : heading.end].rstrip("\n").split("\n")
        atx = _ATX.match(lines[0])
        title = without_closing(atx[2]) if atx else " ".join(line.strip() for line in lines[:-1])
        title, _ = rule.split(title)
        name = heading.name if rule.unknown is None or heading.anchor else ""
        mark = "" if name.startswith(rule.included) else rule.included
        written = f"{'#' * heading.level} {title.strip()} {{#{mark}{name}}}\n"
        pieces += [markdown[position : heading.start], written if name else f"{lines[0]}\n"]
        position = heading.end
    return "".join((*pieces, markdown[position:]))
