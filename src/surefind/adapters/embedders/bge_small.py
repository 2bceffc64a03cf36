"""The default embedder: bge-small-en-v1.5 as int8 ONNX."""

import re
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from surefind.adapters.embedders.model_files import FINGERPRINT, TOKENIZER, WEIGHTS
from surefind.adapters.embedders.threaded import ThreadedEmbedder
from surefind.adapters.onnx.devices import Device
from surefind.adapters.onnx.session import session_of, threads_for
from surefind.errors import EmbeddingError, InputError
from surefind.ports import Vector

MAX_TOKENS = 510
"""512 minus the two special tokens."""


class BgeSmallEmbedder(ThreadedEmbedder):
    def __init__(self, folder: Path, threads: int | None = None, device: Device = "cpu") -> None:
        """`folder` contains files verified by `model_files.locate`."""
        model = BgeSmallModel(folder, device)
        super().__init__(FINGERPRINT, model.embed, model.embed, threads_for(device, threads))
        self._counter = WordPieceCounter(model.tokenizer)

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def count_tokens(self, passage: str) -> int:
        return self._counter.count(passage)


class BgeSmallModel:
    """Embeds texts in the calling thread. Thread-safe."""

    def __init__(self, folder: Path, device: Device = "cpu") -> None:
        try:
            self.tokenizer: Tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
            self._session = session_of(folder / WEIGHTS.name, device)
        except InputError:
            raise
        except Exception as error:  # both libraries raise bare or private types
            raise EmbeddingError(
                f"the embedding model in {folder} can't be loaded ({error}); run `surefind model "
                "fetch` to download it again"
            ) from error
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
        vector: Vector = hidden[0, 0].astype(np.float32)  # CLS pooling
        return vector / np.linalg.norm(vector)


_MAX_WORDS = 2**16  # about 10 MB; rarer words would rarely hit
_MAX_LENGTH = 80
# Python splits words at these characters; the tokenizer drops them and joins the neighbours.
_JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_RUN = re.compile("[A-Za-z0-9]+|[^A-Za-z0-9]")


class WordPieceCounter:
    """Counts tokens exactly like the tokenizer, but many times faster.

    A BERT tokenizer splits at white space and punctuation before it looks for word pieces. So the
    token count of a text is the sum over its words, and the counts of words can be cached.
    """

    def __init__(self, tokenizer: Tokenizer, max_words: int = _MAX_WORDS) -> None:
        """The counts of up to `max_words` words are kept."""
        self._tokenizer = tokenizer
        self._counts = _Counts(tokenizer, max_words)

    def count(self, text: str) -> int:
        if _JOINING.search(text):
            return len(self._tokenizer.encode(text, add_special_tokens=False))
        return sum(map(self._counts.__getitem__, text.split()))


class _Counts(dict[str, int]):
    """Cached token counts of words and of the runs of letters in them."""

    def __init__(self, tokenizer: Tokenizer, max_words: int) -> None:
        super().__init__()
        self._max_words = max_words
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        marks = (re.escape(str(token)) for token in tokenizer.get_added_tokens_decoder().values())
        self._mark = re.compile("|".join(marks))  # one token each, in any context

    def __missing__(self, word: str) -> int:
        count = self._count(word)
        if len(word) <= _MAX_LENGTH:
            if len(self) >= self._max_words:
                self.clear()
            self[word] = count
        return count

    def _count(self, word: str) -> int:
        if word.isascii() and word.isalnum():  # ASCII needs only lower-casing: ten times faster
            return len(self._model.tokenize(word.lower()))
        # Non-ASCII words and dropped characters need the tokenizer.
        has_runs = len(word) > 1 and word.isascii() and word.isprintable()
        if has_runs and self._mark.search(word) is None:
            return sum(map(self.__getitem__, _RUN.findall(word)))
        return len(self._tokenizer.encode(word, add_special_tokens=False))
