"""Haystack with its in-memory store, and with Qdrant's local mode.

Retrievers over InMemoryDocumentStore, hybrid by DocumentJoiner with reciprocal rank fusion, as in
https://docs.haystack.deepset.ai/docs/documentjoiner. Pages go through MarkdownToDocument,
DocumentSplitter (its default of 200 words), the embedder and DocumentWriter, by the source of the
installed package; nothing asks whether a text has changed, so that a second run does everything
again and overwrites.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.converters import MarkdownToDocument
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
)
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

from bench.support.dataset import DIMENSIONS, TOP, Dataset
from bench.systems import DENSE
from bench.systems.splitting import pages_below

_DEEP = 100
_FILE = "documents.json"


@component
class Embed:
    """The embedder of all, as a component."""

    def __init__(self) -> None:
        from bench.support.embedding import SameEmbedder

        self.same = SameEmbedder()

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        rows = self.same.lists([document.content or "" for document in documents])
        pairs = zip(documents, rows, strict=True)
        return {"documents": [replace(document, embedding=row) for document, row in pairs]}


class Haystack:
    def build(self, dataset: Dataset, store: Path) -> None:
        documents = self._create(store)
        documents.write_documents(_documents(dataset))
        self._save(documents, store)

    def open(self, dataset: Dataset, store: Path) -> None:
        self._dataset = dataset
        self._search = self.search_function(store)

    def search(self, question: int, mode: str) -> list[int]:
        vector = self._dataset.question_vectors[question].tolist()
        hits = self._search(self._dataset.questions[question], vector, mode)
        return [hit.meta["number"] for hit in hits]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        documents = self._load(store) if store.exists() else self._create(store)
        embed = Embed()
        pipeline = Pipeline()
        pipeline.add_component("read", MarkdownToDocument(progress_bar=False))
        pipeline.add_component("split", DocumentSplitter())
        pipeline.add_component("embed", embed)
        pipeline.add_component("write", DocumentWriter(documents, DuplicatePolicy.OVERWRITE))
        pipeline.connect("read", "split")
        pipeline.connect("split", "embed")
        pipeline.connect("embed", "write")
        paths = pages_below(pages)
        meta = [{"page": path.relative_to(pages).as_posix()} for path in paths]
        pipeline.run({"read": {"sources": list(paths), "meta": meta}})
        self._save(documents, store)
        return {"chunks": documents.count_documents(), "embedded": embed.same.embedded}

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        from bench.support.embedding import SameEmbedder

        embedder, ask = SameEmbedder(), self._pipelines(self._load(store), _DEEP)
        return [
            [hit.meta["page"] for hit in ask(question, embedder.query(question).tolist(), mode)]
            for question in questions
        ]

    def search_function(self, store: Path) -> Any:
        """A function of text, vector and mode that gives the ten best."""
        return self._pipelines(self._load(store), TOP)

    def _create(self, _store: Path) -> Any:
        return InMemoryDocumentStore(embedding_similarity_function="cosine")

    def _save(self, documents: Any, store: Path) -> None:
        store.mkdir(parents=True, exist_ok=True)
        documents.save_to_disk(str(store / _FILE))

    def _load(self, store: Path) -> Any:
        return InMemoryDocumentStore.load_from_disk(str(store / _FILE))

    def _pipelines(self, documents: Any, top: int) -> Any:
        by_vector = InMemoryEmbeddingRetriever(documents, top_k=top)
        hybrid = Pipeline()
        hybrid.add_component("vector", InMemoryEmbeddingRetriever(documents, top_k=top))
        hybrid.add_component("terms", InMemoryBM25Retriever(documents, top_k=top))
        joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=top)
        hybrid.add_component("join", joiner)
        hybrid.connect("vector", "join")
        hybrid.connect("terms", "join")

        def ask(text: str, vector: list[float], mode: str) -> Any:
            if mode == DENSE:
                return by_vector.run(query_embedding=vector)["documents"]
            given = {"vector": {"query_embedding": vector}, "terms": {"query": text}}
            return hybrid.run(given)["join"]["documents"]

        return ask


class HaystackQdrant(Haystack):
    def _create(self, store: Path) -> Any:
        return self._load(store)

    def _save(self, documents: Any, store: Path) -> None:
        """Qdrant's local mode keeps what it is given."""

    def _load(self, store: Path) -> Any:
        return QdrantDocumentStore(
            path=str(store),
            index="docs",
            embedding_dim=DIMENSIONS,
            similarity="cosine",
            progress_bar=False,
        )

    def _pipelines(self, documents: Any, top: int) -> Any:
        by_vector = QdrantEmbeddingRetriever(documents, top_k=top)
        return lambda _text, vector, _mode: by_vector.run(query_embedding=vector)["documents"]


def _documents(dataset: Dataset) -> list[Document]:
    return [
        Document(id=str(number), content=text, embedding=row.tolist(), meta={"number": number})
        for number, (text, row) in enumerate(zip(dataset.texts, dataset.vectors, strict=True))
    ]
