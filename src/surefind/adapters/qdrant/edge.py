"""Qdrant Edge: the Qdrant engine in this process. Only this file imports it.

The engine allows one process per shard, so readers never open a generation directly: each one opens
a view of it (see edge_views.py). Any number of readers share the data without locking each other
out. This is safe because a shard that is never updated and was opened once (see `_settle`) does not
write to its existing files.

Every call holds the GIL, so searches run in the calling thread: another thread would only add
overhead. A search takes about a millisecond, and slightly more with a filter (see
`_search_params`).
"""

import asyncio
import json
import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, cast
from uuid import UUID

import numpy as np
import qdrant_edge as edge

from surefind.adapters.files.checksums import CHECKED_ON_OPEN_BYTES, HEAL_INDEX, Checksums
from surefind.adapters.files.data_folder import (
    FULL,
    DataFolder,
    copy_tree,
    link_tree,
    require_free,
    storing,
)
from surefind.adapters.qdrant import point_numbers
from surefind.adapters.qdrant.conditions import Bounds, KeyTest, excludes, key_tests
from surefind.adapters.qdrant.edge_files import extend, trim
from surefind.adapters.qdrant.edge_views import EdgeView, FreeBytes, free_bytes, sweep
from surefind.adapters.qdrant.payload import (
    CHUNK_ID,
    from_payload,
    indexed_attributes,
    indexed_keys,
    to_payload,
    unquoted,
)
from surefind.adapters.qdrant.points import (
    DENSE,
    LEXICAL,
    check_vector,
    finds_nothing,
    ranked,
    reproducible,
)
from surefind.errors import StoreChanged, StoreError, StoreFull
from surefind.model import (
    DEFAULT_LANGUAGE,
    LANGUAGE_NAMES,
    ChunkRecord,
    Condition,
    FieldKind,
    GenerationRef,
    Ranking,
    SparseVector,
)
from surefind.ports import (
    DenseQuery,
    IndexEntry,
    Matrix,
    ReadBytes,
    SparseQuery,
    StoreFacts,
    VerifiedFiles,
)

_FOLDER, _CHECKSUMS, _SETTLING = "index", "index.checksums", "index.settling"
_LOG = "wal"
_CONFIG = "edge_config.json"
_VIEWS = "views"
_BASE_BYTES = 64 * 2**20
_POINT_BYTES = 8 * 2**10
_WORTH_INDEXES = 2000
_MOST_INDEXES = 100
_FILTERS_KEPT = 2**10
_SCHEMAS = {
    FieldKind.TEXT: edge.KeywordIndexParams,
    FieldKind.PATH: edge.KeywordIndexParams,
    FieldKind.NUMBER: edge.FloatIndexParams,
    FieldKind.DATE: edge.DatetimeIndexParams,
}
_SCAN = edge.SearchParams(exact=True, quantization=edge.QuantizationSearchParams(ignore=True))
_WIDER = edge.SearchParams(hnsw_ef=200)
_SELECTIVE = 0.35


