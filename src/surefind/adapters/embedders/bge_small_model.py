"""bge-small-en-v1.5, int8 ONNX: a text becomes a vector, in the thread that asks.

One text a call, since int8 results depend on padding and batches are no faster on a CPU. One thread
inside, so that no thread count can change a result.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

# Measured: the runtime queues events and looks up its maker's host unless this is set before it is
# loaded; its own `disable_telemetry_events()` comes too late.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import onnxruntime

from surefind.adapters.embedders.model_files import TOKENIZER, WEIGHTS
from surefind.errors import EmbeddingError
from surefind.ports import EmbeddedQuery, Vector

MAX_TOKENS = 510
"""512 less the two marks around every passage."""


class BgeSmallModel:
    """Any number of threads may call it at once."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds files that `model_files.locate` has verified."""
        try:
            self.tokenizer: Tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
            self._session = onnxruntime.InferenceSession(
                str(folder / WEIGHTS.name), _options(), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare or private types
            raise EmbeddingError(f"the model in {folder} can't be loaded: {error}") from error
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def embed(self, text: str) -> Vector:
        ids = self.tokenizer.encode(text).ids
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

    def embed_each(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        """One after the other, each with its time."""
        return [self._timed(query) for query in queries]

    def _timed(self, query: str) -> EmbeddedQuery:
        begun = time.perf_counter()
        vector = self.embed(query)
        return EmbeddedQuery(vector, (time.perf_counter() - begun) * 1000)


def _options() -> "onnxruntime.SessionOptions":
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options
