"""Audits a collection: checks every point, and which model made the vectors."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from surefind.errors import EmbeddingError, InputError
from surefind.model import Connection, EmbedderFingerprint, PositionKind, Role
from surefind.ports import Embedder, ForeignCollection
from surefind.services.connected.model_identity import SAME_SHARE, percent, share_in_words
from surefind.services.connected.sampling import RandomSample
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
from surefind.services.maintenance.audit_checks import PointChecks
from surefind.services.maintenance.audit_points import (
    AuditedPoint,
    StoreComparison,
    connected_points,
    own_points,
)
from surefind.services.maintenance.audit_report import AuditFinding, AuditReport, AuditSeverity

_MAX_CERTAINTY = 0.9999
_MIN_SHARE = 0.0001


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The sample of texts to re-embed.

    It finds a foreign vector with this `certainty` if this `share` of all vectors is foreign.
    With certainty 0, nothing is re-embedded.
    """

    certainty: float = 0.95
    share: float = 0.01
    all_vectors: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.certainty <= _MAX_CERTAINTY:
            raise InputError(
                f"certainty must be between 0 and {_MAX_CERTAINTY}, not {self.certainty:g}; "
                "to be certain, embed all texts again with --all"
            )
        if not _MIN_SHARE <= self.share < 1:
            raise InputError(
                f"share must be at least {_MIN_SHARE} and below 1, not {self.share:g}; to find "
                "even a single vector, embed all texts again with --all"
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
    """`foreign` is the store of a connected collection; None for surefind's own collections."""
    started = time.perf_counter()
    manifest = generation.manifest
    connection = manifest.connected
    comparison = StoreComparison()

    def batches() -> AsyncIterator[list[AuditedPoint]]:
        if connection is not None and foreign is not None:
            return connected_points(foreign, connection)
        return own_points(generation, comparison)

    ordinals = connection is None or connection.mapping.position_kind is PositionKind.ORDINAL
    checks = PointChecks(manifest.embedder.dimensions, positions=ordinals)
    sample: RandomSample[Pair] = RandomSample(max(options.sample, REFERENCE * options.all_vectors))
    read = 0
    async for batch in batches():
        checks.add(batch)
        for point in batch:
            if pair := _pair(point):
                sample.offer(point.point, pair)
        read += len(batch)
        report(Progress("audited", read, max(read, manifest.chunks)))

    findings: list[AuditFinding] = []
    if connection is None:
        findings += comparison.findings(await generation.index.count())
    elif not read:
        findings.append(AuditFinding("points", AuditSeverity.PROBLEM, 0, "the collection is empty"))
    has_texts = connection is None or connection.mapping.has(Role.TEXT)
    findings += checks.findings(has_texts=has_texts)
    findings += await checks.same_vectors(generation.index)
    findings += _unmapped(connection) if connection is not None else []
    counts = None
    if options.checks_vectors and sample.offered:
        pages = _pairs(batches()) if options.all_vectors else None
        checked = await _check_vectors(manifest.embedder, sample, pages, embedder, report)
        if isinstance(checked, AuditFinding):
            findings.append(checked)
        else:
            counts = checked
            findings += _origin_findings(counts, manifest.embedder, options)
    severities = list(AuditSeverity)
    findings.sort(key=lambda finding: severities.index(finding.severity))
    seconds = time.perf_counter() - started
    return AuditReport(manifest.collection, manifest.chunks, read, tuple(findings), seconds, counts)


def _unmapped(connection: Connection) -> list[AuditFinding]:
    findings = []
    if not connection.mapping.has(Role.TEXT):
        message = "no key is mapped to text: neither texts nor the origin of vectors were checked"
        findings.append(AuditFinding("roles", AuditSeverity.WARNING, 0, message))
    unmapped = [role for role in Role if not connection.mapping.has(role)]
    if unmapped:
        message = f"no key is mapped to {', '.join(unmapped)}"
        findings.append(AuditFinding("roles", AuditSeverity.NOTE, 0, message))
    return findings


# --- which model made the vectors -------------------------------------------------------------


def _pair(point: AuditedPoint) -> Pair | None:
    if point.vector is None or not is_comparable(point.embedded, point.vector):
        return None
    return Pair(point.label, point.embedded, point.vector)


async def _pairs(batches: AsyncIterator[list[AuditedPoint]]) -> AsyncIterator[list[Pair]]:
    async for batch in batches:
        yield [pair for point in batch if (pair := _pair(point))]


async def _check_vectors(
    made_by: EmbedderFingerprint,
    sample: RandomSample[Pair],
    pages: AsyncIterator[Sequence[Pair]] | None,
    embedder: Callable[[], Awaitable[Embedder]],
    report: ReportProgress,
) -> OriginCounts | AuditFinding:
    """The counts, or a finding with the reason why there are none. `pages` has all vectors."""
    try:
        model = await embedder()
        if model.fingerprint != made_by:
            message = (
                f"the vectors were not checked: {made_by} made them, but {model.fingerprint} is "
                "configured"
            )
            return AuditFinding("model", AuditSeverity.WARNING, 0, message)
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
        message = f"the vectors were not checked: {error}; --certainty 0 skips this check"
        return AuditFinding("model", AuditSeverity.WARNING, 0, message)


def _origin_findings(
    counts: OriginCounts, made_by: EmbedderFingerprint, options: AuditOptions
) -> list[AuditFinding]:
    findings = []
    model = f"{made_by.provider}/{made_by.model}"
    if counts.foreign:
        examples = tuple(f"{one.label}: cosine {one.cosine:.3f}" for one in counts.examples)
        message = (
            f"{share_in_words(counts)} were not made from their text by {model}: another "
            "model made them, or they belong to other texts. Searches miss these passages or "
            "return them for the wrong questions; embed them again"
        )
        severity = AuditSeverity.PROBLEM if counts.conclusive else AuditSeverity.WARNING
        findings.append(AuditFinding("model", severity, counts.foreign, message, examples))
    if counts.loose:
        many = counts.loose > (1 - SAME_SHARE) * counts.compared
        severity = AuditSeverity.WARNING if many else AuditSeverity.NOTE
        message = (
            f"of {counts.compared} vectors fit their text best, but not closely (lowest cosine "
            f"{counts.lowest_loose:.3f}): {model} embedded more or less than the text alone, such "
            "as a title before it, or only its beginning"
        )
        findings.append(AuditFinding("model", severity, counts.loose, message))
    if not counts.foreign:
        message = f"texts were embedded again with {model}, and every vector fits its own text"
        if not counts.complete:
            message += (
                f": with {options.certainty * 100:g} % certainty, fewer than "
                f"{percent(options.share)} of all vectors have another origin"
            )
        findings.append(AuditFinding("model", AuditSeverity.NOTE, counts.compared, message))
    return findings
