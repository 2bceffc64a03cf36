"""Checks a query: its values, and whether the collections can be searched with it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import UnionType

from surefind.errors import InputError
from surefind.model import (
    Collapse,
    EmbedderFingerprint,
    Expand,
    GroupBy,
    Manifest,
    Mode,
    Query,
)
from surefind.model.strings import check_string
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.query_language import check_language

MAX_QUERY_LENGTH = 2000
MAX_TOP_K = 1000
MAX_NEIGHBOURS = 20
MAX_COLLECTIONS = 16
MAX_BATCH = 1000
_KINDS: Mapping[str, type | UnionType] = {
    "mode": Mode,
    "where": tuple,
    "group_by": GroupBy | None,
    "collapse": Collapse,
    "expand": Expand,
    "also_in": tuple,
    "history": tuple,
}


def check_query(query: Query) -> None:
    """Raises an InputError that names the invalid field."""
    if not query.text.strip():
        raise InputError("query is empty; enter a question or keywords")
    check_string("query", query.text, MAX_QUERY_LENGTH, blank=False)
    for name in query.collections:
        check_string("collections", name)
    check_language(query.language)
    for name, kind in _KINDS.items():
        if not isinstance(getattr(query, name), kind):
            raise InputError(f"{name} must be a {_named(kind)}, not {getattr(query, name)!r}")
    _check_count("top_k", query.top_k, MAX_TOP_K)
    _check_share("threshold", query.threshold)
    _check_share("diversity", query.diversity)
    _check_count("group_size", query.group_size, MAX_TOP_K)
    _check_count("neighbours", query.neighbours, MAX_NEIGHBOURS)
    if query.max_tokens is not None:
        _check_count("max_tokens", query.max_tokens, 10**7)
    if len(query.collections) > MAX_COLLECTIONS:
        raise InputError(
            f"collections: at most {MAX_COLLECTIONS}, not {len(query.collections)}; search fewer"
        )
    if query.mode is Mode.LEXICAL and query.threshold > 0:
        raise InputError(
            "threshold applies to hybrid and dense mode only; remove it, or use one of these modes"
        )


def _named(kind: type | UnionType) -> str:
    return getattr(kind, "__name__", str(kind))


def _check_count(name: str, value: object, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{name} must be a whole number from 1 to {most}, not {value!r}")


def _check_share(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 <= value <= 1
    ):
        raise InputError(f"{name} must be a number from 0.0 to 1.0, not {value!r}")


# --- the collections ---------------------------------------------------------------------------


def supported_query(query: Query, manifests: Sequence[Manifest], notes: list[str]) -> Query:
    """The query in a mode that all collections support; without a lexical leg, hybrid is dense."""
    own = [one.collection for one in manifests if one.connected and not one.connected.gives_cosines]
    if own and len(manifests) > 1 and query.mode is not Mode.LEXICAL:
        raise InputError(
            f"collection {own[0]!r} does not rank by cosine, so its scores can't be compared with "
            "other collections'; search it alone"
        )
    dense_only = [one.collection for one in manifests if not one.lexical.analyzer]
    if query.mode is not Mode.HYBRID or not dense_only:
        return query
    notes.append(f"semantic search only: {', '.join(dense_only)} has no lexical index")
    return replace(query, mode=Mode.DENSE)


def check_encoders(
    manifest: Manifest, mode: Mode, embedder: EmbedderFingerprint, terms: Bm25Encoder
) -> None:
    """Raises an InputError if the collection was built with other encoders."""
    if mode is not Mode.LEXICAL and manifest.embedder != embedder:
        raise InputError(
            f"collection {manifest.collection!r} was built with {manifest.embedder}, but the "
            f"configured embedder is {embedder}; configure the embedder that built it, or "
            f"{_next_step(manifest)}"
        )
    if mode is not Mode.DENSE and not manifest.lexical.analyzer:
        raise InputError(
            f"collection {manifest.collection!r} has no lexical index that surefind can "
            "search; use mode dense"
        )
    if mode is not Mode.DENSE and not terms.reads(manifest.lexical.analyzer):
        raise InputError(
            f"collection {manifest.collection!r} was built with the lexical analyzer "
            f"{manifest.lexical.analyzer}, but this surefind uses {terms.name}; "
            "run `surefind ingest --rebuild`, or use mode dense"
        )


def _next_step(manifest: Manifest) -> str:
    if manifest.connected is None:
        return "run `surefind ingest --rebuild`"
    return f"run `surefind connect --collection {manifest.collection}` again"
