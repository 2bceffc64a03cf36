"""The findings of the doctor, and the repairs that they suggest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from surefind.model import GenerationRef


class CheckSeverity(StrEnum):
    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


class Remedy(StrEnum):
    """The kinds of repair.

    DROP removes a generation that readers do not see. REBUILD builds a new index from the catalog's
    texts. PUBLISH rewrites a lost pointer. CLEAN removes damaged vectors from the embedding cache.
    """

    DROP = "drop"
    REBUILD = "rebuild"
    PUBLISH = "publish"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Repair:
    """`ref` is None if the repair concerns no generation."""

    remedy: Remedy
    ref: GenerationRef | None

    def __str__(self) -> str:
        if self.remedy is Remedy.DROP:
            return f"remove the remains of generation {self.ref}"
        if self.remedy is Remedy.PUBLISH:
            return f"publish generation {self.ref}, the newest intact one"
        if self.remedy is Remedy.CLEAN:
            return "remove the damaged vectors from the embedding cache"
        return (
            f"rebuild the index of generation {self.ref} from its catalog, as a new generation "
            "that replaces it"
        )


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """`unavailable` is true if a store or service failed to answer, or refused."""

    subject: str
    severity: CheckSeverity
    message: str
    repair: Repair | None = None
    unavailable: bool = False


@dataclass(frozen=True, slots=True)
class GenerationState:
    """The state of one generation in catalog and index."""

    ref: GenerationRef
    cataloged: str
    indexed: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Examination:
    findings: tuple[CheckFinding, ...]
    generations: tuple[GenerationState, ...]

    @property
    def repairs(self) -> list[Repair]:
        repairs = (finding.repair for finding in self.findings)
        return list(dict.fromkeys(repair for repair in repairs if repair is not None))

    @property
    def sound(self) -> bool:
        return not any(finding.severity is CheckSeverity.PROBLEM for finding in self.findings)

    @property
    def unavailable(self) -> bool:
        return any(finding.unavailable for finding in self.findings)
