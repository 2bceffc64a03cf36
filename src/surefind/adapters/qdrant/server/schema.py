"""The schema of surefind's collections in a Qdrant server: vectors, indexes and owner mark.

The mark names the installation that created a collection; collections without our mark are never
replaced or deleted. It is collection metadata, written by the request that creates the collection.
Servers before 1.16 have no metadata: there, the mark is a payload index on a key that no point has.
A marker point would be counted and found by other programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from qdrant_client import models

from surefind.adapters.qdrant.payload import (
    FRONT_MATTER,
    indexed_attributes,
    indexed_keys,
    payload_key,
)
from surefind.adapters.qdrant.points import DENSE, LEXICAL
from surefind.errors import StoreChanged
from surefind.model import Attribute, FieldKind, GenerationRef

MAX_FRONT_MATTER_INDEXES = 64
_MARK = "surefind"
_MARK_KEY = "surefind_made_by_"
_SCHEMA = models.PayloadSchemaType
_QUANTILE = 0.99  # a few extreme values must not widen the scale of all others
_OVERSAMPLING = {"none": 1.0, "scalar": 2.0, "binary": 3.0}

Quantization = Literal["none", "scalar", "binary"]


@dataclass(frozen=True, slots=True)
class CollectionShape:
    """How collections are created. The engine computes IDF per shard, so that of a collection with
    several is part of the queries instead (see term_statistics.py).
    """

    shards: int = 1
    replicas: int = 1
    write_consistency: int = 1
    on_disk: bool = False
    quantization: Quantization = "none"
    oversampling: float | None = None
    graph_links: int = 16

    @property
    def is_sharded(self) -> bool:
        return self.shards > 1

    @property
    def searching(self) -> models.QuantizationSearchParams | None:
        """Fetch extra candidates by quantized vectors, then rescore them with the originals."""
        if self.quantization == "none":
            return None
        factor = self.oversampling or _OVERSAMPLING[self.quantization]
        return models.QuantizationSearchParams(rescore=True, oversampling=factor)


def dense_params(dimensions: int, shape: CollectionShape) -> dict[str, models.VectorParams]:
    return {
        DENSE: models.VectorParams(
            size=dimensions,
            distance=models.Distance.COSINE,
            on_disk=shape.on_disk,
            quantization_config=_quantization(shape.quantization),
        )
    }


def lexical_params(shape: CollectionShape) -> dict[str, models.SparseVectorParams]:
    return {
        LEXICAL: models.SparseVectorParams(
            modifier=None if shape.is_sharded else models.Modifier.IDF,
            index=models.SparseIndexParams(on_disk=shape.on_disk),
        )
    }


def _quantization(kind: Quantization) -> models.QuantizationConfig | None:
    if kind == "scalar":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=_QUANTILE, always_ram=True
            )
        )
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def check_collection(name: str, server: str, info: models.CollectionInfo) -> int:
    """The dimensions; StoreChanged if the collection differs from what surefind created."""
    params = info.config.params
    dense = params.vectors.get(DENSE) if isinstance(params.vectors, dict) else None
    sparse = (params.sparse_vectors or {}).get(LEXICAL)
    wrong = None
    if dense is None:
        wrong = f"it has no vector named {DENSE!r}"
    elif dense.distance != models.Distance.COSINE:
        wrong = f"its vectors use the distance {dense.distance} instead of cosine"
    elif sparse is None:
        wrong = f"it has no sparse vector named {LEXICAL!r}"
    if dense is None or wrong:
        raise StoreChanged(
            f"the collection {name} of {server} has an unexpected schema: {wrong}; run `surefind "
            "ingest --rebuild` to build a new one"
        )
    return dense.size


def computes_idf(info: models.CollectionInfo) -> bool:
    """Whether the server weighs the terms of queries by their rarity."""
    sparse = (info.config.params.sparse_vectors or {}).get(LEXICAL)
    return sparse is not None and sparse.modifier == models.Modifier.IDF


# --- the mark ---------------------------------------------------------------------------------


def mark(owner: str, ref: GenerationRef) -> dict[str, object]:
    return {_MARK: {"made_by": owner, "collection": ref.collection, "generation": ref.number}}


def mark_key(owner: str) -> str:
    return f"{_MARK_KEY}{owner}"


def made_by(info: models.CollectionInfo) -> str | None:
    """The installation that created the collection; None if it was not surefind."""
    marked = _marked(info)
    if isinstance(marked.get("made_by"), str):
        return str(marked["made_by"])
    for key in info.payload_schema:
        if key.startswith(_MARK_KEY):
            return key.removeprefix(_MARK_KEY)
    return None


def _marked(info: models.CollectionInfo) -> Mapping[str, object]:
    marked = (getattr(info.config, "metadata", None) or {}).get(_MARK)
    return marked if isinstance(marked, dict) else {}


# --- indexes of the payload -------------------------------------------------------------------

_ON_DISK: dict[models.PayloadSchemaType, models.PayloadSchemaParams] = {
    _SCHEMA.KEYWORD: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=True),
    _SCHEMA.INTEGER: models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, on_disk=True),
    _SCHEMA.FLOAT: models.FloatIndexParams(type=models.FloatIndexType.FLOAT, on_disk=True),
    _SCHEMA.DATETIME: models.DatetimeIndexParams(
        type=models.DatetimeIndexType.DATETIME, on_disk=True
    ),
}


def index_params(
    kind: models.PayloadSchemaType, shape: CollectionShape
) -> models.PayloadSchemaType | models.PayloadSchemaParams:
    """Payload indexes are larger than small vectors, so they go to disk along with them."""
    return _ON_DISK[kind] if shape.on_disk else kind


_KINDS = {
    FieldKind.TEXT: _SCHEMA.KEYWORD,
    FieldKind.PATH: _SCHEMA.KEYWORD,
    FieldKind.NUMBER: _SCHEMA.FLOAT,
    FieldKind.DATE: _SCHEMA.DATETIME,
}


def own_indexes() -> dict[str, models.PayloadSchemaType]:
    """Indexes of every filter field: servers in strict mode reject filters without an index."""
    kinds = {**dict.fromkeys(("chunk_id", "content_hash"), FieldKind.TEXT), **indexed_keys()}
    return {key: _KINDS[kind] for key, kind in kinds.items()}


def front_matter_indexes(
    attributes: Mapping[str, Attribute],
) -> dict[str, models.PayloadSchemaType]:
    return {key: _KINDS[kind] for key, kind in indexed_attributes(attributes).items()}


def indexed_front_matter(info: models.CollectionInfo) -> dict[str, models.PayloadSchemaType]:
    """The front-matter keys with an index. The server may omit the quotes of a key."""
    before = f"{FRONT_MATTER}."
    return {
        payload_key(key.removeprefix(before).strip('"')): held.data_type
        for key, held in info.payload_schema.items()
        if key.startswith(before)
    }


def is_sound(info: models.CollectionInfo) -> bool:
    """Whether indexing has not failed so far."""
    return (
        info.status != models.CollectionStatus.RED
        and info.optimizer_status == models.OptimizersStatusOneOf.OK
    )


def indexed_vectors(info: models.CollectionInfo) -> int:
    """The server counts both vectors of a point, and always indexes the sparse one."""
    return max(0, (info.indexed_vectors_count or 0) - (info.points_count or 0))
