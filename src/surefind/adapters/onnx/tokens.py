"""Turns texts into token ids with a model's own tokenizer."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from surefind.adapters.embedders.bge_small import WordPieceCounter
from surefind.adapters.onnx.model_folder import TOKENIZER, ModelFolder
from surefind.errors import InputError

DEFAULT_MAX_LENGTH = 512
_SHORTEST = 8
_UNLIMITED = 10**6  # tokenizer_config.json says 1e30 for "no limit"
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet"}
"""Their position numbers begin after the number of the padding token."""


class TokenIds(NamedTuple):
    """One row per text, with padding: ids, 1 for tokens, and the part of a pair."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    kinds: NDArray[np.int64]


class TextTokenizer:
    """`max_length` includes special tokens. Thread-safe."""

    def __init__(self, folder: ModelFolder, max_tokens: int | None) -> None:
        """`max_tokens` is the user's limit, including special tokens."""
        path = folder.path / TOKENIZER
        try:
            self._cutting = Tokenizer.from_file(str(path))
            self._whole = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare exceptions
            raise InputError(f"{path} is not a tokenizer ({error}); download it again") from error
        stated = _stated_length(folder, self._cutting.truncation)
        self.max_length = min(stated, max_tokens or stated)
        self.lowers = folder.mapping("sentence_bert_config.json").get("do_lower_case") is True
        for tokenizer in (self._cutting, self._whole):
            tokenizer.no_padding()
        self._whole.no_truncation()
        self._cutting.enable_truncation(max_length=self.max_length)
        fast = not self.lowers and _is_bert(self._whole)
        self._counter = WordPieceCounter(self._whole) if fast else None

    @property
    def last_id(self) -> int:
        return int(self._whole.get_vocab_size()) - 1

    @property
    def special_tokens(self) -> int:
        return int(self._whole.num_special_tokens_to_add(is_pair=False))

    def count(self, text: str) -> int:
        """Without special tokens."""
        read = self._read(text)
        if self._counter is not None:
            return self._counter.count(read)
        return len(self._whole.encode(read, add_special_tokens=False))

    def beginning(self, text: str) -> int:
        """The number of tokens before a text that follows this one, with special ones."""
        encoding = self._whole.encode(self._read(text))
        marks = encoding.special_tokens_mask
        return len(encoding) - (1 if marks and marks[-1] else 0)

    def encode(self, text: str) -> TokenIds:
        return _arranged([self._cutting.encode(self._read(text))])

    def encode_pairs(self, pairs: list[tuple[str, str]]) -> TokenIds:
        """The longer text of a pair is truncated first."""
        read = [(self._read(one), self._read(other)) for one, other in pairs]
        return _arranged(self._cutting.encode_batch(read))

    def _read(self, text: str) -> str:
        whole = text.encode("utf-8", "replace").decode()  # lone surrogates are invalid
        return whole.lower() if self.lowers else whole


def _arranged(encodings: list[Encoding]) -> TokenIds:
    longest = max(map(len, encodings))
    ids, mask, kinds = (np.zeros((len(encodings), longest), dtype=np.int64) for _ in range(3))
    for row, encoding in enumerate(encodings):
        length = len(encoding)
        ids[row, :length] = encoding.ids
        mask[row, :length] = encoding.attention_mask
        kinds[row, :length] = encoding.type_ids
    return TokenIds(ids, mask, kinds)


def _stated_length(folder: ModelFolder, truncation: dict[str, Any] | None) -> int:
    """The maximum length that the files state, with special tokens."""
    own = _length(folder.mapping("sentence_bert_config.json").get("max_seq_length"))
    if own is not None:
        return own
    config = folder.mapping("config.json")
    positions = _length(config.get("max_position_embeddings"))
    if positions is not None and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    tokens = _length(folder.mapping("tokenizer_config.json").get("model_max_length"))
    stated = [one for one in (positions, tokens) if one is not None]
    if not stated and truncation is not None:
        stated = [int(truncation["max_length"])]
    return min(stated, default=DEFAULT_MAX_LENGTH)


def _length(value: object) -> int | None:
    """A stated length; None if it means that there is no limit."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if _SHORTEST < value < _UNLIMITED else None


def _is_bert(tokenizer: Tokenizer) -> bool:
    """Whether words are counted one by one and in lower case, as WordPieceCounter does."""
    normalizer = tokenizer.normalizer
    return (
        isinstance(tokenizer.model, WordPiece)
        and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        and isinstance(normalizer, BertNormalizer)
        and normalizer.lowercase is True
        and normalizer.clean_text is True
    )
