"""Embedders and caches that are exact, in memory, and fail on demand."""

import functools
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np

from surefind.errors import EmbeddingError
from surefind.model import (
    EmbedderFingerprint,
)
from surefind.ports import CacheCheck, EmbeddedQuery, Embedder, Matrix, Vector

WORDS = re.compile(r"\w+")


@functools.cache
def places(word: str) -> tuple[int, int]:
    digest = hashlib.sha256(word.encode()).digest()
    return digest[0], digest[1]


class WordEmbedder:
    """Texts that share words are near each other. `fail_at` makes the nth passage call fail."""

    def __init__(self, dimensions: int = 32, weights: str = "words-1") -> None:
        self.dimensions = dimensions
        self.weights = weights
        self.batch_size = 16
        self.calls = 0
        self.passages: list[str] = []
        self.fail_at: int | None = None

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return EmbedderFingerprint("fake", "words", self.dimensions, self.weights, "")

    @property
    def max_tokens(self) -> int:
        return 8192

    def count_tokens(self, passage: str) -> int:
        return len(WORDS.findall(passage))

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        self.calls += 1
        if self.fail_at == self.calls:
            raise EmbeddingError("the fake embedder fails on request")
        self.passages += passages
        rows = [self.embed(passage) for passage in passages]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    async def embed_query(self, query: str) -> Vector:
        return self.embed(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        return [EmbeddedQuery(await self.embed_query(query), 0.0) for query in queries]

    async def close(self) -> None:
        pass

    def embed(self, text: str) -> Vector:
        vector = np.full(self.dimensions, 1e-3, dtype=np.float32)
        for word in WORDS.findall(text.lower()):
            first, second = places(word)
            vector[first % self.dimensions] += 1.0
            vector[second % self.dimensions] += 0.5
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class WatchedEmbedder:
    """Another embedder that calls `before` with each query; an exception there fails the query.

    Closing it does not close `inner`, which several tests may share.
    """

    def __init__(self, inner: Embedder, before: Callable[[str], Awaitable[None]]) -> None:
        self._inner = inner
        self._before = before
        self.fingerprint = inner.fingerprint
        self.batch_size = inner.batch_size
        self.max_tokens = inner.max_tokens

    def count_tokens(self, passage: str) -> int:
        return self._inner.count_tokens(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        return await self._inner.embed_passages(passages)

    async def embed_query(self, query: str) -> Vector:
        await self._before(query)
        return await self._inner.embed_query(query)

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        for query in queries:
            await self._before(query)
        return await self._inner.embed_queries(queries)

    async def close(self) -> None:
        pass


class MemoryCache:
    def __init__(self) -> None:
        self._vectors: dict[tuple[EmbedderFingerprint, str, str], Vector] = {}

    async def read(
        self, fingerprint: EmbedderFingerprint, input_type: str, passages: Sequence[str]
    ) -> Mapping[str, Vector]:
        keys = {passage: (fingerprint, input_type, passage) for passage in passages}
        return {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}

    async def write(
        self, fingerprint: EmbedderFingerprint, input_type: str, vectors: Mapping[str, Vector]
    ) -> None:
        for passage, vector in vectors.items():
            self._vectors[fingerprint, input_type, passage] = vector

    async def check(self, *, repair: bool) -> CacheCheck:
        return CacheCheck(len(self._vectors), 0)

    async def close(self) -> None:
        pass
