"""Verifies that a generation is unchanged.

Uses the checksums of its files if its stores have them; otherwise reads and compares the content of
both stores.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from surefind.errors import StoreChanged
from surefind.model import ChunkRecord, DocumentRecord, GenerationRef, Manifest
from surefind.ports import (
    CatalogStore,
    IndexStore,
    Matrix,
    MovedPage,
    ReadBytes,
    Vector,
    VectorIndex,
    VerifiedFiles,
    WholeCatalog,
)
from surefind.services.generations.index_building import Progress, ReportProgress, both_stores
from surefind.services.generations.transfer import kept_in, pages_of

_MEGABYTE = 2**20
_REPORTED_BYTES = 16 * _MEGABYTE
_UNIT = 1e-3
_SAME_COSINE = 0.99  # a server normalizes vectors, and may store lower precision
_HEAL = "rebuild it with `surefind ingest --rebuild`"
_REPAIR = (
    "repair it with `surefind doctor --repair`, or rebuild it with `surefind ingest --rebuild`"
)


class IndexDamaged(StoreChanged):
    """The index is damaged; the catalog is intact."""


class ReadingReport:
    """Reports bytes read as progress, in steps, so that quick reads are not reported."""

    def __init__(self, ref: GenerationRef, report: ReportProgress) -> None:
        self._stage = f"reading {ref}, MB"
        self._report = report
        self._bytes = self._reported = 0

    def __call__(self, read_bytes: int) -> None:
        self._bytes += read_bytes
        if self._bytes - self._reported >= _REPORTED_BYTES:
            self._reported = self._bytes
            self._report(Progress(self._stage, self._bytes // _MEGABYTE))


async def verify(
    ref: GenerationRef, index: IndexStore, catalogs: CatalogStore, read: ReadBytes
) -> VerifiedFiles | None:
    """Read every byte of both stores. Raises StoreChanged if one was modified.

    None if a store has no checksums.
    """
    cataloged = await catalogs.verify(ref, read)
    indexed = await index.verify(ref, read)
    return None if cataloged is None or indexed is None else cataloged + indexed


EmbeddedBefore: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, Vector]]]
"""The vectors of passages, as far as they are still cached."""


async def checked_pages(manifest: Manifest, catalog: WholeCatalog) -> list[DocumentRecord]:
    """All pages. Raises StoreChanged if pages or chunks were lost or added since sealing."""
    pages, chunks = await catalog.documents(), await catalog.count()
    if (len(pages), chunks) != (manifest.documents, manifest.chunks):
        raise StoreChanged(
            f"the catalog of {manifest.ref} has {len(pages)} pages and {chunks} chunks, but its "
            f"manifest says {manifest.documents} and {manifest.chunks}; rebuild it from the "
            "sources with `surefind ingest`"
        )
    return pages


async def require_complete(manifest: Manifest, index: VectorIndex, catalog: WholeCatalog) -> None:
    """Compare the numbers of pages and chunks with the manifest, for stores without checksums."""
    await checked_pages(manifest, catalog)
    points = await index.count()
    if points != manifest.chunks:
        raise IndexDamaged(
            f"the index of {manifest.ref} has {points} chunks, but its manifest says "
            f"{manifest.chunks}; {_REPAIR}"
        )


async def read_through(
    manifest: Manifest,
    index: IndexStore,
    catalogs: CatalogStore,
    report: ReportProgress,
    embedded_before: EmbeddedBefore,
) -> int:
    """Read and check each page, passage and vector once; returns the number of passages.

    Raises StoreChanged if a text does not match its hash or page, if the index, catalog or
    manifest disagree, or if a vector does not have length 1 or is not the one that was embedded.
    """
    ref, total, done = manifest.ref, manifest.chunks, 0
    async with both_stores(ref, index, catalogs) as (points, catalog):
        await checked_pages(manifest, catalog)

        async def vectors(records: Sequence[ChunkRecord]) -> Matrix:
            await _compare_payloads(ref, records, points)
            vectors = await kept_in(points)(records)
            known = await embedded_before([record.chunk.passage for record in records])
            _compare_vectors(ref, records, vectors, known)
            return vectors

        async for page in pages_of(catalog, vectors):
            _check_page(ref, page)
            done += len(page.records)
            report(Progress(f"reading {ref}", done, total))
    return done


async def _compare_payloads(
    ref: GenerationRef, records: Sequence[ChunkRecord], index: VectorIndex
) -> None:
    try:
        payloads = await index.payloads([record.chunk.point_id for record in records])
    except StoreChanged as error:
        raise IndexDamaged(str(error)) from error
    for record in records:
        stored = payloads.get(record.chunk.point_id)
        if stored is None:
            raise IndexDamaged(
                f"generation {ref}: the index lacks chunk {record.chunk.id}; {_REPAIR}"
            )
        if replace(stored, term_count=record.term_count) != record:
            raise _differs(ref, record.chunk.id, "index and catalog differ")


def _compare_vectors(
    ref: GenerationRef,
    records: Sequence[ChunkRecord],
    vectors: Matrix,
    known: Mapping[str, Vector],
) -> None:
    for record, vector in zip(records, vectors, strict=True):
        embedded = known.get(record.chunk.passage)
        if embedded is None:
            continue
        scale = float(np.linalg.norm(vector) * np.linalg.norm(embedded))
        if not float(vector @ embedded) >= _SAME_COSINE * scale:
            raise IndexDamaged(
                f"generation {ref}: the vector of chunk {record.chunk.id} is not the one that "
                f"was embedded; {_REPAIR}"
            )


def _check_page(ref: GenerationRef, page: MovedPage) -> None:
    lengths = np.linalg.norm(page.vectors, axis=1) if page.records else ()
    for record, length in zip(page.records, lengths, strict=True):
        chunk = record.chunk
        if chunk.text != page.document.text[chunk.start : chunk.end]:
            raise _differs(ref, chunk.id, "its text differs from its page")
        if not abs(float(length) - 1) < _UNIT:
            raise IndexDamaged(
                f"generation {ref}: the vector of chunk {chunk.id} does not have "
                f"length 1; {_REPAIR}"
            )


def _differs(ref: GenerationRef, chunk_id: str, why: str) -> StoreChanged:
    return StoreChanged(f"chunk {chunk_id} of generation {ref} is damaged ({why}); {_HEAL}")
