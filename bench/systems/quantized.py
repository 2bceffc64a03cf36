"""surefind with vectors quantized to 8 bits: an experiment, for surefind has no such setting.

Searches go by the small vectors, which stay in memory, and the best twice as many are scored again
by the whole ones, which stay on the disk: `rescore` and `oversampling`.
"""

import qdrant_edge as edge

from surefind.adapters import qdrant_edge as adapter
from surefind.adapters.qdrant_points import DENSE, LEXICAL
from surefind.ports import DenseProbe, TermProbe
from systems.embedded import Surefind

_PLAIN = adapter._request  # noqa: SLF001 - there is no setting to do it by
_OVERSAMPLING = 2.0


class QuantizedSurefind(Surefind):
    def __init__(self) -> None:
        super().__init__()
        adapter._config = _config  # noqa: SLF001
        adapter._request = _request  # noqa: SLF001


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


def _request(probe: DenseProbe | TermProbe) -> edge.QueryRequest:
    plain = _PLAIN(probe)
    if not isinstance(probe, DenseProbe) or probe.among is not None or probe.exact:
        return plain
    again = edge.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
    return edge.QueryRequest(
        limit=plain.limit,
        query=plain.query,
        filter=plain.filter,
        params=edge.SearchParams(quantization=again),
        with_payload=False,
        with_vector=False,
    )
