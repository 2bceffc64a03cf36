"""Qdrant collections as a server has them, each kept by the real engine in a folder of its own.

A collection with several shards has the engine once for each: points are spread by their ids, each
shard answers by itself, with the term statistics of its own points, and the best answers are taken.
"""

import itertools
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as edge

from support.qdrant.filters import BadRequest, Filters, canonical, checked_id, unindexed

Json = Any
_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000, "max_indexing_threads": 0}
_OPTIMIZERS = {
    "deleted_threshold": 0.2,
    "vacuum_min_vector_number": 1000,
    "default_segment_number": 0,
    "max_segment_size": None,
    "memmap_threshold": None,
    "indexing_threshold": 10000,
    "flush_interval_sec": 5,
    "max_optimization_threads": None,
}
_PARAMS = ("shard_number", "replication_factor", "write_consistency_factor", "on_disk_payload")
_INDEXES = {"keyword", "integer", "float", "bool", "datetime", "uuid", "text", "geo"}


class Shards:
    """The shards of a collection, used like one."""

    def __init__(self, folder: Path, wanted: Json) -> None:
        count = wanted.get("shard_number") or 1
        folders = [folder / str(number) for number in range(count)]
        for one in folders:
            one.mkdir(parents=True)
        self._shards = [edge.EdgeShard.create(str(one), _config(wanted)) for one in folders]

    def _by_shard(self, ids: Iterable[Any]) -> dict[int, list[Any]]:
        spread: dict[int, list[Any]] = {}
        for one in ids:
            number = zlib.crc32(str(one).encode()) % len(self._shards)
            spread.setdefault(number, []).append(one)
        return spread

    def update(self, operation: edge.UpdateOperation) -> None:
        for shard in self._shards:
            shard.update(operation)

    def update_some(
        self, ids: Iterable[Any], operation: Callable[[list[Any]], edge.UpdateOperation]
    ) -> None:
        for number, some in self._by_shard(ids).items():
            self._shards[number].update(operation(some))

    def retrieve(self, ids: list[Any], **wanted: Any) -> list[edge.Record]:
        spread = self._by_shard(ids)
        return [
            record
            for number, some in spread.items()
            for record in self._shards[number].retrieve(some, **wanted)
        ]

    def scroll(self, request: edge.ScrollRequest, limit: int) -> tuple[list[edge.Record], Any]:
        """In the order of the ids; the first ones of all shards are among those of each."""
        found, following = [], []
        for shard in self._shards:
            records, after = shard.scroll(request)
            found += records
            following += [] if after is None else [after]
        found.sort(key=lambda record: _order(record.id))
        rest = [*(record.id for record in found[limit:]), *following]
        return found[:limit], min(rest, key=_order, default=None)

    def count(self, request: edge.CountRequest) -> int:
        return sum(shard.count(request) for shard in self._shards)

    def query(self, request: edge.QueryRequest, limit: int) -> list[edge.ScoredPoint]:
        found = [point for shard in self._shards for point in shard.query(request)]
        if len(self._shards) > 1:
            found.sort(key=lambda point: -point.score)
        return found[:limit]

    def info(self) -> tuple[int, int, int]:
        """The numbers of indexed vectors, of points and of segments."""
        infos = [shard.info() for shard in self._shards]
        return (
            sum(one.indexed_vectors_count for one in infos),
            sum(one.points_count for one in infos),
            sum(one.segments_count for one in infos),
        )

    def optimize(self) -> None:
        for shard in self._shards:
            shard.optimize()

    def close(self) -> None:
        for shard in self._shards:
            shard.close()


