"""A Qdrant server: what every index promises, and what it keeps of others' and of its own.

Runs against the server that SUREFIND_TEST_QDRANT_URL names, where one is named.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models

from contract.indexes.index_conditions import CONDITIONS, various
from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from contract.indexes.test_indexes import IndexContract
from support.fakes import WordEmbedder, record, word_terms
from support.qdrant.service import Address, unique
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.schema import MAX_FRONT_MATTER_INDEXES, CollectionShape
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy
from surefind.errors import StoreChanged, StoreError, StoreRefused
from surefind.ports import DenseQuery, IndexEntry, IndexStore, SparseQuery

MINE, THEIRS = "a" * 32, "b" * 32
COSINE = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)


class Bench:
    """A server, a prefix that nobody else has, and what was told."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.prefix = unique("") + "-"
        self.told: list[str] = []

    def store(
        self,
        owner: str = MINE,
        shape: CollectionShape | None = None,
        grpc_port: int | None = None,
    ) -> QdrantIndexStore:
        async def named() -> str:
            return owner

        place = ServerAddress(self.address.url, self.address.key, grpc_port, timeout_s=30)
        policy = CallPolicy(self.told.append)
        return QdrantIndexStore(place, policy, named, shape, prefix=self.prefix)

    async def clear(self) -> None:
        async with self.client() as client:
            for held in (await client.get_collections()).collections:
                if held.name.startswith(self.prefix):
                    await client.delete_collection(held.name)

    def name(self, ref: object) -> str:
        return f"{self.prefix}{ref}"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncQdrantClient]:
        # As a header: given as a key, the client warns of it over http, which is fine here.
        headers = {"api-key": self.address.key} if self.address.key else {}
        client = AsyncQdrantClient(
            url=self.address.url,
            headers=headers,
            check_compatibility=False,
            timeout=30,
            verify=self.address.url.startswith("https"),
        )
        try:
            yield client
        finally:
            await client.close()


@pytest.fixture
async def bench(address: Address) -> AsyncIterator[Bench]:
    made = Bench(address)
    yield made
    await made.clear()


@pytest.fixture
async def store(bench: Bench) -> AsyncIterator[QdrantIndexStore]:
    made = bench.store()
    yield made
    await made.close()


class TestQdrantServer(IndexContract):
    readers_outlive_a_drop = False

    @pytest.fixture
    def store(self, store: QdrantIndexStore) -> IndexStore:
        return store


async def test_everything_that_can_be_filtered_by_has_an_index(
    bench: Bench, store: QdrantIndexStore
) -> None:
    """So strict servers take our filters: these refuse what they would have to scan for."""
    kept = [
        replace(e, record=replace(e.record, attributes={**e.record.attributes, "rating": 1.5}))
        for e in various()
    ]
    await build(store, ONE, kept)
    async with bench.client() as client:
        await client.update_collection(
            bench.name(ONE),
            strict_mode_config=models.StrictModeConfig(
                enabled=True, unindexed_filtering_retrieve=False
            ),
        )
        index = await store.open(ONE)
        asked = [where for where in CONDITIONS if where.key != "rating"]
        for where in asked:
            await index.search([DenseQuery(kept[0].vector, 5, where=(where,))])
        not_ours = models.FieldCondition(key="text", match=models.MatchValue(value="x"))
        with pytest.raises(Exception, match="Index required"):
            await client.scroll(bench.name(ONE), scroll_filter=models.Filter(must=[not_ours]))


async def test_front_matter_of_any_number_of_keys_is_indexed_up_to_a_bound(
    bench: Bench, store: QdrantIndexStore
) -> None:
    [entry] = entries(TEXTS[:1])
    many = {f"key{number}": "value" for number in range(MAX_FRONT_MATTER_INDEXES + 3)}
    wide = replace(entry, record=replace(entry.record, attributes=many))
    writer = await store.create(ONE, DIMENSIONS, None)
    await writer.upsert([wide])
    await writer.upsert([wide])
    await writer.finish()
    async with bench.client() as client:
        schema = (await client.get_collection(bench.name(ONE))).payload_schema
    ours = [key for key in schema if key.startswith("front_matter.")]
    assert len(ours) == MAX_FRONT_MATTER_INDEXES
    assert len([line for line in bench.told if "front matter" in line]) == 1


