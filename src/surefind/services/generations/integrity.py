"""Is a generation still as it was made?

By the checksums of its files, where its stores keep them; else by reading all that both stores hold
of it and comparing the two.
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
_SAME_COSINE = 0.99  # a server normalizes, and may store smaller numbers
_HEAL = "`surefind ingest --rebuild` builds it again"
_REPAIR = f"`surefind doctor --repair` or {_HEAL}"


class IndexDamaged(StoreChanged):
    """Of the two, it is the index: the catalog's texts match their hashes and their pages."""


class ReadingReport:
    """Turns bytes read into progress, in steps: what is quick is not reported."""

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
    """Read every byte of both. StoreChanged where one is not as it was written.

    None where one of the stores can't tell, and so nothing is known of it.
    """
    cataloged = await catalogs.verify(ref, read)
    indexed = await index.verify(ref, read)
    return None if cataloged is None or indexed is None else cataloged + indexed


EmbeddedBefore: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, Vector]]]
"""The vectors of passages, where they are still known."""


async def checked_pages(manifest: Manifest, catalog: WholeCatalog) -> list[DocumentRecord]:
    """All pages. StoreChanged where it has lost or gained pages or chunks since it was sealed."""
    pages, chunks = await catalog.documents(), await catalog.count()
    if (len(pages), chunks) != (manifest.documents, manifest.chunks):
        raise StoreChanged(
            f"the catalog of {manifest.ref} has {len(pages)} pages and {chunks} chunks, its "
            f"manifest says {manifest.documents} and {manifest.chunks}; `surefind ingest` builds "
            "it again from the sources"
        )
    return pages


async def read_through(
    manifest: Manifest,
    index: IndexStore,
    catalogs: CatalogStore,
    report: ReportProgress,
    embedded_before: EmbeddedBefore,
) -> int:
    """Read each page, passage and vector once; how many passages there are.

    StoreChanged where a text does not match its hash or its page, where index and catalog differ,
    where the catalog does not have what its manifest says, where a vector is not of length 1, or
    not the one that was embedded.
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
                f"generation {ref}: the index does not hold {record.chunk.id}; {_REPAIR}"
            )
        if replace(stored, term_count=record.term_count) != record:
            raise _differs(ref, record.chunk.id, "index and catalog do not hold the same of it")


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
                f"generation {ref}: the vector of {record.chunk.id} is not the one that was "
                f"embedded; {_REPAIR}"
            )


def _check_page(ref: GenerationRef, page: MovedPage) -> None:
    lengths = np.linalg.norm(page.vectors, axis=1) if page.records else ()
    for record, length in zip(page.records, lengths, strict=True):
        chunk = record.chunk
        if chunk.text != page.document.text[chunk.start : chunk.end]:
            raise _differs(ref, chunk.id, "its text is not that of its page")
        if not abs(float(length) - 1) < _UNIT:
            raise IndexDamaged(
                f"generation {ref}: the vector of {chunk.id} is not of length 1; {_REPAIR}"
            )


def _differs(ref: GenerationRef, chunk_id: str, why: str) -> StoreChanged:
    return StoreChanged(f"chunk {chunk_id} of generation {ref} is damaged ({why}); {_HEAL}")
