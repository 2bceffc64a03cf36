"""surefind with vectors quantized to 8 bits: an experiment, for surefind has no such setting.

Searches without a filter go by the small vectors, which stay in memory, and the best twice as many
are scored again by the whole ones, which stay on the disk: `rescore` and `oversampling`.
"""

import qdrant_edge as edge

from bench.systems.embedded import Surefind
from surefind.adapters.qdrant import edge as adapter
from surefind.adapters.qdrant.points import DENSE, LEXICAL
from surefind.ports import DenseQuery, SparseQuery

_AGAIN = edge.SearchParams(
    quantization=edge.QuantizationSearchParams(rescore=True, oversampling=2.0)
)


class QuantizedSurefind(Surefind):
    def __init__(self) -> None:
        super().__init__()
        adapter._config = _config  # noqa: SLF001 - there is no setting to do it by
        adapter.EdgeIndex = _Quantized  # type: ignore[misc]


def _config(dimensions: int) -> edge.EdgeConfig:
    small = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, memory=edge.Memory.Pinned)
    vectors = edge.EdgeVectorParams(
        dimensions,
        edge.Distance.Cosine,
        quantization_config=small,
        memory=edge.Memory.Cold,
    )
    return edge.EdgeConfig(
        vectors={DENSE: vectors},
        sparse_vectors={LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        payload_memory=edge.Memory.Cached,
        max_search_threads=1,
    )


class _Quantized(adapter.EdgeIndex):
    def _search_params(
        self, query: DenseQuery | SparseQuery, only: edge.Filter | None
    ) -> edge.SearchParams | None:
        return super()._search_params(query, only) or (
            _AGAIN if isinstance(query, DenseQuery) else None
        )