async def test_the_alias_follows_what_is_published(bench: Bench, store: QdrantIndexStore) -> None:
    alias = f"{bench.prefix}docs"
    for ref in (ONE, TWO):
        await build(store, ref, entries(TEXTS[: ref.number]))
        await store.published(ref)
        async with bench.client() as client:
            assert (await client.count(alias)).count == ref.number
    await store.published(ONE)
    async with bench.client() as client:
        assert (await client.count(alias)).count == 1
    assert bench.told == []


@pytest.mark.parametrize("kind", ["collection", "alias"])
async def test_a_name_that_others_have_taken_stays_theirs(
    bench: Bench, store: QdrantIndexStore, kind: str
) -> None:
    alias, theirs = f"{bench.prefix}docs", f"{bench.prefix}theirs"
    async with bench.client() as client:
        if kind == "collection":
            await client.create_collection(alias, COSINE)
        else:
            await client.create_collection(theirs, COSINE)
            create = models.CreateAlias(collection_name=theirs, alias_name=alias)
            await client.update_collection_aliases(
                [models.CreateAliasOperation(create_alias=create)]
            )
        await build(store, ONE, entries(TEXTS))
        await store.published(ONE)
        assert (await client.count(alias)).count == 0
    assert len(bench.told) == 1
    assert f"the alias {alias} was not moved" in bench.told[0]


