"""The checks of an audit, point by point.

Memory is bounded: a table that grows too large becomes a sample, and its counts are estimates.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np

from surefind.model.urls import is_unpublished
from surefind.ports import Matrix, VectorIndex
from surefind.services.maintenance.audit_hashes import HashCheck
from surefind.services.maintenance.audit_points import AuditedPoint
from surefind.services.maintenance.audit_report import (
    MAX_EXAMPLES,
    AuditFinding,
    AuditSeverity,
    Tally,
)

V = TypeVar("V")

MIN_CHARACTERS, MAX_CHARACTERS = 20, 8000
_MAX_KEYS = 500_000
_MAX_SUSPECTS = 200
_SIGNATURE_BITS = 64
_LENGTH_TOLERANCE = 1e-3
_SAME_VECTOR = 0.9999
_LOCAL_HOSTS = {"localhost", "127.0.0.1", "0.0.0.0"}  # noqa: S104 - compared, not bound


class SampledTable(Generic[V]):
    """A table of at most `max_keys` keys. Whenever it is full, it drops half of them, by hash.

    Multiply counts by `scale` to estimate those of all keys.
    """

    def __init__(self, max_keys: int = _MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._held: dict[int, V] = {}
        self.scale = 1

    def takes(self, key: int) -> bool:
        return key % self.scale == 0

    def get(self, key: int) -> V | None:
        return self._held.get(key)

    def put(self, key: int, value: V) -> None:
        self._held[key] = value
        while len(self._held) > self._max_keys:
            self.scale *= 2
            self._held = {key: value for key, value in self._held.items() if self.takes(key)}

    def values(self) -> Iterator[V]:
        yield from self._held.values()


@dataclass(slots=True)
class _Positions:
    """The positions in one document."""

    document: str
    count: int = 0
    lowest: int = 2**62
    highest: int = -1


@dataclass(slots=True)
class _Text:
    """The first occurrence of a text, and the number of its copies.

    `document` is a hash, or None if the payload names no document. `unplaced` counts copies where
    one of the documents is unknown.
    """

    document: int | None
    label: str
    same_document: int = 0
    other_documents: int = 0
    unplaced: int = 0


class PointChecks:
    """Takes all points in batches, then reports."""

    def __init__(
        self, dimensions: int, *, positions: bool = True, max_keys: int = _MAX_KEYS
    ) -> None:
        """`positions` is true if positions count the chunks of a document."""
        self._dimensions = dimensions
        self._positions = positions
        self._tallies: dict[str, Tally] = {}
        self._texts: SampledTable[_Text] = SampledTable(max_keys)
        self._documents: SampledTable[_Positions] = SampledTable(max_keys)
        self._signatures: SampledTable[tuple[int, UUID, str]] = SampledTable(max_keys)
        self._suspects: list[tuple[UUID, UUID, str]] = []
        self._more_suspects = False
        self._hashes = HashCheck()
        self._missing: Counter[str] = Counter()
        self._points = self._unit_vectors = self._other_vectors = 0
        planes = np.random.default_rng(7).standard_normal((dimensions, _SIGNATURE_BITS))
        self._planes: Matrix = planes.astype(np.float32)
        self._powers = (1 << np.arange(_SIGNATURE_BITS, dtype=np.uint64)).astype(np.uint64)

    def add(self, points: Sequence[AuditedPoint]) -> None:
        self._points += len(points)
        for point in points:
            self._missing.update(point.missing)
            self._check_text(point)
            self._check_url(point)
            self._check_position(point)
            self._hashes.add(point.label, point.text, point.digest)
        self._check_vectors(points)

    # --- texts, addresses and positions ---------------------------------------------------------

    def _check_text(self, point: AuditedPoint) -> None:
        length = len(point.text.strip())
        if not length:
            self._count("text", AuditSeverity.PROBLEM, "points have no text", point.label)
            return
        if length < MIN_CHARACTERS:
            message = f"texts have fewer than {MIN_CHARACTERS} characters"
            self._count("text", AuditSeverity.WARNING, message, point.label)
        if length > MAX_CHARACTERS:
            message = f"texts have more than {MAX_CHARACTERS} characters: most models truncate them"
            self._count("text", AuditSeverity.WARNING, message, point.label)
        key = _hashed(point.text)
        if not self._texts.takes(key):
            return
        known = self._texts.get(key)
        document = _hashed(point.document) if point.document else None
        if known is None:
            self._texts.put(key, _Text(document, point.label))
        elif known.document is None or document is None:
            known.unplaced += 1
        elif known.document == document:
            known.same_document += 1
        else:
            known.other_documents += 1

    def _check_url(self, point: AuditedPoint) -> None:
        if point.url and (fault := _fault_of(point.url)):
            self._count("url", *fault, point.url[:80])

    def _check_position(self, point: AuditedPoint) -> None:
        if not self._positions or point.position is None or not point.document:
            return
        key = _hashed(point.document)
        if self._documents.takes(key):
            known = self._documents.get(key) or _Positions(point.document)
            known.count += 1
            known.lowest = min(known.lowest, point.position)
            known.highest = max(known.highest, point.position)
            self._documents.put(key, known)

    # --- vectors --------------------------------------------------------------------------------

    def _check_vectors(self, points: Sequence[AuditedPoint]) -> None:
        usable = [point for point in points if not self._is_broken(point)]
        if not usable:
            return
        matrix = np.stack([point.vector for point in usable if point.vector is not None])
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        unit = int((np.abs(lengths - 1.0) <= _LENGTH_TOLERANCE).sum())
        self._unit_vectors += unit
        self._other_vectors += len(usable) - unit
        scaled = (matrix / lengths[:, None]).astype(np.float32)
        signs = (scaled @ self._planes > 0).astype(np.uint64)
        for point, signature in zip(usable, (signs * self._powers).sum(axis=1), strict=True):
            self._compare_signature(point, int(signature))

    def _is_broken(self, point: AuditedPoint) -> bool:
        vector = point.vector
        if vector is None:
            message = "points have no vector: searches never find them"
        elif vector.shape != (self._dimensions,):
            message = "vectors have the wrong number of dimensions"
        elif not np.isfinite(vector).all():
            message = "vectors contain NaN or infinity"
        elif not vector.any():
            message = "vectors are all zeros"
        else:
            return False
        self._count("vector", AuditSeverity.PROBLEM, message, point.label)
        return True

    def _compare_signature(self, point: AuditedPoint, signature: int) -> None:
        """Vectors with the same signature may be the same; `same_vectors` compares them."""
        if not self._signatures.takes(signature):
            return
        text = _hashed(point.text)
        known = self._signatures.get(signature)
        if known is None:
            self._signatures.put(signature, (text, point.point, point.label))
        elif known[0] != text and point.text:
            if len(self._suspects) < _MAX_SUSPECTS:
                self._suspects.append((known[1], point.point, f"{known[2]} = {point.label}"))
            else:
                self._more_suspects = True

    # --- the end --------------------------------------------------------------------------------

    def findings(self, *, has_texts: bool) -> list[AuditFinding]:
        """`has_texts` is False if no key is mapped to text, so missing texts are not reported."""
        findings = [tally.finding() for tally in self._tallies.values()]
        if not has_texts:
            findings = [finding for finding in findings if finding.check != "text"]
        findings += self._copies()
        findings += self._gaps()
        findings += self._hashes.findings()
        findings += self._missing_roles()
        findings += self._vector_lengths()
        return findings

    def _copies(self) -> list[AuditFinding]:
        same = Tally("copies", AuditSeverity.PROBLEM, "texts occur more than once in one document")
        other = Tally("copies", AuditSeverity.WARNING, "texts also occur in another document")
        unplaced = Tally(
            "copies",
            AuditSeverity.WARNING,
            "texts occur more than once, in documents that are unknown",
        )
        for text in self._texts.values():
            if text.same_document:
                same.add(text.label, text.same_document)
            if text.other_documents:
                other.add(text.label, text.other_documents)
            if text.unplaced:
                unplaced.add(text.label, text.unplaced)
        tallies = (same, other, unplaced)
        return [tally.finding(self._texts.scale) for tally in tallies if tally.count]

    def _gaps(self) -> list[AuditFinding]:
        gaps = Tally(
            "positions", AuditSeverity.WARNING, "documents have gaps between their positions"
        )
        repeated = Tally(
            "positions", AuditSeverity.WARNING, "documents have a position more than once"
        )
        for positions in self._documents.values():
            span = positions.highest - positions.lowest + 1
            if positions.count < span:
                gaps.add(positions.document)
            elif positions.count > span:
                repeated.add(positions.document)
        return [tally.finding(self._documents.scale) for tally in (gaps, repeated) if tally.count]

    def _missing_roles(self) -> list[AuditFinding]:
        return [
            AuditFinding(
                "roles",
                AuditSeverity.WARNING,
                count,
                f"points have no {role} ({count / self._points:.1%} of all)",
            )
            for role, count in sorted(self._missing.items())
            if role != "text"
        ]

    def _vector_lengths(self) -> list[AuditFinding]:
        if not self._other_vectors:
            return []
        severity, message = AuditSeverity.NOTE, "vectors do not have length 1"
        if self._unit_vectors:
            severity, message = AuditSeverity.WARNING, f"{message}, while others do"
        return [AuditFinding("vector", severity, self._other_vectors, message)]

    async def same_vectors(self, index: VectorIndex) -> list[AuditFinding]:
        """Compare the suspected pairs: different texts with the same vector."""
        same = []
        for first, second, label in self._suspects:
            vectors = await index.vectors([first, second])
            if float(vectors[0] @ vectors[1]) >= _SAME_VECTOR:
                same.append(label)
        if not same:
            return []
        message = (
            "pairs of different texts have the same vector: the embedder failed, or truncated them"
        )
        if self._more_suspects:
            message += "; there may be more"
        examples = tuple(same[:MAX_EXAMPLES])
        return [AuditFinding("same_vector", AuditSeverity.PROBLEM, len(same), message, examples)]

    def _count(self, check: str, severity: AuditSeverity, message: str, example: str) -> None:
        tally = self._tallies.setdefault(message, Tally(check, severity, message))
        tally.add(example)


def _hashed(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


def _fault_of(url: str) -> tuple[AuditSeverity, str] | None:
    """What is wrong with a URL, by its form alone; no request is made."""
    if any(character.isspace() for character in url):
        return AuditSeverity.PROBLEM, "URLs contain whitespace"
    try:
        address = urlsplit(url)
        address.port  # noqa: B018 - reading it validates it
    except ValueError:
        return AuditSeverity.PROBLEM, "URLs can't be parsed"
    web = address.scheme in {"http", "https"}
    if web and not address.hostname:
        return AuditSeverity.PROBLEM, "URLs have no host"
    if address.scheme == "file" or (web and address.hostname in _LOCAL_HOSTS):
        return AuditSeverity.WARNING, "URLs lead to the local machine; others cannot open them"
    if web or url.startswith("/") or is_unpublished(url):
        return None
    return AuditSeverity.PROBLEM, "URLs begin with neither https:// nor /"
