"""txtai in this process.

The defaults (Faiss, which chooses its own index by size) with content stored, so that hits have
their text; for hybrid, an index with `hybrid=True`, which fuses BM25 and vectors half and half:
https://neuml.github.io/txtai/embeddings/configuration/general/ and
https://neuml.github.io/txtai/embeddings/indexing/. Vectors come from a function
(`method="external"`), by what its source takes.
Pages come with `upsert`; chunks are cut outside of it, and nothing asks whether a text has changed.

Threads that search one index at once crash the process (its threads share a connection to SQLite),
so that callers wait for each other here, as they would have to.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from txtai import Embeddings

from bench.support.dataset import TOP, Dataset
from bench.systems.splitting import pieces_of

_DEEP = 100
Transform = Callable[[Sequence[str]], Any]


class Txtai:
    hybrid = False

    def build(self, dataset: Dataset, store: Path) -> None:
        embeddings = self._empty(_known(dataset.texts, dataset.vectors))
        embeddings.index((number, text, None) for number, text in enumerate(dataset.texts))
        embeddings.save(str(store))

    def open(self, dataset: Dataset, store: Path) -> None:
        self._dataset, self._lock = dataset, threading.Lock()
        self._embeddings = _loaded(store, _known(dataset.questions, dataset.question_vectors))

    def search(self, question: int, _mode: str) -> list[int]:
        with self._lock:
            hits = self._embeddings.search(self._dataset.questions[question], TOP)
        return [int(hit["id"]) for hit in hits]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        from bench.support.embedding import SameEmbedder

        embedder, pieces = SameEmbedder(), pieces_of(pages)
        rows = ((piece.id, piece.text, None) for piece in pieces)
        if store.exists():
            embeddings = _loaded(store, embedder.passages)
            embeddings.upsert(rows)
        else:
            embeddings = self._empty(embedder.passages)
            embeddings.index(rows)
        embeddings.save(str(store))
        return {"chunks": embeddings.count(), "embedded": embedder.embedded}

    def find(self, store: Path, questions: Sequence[str], _mode: str) -> list[list[str]]:
        from bench.support.embedding import SameEmbedder

        embeddings = _loaded(store, SameEmbedder().passages)
        found = []
        for question in questions:
            hits = embeddings.search(question, _DEEP)
            found.append([hit["id"].rpartition("#")[0] for hit in hits])
        return found

    def _empty(self, transform: Transform) -> Any:
        return Embeddings(
            method="external", transform=_plain(transform), content=True, hybrid=self.hybrid
        )


class HybridTxtai(Txtai):
    hybrid = True


def _known(texts: Sequence[str], rows: Any) -> Transform:
    numbers = {text: number for number, text in enumerate(texts)}
    return lambda asked: np.array([rows[numbers[text]] for text in asked])


def _loaded(store: Path, transform: Transform) -> Any:
    return Embeddings().load(str(store), config={"transform": _plain(transform)})


def _plain(transform: Transform) -> Transform:
    """txtai takes a function for one, and calls what else can be called to get one."""

    def plain(texts: Sequence[str]) -> Any:
        return transform(texts)

    return plain
