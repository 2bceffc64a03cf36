"""A reranker from a folder with an ONNX file: a cross-encoder that reads question and passage.

The score of a pair is the logistic function of the model's logit, so it is in 0..1 and keeps the
model's order. A classifier with two classes gives the probability of the second one.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefind.adapters.onnx.model_folder import TOKENIZER, ModelFolder, ModelSetting, open_folder
from surefind.adapters.onnx.sentence_modules import Floats, Head, head_of
from surefind.adapters.onnx.session import EncoderSession, one_line
from surefind.adapters.onnx.tokens import TextTokenizer, TokenIds
from surefind.adapters.processor import cores
from surefind.errors import InputError, RerankingError

SETTING = ModelSetting("rerank_model", "rerank_file")
_TOKENS = ("last_hidden_state", "token_embeddings")
_CLASSES = 2


class OnnxReranker:
    def __init__(self, path: Path, file: str | None = None, threads: int | None = None) -> None:
        """`file` is the ONNX file in the folder, if it is not the usual one."""
        folder = open_folder(path, file, SETTING)
        self._model = CrossEncoder(folder, head_of(folder, None))
        self._name = f"onnx/{folder.name}"
        self._executor = ThreadPoolExecutor(threads or cores(), thread_name_prefix="rerank")

    @property
    def name(self) -> str:
        return self._name

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        loop = asyncio.get_running_loop()
        scores = [
            loop.run_in_executor(self._executor, self._model.score, query, passage)
            for passage in passages
        ]
        try:
            return list(await asyncio.gather(*scores))
        finally:
            for score in scores:
                score.cancel()

    async def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class LazyReranker:
    """A reranker that is loaded in a thread for the first search that needs it."""

    def __init__(self, name: str, load: Callable[[], OnnxReranker]) -> None:
        self._name = name
        self._load = load
        self._loading = asyncio.Lock()
        self._loaded: OnnxReranker | None = None

    @property
    def name(self) -> str:
        return self._loaded.name if self._loaded else f"onnx/{self._name}"

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(self._load)
        return await self._loaded.rerank(query, passages)

    async def close(self) -> None:
        if self._loaded is not None:
            await self._loaded.close()


class CrossEncoder:
    """Scores one pair in the calling thread: int8 results depend on padding. Thread-safe."""

    def __init__(self, folder: ModelFolder, head: Head) -> None:
        self._folder = folder
        self._head = head
        self._tokenizer = TextTokenizer(folder, None)
        self._session = EncoderSession(folder.weights_path, folder.advice)
        folder.hashes([*folder.weights_files, TOKENIZER, *head.files])
        self._check()

    def score(self, query: str, passage: str) -> float:
        tokens = self._tokenizer.encode_pairs([(query, passage)])
        try:
            logits = self._logits(tokens)[0]
        except InputError:
            raise
        except Exception as error:  # the runtime's errors share no public root
            raise RerankingError(f"the reranking model failed: {one_line(error)}") from error
        if not np.isfinite(logits).all():
            raise RerankingError(
                f"{self._folder.name} returned a score that is not finite; {self._folder.advice}"
            )
        logit = logits[1] - logits[0] if len(logits) == _CLASSES else logits[0]
        return float(1 / (1 + np.exp(-np.clip(logit, -700, 700))))

    def _logits(self, tokens: TokenIds) -> NDArray[np.float64]:
        """One row per pair, with a logit for each class."""
        outputs = self._session.run(*tokens)
        output: Floats = next(iter(outputs.values()))
        for name in ("logits", *_TOKENS):
            if name in outputs:
                output = outputs[name]
                break
        vectors = output.astype(np.float32)
        if vectors.ndim == 3 and self._head.pooling is not None:
            vectors = self._head.pooling.apply(vectors, tokens.mask)
            for step in self._head.steps:
                vectors = step(vectors)
        if vectors.ndim == 1:
            vectors = vectors[:, None]
        if vectors.ndim != 2 or vectors.shape[1] > _CLASSES:
            raise InputError(
                f"{self._folder.weights_path} returns {vectors.shape[1:]} numbers for a pair, not "
                f"one score; set {SETTING.model} to a reranker, such as a cross-encoder"
            )
        return vectors.astype(np.float64)

    def _check(self) -> None:
        """Run the model on its tokenizer's last token."""
        row = np.array([[self._tokenizer.last_id]], dtype=np.int64)
        try:
            self._logits(TokenIds(row, np.ones_like(row), np.zeros_like(row)))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{self._folder.path / TOKENIZER} does not fit {self._folder.weights}: its token "
                f"{self._tokenizer.last_id} fails in the model ({one_line(error)}); use the "
                "tokenizer.json that belongs to the model"
            ) from error
