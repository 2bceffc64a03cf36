"""Where the command line says that a passage is: its URL, or its line in the source file."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.model import ChunkRecord

_MAX_BYTES = 16 * 2**20


def place_of(record: "ChunkRecord", folder: Path | None = None) -> str:
    """The published URL, or `docs/guide/install.md:12`, which terminals and editors can open.

    The file is looked for in `folder`, by default the current one, and next to it, as in
    `surefind ingest .`. If it is elsewhere or has changed, there is no line number.
    """
    from surefind.model import is_unpublished

    source_path = record.chunk.source_path
    if record.url and not is_unpublished(record.url):
        return record.link
    here = folder or Path.cwd()
    for path in (here / source_path, here.parent / source_path):
        line = _line_in(path, record.chunk.text)
        if line is not None:
            shown = path.relative_to(here) if path.is_relative_to(here) else path
            return f"{shown}:{line}"
    return source_path


def _line_in(path: Path, text: str) -> int | None:
    """The number of the line where most lines of the text follow one another."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, ValueError):  # ValueError: not UTF-8, or a name that no file can have
        return None
    wanted = [line.strip() for line in text.strip().splitlines()]
    starts = [at for at, line in enumerate(lines) if wanted and line == wanted[0]]
    if not starts:
        return None
    return 1 + max(starts, key=lambda start: _length_of_match(lines[start:], wanted))


def _length_of_match(lines: Sequence[str], wanted: Sequence[str]) -> int:
    pairs = zip(lines, wanted, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
