"""Previews the chunks of a page without storing anything."""

from dataclasses import dataclass
from itertools import pairwise

from surefind.errors import InputError
from surefind.model import (
    AnchorRule,
    BrokenLink,
    Chunk,
    ChunkerSettings,
    Document,
    FormatOptions,
    SkippedPage,
    SourcePage,
)
from surefind.ports import Catalog, Embedder, Source
from surefind.services.ingest.link_check import LinkCheck, SourceRoot
from surefind.text.chunking import chunk_document
from surefind.text.documents import ReadPage, read_document
from surefind.text.links import references
from surefind.text.markdown.blocks import outline


@dataclass(frozen=True, slots=True)
class Inspection:
    """The preview of a page. `left_out` is the reason if the page is skipped.

    `broken_links` is None if links were not checked. `unread` is code of the page, such as a
    property of a component, that may show more text than was read.
    """

    source_path: str
    document: Document | None
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...]
    left_out: str = ""
    broken_links: tuple[BrokenLink, ...] | None = None
    unread: tuple[str, ...] = ()


async def inspect(
    source: Source,
    chunker: ChunkerSettings,
    embedder: Embedder,
    linked: Catalog | None = None,
    formats: FormatOptions | None = None,
) -> Inspection:
    """Inspect the only page of `source`. Raises InputError if it can't be read.

    Links are checked against the pages in the catalog `linked`.
    """
    [page] = [page async for page in source.pages()]
    if not isinstance(page, SourcePage):
        reason = getattr(page, "reason", "it has not changed")
        raise InputError(f"{page.source_path}: {reason}")
    try:
        read = read_document(page, source.site, formats)
    except InputError as error:
        raise InputError(f"{page.source_path}: {error}") from error
    if isinstance(read, SkippedPage):
        return Inspection(page.source_path, None, (), (), read.reason)
    chunks = chunk_document(read.document, read.structure, chunker, embedder.count_tokens)
    broken = None if linked is None else await _broken_links(page, source, read, linked)
    return Inspection(
        page.source_path,
        read.document,
        tuple(chunks),
        read.warnings,
        broken_links=broken,
        unread=read.unread,
    )


async def _broken_links(
    page: SourcePage, source: Source, read: ReadPage, catalog: Catalog
) -> tuple[BrokenLink, ...]:
    check = LinkCheck()
    for record in await catalog.documents():
        check.know(record.source_path, record.url)
    check.add(page, SourceRoot.of(page, source), read)
    for source_path in sorted(check.unknown(page.source_path)):
        anchors = await _anchors(source_path, catalog, source.site.anchors)
        if anchors is not None:
            check.learn(source_path, anchors)
    return tuple(check.broken_of(page.source_path))


async def _anchors(source_path: str, catalog: Catalog, rule: AnchorRule) -> set[str] | None:
    """The anchors that a catalog knows: those of headings, and those written in the text.

    None if a heading below the title has no text of its own: an anchor that it declares is in no
    chunk.
    """
    chunks = [record.chunk for record in await catalog.document_chunks(source_path)]
    text = "\n\n".join(chunk.text for chunk in chunks)
    structure = outline(text, rule)
    below = structure.headings[1:]
    if any(not text[one.end : two.start].strip() for one, two in pairwise(below)):
        return None
    found = references(text.encode(), ".md", structure)
    return {*found.anchors, *(chunk.anchor for chunk in chunks)}
