"""hnswlib and FAISS: a graph over vectors and nothing else.

hnswlib with M = 16, ef_construction = 200 and ef = 50: M within what its ALGO_PARAMS.md
(https://github.com/nmslib/hnswlib) calls right for most uses, the other two chosen by us.
FAISS with HNSW32, "the best option" for a small set and much memory says
https://github.com/facebookresearch/faiss/wiki/Guidelines-to-choose-an-index. Its efSearch is 64 and
not its default of 16, to bring its recall near that of the others: on 10,000 chunks .995 instead of
.983. With its default it would be faster.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bench.support.dataset import DIMENSIONS, TOP, Dataset

_HNSWLIB_EF = 50
_FAISS_EF = 64
_BATCH = 10_000


class Hnswlib:
    def build(self, dataset: Dataset, store: Path) -> None:
        store.mkdir(parents=True)
        index = self._empty()
        index.init_index(max_elements=len(dataset.vectors), ef_construction=200, M=16)
        for start in range(0, len(dataset.vectors), _BATCH):
            rows = np.array(dataset.vectors[start : start + _BATCH])
            index.add_items(rows, np.arange(start, start + len(rows)))
        index.save_index(str(store / "index.bin"))

    def open(self, dataset: Dataset, store: Path) -> None:
        self._index = self._empty()
        self._index.load_index(str(store / "index.bin"))
        self._index.set_ef(_HNSWLIB_EF)
        self._rows = dataset.question_vectors

    def search(self, question: int, _mode: str) -> list[int]:
        labels, _ = self._index.knn_query(self._rows[question], k=TOP)
        found: list[int] = labels[0].tolist()
        return found

    @staticmethod
    def _empty() -> Any:
        import hnswlib

        return hnswlib.Index(space="cosine", dim=DIMENSIONS)


class Faiss:
    def build(self, dataset: Dataset, store: Path) -> None:
        import faiss

        store.mkdir(parents=True)
        index = faiss.index_factory(DIMENSIONS, "HNSW32", faiss.METRIC_INNER_PRODUCT)
        for start in range(0, len(dataset.vectors), _BATCH):
            index.add(np.array(dataset.vectors[start : start + _BATCH]))
        faiss.write_index(index, str(store / "index.faiss"))

    def open(self, dataset: Dataset, store: Path) -> None:
        import faiss

        self._index = faiss.read_index(str(store / "index.faiss"))
        self._index.hnsw.efSearch = _FAISS_EF
        self._rows = dataset.question_vectors

    def search(self, question: int, _mode: str) -> list[int]:
        _, labels = self._index.search(self._rows[question : question + 1], TOP)
        found: list[int] = labels[0].tolist()
        return found