@pytest.mark.parametrize("maker", ["a stranger", "another installation"])
async def test_collections_of_others_are_neither_replaced_nor_dropped_nor_read(
    bench: Bench, store: QdrantIndexStore, maker: str
) -> None:
    if maker == "a stranger":
        async with bench.client() as client:
            await client.create_collection(
                bench.name(ONE),
                {"dense": COSINE},
                sparse_vectors_config={
                    "terms": models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
            )
    else:
        theirs = bench.store(owner=THEIRS)
        await build(theirs, ONE, entries(TEXTS))
        await theirs.close()
    with pytest.raises(StoreRefused, match="SUREFIND_QDRANT_PREFIX"):
        await store.create(ONE, DIMENSIONS, None)
    with pytest.raises(StoreRefused, match="another installation or program created"):
        await store.open(ONE)
    await store.drop(ONE)
    assert "kept the collection" in bench.told[0]
    async with bench.client() as client:
        assert await client.collection_exists(bench.name(ONE))


async def test_what_a_dead_run_left_is_replaced_but_not_what_others_read(
    bench: Bench, store: QdrantIndexStore
) -> None:
    writer = await store.create(ONE, DIMENSIONS, None)
    await writer.upsert(entries(TEXTS))
    await writer.abandon()
    assert await build(store, ONE, entries(TEXTS[:2])) == 2
    await store.published(ONE)
    with pytest.raises(StoreRefused, match="the alias"):
        await store.create(ONE, DIMENSIONS, None)


@pytest.mark.parametrize(
    ("vectors", "sparse", "wrong"),
    [
        ({"other": COSINE}, True, "no vector named 'dense'"),
        (COSINE, True, "no vector named 'dense'"),
        (
            {"dense": models.VectorParams(size=4, distance=models.Distance.DOT)},
            True,
            "use the distance Dot",
        ),
        ({"dense": COSINE}, False, "no sparse vector"),
    ],
)
async def test_a_collection_that_was_changed_is_not_read(
    bench: Bench,
    store: QdrantIndexStore,
    vectors: models.VectorParams | dict[str, models.VectorParams],
    sparse: bool,
    wrong: str,
) -> None:
    idf = {"terms": models.SparseVectorParams(modifier=models.Modifier.IDF)}
    async with bench.client() as client:
        await client.create_collection(
            bench.name(ONE), vectors, sparse_vectors_config=idf if sparse else None
        )
    with pytest.raises(StoreChanged, match=wrong):
        await store.open(ONE)


async def test_a_question_of_another_size_is_refused_with_both_sizes(
    store: QdrantIndexStore,
) -> None:
    await build(store, ONE, entries(TEXTS))
    index = await store.open(ONE)
    with pytest.raises(StoreError, match=rf"33 numbers.* has {DIMENSIONS}.*another model"):
        await index.search([DenseQuery(np.ones(33, dtype=np.float32), 3)])


async def test_many_points_arrive_in_parts_and_the_last_version_of_each_stays(
    store: QdrantIndexStore,
) -> None:
    texts = [f"passage number {number} of many" for number in range(700)]
    old, new = entries([f"old {text}" for text in texts]), entries(texts)
    writer = await store.create(ONE, DIMENSIONS, None)
    await writer.upsert(old)
    await writer.upsert(new)
    await writer.delete([record(number).chunk.point_id for number in range(600, 700)])
    assert await writer.finish() == 600
    index = await store.open(ONE)
    ids = [record(number).chunk.point_id for number in range(600)]
    assert {held.chunk.text for held in (await index.payloads(ids)).values()} == set(texts[:600])


async def test_a_copy_weighs_words_as_if_it_had_been_written_again(
    store: QdrantIndexStore,
) -> None:
    """What was removed or replaced is never written, so the server does not go on counting it."""
    await build(store, ONE, entries(TEXTS))
    writer = await store.create(TWO, DIMENSIONS, ONE)
    await writer.delete([record(0).chunk.point_id])
    await writer.upsert(entries(["cats run in the rain"], first=4))
    assert await writer.finish() == 4
    anew = replace(TWO, number=3)
    content = [*entries(TEXTS[1:4], first=1), *entries(["cats run in the rain"], first=4)]
    await build(store, anew, content)
    copied, written = await store.open(TWO), await store.open(anew)
    queries: list[DenseQuery | SparseQuery] = [
        SparseQuery(word_terms("install the cats on windows"), 5),
        DenseQuery(WordEmbedder(DIMENSIONS).embed("install cats"), 5),
    ]
    for got, wanted in zip(
        await copied.search(queries), await written.search(queries), strict=True
    ):
        assert got.points == wanted.points
        assert got.scores == pytest.approx(wanted.scores, abs=1e-6)


async def test_a_copy_of_what_is_gone_is_refused_before_anything_is_made(
    bench: Bench, store: QdrantIndexStore
) -> None:
    with pytest.raises(StoreChanged, match="docs--0001"):
        await store.create(TWO, DIMENSIONS, ONE)
    async with bench.client() as client:
        assert not await client.collection_exists(bench.name(TWO))


@pytest.mark.parametrize("quantization", ["scalar", "binary"])
async def test_the_shape_of_a_collection_is_as_it_was_wished_for(
    bench: Bench, quantization: str
) -> None:
    shape = CollectionShape(on_disk=True, quantization=quantization, oversampling=4.0)  # type: ignore[arg-type]
    store = bench.store(shape=shape)
    content = _random(300)
    await build(store, ONE, content)
    async with bench.client() as client:
        info = await client.get_collection(bench.name(ONE))
    config = info.config
    assert "on_disk=True" in str(info.payload_schema["url"].params)
    assert isinstance(config.params.vectors, dict)
    dense = config.params.vectors["dense"]
    assert dense.on_disk
    assert quantization in str(dense.quantization_config)
    assert config.params.on_disk_payload
    assert config.params.shard_number == config.params.replication_factor == 1
    assert config.hnsw_config.m == 16, "the graph was put off, and is wanted now"
    index = await store.open(ONE)
    [near] = await index.search([DenseQuery(content[7].vector, 1)])
    [exact] = await index.search([DenseQuery(content[7].vector, 1, exact=True)])
    assert near.points == exact.points == [index.number(content[7].record.chunk.point_id)]
    assert near.scores == pytest.approx([1.0], abs=1e-5), "rescored by the true vectors"
    await store.close()


def _random(number: int) -> list[IndexEntry]:
    vectors = np.random.default_rng(3).standard_normal((number, DIMENSIONS)).astype(np.float32)
    return [
        IndexEntry(record(n), vector / np.linalg.norm(vector), word_terms("word"))
        for n, vector in enumerate(vectors)
    ]
