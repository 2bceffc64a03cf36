"""Maps surefind's errors to exit codes, HTTP statuses and the contract's error names."""

from dataclasses import dataclass

from surefind.errors import (
    EmbeddingError,
    GuardStopped,
    InputError,
    NotComparable,
    NothingIngested,
    Overloaded,
    RerankingError,
    StoreError,
    SurefindError,
    TargetError,
    UnknownChunk,
    UnknownCollection,
    UnknownDocument,
    UnknownGeneration,
)

FAILED, INVALID_INPUT, INCONCLUSIVE, UNAVAILABLE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Failure:
    exit_code: int
    http_status: int
    name: str


_FAILURES: tuple[tuple[type[SurefindError], Failure], ...] = (
    (UnknownCollection, Failure(INVALID_INPUT, 404, "not_found")),
    (UnknownGeneration, Failure(INVALID_INPUT, 404, "not_found")),
    (UnknownChunk, Failure(INVALID_INPUT, 404, "not_found")),
    (UnknownDocument, Failure(INVALID_INPUT, 404, "not_found")),
    (InputError, Failure(INVALID_INPUT, 400, "validation_error")),
    (GuardStopped, Failure(FAILED, 409, "guard_stopped")),
    (NotComparable, Failure(INCONCLUSIVE, 409, "not_comparable")),
    (Overloaded, Failure(UNAVAILABLE, 503, "service_unavailable")),
    (EmbeddingError, Failure(UNAVAILABLE, 502, "upstream_error")),
    (RerankingError, Failure(UNAVAILABLE, 502, "upstream_error")),
    (TargetError, Failure(UNAVAILABLE, 502, "upstream_error")),
    (StoreError, Failure(UNAVAILABLE, 503, "service_unavailable")),
)


def failure_of(error: SurefindError) -> Failure:
    for kind, failure in _FAILURES:
        if isinstance(error, kind):
            return failure
    return Failure(UNAVAILABLE, 500, "internal_error")


def public_message(error: SurefindError) -> str:
    """The message for clients. Messages of stores and services may reveal files and hosts.

    Their full text is in the log, under the request's ID.
    """
    if isinstance(error, NothingIngested):
        return str(error)
    if isinstance(error, EmbeddingError):
        return "the embedding service failed; see the server log, or try again later"
    if isinstance(error, RerankingError):
        return "the reranking service failed; see the server log, or try again later"
    if isinstance(error, TargetError):
        return "the validated retriever failed; see the server log, or try again later"
    if isinstance(error, StoreError):
        return "a store is unavailable; see the server log, or try again later"
    return str(error)