class Collection:
    """The shards, and what a server reports about them. One caller at a time."""

    def __init__(self, folder: Path, wanted: Json) -> None:
        self._folder = folder
        self._shard = Shards(folder, wanted)
        self._operations = itertools.count()
        self._schema: dict[str, Json] = {}
        self._optimizing: threading.Thread | None = None
        self._lock = threading.RLock()
        self.status: str | None = None  # instead of the true one
        self.config: Json = {
            "params": {
                "vectors": wanted.get("vectors") or {},
                "sparse_vectors": wanted.get("sparse_vectors"),
                "shard_number": 1,
                "replication_factor": 1,
                "write_consistency_factor": 1,
                "on_disk_payload": True,
                **{name: wanted[name] for name in _PARAMS if wanted.get(name) is not None},
            },
            "hnsw_config": _HNSW | _said(wanted.get("hnsw_config")),
            "optimizer_config": _OPTIMIZERS | _said(wanted.get("optimizers_config")),
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0, "wal_retain_closed": 1},
            "quantization_config": wanted.get("quantization_config"),
            "strict_mode_config": wanted.get("strict_mode_config") or {"enabled": False},
        }
        if wanted.get("metadata") is not None:
            self.config["metadata"] = wanted["metadata"]

    def info(self) -> Json:
        with self._lock:
            indexed, points, segments = self._shard.info()
        busy = self._optimizing is not None and self._optimizing.is_alive()
        return {
            "status": self.status or ("yellow" if busy else "green"),
            "optimizer_status": "ok",
            "warnings": [],
            "indexed_vectors_count": indexed,
            "points_count": points,
            "segments_count": segments,
            "config": self.config,
            "payload_schema": {
                key: {**schema, "points": self._holding(key)}
                for key, schema in self._schema.items()
            },
            "update_queue": {"length": 0},
        }

    def _holding(self, key: str) -> int:
        empty = edge.Filter(must_not=[edge.IsEmptyCondition(key)])
        return self._shard.count(edge.CountRequest(exact=True, filter=empty))

    def change(self, wanted: Json) -> None:
        """Do the deferred work: the engine builds its graph on request."""
        config = self.config
        config["hnsw_config"] |= _said(wanted.get("hnsw_config"))
        config["optimizer_config"] |= _said(wanted.get("optimizers_config"))
        config["params"] |= _said(wanted.get("params"))
        config["strict_mode_config"] |= _said(wanted.get("strict_mode_config"))
        if wanted.get("metadata") is not None:
            config["metadata"] = {**config.get("metadata", {}), **wanted["metadata"]}
        if wanted.get("quantization_config") is not None:
            config["quantization_config"] = wanted["quantization_config"]
        for name, change in (wanted.get("vectors") or {}).items():
            held = config["params"]["vectors"]
            (held[name] if name else held).update(_said(change))
        if config["hnsw_config"]["m"] and config["optimizer_config"]["indexing_threshold"]:
            self._optimizing = threading.Thread(target=self._optimize, daemon=True)
            self._optimizing.start()

    def _optimize(self) -> None:
        with self._lock:
            self._shard.optimize()

    # --- writing ------------------------------------------------------------------------------

    def upsert(self, body: Json) -> Json:
        points = body["points"] if "points" in body else list(_unbatched(body["batch"]))
        read = [
            edge.Point(
                checked_id(point["id"]), _vector(point["vector"]), point.get("payload") or {}
            )
            for point in points
        ]
        by_id = {point.id: point for point in read}  # of two versions, the later one stays
        with self._lock:
            self._shard.update_some(
                by_id,
                lambda ids: edge.UpdateOperation.upsert_points([by_id[one] for one in ids]),
            )
            return self._done()

    def delete(self, body: Json) -> Json:
        if "points" in body:
            ids = [checked_id(one) for one in body["points"]]
            with self._lock:
                self._shard.update_some(ids, edge.UpdateOperation.delete_points)
                return self._done()
        which = self._filter(body["filter"]) or edge.Filter()
        return self._update(edge.UpdateOperation.delete_points_by_filter(which))

    def set_payload(self, body: Json) -> Json:
        ids = [checked_id(one) for one in body["points"]]
        with self._lock:
            self._shard.update_some(
                ids,
                lambda some: edge.UpdateOperation.set_payload(
                    some, body["payload"], body.get("key")
                ),
            )
            return self._done()

    def create_index(self, body: Json) -> Json:
        schema = body.get("field_schema") or "keyword"
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind not in _INDEXES:
            raise BadRequest(f"Format error in JSON body: unknown variant `{kind}`")
        if kind == "text":  # the others make answers faster, and no different
            made = edge.UpdateOperation.create_field_index(
                body["field_name"], edge.PayloadSchemaType.Text
            )
            self._update(made)
        params = {} if isinstance(schema, str) else {"params": schema}
        self._schema[canonical(body["field_name"])] = {"data_type": kind, **params}
        return self._done()

    def delete_index(self, name: str) -> Json:
        schema = self._schema.pop(canonical(name), None)
        if schema and schema["data_type"] == "text":
            self._update(edge.UpdateOperation.delete_field_index(name))
        return self._done()

    def _update(self, operation: edge.UpdateOperation) -> Json:
        with self._lock:
            self._shard.update(operation)
            return self._done()

    def _done(self) -> Json:
        return {"operation_id": next(self._operations), "status": "completed"}

    # --- reading ------------------------------------------------------------------------------

    def retrieve(self, body: Json) -> list[Json]:
        with self._lock:
            found = self._shard.retrieve(
                [checked_id(one) for one in body["ids"]],
                with_payload=_payload_wish(body.get("with_payload", True)),
                with_vector=_vector_wish(body),
            )
        return [_record(record) for record in found]

    def scroll(self, body: Json) -> Json:
        if body.get("order_by"):
            raise BadRequest("Bad request: scrolling in an order is beyond this service")
        limit = _positive(body.get("limit"), 10)
        with self._lock:
            records, following = self._shard.scroll(
                edge.ScrollRequest(
                    offset=None if body.get("offset") is None else checked_id(body["offset"]),
                    limit=limit,
                    filter=self._filter(body.get("filter")),
                    with_payload=_payload_wish(body.get("with_payload", True)),
                    with_vector=_vector_wish(body),
                ),
                limit,
            )
        return {
            "points": [_record(record) for record in records],
            "next_page_offset": None if following is None else written_id(following),
        }

    def count(self, body: Json) -> Json:
        with self._lock:
            request = edge.CountRequest(exact=True, filter=self._filter(body.get("filter")))
            return {"count": self._shard.count(request)}

    def query(self, body: Json) -> Json:
        if body.get("prefetch"):
            raise BadRequest("Bad request: prefetching is beyond this service")
        params, written = body.get("params") or {}, body.get("filter")
        example = _example(body.get("query"))
        if example is not None:  # which is never among its own neighbours
            itself = {"must_not": [{"has_id": [example]}]}
            written = {"must": [itself, *([written] if written else [])]}
        limit, offset = _positive(body.get("limit"), 10), body.get("offset") or 0
        with self._lock:
            found = self._shard.query(
                edge.QueryRequest(
                    limit=limit + offset,
                    query=self._nearest(body.get("query"), body.get("using")),
                    filter=self._filter(written),
                    score_threshold=body.get("score_threshold"),
                    params=edge.SearchParams(
                        hnsw_ef=params.get("hnsw_ef"), exact=bool(params.get("exact"))
                    ),
                    with_payload=_payload_wish(body.get("with_payload", False)),
                    with_vector=_vector_wish(body),
                ),
                limit + offset,
            )
        return {
            "points": [
                {**_record(point), "version": point.version, "score": point.score}
                for point in found[offset:]
            ]
        }

    def _nearest(self, query: Json, using: str | None) -> edge.Query | None:
        if isinstance(query, dict) and "nearest" in query:
            query = query["nearest"]
        if query is None:
            return None
        example = _example(query)
        if example is not None:
            query = self._stored(example, using or "")
        if isinstance(query, dict) and "indices" not in query:
            raise BadRequest("Bad request: this kind of query is beyond this service")
        return edge.Query.Nearest(_one_vector(query), using=using or "")

    def _stored(self, point: Json, using: str) -> Json:
        held = self.retrieve({"ids": [point], "with_vector": True, "with_payload": False})
        if not held:
            raise BadRequest(f"Not found: No point with id {point} found")
        vector = held[0]["vector"]
        return vector[using] if isinstance(vector, dict) else vector

    def _filter(self, written: Json) -> edge.Filter | None:
        strict = self.config["strict_mode_config"]
        if strict.get("enabled") and strict.get("unindexed_filtering_retrieve") is False:
            missing = unindexed(written, self._schema)
            if missing:
                key, kinds = missing
                raise BadRequest(
                    f'Bad request: Index required but not found for "{key}" of one of the '
                    f"following types: [{', '.join(sorted(kinds))}]. Help: Create an index for "
                    "this key or use a different filter."
                )
        return Filters(self._ids_where).read(written)

    def _ids_where(self, holds: Callable[[Mapping[str, Json]], bool]) -> set[Any]:
        request = edge.ScrollRequest(limit=10**9, with_payload=True, with_vector=False)
        records, _ = self._shard.scroll(request, 10**9)
        return {record.id for record in records if holds(record.payload or {})}

    def close(self) -> None:
        if self._optimizing is not None:
            self._optimizing.join()
        with self._lock:
            self._shard.close()
        shutil.rmtree(self._folder, ignore_errors=True)


