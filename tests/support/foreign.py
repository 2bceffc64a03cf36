"""Collections as strangers leave them in a Qdrant server, and our door to them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from support.fakes import WordEmbedder
from support.payload_shapes import Passage, Payload, book
from support.qdrant.service import Address, unique
from surefind.adapters.qdrant.connected import QdrantForeignCollection
from surefind.adapters.qdrant.edge import Bm25Analyzer
from surefind.adapters.qdrant.server.calls import QdrantServer, ServerAddress
from surefind.adapters.remote_calls import CallPolicy, RetryPolicy
from surefind.model import Connection, Distance
from surefind.ports import Matrix
from surefind.services.connected.collection import ConnectedCollection
from surefind.services.connected.connect import ConnectOptions, Proposal, propose
from surefind.services.connected.stores import ConnectedCatalogs, ConnectedIndexes
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.generations.readers import Readers
from surefind.services.search.search import Searcher

HASTY = RetryPolicy(2, 0.01, 0.02, 0.1, concurrency=4)
DISTANCES = {
    Distance.COSINE: models.Distance.COSINE,
    Distance.DOT: models.Distance.DOT,
    Distance.EUCLID: models.Distance.EUCLID,
    Distance.MANHATTAN: models.Distance.MANHATTAN,
}
TERMS = Bm25Encoder(Bm25Analyzer())
EMBEDDER = WordEmbedder()


def plain_payload(p: Passage) -> Payload:
    return {
        "text": p.text,
        "url": p.url,
        "title": p.title,
        "section": p.heading,
        "chunk_index": p.index,
        "content_hash": p.sha256,
        "created_at": p.created.isoformat(),
        "lang": "en",
        "draft": p.index % 2 == 0,
        "meta": {"words": len(p.text.split()), "tags": ["a", p.slug]},
    }


@dataclass
class Filling:
    """How a stranger fills a collection."""

    payload: Callable[[Passage], Payload] = plain_payload
    distance: Distance = Distance.COSINE
    lengths: Callable[[Passage], float] = lambda _: 1.0
    vector: str = ""
    numbered: bool = False
    passages: Sequence[Passage] = tuple(book(48))
    sparse: Callable[[str], models.SparseVector] | None = None
    more_vectors: dict[str, models.VectorParams] | None = None
    by_another_model: Callable[[Passage], bool] = lambda _: False

    async def into(self, address: Address, name: str = "") -> str:
        name = name or unique("stranger")
        client = client_of(address)
        params = models.VectorParams(size=EMBEDDER.dimensions, distance=DISTANCES[self.distance])
        vectors: Any = {self.vector: params, **(self.more_vectors or {})} if self.vector else params
        sparse = {"words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
        await client.create_collection(
            name, vectors_config=vectors, sparse_vectors_config=sparse if self.sparse else None
        )
        matrix = await EMBEDDER.embed_passages([one.text for one in self.passages])
        await client.upsert(name, self._points(matrix), wait=True)
        await client.close()
        return name

    def _points(self, matrix: Matrix) -> list[models.PointStruct]:
        points = []
        for passage, row in zip(self.passages, matrix, strict=True):
            made = np.roll(row, 7) if self.by_another_model(passage) else row
            dense = (made * np.float32(self.lengths(passage))).tolist()
            vector: Any = {self.vector: dense} if self.vector or self.sparse else dense
            if self.sparse:
                vector["words"] = self.sparse(passage.text)
            identity = passage.number if self.numbered else passage.uuid
            payload: Any = self.payload(passage)
            points.append(models.PointStruct(id=identity, vector=vector, payload=payload))
        return points


def our_terms(text: str) -> models.SparseVector:
    terms = TERMS.passage(text, 30.0)
    return models.SparseVector(indices=list(terms.ids), values=list(terms.weights))


def foreign(address: Address, name: str, timeout_s: float = 5.0) -> QdrantForeignCollection:
    policy = CallPolicy(print, searching=HASTY, ingesting=HASTY)
    return QdrantForeignCollection(
        QdrantServer(ServerAddress(address.url, address.key, timeout_s=timeout_s), policy), name
    )


async def proposed(
    address: Address, name: str, embedder: WordEmbedder = EMBEDDER, **options: Any
) -> Proposal:
    collection = foreign(address, name)
    try:
        return await propose(collection, embedder, TERMS, ConnectOptions(name, name, **options))
    finally:
        await collection.close()


def client_of(address: Address) -> AsyncQdrantClient:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a key that goes unencrypted over loopback
        return AsyncQdrantClient(url=address.url, api_key=address.key, check_compatibility=False)


class Door:
    """What readers have of one connected collection."""

    def __init__(self, address: Address, connection: Connection, timeout_s: float = 5.0) -> None:
        self.foreign = foreign(address, connection.collection, timeout_s)
        self.now = 0.0

        async def embedder() -> WordEmbedder:
            return EMBEDDER

        self.collection = ConnectedCollection(
            connection, self.foreign, embedder, TERMS.name, lambda: self.now
        )
        self.indexes = ConnectedIndexes(self.collection)
        self.catalogs = ConnectedCatalogs(self.collection)
        self.readers = Readers(self.indexes, self.catalogs)
        self.searcher = Searcher(self.readers, EMBEDDER, TERMS)

    async def close(self) -> None:
        await self.readers.close()
        await self.foreign.close()
