"""The same chunks, vectors, questions and exact answers for every system: a folder, written once.

Texts are sentences of squad-dev-even, three a chunk, and its questions. Vectors have 384 numbers
and lie around a thousand centres, those of the questions too: alike enough that an index has
something to find. The exact answers are the ten nearest by cosine, found by looking at all.

Peers read it in environments of their own, so this module needs numpy and nothing else.
"""

import json
import random
import shutil
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.support.corpora import texts_of
from bench.support.folders import RESULTS

DIMENSIONS = 384
CENTRES, SPREAD = 1000, 0.6
QUESTIONS = 500
TOP = 10
_BLOCK = 10_000
_SET = "squad-dev-even"
Rows = NDArray[np.float32]


class Scattered:
    """Vectors around centres; the centres are always the same, `seed` chooses what is around."""

    def __init__(self, seed: int) -> None:
        self._centres = np.random.default_rng(7).normal(size=(CENTRES, DIMENSIONS))
        self._chance = np.random.default_rng(seed)

    def rows(self, count: int) -> Rows:
        chosen = self._centres[self._chance.integers(0, CENTRES, count)]
        rows = chosen + SPREAD * self._chance.normal(size=chosen.shape)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32)


class Dataset:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def texts(self) -> list[str]:
        return _read(self.folder / "chunks.jsonl")

    @cached_property
    def questions(self) -> list[str]:
        return _read(self.folder / "questions.jsonl")

    @cached_property
    def vectors(self) -> Rows:
        rows: Rows = np.load(self.folder / "vectors.npy", mmap_mode="r")
        return rows

    @cached_property
    def question_vectors(self) -> Rows:
        rows: Rows = np.load(self.folder / "question_vectors.npy")
        return rows

    @cached_property
    def exact(self) -> list[set[int]]:
        return [set(row) for row in np.load(self.folder / "exact.npy").tolist()]


def write_dataset(folder: Path, count: int, texts: list[str], questions: list[str]) -> Dataset:
    """The dataset in `folder`, made where it is not there yet."""
    if (folder / "exact.npy").exists():
        return Dataset(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance = random.Random(7)
    sentences = [one for text in texts for one in text.split(". ") if len(one) > 40]
    with (folder / "chunks.jsonl").open("w") as stream:
        for _ in range(count):
            stream.write(json.dumps(". ".join(chance.sample(sentences, 3))) + "\n")
    asked = chance.sample(questions, QUESTIONS)
    (folder / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    shape = (count, DIMENSIONS)
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, shape)
    scattered, wanted = Scattered(8), Scattered(9).rows(QUESTIONS)
    nearest: NDArray[np.int64] = np.empty((QUESTIONS, 0), dtype=np.int64)
    cosines: Rows = np.empty((QUESTIONS, 0), dtype=np.float32)
    for start in range(0, count, _BLOCK):
        block = scattered.rows(min(_BLOCK, count - start))
        vectors[start : start + len(block)] = block
        cosines = np.hstack([cosines, wanted @ block.T])
        numbers = np.arange(start, start + len(block))
        nearest = np.hstack([nearest, np.tile(numbers, (QUESTIONS, 1))])
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :TOP]
        cosines = np.take_along_axis(cosines, best, 1)
        nearest = np.take_along_axis(nearest, best, 1)
    vectors.flush()
    np.save(folder / "question_vectors.npy", wanted)
    np.save(folder / "exact.npy", nearest)  # last: it says that the dataset is whole
    return Dataset(folder)


def _read(path: Path) -> list[str]:
    with path.open() as stream:
        return [json.loads(line) for line in stream]


def dataset_of(count: int) -> Dataset:
    """It is written once, and read by every system in every run."""
    texts, questions = texts_of(_SET, "corpus.jsonl"), texts_of(_SET, "queries.jsonl")
    return write_dataset(RESULTS / "datasets" / str(count), count, texts, questions)
