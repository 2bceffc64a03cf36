"""The default embedder: bge-small-en-v1.5, int8 ONNX, on this machine's own cores.

One text a call, since int8 results depend on padding and batches are no faster on a CPU. One
session with one thread inside, called from one more thread than there are cores: twice the
throughput of one caller with two threads inside, and results that no thread count can change. One
more, since one of them often waits for the interpreter that a search or a parser is using.
"""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

# Measured: the runtime queues events and looks up its maker's host unless this is set before it is
# loaded; its own `disable_telemetry_events()` comes too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

from surefind.adapters.model_files import DIMENSIONS, FINGERPRINT, TOKENIZER, WEIGHTS
from surefind.adapters.wordpiece import WordPieceCounter
from surefind.errors import EmbeddingError
from surefind.model import EmbedderFingerprint
from surefind.ports import Matrix, Vector

MAX_TOKENS = 510
"""512 less the two marks around every passage."""
BATCH_SIZE = 16


class BgeSmallEmbedder:
    def __init__(self, folder: Path, threads: int | None = None) -> None:
        """`folder` holds files that `model_files.locate` has verified."""
        self.threads = threads or _cores() + 1
        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
            self._session = onnxruntime.InferenceSession(
                str(folder / WEIGHTS.name), _options(), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare or private types
            raise EmbeddingError(f"the model in {folder} can't be loaded: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._counter = WordPieceCounter(self._tokenizer)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="surefind-embed")

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
        rows = [loop.run_in_executor(self._pool, self._embed, passage) for passage in passages]
        try:
            return np.stack(await asyncio.gather(*rows))
        except asyncio.CancelledError:
            for row in rows:
                row.cancel()
            raise

    async def embed_query(self, query: str) -> Vector:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._embed, query)

    async def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _embed(self, text: str) -> Vector:
        encoding = self._tokenizer.encode(text)
        ids = encoding.ids
        if len(ids) > MAX_TOKENS + 2:
            ids = [*ids[: MAX_TOKENS + 1], ids[-1]]
        row = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        try:
            hidden = self._session.run(None, inputs)[0]
        except Exception as error:  # onnxruntime's errors share no public root
            raise EmbeddingError(f"the embedding model failed: {error}") from error
        vector: Vector = hidden[0, 0].astype(np.float32)  # the first token stands for the passage
        return vector / np.linalg.norm(vector)


def _cores() -> int:
    """Those this process may use, which in a container are fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _options() -> "onnxruntime.SessionOptions":
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