class EdgeIndexStore:
    def __init__(
        self,
        folder: DataFolder,
        free: FreeBytes = free_bytes,
        worth_indexes: int = _WORTH_INDEXES,
        checked_on_open_bytes: int = CHECKED_ON_OPEN_BYTES,
    ) -> None:
        """From `worth_indexes` points on, an index gets payload indexes."""
        self._checked_on_open_bytes = checked_on_open_bytes
        self._folder = folder
        self._worth_indexes = worth_indexes
        self._free_bytes = free

    async def facts(self) -> StoreFacts:
        root = self._folder.root
        warnings = []
        if self._folder.read_only:
            warnings.append(f"{root} is not writable: searches work, ingests do not")
        elif root.exists() and self._free_bytes(root) < _BASE_BYTES:
            warnings.append(f"the disk of {root} is nearly full: ingests do not work")
        return StoreFacts(
            f"embedded in {root}", f"qdrant-edge {version('qdrant-edge-py')}", tuple(warnings)
        )

    async def held(self) -> list[GenerationRef]:
        return [ref for ref in self._folder.generations() if self._path(ref).is_dir()]

    async def require_room(self, points: int, dimensions: int) -> None:
        needed = _BASE_BYTES + points * (dimensions * 4 * 3 + _POINT_BYTES)
        self._folder.prepare()
        sweep(self._folder.root / _VIEWS)  # views may keep removed generations alive
        require_free(self._folder, self._free_bytes(self._folder.root), needed)

    async def create(
        self, ref: GenerationRef, dimensions: int, copy_of: GenerationRef | None
    ) -> "EdgeIndexWriter":
        path = self._path(ref)
        with storing(path), engine(path):
            # A new catalog counts from one again, so an existing index here is a leftover.
            shutil.rmtree(path, ignore_errors=True)
            _checksums(path).drop()
            if copy_of is not None:
                copy_tree(self._path(copy_of), path)
                _remove_log(path)
                extend(path)
                shard = _load(path, self._path(copy_of))
            else:
                path.mkdir(parents=True)
                shard = edge.EdgeShard.create(str(path), _config(dimensions))
            return EdgeIndexWriter(path, shard, dimensions, self._worth_indexes)

    async def open(self, ref: GenerationRef) -> "EdgeIndex":
        source = self._existing(ref)
        with storing(source):
            _checksums(source).verify(self._checked_on_open_bytes)
        view = EdgeView(source, self._folder.root / _VIEWS, without=_LOG, free=self._free_bytes)
        try:
            with engine(source):
                return EdgeIndex(source, _load(view.path, source), view)
        except StoreError:
            view.close()
            raise

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        source = self._existing(ref)
        with storing(source):
            return await asyncio.to_thread(_checksums(source).verify, None, read)

    async def replication(self, ref: GenerationRef) -> None:
        """The index is in this process: there are no replicas."""

    async def drop(self, ref: GenerationRef) -> None:
        with storing(self._path(ref)):
            for folder in (self._path(ref), self._path(ref).with_name(_SETTLING)):
                shutil.rmtree(folder, ignore_errors=True)
            _checksums(self._path(ref)).drop()

    async def published(self, ref: GenerationRef) -> None:
        """Nothing to announce: no other program reads the index."""

    async def close(self) -> None: ...

    def _existing(self, ref: GenerationRef) -> Path:
        source = self._path(ref)
        if not source.is_dir():
            raise StoreChanged(
                f"generation {ref} has no index at {source}: it was built elsewhere or removed; "
                "`surefind ingest` builds a new one, `surefind generations rollback` switches to "
                "another generation"
            )
        return source

    def _path(self, ref: GenerationRef) -> Path:
        return self._folder.generation(ref) / _FOLDER


