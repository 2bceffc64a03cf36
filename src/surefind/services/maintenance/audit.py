"""Audit: is the data whole? Every point is read; memory does not grow with their number."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import EmbeddingError, InputError
from surefind.mapping.records import document_of, position_in, text_in, value_of
from surefind.model import (
    ChunkRecord,
    Connection,
    EmbedderFingerprint,
    PositionKind,
    Role,
    point_label,
)
from surefind.ports import Embedder, ForeignCollection, PointFields, VectorIndex
from surefind.services.connected.model_identity import SAME_SHARE, percent, strangers_in_words
from surefind.services.connected.sampling import RandomSample, every_point
from surefind.services.connected.vector_origin import (
    REFERENCE,
    OriginCounts,
    Pair,
    compare,
    compare_all,
    is_comparable,
    sample_size,
)
from surefind.services.generations.index_building import Progress, ReportProgress
from surefind.services.generations.readers import OpenGeneration
from surefind.services.maintenance.audit_checks import AuditedPoint, Checks

BATCH = 256
MODEL = "model"
"""The check of who made the vectors."""

_MOST_CERTAIN = 0.9999
_LEAST_SHARE = 0.0001


class AuditSeverity(StrEnum):
    """A problem makes answers wrong or missing; a warning may; a note is only told."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """`count` of the points, or of the documents, are meant; `examples` are some of them."""

    check: str
    severity: AuditSeverity
    count: int
    message: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    collection: str
    points: int
    read: int
    findings: tuple[AuditFinding, ...]
    seconds: float
    vectors: OriginCounts | None = None
    """None where no text was embedded again; a finding says why, if it was not left out."""

    @property
    def sound(self) -> bool:
        return not any(finding.severity is AuditSeverity.PROBLEM for finding in self.findings)


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How many texts are embedded again: enough to find strangers among the vectors, where they are
    that share of all, with that certainty. Certainty 0 embeds none; `all_vectors` embeds all.
    """

    certainty: float = 0.95
    share: float = 0.01
    all_vectors: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.certainty <= _MOST_CERTAIN:
            raise InputError(
                f"certainty is {self.certainty:g}; it must be from 0 to {_MOST_CERTAIN}, and "
                "only embedding all vectors again is certain: --all"
            )
        if not _LEAST_SHARE <= self.share < 1:
            raise InputError(
                f"share is {self.share:g}; it must be from {_LEAST_SHARE} to below 1; to find "
                "even a single vector, embed all of them again: --all"
            )

    @property
    def sample(self) -> int:
        return sample_size(self.share, self.certainty) if self.certainty else 0

    @property
    def checks_vectors(self) -> bool:
        return self.all_vectors or bool(self.certainty)


async def audit(
    generation: OpenGeneration,
    foreign: ForeignCollection | None,
    embedder: Callable[[], Awaitable[Embedder]],
    options: AuditOptions,
    report: ReportProgress,
) -> AuditReport:
    """`foreign` is the store of a connected collection, None for one of our own."""
    began = time.perf_counter()
    manifest = generation.manifest
    connection = manifest.connected
    counted = connection is None or connection.mapping.position_kind is PositionKind.ORDINAL
    checks = Checks(manifest.embedder.dimensions, positions=counted)
    told: list[AuditFinding] = []
    comparison = _Comparison()

    def rows() -> AsyncIterator[list[AuditedPoint]]:
        if connection is not None and foreign is not None:
            return _foreign_rows(foreign, connection)
        return _own_rows(generation, comparison)

    sample: RandomSample[Pair] = RandomSample(max(options.sample, REFERENCE * options.all_vectors))
    read = 0
    async for batch in rows():
        checks.add(batch)
        for row, pair in _pairs(batch):
            sample.offer(row.point, pair)
        read += len(batch)
        report(Progress("audited", read, max(read, manifest.chunks)))
    if connection is None:
        told += comparison.findings(await generation.index.count())
    elif not read:
        told.append(AuditFinding("points", AuditSeverity.PROBLEM, 0, "the collection is empty"))
    near = await _near_copies(checks, generation.index)
    told += _findings(checks, connection, near)
    counts = None
    if options.checks_vectors and sample.offered:
        pages = _pages(rows()) if options.all_vectors else None
        checked = await _checked_vectors(manifest.embedder, sample, pages, embedder, report)
        if isinstance(checked, AuditFinding):
            told.append(checked)
        else:
            counts = checked
            told += _origin_findings(counts, manifest.embedder, options)
    order = list(AuditSeverity)
    told.sort(key=lambda finding: order.index(finding.severity))
    return AuditReport(
        manifest.collection, manifest.chunks, read, tuple(told), time.perf_counter() - began, counts
    )


# --- who made the vectors ---------------------------------------------------------------------


def _pairs(batch: Sequence[AuditedPoint]) -> Iterator[tuple[AuditedPoint, Pair]]:
    for row in batch:
        if row.vector is not None and is_comparable(row.embedded, row.vector):
            yield row, Pair(row.label, row.embedded, row.vector)


async def _pages(rows: AsyncIterator[list[AuditedPoint]]) -> AsyncIterator[list[Pair]]:
    async for batch in rows:
        yield [pair for _, pair in _pairs(batch)]


