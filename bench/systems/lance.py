"""LanceDB in this process.

Without a vector index, since https://docs.lancedb.com/oss/v0-41-0/indexing/vector-index calls one
usually unnecessary for about 100,000 rows or fewer; and once with IVF_HNSW_SQ, for
comparison. Hybrid is a full-text index and RRF, its default: https://docs.lancedb.com/reranking.
Pages come with `merge_insert`: LanceDB has no chunker and embeds what it is given.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa

from bench.support.dataset import DIMENSIONS, TOP, Dataset
from bench.systems import DENSE
from bench.systems.splitting import pieces_of

_BATCH = 10_000
_DEEP = 100


class LanceDB:
    def build(self, dataset: Dataset, store: Path) -> None:
        schema = pa.schema(
            [
                pa.field("number", pa.int64()),
                pa.field("text", pa.string()),
                pa.field("vector", pa.list_(pa.float32(), DIMENSIONS)),
            ]
        )

        def batches() -> Iterator[Any]:
            for start in range(0, len(dataset.texts), _BATCH):
                rows = dataset.vectors[start : start + _BATCH]
                columns = [
                    pa.array(range(start, start + len(rows))),
                    pa.array(dataset.texts[start : start + _BATCH]),
                    pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), DIMENSIONS),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        table = lancedb.connect(str(store)).create_table("docs", batches(), schema=schema)
        self._index(table)

    def _index(self, table: Any) -> None:
        table.create_fts_index("text")

    def open(self, dataset: Dataset, store: Path) -> None:
        self._dataset = dataset
        self._table = lancedb.connect(str(store)).open_table("docs")

    def search(self, question: int, mode: str) -> list[int]:
        vector = self._dataset.question_vectors[question]
        if mode == DENSE:
            search = self._table.search(vector).distance_type("cosine")
        else:
            search = self._table.search(query_type="hybrid").vector(vector)
            search = search.text(_words(self._dataset.questions[question])).distance_type("cosine")
        rows = search.limit(TOP).to_list()
        return [row["number"] for row in rows]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        from bench.support.embedding import SameEmbedder

        embedder, pieces = SameEmbedder(), pieces_of(pages)
        rows = pa.table(
            {
                "id": [piece.id for piece in pieces],
                "page": [piece.page for piece in pieces],
                "text": [piece.text for piece in pieces],
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(embedder.passages([piece.text for piece in pieces]).reshape(-1)),
                    DIMENSIONS,
                ),
            }
        )
        database = lancedb.connect(str(store))
        if (store / "docs.lance").exists():
            table = database.open_table("docs")
            merge = table.merge_insert("id").when_matched_update_all()
            merge.when_not_matched_insert_all().execute(rows)
            table.optimize()
        else:
            table = database.create_table("docs", rows)
            table.create_fts_index("text")
        return {"chunks": table.count_rows(), "embedded": embedder.embedded}

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        from bench.support.embedding import SameEmbedder

        embedder, table = SameEmbedder(), lancedb.connect(str(store)).open_table("docs")
        found = []
        for question in questions:
            vector = embedder.query(question)
            if mode == DENSE:
                search = table.search(vector).distance_type("cosine")
            else:
                search = table.search(query_type="hybrid").vector(vector)
                search = search.text(_words(question)).distance_type("cosine")
            rows = search.limit(_DEEP).to_list()
            found.append([row["page"] for row in rows])
        return found


class IndexedLanceDB(LanceDB):
    def _index(self, table: Any) -> None:
        table.create_index(metric="cosine", index_type="IVF_HNSW_SQ", vector_column_name="vector")


def _words(question: str) -> str:
    """Remove characters that the query language would read as operators."""
    return "".join(letter if letter.isalnum() else " " for letter in question)
