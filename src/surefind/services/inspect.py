"""Inspect: what a page becomes, before anything is stored."""

from dataclasses import dataclass

from surefind.errors import InputError
from surefind.model import Chunk, ChunkerSettings, Document, Left, SourcePage
from surefind.ports import Embedder, Source
from surefind.text.chunking import chunk_document
from surefind.text.documents import read_document


@dataclass(frozen=True, slots=True)
class Inspection:
    """`left_out` says why the site does not show the page, where it does not."""

    source_path: str
    document: Document | None
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...]
    left_out: str = ""


async def inspect(source: Source, chunker: ChunkerSettings, embedder: Embedder) -> Inspection:
    """Of a source of one page. InputError, with the reason, where it can't be read."""
    [page] = [page async for page in source.pages()]
    if not isinstance(page, SourcePage):
        reason = getattr(page, "reason", "it has not changed")
        raise InputError(f"{page.source_path}: {reason}")
    read = read_document(page, source.site)
    if isinstance(read, Left):
        return Inspection(page.source_path, None, (), (), read.reason)
    chunks = chunk_document(read.document, read.structure, chunker, embedder.count_tokens)
    return Inspection(page.source_path, read.document, tuple(chunks), read.warnings)