async def _checked_vectors(
    made_by: EmbedderFingerprint,
    sample: RandomSample[Pair],
    pages: AsyncIterator[list[Pair]] | None,
    embedder: Callable[[], Awaitable[Embedder]],
    report: ReportProgress,
) -> OriginCounts | AuditFinding:
    """A finding says why nothing could be counted."""
    again = "the vectors were not embedded again"
    try:
        model = await embedder()
        if model.fingerprint != made_by:
            message = f"{again}: {made_by} made them, and {model.fingerprint} is configured"
            return AuditFinding(MODEL, AuditSeverity.WARNING, 0, message)
        pairs = sample.values()
        if pages is not None:
            return await compare_all(
                pairs,
                pages,
                model,
                lambda done: report(Progress("embedded", done, sample.offered)),
            )
        return await compare(
            pairs,
            model,
            complete=len(pairs) == sample.offered,
            progress=lambda done, total: report(Progress("embedded", done, total)),
        )
    except (EmbeddingError, InputError) as error:
        message = f"{again}: {error}; --certainty 0 skips this check"
        return AuditFinding(MODEL, AuditSeverity.WARNING, 0, message)


def _origin_findings(
    counts: OriginCounts, made_by: EmbedderFingerprint, options: AuditOptions
) -> list[AuditFinding]:
    found = []
    model = f"{made_by.provider}/{made_by.model}"
    examples = tuple(f"{one.label}: cosine {one.cosine:.3f}" for one in counts.examples)
    if counts.strangers:
        message = (
            f"{strangers_in_words(counts)} were not made from their text by {model}: another "
            "model made them, or they belong to other texts. Searches miss these passages or "
            "return them for the wrong questions; embed them again"
        )
        severity = AuditSeverity.PROBLEM if counts.conclusive else AuditSeverity.WARNING
        found.append(AuditFinding(MODEL, severity, counts.strangers, message, examples))
    if counts.loose:
        message = (
            f"of {counts.compared} vectors fit their text best, but not closely (lowest cosine "
            f"{counts.lowest_loose:.3f}): {model} has read more or less than the text alone, such "
            "as a title before it, or only its beginning"
        )
        many = counts.loose > (1 - SAME_SHARE) * counts.compared
        found.append(
            AuditFinding(
                MODEL, AuditSeverity.WARNING if many else AuditSeverity.NOTE, counts.loose, message
            )
        )
    if not counts.strangers:
        message = f"vectors were embedded again by {model}, and each fits its own text"
        if not counts.complete:
            message += (
                f": with {options.certainty * 100:g} % certainty, fewer than "
                f"{percent(options.share)} of all vectors are of another origin"
            )
        found.append(AuditFinding(MODEL, AuditSeverity.NOTE, counts.compared, message))
    return found


# --- reading ----------------------------------------------------------------------------------


async def _foreign_rows(
    foreign: ForeignCollection, connection: Connection
) -> AsyncIterator[list[AuditedPoint]]:
    mapping = connection.mapping
    wanted = PointFields(vector=connection.space.name)
    async for page in every_point(foreign, wanted, size=BATCH):
        yield [
            AuditedPoint(
                point=one.id,
                label=point_label(one.id),
                text=text,
                embedded=text,
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
            for text in (text_in(one.payload, mapping),)
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

    def findings(self, in_index: int) -> list[AuditFinding]:
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
) -> AsyncIterator[list[AuditedPoint]]:
    batch: list[ChunkRecord] = []
    async for record in generation.require_catalog().chunks():
        batch.append(record)
        if len(batch) == BATCH:
            yield await _compared(batch, generation.index, comparison)
            batch = []
    if batch:
        yield await _compared(batch, generation.index, comparison)


async def _compared(
    batch: Sequence[ChunkRecord], index: VectorIndex, comparison: _Comparison
) -> list[AuditedPoint]:
    stored = await index.payloads([record.point_id for record in batch])
    for record in batch:
        comparison.compare(record, stored.get(record.point_id))
    there = [record.point_id for record in batch if record.point_id in stored]
    vectors = dict(zip(there, await index.vectors(there), strict=True)) if there else {}
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


async def _near_copies(checks: Checks, index: VectorIndex) -> list[tuple[str, str]]:
    """Suspects have alike signatures; their vectors decide."""
    found = []
    for one, other, labels in checks.suspects:
        rows = await index.vectors([one, other])
        if float(rows[0] @ rows[1]) >= checks.NEAR_COPY:
            found.append(labels)
    return found


# --- what is told -----------------------------------------------------------------------------


def _problem(check: str, count: int, message: str, examples: Sequence[str] = ()) -> AuditFinding:
    return AuditFinding(check, AuditSeverity.PROBLEM, count, message, tuple(examples))


def _findings(
    checks: Checks, connection: Connection | None, near: Sequence[tuple[str, str]]
) -> list[AuditFinding]:
    found = [
        AuditFinding(
            tally.check, AuditSeverity(tally.severity), tally.count, tally.message, tally.examples
        )
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
        found.append(AuditFinding("roles", AuditSeverity.WARNING, 0, message))
    unmapped = [role for role in Role if connection and not connection.mapping.has(role)]
    if unmapped:
        message = f"no key was mapped to {', '.join(unmapped)}"
        found.append(AuditFinding("roles", AuditSeverity.NOTE, 0, message))
    return found
