"""surefind reads and chunks every page below a folder, and says how long it took.

One way of doing it a process: `parsing_surefind.py WAY FOLDER`. What is timed is what an ingest
does before it stores or embeds: find the files, read, parse, place, cut, count, name and hash.

    tokens      as it is shipped
    counting    the same, and how much of it was spent counting tokens
    markdown    every page taken for plain Markdown: no MDX, no site
    characters  plain Markdown, and characters counted instead of tokens
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.adapters.sources.filesystem import FolderSource, sources_of
from surefind.model import ChunkerSettings, SkippedPage, SourcePage
from surefind.ports import Site
from surefind.settings import load
from surefind.text.chunking import CountTokens, chunk_document
from surefind.text.documents import read_document
from surefind.text.sites.plain import ReaderSite


class Counting:
    """Counts tokens, and the time that takes."""

    def __init__(self, count: CountTokens) -> None:
        self._count = count
        self.seconds = 0.0

    def __call__(self, passage: str) -> int:
        began = time.process_time()
        tokens = self._count(passage)
        self.seconds += time.process_time() - began
        return tokens


async def run(way: str, folder: Path) -> dict[str, float]:
    embedder = BgeSmallEmbedder(locate(None, load().cache_dir, print), threads=1)
    count: CountTokens = len if way == "characters" else embedder.count_tokens
    counting = Counting(count)
    settings = ChunkerSettings(max_tokens=1999) if way == "characters" else ChunkerSettings()
    pages = size = chunks = 0
    began, worked = time.perf_counter(), time.process_time()
    [source] = sources_of([folder], "docs", None)
    plain = way in {"markdown", "characters"}
    site: Site = ReaderSite("docs", source.name) if plain else source.site
    async for page in _pages(source):
        read = read_document(replace(page, suffix=".md") if plain else page, site)
        pages += 1
        size += len(page.content)
        if not isinstance(read, SkippedPage):
            counter = counting if way == "counting" else count
            chunks += len(chunk_document(read.document, read.structure, settings, counter))
    spent = {
        "seconds": time.process_time() - worked,
        "wall_seconds": time.perf_counter() - began,
        "counting_seconds": counting.seconds,
    }
    await embedder.close()
    return {"pages": pages, "bytes": size, "chunks": chunks, **spent}


async def _pages(source: FolderSource) -> AsyncIterator[SourcePage]:
    async for page in source.pages():
        if not isinstance(page, SourcePage):
            sys.exit(f"{page.source_path}: {page.reason}")
        yield page


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(sys.argv[1], Path(sys.argv[2])))))
