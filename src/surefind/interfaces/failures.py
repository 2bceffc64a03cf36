"""One mapping from surefind's errors to exit codes, HTTP statuses and the contract's names."""

from dataclasses import dataclass

from surefind.errors import (
    EmbeddingError,
    GuardStopped,
    InputError,
    NotComparable,
    Overloaded,
    RerankingError,
    StoreError,
    SurefindError,
    UnknownChunk,
    UnknownCollection,
    UnknownDocument,
    UnknownGeneration,
)

FAILED, CALLERS_MISTAKE, INCONCLUSIVE, AWAY = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Failure:
    exit_code: int
    http_status: int
    name: str


_FAILURES: tuple[tuple[type[SurefindError], Failure], ...] = (
    (UnknownCollection, Failure(CALLERS_MISTAKE, 404, "not_found")),
    (UnknownGeneration, Failure(CALLERS_MISTAKE, 404, "not_found")),
    (UnknownChunk, Failure(CALLERS_MISTAKE, 404, "not_found")),
    (UnknownDocument, Failure(CALLERS_MISTAKE, 404, "not_found")),
    (InputError, Failure(CALLERS_MISTAKE, 400, "validation_error")),
    (GuardStopped, Failure(FAILED, 409, "guard_stopped")),
    (NotComparable, Failure(INCONCLUSIVE, 409, "not_comparable")),
    (Overloaded, Failure(AWAY, 503, "service_unavailable")),
    (EmbeddingError, Failure(AWAY, 502, "upstream_error")),
    (RerankingError, Failure(AWAY, 502, "upstream_error")),
    (StoreError, Failure(AWAY, 503, "service_unavailable")),
)


def failure_of(error: SurefindError) -> Failure:
    for kind, failure in _FAILURES:
        if isinstance(error, kind):
            return failure
    return Failure(AWAY, 500, "internal_error")
