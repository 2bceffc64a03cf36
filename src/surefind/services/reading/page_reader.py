"""Reads a page, a section or the surroundings of a passage, within a token budget."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urljoin, urlsplit

from surefind.errors import InputError, UnknownChunk, UnknownDocument
from surefind.model import ChunkRecord, as_stored
from surefind.model.strings import check_string
from surefind.ports import Catalog
from surefind.services.generations.readers import CollectionReader
from surefind.services.search.passages import joined, neighbours_of, section_of
from surefind.text.links import markdown_links

MAX_LINKS = 20


class Part(StrEnum):
    """How much to read."""

    SECTION = "section"
    NEIGHBOURS = "neighbours"
    PAGE = "page"


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """Consecutive chunks of a page. `next_chunk` is the ID of the first one that did not fit."""

    text: str
    records: tuple[ChunkRecord, ...]
    next_chunk: str | None
    links: tuple[str, ...]
    generation: int

    @property
    def tokens(self) -> int:
        return sum(record.chunk.tokens for record in self.records)


class PageReader:
    def __init__(self, reader: CollectionReader) -> None:
        self._reader = reader

    async def read(
        self, wanted: str, part: Part, max_tokens: int, start_at: str | None = None
    ) -> PageExcerpt:
        """`wanted` is a chunk ID, the URL of a page or heading, or a source path.

        At least one chunk is returned, even if it exceeds `max_tokens`, so that reading advances.
        """
        check_string("id", wanted, blank=False)
        async with self._reader.lease() as generation:
            catalog = generation.require_catalog()
            chunks = _selected(await _named(wanted, catalog), part)
            first = 0 if start_at is None else _index_of(start_at, chunks)
            end = _within(chunks, first, max_tokens)
            shown = chunks[first:end]
            text = await catalog.document_text(shown[0].chunk.source_path)
            excerpt = joined(shown, text).text.strip()
            return PageExcerpt(
                excerpt,
                tuple(shown),
                chunks[end].chunk.id if end < len(chunks) else None,
                await _links(excerpt, shown[0], catalog),
                generation.manifest.number,
            )


@dataclass(frozen=True, slots=True)
class _Place:
    """A page's chunks, and the one that was named; None if the page itself was."""

    chunks: Sequence[ChunkRecord]
    named: ChunkRecord | None


async def _named(wanted: str, catalog: Catalog) -> _Place:
    chunk = await catalog.chunk(wanted)
    if chunk is not None:
        return _Place(await catalog.document_chunks(chunk.chunk.source_path), chunk)
    address, _, anchor = as_stored(wanted).partition("#")
    source_path = await _source_path(address, catalog)
    chunks = await catalog.document_chunks(source_path) if source_path is not None else []
    if not chunks:
        raise UnknownDocument(f"no passage ID, URL or page path matches {wanted!r}")
    anchored = [record for record in chunks if record.chunk.anchor == unquote(anchor)]
    if anchor and not anchored:
        raise UnknownDocument(f"the page {chunks[0].chunk.source_path} has no heading #{anchor}")
    return _Place(chunks, anchored[0] if anchor else None)


async def _source_path(address: str, catalog: Catalog) -> str | None:
    """The page with this source path or URL. Only URLs of published pages need the whole list."""
    if await catalog.document(address) is not None:
        return address
    _, own, place = address.partition("surefind://")
    path = unquote(place.partition("/")[2])
    if own and await catalog.document(path) is not None:
        return path
    if "/" not in address:
        return None
    matching = (
        document.source_path
        for document in await catalog.documents()
        if as_stored(document.url).rstrip("/") == address.rstrip("/")
    )
    return next(matching, None)


def _selected(place: _Place, part: Part) -> Sequence[ChunkRecord]:
    """A page without a named passage is read as a whole."""
    if place.named is None or part is Part.PAGE:
        return place.chunks
    if part is Part.NEIGHBOURS:
        return neighbours_of(place.named, place.chunks, 1, 1)
    return section_of(place.named, place.chunks)


def _index_of(chunk_id: str, chunks: Sequence[ChunkRecord]) -> int:
    for index, record in enumerate(chunks):
        if record.chunk.id == chunk_id:
            return index
    raise UnknownChunk(
        f"the cursor {chunk_id!r} is not in this part of the page, which may have changed; read it "
        "again without a cursor"
    )


def _within(chunks: Sequence[ChunkRecord], first: int, max_tokens: int) -> int:
    if max_tokens < 1:
        raise InputError(f"max_tokens must be at least 1, not {max_tokens}")
    spent, end = chunks[first].chunk.tokens, first + 1
    while end < len(chunks) and spent + chunks[end].chunk.tokens <= max_tokens:
        spent += chunks[end].chunk.tokens
        end += 1
    return end


async def _links(text: str, record: ChunkRecord, catalog: Catalog) -> tuple[str, ...]:
    """The targets of the links in the text; links to files of this collection become URLs."""
    targets: dict[str, None] = {}
    for link in markdown_links(text):
        target = await _target(link, record, catalog)
        if target is not None:
            targets[target] = None
        if len(targets) == MAX_LINKS:
            break
    return tuple(targets)


async def _target(link: str, record: ChunkRecord, catalog: Catalog) -> str | None:
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    if parts.scheme in {"http", "https"}:
        return link
    if parts.scheme or parts.netloc or not parts.path:
        return None
    folder = posixpath.dirname(record.chunk.source_path)
    path = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
    document = await catalog.document(path)
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    if document is not None:
        return document.url + anchor
    if urlsplit(record.url).scheme in {"http", "https"}:
        return urljoin(record.url, link)
    return None
