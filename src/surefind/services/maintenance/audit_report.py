"""The findings of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from surefind.services.connected.vector_origin import OriginCounts

MAX_EXAMPLES = 5


class AuditSeverity(StrEnum):
    """A problem causes wrong or missing results, a warning may cause them, a note does not."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """`count` is the number of points, documents or pairs concerned."""

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
    """None if no text was re-embedded; a finding gives the reason, unless the caller chose it."""

    @property
    def sound(self) -> bool:
        return not any(finding.severity is AuditSeverity.PROBLEM for finding in self.findings)


class Tally:
    """Counts the hits of one check, and keeps the first examples."""

    def __init__(self, check: str, severity: AuditSeverity, message: str) -> None:
        self.count = 0
        self._check = check
        self._severity = severity
        self._message = message
        self._examples: list[str] = []

    def add(self, example: str, count: int = 1) -> None:
        self.count += count
        if len(self._examples) < MAX_EXAMPLES:
            self._examples.append(example)

    def finding(self, scale: int = 1) -> AuditFinding:
        """`scale` is the sampling factor: one in `scale` was counted."""
        message = self._message
        if scale > 1:
            message += f" (estimated from 1 in {scale})"
        return AuditFinding(
            self._check, self._severity, self.count * scale, message, tuple(self._examples)
        )
