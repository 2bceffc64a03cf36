"""The pairs as arrays: one stream of tokens, and tables that point into it."""

from __future__ import annotations

import json
import lzma
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = ("context", "heading", "sentence", "rest")
FIELDS: dict[str, Any] = {
    "site": np.uint8,
    "page": np.uint32,
    **dict.fromkeys(PARTS, np.uint8),
    "question_kind": np.uint8,
    "question_passage": np.uint32,
    "question_length": np.uint8,
}
KINDS = ("heading", "question", "sentence", "link", "description", "keywords", "identifier")
_SENTENCE = KINDS.index("sentence")
_WITHOUT_HEADING = (KINDS.index("heading"), KINDS.index("question"))
_BLOCKS = 8
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Each passage is followed in `tokens` by its questions. Parts are lengths in tokens.

    A question of the kind *sentence* has no tokens: it is that part of its passage.
    """

    tokens: NDArray[np.uint16]
    site: NDArray[np.uint8]
    page: NDArray[np.uint32]
    context: NDArray[np.uint8]
    heading: NDArray[np.uint8]
    sentence: NDArray[np.uint8]
    rest: NDArray[np.uint8]
    question_kind: NDArray[np.uint8]
    question_passage: NDArray[np.uint32]
    question_length: NDArray[np.uint8]

    def write(self, path: Path) -> None:
        """The stream in blocks, which several threads decompress at once."""
        tables = b"".join(getattr(self, name).tobytes() for name in FIELDS)
        size = -(-len(self.tokens) // _BLOCKS)
        raw = [self.tokens[at : at + size].tobytes() for at in range(0, len(self.tokens), size)]
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 1, "pb": 1}]
        with ThreadPoolExecutor(2) as pool:
            parts = list(pool.map(lambda one: lzma.compress(one, filters=filters), (tables, *raw)))
        header = {
            "rows": {name: len(getattr(self, name)) for name in FIELDS},
            "parts": [len(one) for one in parts],
        }
        head = json.dumps(header).encode()
        path.write_bytes(b"".join((len(head).to_bytes(4, "little"), head, *parts)))

    @classmethod
    def read(cls, path: Path) -> Pairs:
        content = path.read_bytes()
        at = 4 + int.from_bytes(content[:4], "little")
        header = json.loads(content[4:at])
        parts = []
        for length in header["parts"]:
            parts.append(content[at : at + length])
            at += length
        with ThreadPoolExecutor(_BLOCKS + 1) as pool:
            tables, *raw = pool.map(lzma.decompress, parts)
        arrays, at = {}, 0
        for name, kind in FIELDS.items():
            arrays[name] = np.frombuffer(tables, kind, header["rows"][name], at)
            at += arrays[name].nbytes
        return cls(np.frombuffer(b"".join(raw), np.uint16), **arrays)

    def starts(self) -> tuple[Integers, Integers]:
        """Where each passage and each question starts in the stream."""
        passage = sum(getattr(self, part).astype(np.int64) for part in PARTS)
        questions = self.question_length.astype(np.int64)
        asked = np.bincount(self.question_passage, questions, minlength=len(passage))
        ends = np.cumsum(passage + asked.astype(np.int64))
        passage_starts = ends - passage - asked.astype(np.int64)
        before = np.cumsum(questions) - questions
        first = np.searchsorted(self.question_passage, np.arange(len(passage)))
        first = np.minimum(first, len(before) - 1)
        question_starts = (passage_starts + passage)[self.question_passage]
        question_starts += before - before[first][self.question_passage]
        own = self.question_kind == _SENTENCE
        inner = self.context.astype(np.int64) + self.heading
        question_starts[own] = (passage_starts + inner)[self.question_passage[own]]
        return passage_starts, question_starts

    def spans(self) -> dict[str, Integers]:
        """For each pair: the question, and the passage with the part that is left out of it."""
        passage_starts, question_starts = self.starts()
        rows = self.question_passage
        parts = {part: getattr(self, part).astype(np.int64)[rows] for part in PARTS}
        own = self.question_kind == _SENTENCE
        bare = np.isin(self.question_kind, _WITHOUT_HEADING)
        return {
            "question_start": question_starts,
            "question_length": np.where(own, parts["sentence"], self.question_length),
            "passage_start": passage_starts[rows],
            "cut": parts["context"] + np.where(own, parts["heading"], 0),
            "skip": np.where(own, parts["sentence"], np.where(bare, parts["heading"], 0)),
            "length": sum(parts.values()),
        }
