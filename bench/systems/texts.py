"""txtai in this process.

The defaults (Faiss, which chooses its own index by size) with content stored, so that hits have
their text; hybrid switched on, which fuses BM25 and vectors half and half:
https://neuml.github.io/txtai/embeddings/configuration/general/ and
https://neuml.github.io/txtai/embeddings/indexing/. Vectors come from a function
(`method="external"`), as https://neuml.github.io/txtai/embeddings/configuration/vectors/ allows.
Pages come with `upsert`; chunks are cut outside of it, and nothing asks whether a text has changed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from txtai import Embeddings

from room import TOP, Room
from systems import DENSE
from systems.splitting import pieces_of

_DEEP = 100
Transform = Callable[[Sequence[str]], Any]
# One index has both legs; the weight of the vectors is 1 for dense, and the default for hybrid.
_WEIGHTS = {DENSE: 1.0}
_HALF = 0.5


class Txtai:
    def build(self, room: Room, store: Path) -> None:
        embeddings = _embeddings(_known(room.texts, room.vectors))
        embeddings.index((number, text, None) for number, text in enumerate(room.texts))
        embeddings.save(str(store))

    def open(self, room: Room, store: Path) -> None:
        self._room = room
        self._embeddings = _loaded(store, _known(room.questions, room.question_vectors))

    def search(self, question: int, mode: str) -> list[int]:
        weights = _WEIGHTS.get(mode, _HALF)
        hits = self._embeddings.search(self._room.questions[question], TOP, weights=weights)
        return [int(hit["id"]) for hit in hits]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        from embedding import SameEmbedder

        embedder, pieces = SameEmbedder(), pieces_of(pages)
        rows = ((piece.id, piece.text, None) for piece in pieces)
        if store.exists():
            embeddings = _loaded(store, embedder.passages)
            embeddings.upsert(rows)
        else:
            embeddings = _embeddings(embedder.passages)
            embeddings.index(rows)
        embeddings.save(str(store))
        return {"chunks": embeddings.count(), "embedded": embedder.embedded}

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        from embedding import SameEmbedder

        embeddings = _loaded(store, SameEmbedder().passages)
        weights = _WEIGHTS.get(mode, _HALF)
        found = []
        for question in questions:
            hits = embeddings.search(question, _DEEP, weights=weights)
            found.append([hit["id"].rpartition("#")[0] for hit in hits])
        return found


def _known(texts: Sequence[str], rows: Any) -> Transform:
    numbers = {text: number for number, text in enumerate(texts)}
    return lambda asked: np.array([rows[numbers[text]] for text in asked])


def _embeddings(transform: Transform) -> Any:
    return Embeddings(method="external", transform=_plain(transform), content=True, hybrid=True)


def _loaded(store: Path, transform: Transform) -> Any:
    return Embeddings().load(str(store), config={"transform": _plain(transform)})


def _plain(transform: Transform) -> Transform:
    """txtai takes a function for one, and calls what else can be called to get one."""

    def plain(texts: Sequence[str]) -> Any:
        return transform(texts)

    return plain
