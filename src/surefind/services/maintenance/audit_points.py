"""Reads every point of a collection, in batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from surefind.mapping.records import document_of, position_in, text_in, value_of
from surefind.model import ChunkRecord, Connection, Role, point_label
from surefind.ports import ForeignCollection, PointFields, Vector, VectorIndex
from surefind.services.connected.sampling import every_point
from surefind.services.generations.readers import OpenGeneration
from surefind.services.maintenance.audit_report import AuditFinding, AuditSeverity, Tally

BATCH = 256


@dataclass(frozen=True, slots=True)
class AuditedPoint:
    """`embedded` is the text that the vector should represent.

    `missing` names the mapped roles without a value in this point.
    """

    point: UUID
    label: str
    text: str
    embedded: str
    url: str
    document: str
    position: int | None
    digest: str
    vector: Vector | None
    missing: tuple[str, ...]


async def connected_points(
    foreign: ForeignCollection, connection: Connection
) -> AsyncIterator[list[AuditedPoint]]:
    mapping = connection.mapping
    fields = PointFields(vector=connection.space.name)
    async for page in every_point(foreign, fields, size=BATCH):
        yield [
            AuditedPoint(
                point=point.id,
                label=point_label(point.id),
                text=text,
                embedded=text,
                url=text_in(point.payload, mapping, Role.URL),
                document=document_of(point.payload, mapping),
                position=position_in(point.payload, mapping),
                digest=text_in(point.payload, mapping, Role.HASH),
                vector=point.vector,
                missing=tuple(
                    role.value
                    for role in mapping.keys
                    if value_of(point.payload, mapping, role) is None
                ),
            )
            for point in page
            for text in (text_in(point.payload, mapping),)
        ]


class StoreComparison:
    """Compares each chunk in the index with the catalog."""

    def __init__(self) -> None:
        rebuild = "`surefind ingest --rebuild` rebuilds both"
        self._indexed = 0
        self._missing = Tally(
            "index",
            AuditSeverity.PROBLEM,
            f"chunks are in the catalog, but not in the index; {rebuild}",
        )
        self._extra = Tally(
            "catalog",
            AuditSeverity.PROBLEM,
            f"points are in the index, but not in the catalog; {rebuild}",
        )
        self._different = Tally(
            "index", AuditSeverity.PROBLEM, f"chunks differ between index and catalog; {rebuild}"
        )

    def compare(self, record: ChunkRecord, stored: ChunkRecord | None) -> None:
        if stored is None:
            self._missing.add(record.chunk.id)
            return
        self._indexed += 1
        if _stored_in_both(stored) != _stored_in_both(record):
            self._different.add(record.chunk.id)

    def findings(self, index_count: int) -> list[AuditFinding]:
        self._extra.count = max(0, index_count - self._indexed)
        tallies = (self._missing, self._extra, self._different)
        return [tally.finding() for tally in tallies if tally.count]


def _stored_in_both(record: ChunkRecord) -> tuple[object, ...]:
    """All but the number of terms, which only the catalog stores."""
    return (record.chunk, record.url, record.title, record.version, record.locale)


async def own_points(
    generation: OpenGeneration, comparison: StoreComparison
) -> AsyncIterator[list[AuditedPoint]]:
    batch: list[ChunkRecord] = []
    async for record in generation.require_catalog().chunks():
        batch.append(record)
        if len(batch) == BATCH:
            yield await _with_vectors(batch, generation.index, comparison)
            batch = []
    if batch:
        yield await _with_vectors(batch, generation.index, comparison)


async def _with_vectors(
    batch: Sequence[ChunkRecord], index: VectorIndex, comparison: StoreComparison
) -> list[AuditedPoint]:
    stored = await index.payloads([record.point_id for record in batch])
    for record in batch:
        comparison.compare(record, stored.get(record.point_id))
    indexed = [record.point_id for record in batch if record.point_id in stored]
    vectors = dict(zip(indexed, await index.vectors(indexed), strict=True)) if indexed else {}
    return [
        AuditedPoint(
            point=record.point_id,
            label=record.chunk.id,
            text=record.chunk.text,
            embedded=record.chunk.passage,
            url=record.url,
            document=record.chunk.source_path,
            position=record.chunk.position,
            digest=record.chunk.content_hash,
            vector=vectors.get(record.point_id),
            missing=(),
        )
        for record in batch
    ]
