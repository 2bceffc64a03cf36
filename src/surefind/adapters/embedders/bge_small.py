"""The default embedder: bge-small-en-v1.5 on this machine's own cores.

One session, called from one more thread than there are cores: twice the throughput of one caller
with two threads inside, and results that no thread count can change. One more, since one of them
often waits for the interpreter that a search or a parser is using.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from surefind.adapters.embedders.bge_small_model import MAX_TOKENS, BgeSmallModel
from surefind.adapters.embedders.model_files import BATCH_SIZE, DIMENSIONS, FINGERPRINT
from surefind.adapters.embedders.wordpiece import WordPieceCounter
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddedQuery, Matrix, Vector


class BgeSmallEmbedder:
    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`folder` holds files that `model_files.locate` has verified."""
        self.threads = threads or cores() + 1
        self._model = BgeSmallModel(folder)
        self._counter = WordPieceCounter(self._model.tokenizer)
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="surefind-embed")

    @property
    def fingerprint(self) -> EmbedderFingerprint:
        return FINGERPRINT

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    @property
    def batch_size(self) -> int:
        return BATCH_SIZE

    def count_tokens(self, passage: str) -> int:
        return self._counter.count(passage)

    async def embed_passages(self, passages: Sequence[str]) -> Matrix:
        if not passages:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        loop = asyncio.get_running_loop()
        rows = [loop.run_in_executor(self._executor, self._model.embed, one) for one in passages]
        try:
            return np.stack(await asyncio.gather(*rows))
        except asyncio.CancelledError:
            for row in rows:
                row.cancel()
            raise

    async def embed_query(self, query: str) -> Vector:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._model.embed, query)

    async def embed_queries(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._model.embed_each, queries)

    async def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """Those this process may use, which in a container are fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
