"""Chroma in this process, kept on disk.

PersistentClient and the default index settings, which
https://docs.trychroma.com/docs/collections/configure says suit most uses, but for the space, which
is cosine as for everybody. Ranking by terms is set up in its cloud alone:
https://docs.trychroma.com/cloud/schema/sparse-vector-search. Pages are added with `upsert`: Chroma
has no chunker and does not look whether a text has changed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb

from bench.support.dataset import TOP, Dataset
from bench.systems.splitting import pieces_of

_DEEP = 100
_COSINE = {"hnsw": {"space": "cosine"}}


class Chroma:
    def build(self, dataset: Dataset, store: Path) -> None:
        client = chromadb.PersistentClient(path=str(store))
        collection = client.create_collection("docs", configuration=_COSINE)
        batch = client.get_max_batch_size()
        for start in range(0, len(dataset.texts), batch):
            texts = dataset.texts[start : start + batch]
            collection.add(
                ids=[str(number) for number in range(start, start + len(texts))],
                embeddings=dataset.vectors[start : start + batch].tolist(),
                documents=texts,
            )

    def open(self, dataset: Dataset, store: Path) -> None:
        self._dataset = dataset
        self._collection = chromadb.PersistentClient(path=str(store)).get_collection("docs")

    def search(self, question: int, _mode: str) -> list[int]:
        found = self._collection.query(
            query_embeddings=[self._dataset.question_vectors[question]],
            n_results=TOP,
            include=["documents", "distances"],
        )
        return [int(number) for number in found["ids"][0]]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        client, collection, embedder = _embedding_collection(store)
        pieces, batch = pieces_of(pages), client.get_max_batch_size()
        for start in range(0, len(pieces), batch):
            part = pieces[start : start + batch]
            collection.upsert(
                ids=[piece.id for piece in part],
                documents=[piece.text for piece in part],
                metadatas=[{"page": piece.page} for piece in part],
            )
        return {"chunks": collection.count(), "embedded": embedder.embedded}

    def find(self, store: Path, questions: Sequence[str], _mode: str) -> list[list[str]]:
        _, collection, _ = _embedding_collection(store)
        found = []
        for question in questions:
            answer = collection.query(
                query_texts=[question], n_results=_DEEP, include=["metadatas", "documents"]
            )
            found.append([metadata["page"] for metadata in answer["metadatas"][0]])
        return found


def _embedding_collection(store: Path) -> tuple[Any, Any, Any]:
    from bench.support.embedding import SameEmbedder

    embedder = SameEmbedder()

    class Embed(chromadb.EmbeddingFunction):
        def __init__(self) -> None:
            pass

        def __call__(self, input: list[str]) -> Any:  # noqa: A002 - Chroma's own name
            return list(embedder.passages(input))

        @staticmethod
        def name() -> str:
            return "same-embedder"

        def get_config(self) -> dict[str, Any]:
            return {}

        @staticmethod
        def build_from_config(_config: dict[str, Any]) -> "Embed":
            return Embed()

    client = chromadb.PersistentClient(path=str(store))
    collection = client.get_or_create_collection(
        "docs", configuration=_COSINE, embedding_function=Embed()
    )
    return client, collection, embedder
