"""Qdrant Edge itself, as its documentation's quickstart sets it up.

https://qdrant.tech/documentation/edge/edge-quickstart/ (create, upsert, optimize, query). Hybrid
is two prefetches joined by RRF, with the k of the example in the package's own docstring. The text
is the payload, and comes back with every hit.
"""

from pathlib import Path
from typing import cast

import qdrant_edge as edge

from bench.support.dataset import DIMENSIONS, TOP, Dataset
from bench.systems import DENSE

_BATCH = 500
_LEG = 100  # candidates of each leg, as many as surefind takes
_RRF_K = 2  # of the example beside `Fusion.Rrf`


class QdrantEdge:
    def build(self, dataset: Dataset, store: Path) -> None:
        store.mkdir(parents=True)
        config = edge.EdgeConfig(
            vectors={"dense": edge.EdgeVectorParams(DIMENSIONS, edge.Distance.Cosine)},
            sparse_vectors={"terms": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        )
        shard = edge.EdgeShard.create(str(store), config)
        bm25 = edge.Bm25(edge.Bm25Config())
        for start in range(0, len(dataset.texts), _BATCH):
            points = [
                edge.Point(
                    number,
                    {"dense": row.tolist(), "terms": bm25.embed_document(dataset.texts[number])},
                    {"text": dataset.texts[number]},
                )
                for number, row in enumerate(dataset.vectors[start : start + _BATCH], start=start)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self, dataset: Dataset, store: Path) -> None:
        self._shard = edge.EdgeShard.load(str(store))
        self._bm25 = edge.Bm25(edge.Bm25Config())
        self._dataset = dataset

    def search(self, question: int, mode: str) -> list[int]:
        dense = edge.Query.Nearest(self._dataset.question_vectors[question].tolist(), using="dense")
        if mode == DENSE:
            request = edge.QueryRequest(limit=TOP, query=dense, with_payload=True)
        else:
            words = self._bm25.embed_query(self._dataset.questions[question])
            terms = edge.Query.Nearest(words, using="terms")
            request = edge.QueryRequest(
                limit=TOP,
                query=cast("edge.Fusion", edge.Fusion.Rrf(k=_RRF_K)),  # its types forget it
                prefetches=[edge.Prefetch(_LEG, dense), edge.Prefetch(_LEG, terms)],
                with_payload=True,
            )
        return [int(str(point.id)) for point in self._shard.query(request)]
