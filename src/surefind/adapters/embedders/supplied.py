"""Embedders and rerankers from outside the package: a caller's objects, and those of plugins.

Their results are checked before anything is stored, and their failures become errors of surefind.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np

from surefind.adapters.embedders.remote import checked
from surefind.errors import EmbeddingError, InputError, RerankingError, SurefindError
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Embedder, Matrix, Reranker, Vector

T = TypeVar("T")


class SuppliedEmbedder:
    """Returns unit vectors whatever their lengths were before."""

    def __init__(self, embedder: Embedder) -> None:
        _check_members("embedder", embedder, Embedder)
        self._embedder = embedder
        self.fingerprint = embedder.fingerprint
        if not isinstance(self.fingerprint, EmbedderFingerprint):
            raise InputError(
                f"embedder: the fingerprint of {type(embedder).__name__} must be a "
                f"surefind.EmbedderFingerprint, not {self.fingerprint!r}"
            )
        self.batch_size = embedder.batch_size
        self._name = f"the embedder {self.fingerprint.provider}/{self.fingerprint.model}"

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def count_tokens(self, passage: str) -> int:
        try:
            return self._embedder.count_tokens(passage)
        except SurefindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        rows = await self._call(lambda: self._embedder.embed_passages(passages))
        return self._checked(rows, len(passages))

    async def embed_query(self, query: str) -> Vector:
        vector = await self._call(lambda: self._embedder.embed_query(query))
        unit: Vector = self._checked([vector], 1)[0]
        return unit

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        results = await self._call(lambda: self._embedder.embed_queries(queries))
        units = self._checked([vector for vector, _ in results], len(queries))
        return [
            EmbeddedQuery(unit, took_ms) for unit, (_, took_ms) in zip(units, results, strict=True)
        ]

    async def close(self) -> None:
        await self._embedder.close()

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await call()
        except SurefindError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> EmbeddingError:
        return EmbeddingError(f"{self._name} failed: {type(error).__name__}: {error}")

    def _checked(self, rows: object, count: int) -> Matrix:
        dimensions = self.fingerprint.dimensions
        if count == 0:
            return np.empty((0, dimensions), dtype=np.float32)
        return checked(rows, count, dimensions, self._name)


class SuppliedReranker:
    def __init__(self, reranker: Reranker) -> None:
        _check_members("reranker", reranker, Reranker)
        self._reranker = reranker
        self.name = reranker.name

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        try:
            scores = [float(score) for score in await self._reranker.rerank(query, passages)]
        except SurefindError:
            raise
        except Exception as error:
            raise RerankingError(
                f"the reranker {self.name} failed: {type(error).__name__}: {error}"
            ) from error
        if len(scores) != len(passages):
            raise RerankingError(
                f"the reranker {self.name} returned {len(scores)} scores for "
                f"{len(passages)} passages"
            )
        if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores):
            raise RerankingError(
                f"the reranker {self.name} returned a score that is not between 0 and 1"
            )
        return scores

    async def close(self) -> None:
        await self._reranker.close()


def _check_members(parameter: str, given: object, port: type) -> None:
    """InputError for an object that can't be one, before anything is opened."""
    members = [name for name in dir(port) if not name.startswith("_")]
    missing = [name for name in members if not hasattr(given, name)]
    if missing:
        raise InputError(
            f"{parameter}: {type(given).__name__} has no {', '.join(missing)}; it must have all "
            f"that surefind.{port.__name__} has ({', '.join(members)})"
        )
