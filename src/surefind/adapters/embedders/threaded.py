"""An embedder that runs a local model in several threads.

Each call of the model embeds one text: int8 results depend on padding, and batches are not faster
on a CPU. The runtime uses one thread, so that the thread count can't change results. Instead,
several threads share one session: with one more thread than cores, throughput was twice that of one
caller with two runtime threads. The extra thread compensates for searches and parsers that hold the
GIL.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from surefind.adapters.processor import cores
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Matrix, Vector

BATCH_SIZE = 16
"""How many texts to pass to the embedder per call; it embeds them one by one."""


class ThreadedEmbedder:
    def __init__(
        self,
        fingerprint: EmbedderFingerprint,
        embed_passage: Callable[[str], Vector],
        embed_query: Callable[[str], Vector],
        threads: int | None = None,
    ) -> None:
        """Both functions return unit vectors, block, and can run in several threads at once."""
        self.threads = threads or cores() + 1
        self._fingerprint = fingerprint
        self._passage = embed_passage
        self._query = embed_query
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="surefind-embed")

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return self._fingerprint

    @property
    def batch_size(self) -> int:
        return BATCH_SIZE

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        if not passages:
            return np.empty((0, self.fingerprint.dimensions), dtype=np.float32)
        loop = asyncio.get_running_loop()
        rows = [loop.run_in_executor(self._executor, self._passage, text) for text in passages]
        try:
            return np.stack(await asyncio.gather(*rows))
        except asyncio.CancelledError:
            for row in rows:
                row.cancel()
            raise

    async def embed_query(self, query: str) -> Vector:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._query, query)

    async def embed_queries(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._each, queries)

    async def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _each(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        """Embed the queries one by one and time each of them."""
        return [self._timed(query) for query in queries]

    def _timed(self, query: str) -> EmbeddedQuery:
        started = time.perf_counter()
        vector = self._query(query)
        return EmbeddedQuery(vector, (time.perf_counter() - started) * 1000)
