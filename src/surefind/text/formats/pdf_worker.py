"""Extracts the text of a PDF from standard input, as JSON on standard output.

It runs in a process of its own with limits, because PDFium is native code: a hostile file of two
kilobytes can take gigabytes of memory, and a crash would end the ingest. It imports nothing of
surefind, so that it starts quickly.
"""

import contextlib
import json
import sys
from itertools import islice
from typing import Any

MAX_MEMORY_BYTES = 2 * 2**30
MAX_CPU_S = 120
MAX_PAGES = 20_000
MAX_CHARACTERS = 32_000_000
_MAX_OUTLINE = 20_000


def main() -> int:
    _limit()
    import pypdfium2  # noqa: PLC0415 - within the limits

    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
        result = _extract(document)
    except pypdfium2.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        result = {"error": "encrypted" if encrypted else "damaged"}
    except MemoryError:
        result = {"error": "memory"}
    json.dump(result, sys.stdout)
    return 0


def _limit() -> None:
    import resource  # noqa: PLC0415 - not on every platform

    limits = ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, MAX_CPU_S))
    for kind, most in limits:
        with contextlib.suppress(ValueError, OSError):  # the system has a lower limit, or none
            resource.setrlimit(kind, (most, most))


def _extract(document: Any) -> dict[str, object]:
    if len(document) > MAX_PAGES:
        return {"error": "pages"}
    pages, size = [], 0
    for number in range(len(document)):
        page = document[number]
        text = page.get_textpage().get_text_range()
        page.close()
        size += len(text)
        if size > MAX_CHARACTERS:
            return {"error": "length"}
        pages.append(text)
    outline: list[list[object]] = []
    for entry in islice(document.get_toc(max_depth=8), _MAX_OUTLINE):
        target = entry.get_dest()
        outline.append([entry.level, entry.get_title(), target and target.get_index()])
    return {"title": document.get_metadata_value("Title"), "pages": pages, "outline": outline}


if __name__ == "__main__":
    sys.exit(main())
