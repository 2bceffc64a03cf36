"""Audit: is the data whole? Every point is read once; memory does not grow with their number."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import StoreError
from surefind.mapping.records import document_of, position_in, text_in, value_of
from surefind.model import ChunkRecord, Connection, PositionKind, Role, point_label
from surefind.ports import ForeignCollection, VectorIndex, Wanted
from surefind.services.audit_checks import Checks, Row
from surefind.services.reading import OpenGeneration
from surefind.services.sampling import every_point

BATCH = 256
Progress = Callable[[int, int], None]


class Gravity(StrEnum):
    """A problem makes answers wrong or missing; a warning may; a note is only told."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """`count` of the points, or of the documents, are meant; `examples` are some of them."""

    check: str
    gravity: Gravity
    count: int
    message: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    collection: str
    points: int
    read: int
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def sound(self) -> bool:
        return not any(finding.gravity is Gravity.PROBLEM for finding in self.findings)


async def audit(
    generation: OpenGeneration, foreign: ForeignCollection | None, progress: Progress
) -> AuditReport:
    """`foreign` is the store of a connected collection, None for one of our own."""
    began = time.perf_counter()
    manifest = generation.manifest
    connection = manifest.connected
    counted = connection is None or connection.mapping.position_kind is PositionKind.ORDINAL
    checks = Checks(manifest.embedder.dimensions, positions=counted)
    told: list[Finding] = []
    comparison = _Comparison()
    if connection is not None and foreign is not None:
        rows = _foreign_rows(foreign, connection)
    else:
        rows = _own_rows(generation, comparison)
    read = 0
    async for batch in rows:
        checks.add(batch)
        read += len(batch)
        progress(read, max(read, manifest.chunks))
    if connection is None:
        told += comparison.findings(await generation.index.count())
    elif not read:
        told.append(Finding("points", Gravity.PROBLEM, 0, "the collection is empty"))
    near = await _near_copies(checks, generation.index)
    told += _findings(checks, connection, near)
    order = list(Gravity)
    told.sort(key=lambda finding: order.index(finding.gravity))
    return AuditReport(
        manifest.collection, manifest.chunks, read, tuple(told), time.perf_counter() - began
    )


# --- reading ----------------------------------------------------------------------------------


async def _foreign_rows(
    foreign: ForeignCollection, connection: Connection
) -> AsyncIterator[list[Row]]:
    mapping = connection.mapping
    wanted = Wanted(vector=connection.space.name)
    async for page in every_point(foreign, wanted, size=BATCH):
        yield [
            Row(
                point=one.id,
                label=point_label(one.id),
                text=text_in(one.payload, mapping),
                url=text_in(one.payload, mapping, Role.URL),
                document=document_of(one.payload, mapping),
                position=position_in(one.payload, mapping),
                digest=text_in(one.payload, mapping, Role.HASH),
                vector=one.vector,
                missing=tuple(
                    role.value
                    for role in mapping.keys
                    if value_of(one.payload, mapping, role) is None
                ),
            )
            for one in page
        ]


class _Comparison:
    """Whether the index says of every chunk what the catalog says."""

    def __init__(self) -> None:
        self.matched = 0
        self.absent: list[str] = []
        self.different: list[str] = []
        self.absent_count = self.different_count = 0

    def compare(self, record: ChunkRecord, stored: ChunkRecord | None) -> None:
        if stored is None:
            self.absent_count += 1
            self.absent = [*self.absent, record.chunk.id][:5]
            return
        self.matched += 1
        if _shown(stored) != _shown(record):
            self.different_count += 1
            self.different = [*self.different, record.chunk.id][:5]

    def findings(self, in_index: int) -> list[Finding]:
        again = "`surefind ingest --rebuild` builds both anew"
        found = []
        if self.absent_count:
            message = f"chunks of the catalog are not in the index; {again}"
            found.append(_problem("index", self.absent_count, message, self.absent))
        if in_index > self.matched:
            message = f"points of the index are not in the catalog; {again}"
            found.append(_problem("catalog", in_index - self.matched, message))
        if self.different_count:
            message = f"chunks are another in the index than in the catalog; {again}"
            found.append(_problem("index", self.different_count, message, self.different))
        return found


def _shown(record: ChunkRecord) -> tuple[object, ...]:
    """What both keep; how many terms a chunk has, only the catalog knows."""
    return (record.chunk, record.url, record.title, record.version, record.locale)


async def _own_rows(
    generation: OpenGeneration, comparison: _Comparison
) -> AsyncIterator[list[Row]]:
    if generation.catalog is None:
        raise StoreError("the catalog is away, and half of what an audit compares is in it")
    batch: list[ChunkRecord] = []
    async for record in generation.catalog.chunks():
        batch.append(record)
        if len(batch) == BATCH:
            yield await _compared(batch, generation.index, comparison)
            batch = []
    if batch:
        yield await _compared(batch, generation.index, comparison)


async def _compared(
    batch: Sequence[ChunkRecord], index: VectorIndex, comparison: _Comparison
) -> list[Row]:
    stored = await index.payloads([record.point_id for record in batch])
    for record in batch:
        comparison.compare(record, stored.get(record.point_id))
    there = [record.point_id for record in batch if record.point_id in stored]
    vectors = dict(zip(there, await index.vectors(there), strict=True)) if there else {}
    return [
        Row(
            point=record.point_id,
            label=record.chunk.id,
            text=record.chunk.text,
            url=record.url,
            document=record.chunk.source_path,
            position=record.chunk.position,
            digest=record.chunk.content_hash,
            vector=vectors.get(record.point_id),
            missing=(),
        )
        for record in batch
    ]


async def _near_copies(checks: Checks, index: VectorIndex) -> list[tuple[str, str]]:
    """Suspects have alike signatures; their vectors decide."""
    found = []
    for one, other, labels in checks.suspects:
        rows = await index.vectors([one, other])
        if float(rows[0] @ rows[1]) >= checks.NEAR_COPY:
            found.append(labels)
    return found


# --- what is told -----------------------------------------------------------------------------


def _problem(check: str, count: int, message: str, examples: Sequence[str] = ()) -> Finding:
    return Finding(check, Gravity.PROBLEM, count, message, tuple(examples))


def _findings(
    checks: Checks, connection: Connection | None, near: Sequence[tuple[str, str]]
) -> list[Finding]:
    found = [
        Finding(tally.check, Gravity(tally.gravity), tally.count, tally.message, tally.examples)
        for tally in checks.tallies(mapped=connection is None or connection.mapping.has(Role.TEXT))
    ]
    if near:
        message = (
            "pairs of different texts have the same vector: an embedder that failed or cut them"
            + (" (at least)" if checks.suspects_left else "")
        )
        examples = [f"{one} = {other}" for one, other in near[:5]]
        found.append(_problem("same_vector", len(near), message, examples))
    if connection is not None and not connection.mapping.has(Role.TEXT):
        message = "no key was mapped to text: nothing could be said of the texts"
        found.append(Finding("roles", Gravity.WARNING, 0, message))
    unmapped = [role for role in Role if connection and not connection.mapping.has(role)]
    if unmapped:
        message = f"no key was mapped to {', '.join(unmapped)}"
        found.append(Finding("roles", Gravity.NOTE, 0, message))
    return found