# --- what is written in JSON ------------------------------------------------------------------


def _order(point_id: Any) -> tuple[bool, int]:
    """Numbers before UUIDs."""
    is_number = isinstance(point_id, int)
    return not is_number, point_id if is_number else UUID(str(point_id)).int


def written_id(point_id: Any) -> int | str:
    return point_id if isinstance(point_id, int) else str(point_id)


def _record(record: Any) -> Json:
    told: dict[str, Json] = {"id": written_id(record.id), "payload": record.payload}
    if record.vector is not None:
        told["vector"] = _written_vector(record.vector)
    return told


def _written_vector(vector: Any) -> Json:
    if isinstance(vector, dict):
        return {name: _written_vector(one) for name, one in vector.items()}
    if isinstance(vector, edge.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    return vector


def _vector(written: Json) -> Any:
    if isinstance(written, dict):
        return {name: _one_vector(one) for name, one in written.items()}
    return _one_vector(written)


def _one_vector(written: Json) -> Any:
    if isinstance(written, dict):
        return edge.SparseVector(written["indices"], written["values"])
    if not isinstance(written, list):
        raise BadRequest("Format error in JSON body: data did not match any variant of Vector")
    if written and isinstance(written[0], list):
        return [[float(number) for number in row] for row in written]
    return [float(number) for number in written]


def _unbatched(batch: Json) -> Sequence[Json]:
    vectors = batch["vectors"]
    payloads = batch.get("payloads") or [None] * len(batch["ids"])
    if isinstance(vectors, dict):
        rows: list[Json] = [
            {name: held[number] for name, held in vectors.items()}
            for number in range(len(batch["ids"]))
        ]
    else:
        rows = vectors
    return [
        {"id": one, "vector": vector, "payload": payload}
        for one, vector, payload in zip(batch["ids"], rows, payloads, strict=True)
    ]


def _example(query: Json) -> int | str | None:
    """The point of a query that names one instead of a vector."""
    if isinstance(query, dict):
        query = query.get("nearest")
    return query if isinstance(query, int | str) else None


def _payload_wish(written: Json) -> Any:
    if isinstance(written, dict):
        if "include" in written:
            return edge.PayloadSelector.Include(written["include"])
        return edge.PayloadSelector.Exclude(written["exclude"])
    return written


def _vector_wish(body: Json) -> Any:
    return body.get("with_vector") or False


def _positive(written: Json, default: int) -> int:
    limit = default if written is None else int(written)
    if limit < 1:
        raise BadRequest(
            "Validation error in JSON body: [limit: value 0 invalid, must be 1 or larger]"
        )
    return limit


def _said(written: Json) -> dict[str, Json]:
    return {name: value for name, value in (written or {}).items() if value is not None}


def _config(wanted: Json) -> edge.EdgeConfig:
    vectors, sparse = wanted.get("vectors") or {}, wanted.get("sparse_vectors") or {}
    dense: Any
    if "size" in vectors:
        dense = _dense(vectors)
    else:
        dense = {name: _dense(params) for name, params in vectors.items()}
    return edge.EdgeConfig(
        vectors=dense,
        sparse_vectors={  # the engine wants a vector, which a server does not
            "unused": edge.EdgeSparseVectorParams()
        }
        if not vectors and not sparse
        else {
            name: edge.EdgeSparseVectorParams(
                modifier=edge.Modifier.Idf if (params or {}).get("modifier") == "idf" else None
            )
            for name, params in sparse.items()
        }
        or None,
        max_search_threads=1,
    )


def _dense(params: Json) -> edge.EdgeVectorParams:
    if params["size"] < 1 or not hasattr(edge.Distance, params["distance"]):
        raise BadRequest("Validation error in JSON body: [vectors: not a size and a distance]")
    many = params.get("multivector_config")
    return edge.EdgeVectorParams(
        params["size"],
        getattr(edge.Distance, params["distance"]),
        multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
        if many
        else None,
    )
