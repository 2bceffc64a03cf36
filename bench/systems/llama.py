"""LlamaIndex with its default store, and with Qdrant's local mode.

A VectorStoreIndex persisted by its storage context; hybrid by QueryFusionRetriever over it and
BM25Retriever, as in
https://developers.llamaindex.ai/python/framework/integrations/retrievers/reciprocal_rerank_fusion/
(without generated questions: there is no LLM). Pages are read by SimpleDirectoryReader and cut by
the default SentenceSplitter; a second run is `refresh_ref_docs`, or with Qdrant an
IngestionPipeline with a docstore, both by the source of the installed package.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from llama_index.core import (
    QueryBundle,
    SimpleDirectoryReader,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr
from qdrant_client import QdrantClient

from bench.support.dataset import TOP, Dataset
from bench.systems import HYBRID
from bench.systems.splitting import SUFFIXES

_DEEP = 100
_TERMS = "bm25"


class Embed(BaseEmbedding):
    """The embedder of all; it is loaded when the first text comes."""

    _same: Any = PrivateAttr(default=None)

    @property
    def same(self) -> Any:
        if self._same is None:
            from bench.support.embedding import SameEmbedder

            self._same = SameEmbedder()
        return self._same

    @property
    def embedded(self) -> int:
        return 0 if self._same is None else int(self._same.embedded)

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self.same.query(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.same.lists(texts)
        return vectors


class LlamaIndex:
    def build(self, dataset: Dataset, store: Path) -> None:
        index = VectorStoreIndex(_nodes(dataset), embed_model=Embed())
        index.storage_context.persist(str(store))
        BM25Retriever.from_defaults(docstore=index.docstore).persist(str(store / _TERMS))

    def open(self, dataset: Dataset, store: Path) -> None:
        self._dataset = dataset
        index = self._index(store)
        dense = index.as_retriever(similarity_top_k=TOP)
        self._retrievers = {"dense": dense}
        if (store / _TERMS).exists():
            terms = BM25Retriever.from_persist_dir(str(store / _TERMS))
            terms.similarity_top_k = TOP
            self._retrievers[HYBRID] = _fused(dense, terms, TOP)

    def _index(self, store: Path) -> Any:
        context = StorageContext.from_defaults(persist_dir=str(store))
        return load_index_from_storage(context, embed_model=Embed())

    def search(self, question: int, mode: str) -> list[int]:
        asked = QueryBundle(
            self._dataset.questions[question],
            embedding=self._dataset.question_vectors[question].tolist(),
        )
        return [UUID(hit.node.node_id).int for hit in self._retrievers[mode].retrieve(asked)]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        embed, documents = Embed(), _documents(pages)
        if store.exists():
            context = StorageContext.from_defaults(persist_dir=str(store))
            index = load_index_from_storage(context, embed_model=embed)
            index.refresh_ref_docs(documents)
        else:
            index = VectorStoreIndex.from_documents(documents, embed_model=embed)
        index.storage_context.persist(str(store))
        return {"chunks": len(index.docstore.docs), "embedded": embed.embedded}

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        index = self._index(store)
        retriever = index.as_retriever(similarity_top_k=_DEEP)
        if mode == HYBRID:
            terms = BM25Retriever.from_defaults(docstore=index.docstore, similarity_top_k=_DEEP)
            retriever = _fused(retriever, terms, _DEEP)
        return [
            [hit.node.metadata["page"] for hit in retriever.retrieve(question)]
            for question in questions
        ]


class LlamaIndexQdrant(LlamaIndex):
    def build(self, dataset: Dataset, store: Path) -> None:
        vectors, client = _qdrant(store)
        context = StorageContext.from_defaults(vector_store=vectors)
        VectorStoreIndex(_nodes(dataset), storage_context=context, embed_model=Embed())
        client.close()

    def _index(self, store: Path) -> Any:
        vectors, _ = _qdrant(store)
        return VectorStoreIndex.from_vector_store(vectors, embed_model=Embed())

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        vectors, client = _qdrant(store)
        embed, kept = Embed(), store / "pipeline"
        pipeline = IngestionPipeline(
            transformations=[SentenceSplitter(), embed],
            vector_store=vectors,
            docstore=SimpleDocumentStore(),
        )
        if kept.exists():
            pipeline.load(str(kept))
        pipeline.run(documents=_documents(pages))
        pipeline.persist(str(kept))
        chunks = client.count("docs").count
        client.close()
        return {"chunks": chunks, "embedded": embed.embedded}


def _qdrant(store: Path) -> tuple[Any, Any]:
    client = QdrantClient(path=str(store))
    return QdrantVectorStore(client=client, collection_name="docs"), client


def _nodes(dataset: Dataset) -> list[Any]:
    """Qdrant takes no id but a UUID, the default store any: a UUID that is the chunk's number."""
    return [
        TextNode(id_=str(UUID(int=number)), text=text, embedding=row.tolist())
        for number, (text, row) in enumerate(zip(dataset.texts, dataset.vectors, strict=True))
    ]


def _documents(pages: Path) -> list[Any]:
    reader = SimpleDirectoryReader(
        input_dir=str(pages), recursive=True, filename_as_id=True, required_exts=list(SUFFIXES)
    )
    documents: list[Any] = reader.load_data()
    for document in documents:
        path = Path(document.metadata["file_path"])
        document.metadata["page"] = path.relative_to(pages).as_posix()
        # It is ours, to know a hit's page by: it shall not change what is embedded.
        document.excluded_embed_metadata_keys.append("page")
    return documents


def _fused(dense: Any, terms: Any, top: int) -> Any:
    return QueryFusionRetriever(
        [dense, terms],
        llm=MockLLM(),
        similarity_top_k=top,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