class EdgeIndexWriter:
    def __init__(
        self, path: Path, shard: edge.EdgeShard, dimensions: int, worth_indexes: int
    ) -> None:
        self._path = path
        self._worth_indexes = worth_indexes
        self._shard = shard
        self._dimensions = dimensions
        self._keys = indexed_keys()
        self._indexed = {unquoted(key) for key in shard.info().payload_schema}

    async def upsert(self, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            check_vector(entry.vector, self._dimensions, entry.record.chunk.id)
            if len(self._keys) < _MOST_INDEXES:
                self._keys = {**indexed_attributes(entry.record.attributes), **self._keys}
        points = [
            edge.Point(
                point_numbers.number_of(entry.record.chunk.point_id),
                {DENSE: entry.vector.tolist(), LEXICAL: _sparse(entry.terms)},
                to_payload(entry.record),
            )
            for entry in entries
        ]
        with engine(self._path):
            self._shard.update(edge.UpdateOperation.upsert_points(points))
            self._index_payloads()

    async def delete(self, point_ids: Sequence[UUID]) -> None:
        with engine(self._path):
            self._shard.update(edge.UpdateOperation.delete_points(_numbers(point_ids)))

    async def finish(self) -> int:
        with engine(self._path), storing(self._path):
            self._shard.optimize()
            self._shard.flush()
            points = self._shard.count(edge.CountRequest(exact=True))
            self._shard.close()
            await asyncio.to_thread(trim, self._path, 4 * self._dimensions)
            self._settle()
            await asyncio.to_thread(_checksums(self._path).write)
        return points

    def _settle(self) -> None:
        """Open one view, because the first view clears the versions of deleted points in place.

        Afterwards no byte changes any more. Without hard links, readers use copies, which change
        nothing here.
        """
        view = self._path.with_name(_SETTLING)
        shutil.rmtree(view, ignore_errors=True)
        try:
            link_tree(self._path, view, without=_LOG)
            edge.EdgeShard.load(str(view)).close()
        except OSError:
            pass
        finally:
            shutil.rmtree(view, ignore_errors=True)

    async def abandon(self) -> None:
        with engine(self._path):
            self._shard.close()

    def _index_payloads(self) -> None:
        """Create payload indexes for filters. Small indexes need none: a scan is as fast.

        They are created once there are enough points: indexing points on arrival takes a third
        of the time of reading them again. The HNSW graph gets no extra links per payload value:
        every search would follow them, which takes three times as long at 100,000 points, and
        combinations of filters would still lack them. See `_search_params`.
        """
        new = {key: kind for key, kind in self._keys.items() if unquoted(key) not in self._indexed}
        if not new or self._shard.count(edge.CountRequest(exact=False)) < self._worth_indexes:
            return
        for key, kind in new.items():
            index = _SCHEMAS[kind](enable_hnsw=False)
            self._shard.update(edge.UpdateOperation.create_field_index(key, index))
            self._indexed.add(unquoted(key))


class EdgeIndex:
    def __init__(self, source: Path, shard: edge.EdgeShard, view: EdgeView) -> None:
        self._source = source
        self._shard = shard
        self._view = view
        info = shard.info()
        self._points = info.points_count
        self._schema = {unquoted(key): one.data_type for key, one in info.payload_schema.items()}
        self._counted: dict[tuple[Condition, ...], int] = {}
        self._prepared: dict[str, tuple[object, edge.Query]] = {}
        self._known = point_numbers.KnownPoints(source)

    def number(self, point_id: UUID) -> int:
        return point_numbers.number_of(point_id)

    async def point_ids(self, numbers: Sequence[int]) -> list[UUID]:
        unknown = self._known.unknown(numbers)
        if unknown:
            with engine(self._source):
                records = self._shard.retrieve(
                    cast("list[edge.PointId]", unknown), with_payload=[CHUNK_ID], with_vector=False
                )
            self._known.learn((one.id, str((one.payload or {}).get(CHUNK_ID))) for one in records)
        return self._known.of(numbers)

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        with engine(self._source):
            answers = [
                [] if finds_nothing(leg_query) else self._shard.search(self._request(leg_query))
                for leg_query in queries
            ]
        return [
            _ranking(leg_query, points) for leg_query, points in zip(queries, answers, strict=True)
        ]

    def _request(self, leg_query: DenseQuery | SparseQuery) -> edge.SearchRequest:
        only = _filter(leg_query)
        return edge.SearchRequest(
            query=self._query(leg_query),
            limit=leg_query.limit,
            filter=only,
            params=self._search_params(leg_query, only),
            with_payload=False,
            with_vector=False,
        )

    def _query(self, leg_query: DenseQuery | SparseQuery) -> edge.Query:
        """Cached, because a hybrid search runs each query twice."""
        vector = leg_query.vector if isinstance(leg_query, DenseQuery) else leg_query.terms
        using = DENSE if isinstance(leg_query, DenseQuery) else LEXICAL
        if using not in self._prepared or self._prepared[using][0] is not vector:
            given = vector.tolist() if isinstance(vector, np.ndarray) else _sparse(vector)
            self._prepared[using] = vector, edge.Query.Nearest(given, using=using)
        return self._prepared[using][1]

    def _search_params(
        self, leg_query: DenseQuery | SparseQuery, only: edge.Filter | None
    ) -> edge.SearchParams | None:
        """Choose between HNSW and exact search, depending on the filter's selectivity.

        A filtered search walks the graph along matching points. If few match, they are rarely
        neighbours, and recall drops: with 100,000 points, recall@10 is .15 if a tenth matches, .8
        for a fifth, and .99 for two fifths. So selective filters use exact search.
        """
        if leg_query.restrict_to is not None or (
            isinstance(leg_query, DenseQuery) and leg_query.exact
        ):
            return _SCAN
        if only is None or isinstance(leg_query, SparseQuery):
            return None
        if not all(self._indexes(test) for one in leg_query.where for test in key_tests(one)):
            return _WIDER  # reading all payloads takes seconds
        return (
            _SCAN if self._matching(leg_query.where, only) < _SELECTIVE * self._points else _WIDER
        )

    def _indexes(self, test: KeyTest) -> bool:
        """Whether payload indexes can answer the test."""
        held = self._schema.get(unquoted(test.key))
        if not isinstance(test.test, Bounds):
            return held == edge.PayloadSchemaType.Keyword
        dated, number = edge.PayloadSchemaType.Datetime, edge.PayloadSchemaType.Float
        return held == (dated if test.test.dated else number)

    def _matching(self, where: tuple[Condition, ...], only: edge.Filter) -> int:
        """The number of matching points, cached. The engine's estimate assumes independence."""
        left = self._counted.get(where)
        if left is None:
            if len(self._counted) >= _FILTERS_KEPT:
                self._counted.clear()
            left = self._shard.count(edge.CountRequest(exact=True, filter=only))
            self._counted[where] = left
        return left

    async def payloads(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        by_number = {point_numbers.number_of(point_id): point_id for point_id in point_ids}
        with engine(self._source):
            records = self._shard.retrieve(list(by_number), with_payload=True, with_vector=False)
        return {
            by_number[cast("int", record.id)]: from_payload(record.payload or {})
            for record in records
        }

    async def vectors(self, point_ids: Sequence[UUID]) -> Matrix:
        numbers = _numbers(point_ids)
        with engine(self._source):
            records = self._shard.retrieve(numbers, with_payload=False, with_vector=[DENSE])
        rows = {
            record.id: record.vector[DENSE] for record in records if isinstance(record.vector, dict)
        }
        for number, point_id in zip(numbers, point_ids, strict=True):
            if number not in rows:
                raise StoreError(f"the vector index at {self._source} has no point {point_id}")
        return np.array([rows[number] for number in numbers], dtype=np.float32)

    async def count(self) -> int:
        with engine(self._source):
            return self._shard.count(edge.CountRequest(exact=True))

    async def indexed(self) -> int:
        """The engine counts both vectors of a point, and always indexes the sparse one."""
        with engine(self._source):
            info = self._shard.info()
        return max(0, info.indexed_vectors_count - info.points_count)

    async def close(self) -> None:
        with engine(self._source):
            self._shard.close()
        self._view.close()


class Bm25Analyzer:
    """The engine's analyzers: stop words and Snowball stems by language, hashed terms."""

    name = "qdrant-bm25-languages-1"

    def __init__(self) -> None:
        self._by_language = {DEFAULT_LANGUAGE: edge.Bm25(edge.Bm25Config())}

    def terms(self, word: str, language: str = DEFAULT_LANGUAGE) -> tuple[int, ...]:
        bm25 = self._by_language.get(language)
        if bm25 is None:
            bm25 = self._by_language[language] = edge.Bm25(_analysis(language))
        terms = tuple(bm25.embed_query(word).indices)
        if len(terms) > 1 and not word.isascii() and language != DEFAULT_LANGUAGE:
            # The engine splits words at the vowel signs of Indic scripts.
            return (zlib.crc32(word.encode("utf-8", "surrogatepass")),)
        return terms


def _analysis(language: str) -> edge.Bm25Config:
    name = LANGUAGE_NAMES.get(language, "")
    name = {"Slovenian": "Slovene"}.get(name, name)
    # Arabic gets the light stemmer of `normalization`.
    stemmer = getattr(edge.SnowballLanguage, name, None) if name != "Arabic" else None
    words = getattr(edge.Language, name, None)
    return edge.Bm25Config(
        stemmer=edge.SnowballParams(stemmer) if stemmer is not None else edge.DisabledStemmer(),
        stopwords=edge.StopwordsSet({words} if words is not None else set()),
    )


def _config(dimensions: int) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(dimensions, edge.Distance.Cosine)},
        sparse_vectors={LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        payload_memory=edge.Memory.Cached,
        max_search_threads=1,
        # A log would add two sparse files of 32 MB to every generation and view. An interrupted
        # build is thrown away, a finished one is flushed, and `ingest.lock` keeps others out.
        wal_enabled=False,
    )


def _remove_log(index: Path) -> None:
    """Indexes of earlier versions have a log, and their configuration requires one.

    With a log, the engine takes the number of the next update from it, and would ignore updates
    after a removal of the log alone. Without one, it takes the number from its segments.
    """
    path = index / _CONFIG
    config = json.loads(path.read_bytes())
    path.write_text(json.dumps({**config, "wal_enabled": False}))
    shutil.rmtree(index / _LOG, ignore_errors=True)


def _filter(leg_query: DenseQuery | SparseQuery) -> edge.Filter | None:
    must: list[edge.ConditionType] = []
    if leg_query.restrict_to is not None:
        must.append(edge.HasIdCondition(cast("set[edge.PointId]", leg_query.restrict_to)))
    must_not: list[edge.ConditionType] = []
    for condition in leg_query.where:
        holds = edge.Filter(should=[_test(test) for test in key_tests(condition)])
        (must_not if excludes(condition) else must).append(holds)
    if not must and not must_not:
        return None
    return edge.Filter(must=must or None, must_not=must_not or None)


def _test(test: KeyTest) -> edge.FieldCondition:
    if not isinstance(test.test, Bounds):
        return edge.FieldCondition(test.key, match=edge.MatchAny(list(test.test)))
    kind: Any = edge.RangeDateTime if test.test.dated else edge.RangeFloat
    return edge.FieldCondition(test.key, range=kind(**asdict(test.test)))


def _ranking(leg_query: DenseQuery | SparseQuery, points: Sequence[edge.ScoredPoint]) -> Ranking:
    numbers = cast("list[int]", [point.id for point in points])  # see `_load`
    scores = [point.score for point in points]
    return ranked(numbers, reproducible(scores) if isinstance(leg_query, SparseQuery) else scores)


def _checksums(index: Path) -> Checksums:
    return Checksums(index, index.with_name(_CHECKSUMS), HEAL_INDEX)


def _load(path: Path, source: Path) -> edge.EdgeShard:
    shard = edge.EdgeShard.load(str(path))
    some, _ = shard.scroll(edge.ScrollRequest(limit=1, with_payload=False, with_vector=False))
    if some and not isinstance(some[0].id, int):
        shard.close()
        raise StoreError(
            f"the vector index at {source} was built by an earlier surefind version and uses "
            "other point ids; run `surefind ingest` to build a new generation. It reuses the "
            "embedding cache"
        )
    return shard


def _numbers(point_ids: Sequence[UUID]) -> "list[edge.PointId]":
    return [point_numbers.number_of(point_id) for point_id in point_ids]


def _sparse(terms: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(terms.ids), list(terms.weights))


class engine:  # noqa: N801 - used like a function; a class is faster, and every search enters it
    """Wraps engine calls: translates their bare Exceptions and names the index."""

    __slots__ = ("_where",)

    def __init__(self, where: Path) -> None:
        self._where = where

    def __enter__(self) -> None: ...

    def __exit__(
        self, _kind: object, error: BaseException | None, _traceback: object
    ) -> Literal[False]:
        if error is None or isinstance(error, StoreError | OSError):
            return False
        if "No space left on device" in str(error):
            raise StoreFull(f"the vector index at {self._where}: {FULL}") from error
        # A damaged file can make the engine panic, which Python does not see as an Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise StoreError(
                f"the vector index at {self._where} failed: {error}; check the free disk space, "
                "then run `surefind doctor` to verify the index"
            ) from error
        return False
