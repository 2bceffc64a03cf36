"""Any number of shards in a Qdrant server finds what the embedded index finds, in the same order.

Runs against the server that SUREFIND_TEST_QDRANT_URL names, where one is named.
"""

import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import models

from contract.embedders.rude_server import KEY, Opened
from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from contract.qdrant.test_qdrant_server import MINE, Bench
from support.fakes import WordEmbedder, record
from support.qdrant.grpc_server import serve_grpc
from support.qdrant.service import Address, Service
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.schema import CollectionShape
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.qdrant.server.term_statistics import (
    TermCounter,
    TermStatistics,
    from_parts,
)
from surefind.errors import StoreChanged
from surefind.model import AnyOf, GenerationRef, SparseVector
from surefind.ports import IndexEntry, IndexStore, SparseQuery
from surefind.services.encoding.bm25 import Bm25Encoder

ENCODER = Bm25Encoder(Bm25Analyzer())
RARE, COMMON = "kettle teapot descaler spout", "the filter and the water of your machine"
QUESTIONS = ("kettle with a filter", "descaler", "water machine", "spout teapot water", "the rare")


def passages(number: int, seed: int = 7) -> list[IndexEntry]:
    """Passages whose rare words are spread unevenly."""
    chosen = random.Random(seed)
    words = [*RARE.split(), *COMMON.split() * 4, *(f"word{one}" for one in range(40))]
    embedder, made = WordEmbedder(DIMENSIONS), []
    for one in range(number):
        text = " ".join(chosen.choices(words, k=chosen.randint(3, 30)))
        kept = replace(record(one, text), attributes={"shelf": f"{one % 3}"})
        made.append(IndexEntry(kept, embedder.embed(text), ENCODER.passage(text, 15.0)))
    return made


@pytest.fixture
async def bench(address: Address) -> AsyncIterator[Bench]:
    made = Bench(address)
    yield made
    await made.clear()


def sharded(bench: Bench, shards: int) -> QdrantIndexStore:
    return bench.store(shape=CollectionShape(shards=shards))


async def answers(
    store: IndexStore, ref: GenerationRef = ONE
) -> list[tuple[list[UUID], list[float]]]:
    """By words alone, with a filter, and among some points."""
    index = await store.open(ref)
    some = frozenset(index.number(record(number).chunk.point_id) for number in range(0, 200, 3))
    queries = [
        replaced
        for question in QUESTIONS
        for query in [SparseQuery(ENCODER.query(question), 200)]
        for replaced in (
            query,
            query._replace(where=(AnyOf("shelf", ("1",)),)),
            query._replace(restrict_to=some),
        )
    ]
    rankings = await index.search(queries)
    found = [(await index.point_ids(one.points), list(one.scores)) for one in rankings]
    await index.close()
    return found


def same(
    got: Sequence[tuple[list[UUID], list[float]]], wanted: Sequence[tuple[list[UUID], list[float]]]
) -> None:
    for (points, scores), (expected, exact) in zip(got, wanted, strict=True):
        assert points == expected
        assert scores == pytest.approx(exact, rel=2**-14)


@pytest.mark.parametrize("shards", [1, 3, 6])
async def test_scores_and_order_do_not_depend_on_the_number_of_shards(
    bench: Bench, tmp_path: Path, shards: int
) -> None:
    embedded = EdgeIndexStore(DataFolder(tmp_path))
    content = passages(200)
    await build(embedded, ONE, content)
    wanted = await answers(embedded)
    assert sum(len(points) for points, _ in wanted) > 200
    store = sharded(bench, shards)
    await build(store, ONE, content)
    same(await answers(store), wanted)

    # The next generation copies most points, replaces some and drops others.
    kept, edited = content[30:], passages(40, seed=8)[30:]
    writer = await store.create(TWO, DIMENSIONS, ONE)
    await writer.delete([entry.record.chunk.point_id for entry in content[:30]])
    await writer.upsert(edited)
    assert await writer.finish() == 170
    await build(embedded, TWO, [*edited, *kept[10:]])
    same(await answers(store, TWO), await answers(embedded, TWO))
    same(await answers(store), wanted)
    await store.close()


async def test_points_that_are_written_twice_or_deleted_are_counted_once_or_not_at_all(
    bench: Bench,
) -> None:
    content = passages(60)
    store = sharded(bench, 3)
    await build(store, ONE, content[:50])
    writer = await store.create(TWO, DIMENSIONS, None)
    await writer.upsert(passages(60, seed=9))
    await writer.upsert(content)
    await writer.delete([entry.record.chunk.point_id for entry in content[50:]])
    assert await writer.finish() == 50
    assert await answers(store, TWO) == await answers(store)
    await store.close()


async def test_a_generation_of_one_shard_is_read_and_copied_by_a_store_of_three(
    bench: Bench,
) -> None:
    """As those of earlier versions are: their schema says that the server weighs the words."""
    content = passages(60)
    single, store = sharded(bench, 1), sharded(bench, 3)
    await build(single, ONE, content)
    wanted = await answers(single)
    same(await answers(store), wanted)
    await build(store, TWO, [], copy_of=ONE)
    same(await answers(store, TWO), wanted)
    same(await answers(single, TWO), wanted)
    await single.close()
    await store.close()


async def test_the_statistics_come_and_go_with_the_collection(bench: Bench) -> None:
    store = sharded(bench, 2)
    await build(store, ONE, entries(TEXTS))
    name = bench.name(ONE)
    async with bench.client() as client:
        assert await client.collection_exists(f"{name}--terms")
        assert await store.held() == [ONE]
        await store.drop(ONE)
        assert not await client.collection_exists(f"{name}--terms")
        writer = await store.create(ONE, DIMENSIONS, None)
        await writer.abandon()
        await build(store, ONE, entries(TEXTS[:2]))
        await client.delete_collection(f"{name}--terms")
        with pytest.raises(StoreChanged, match=r"has no collection .*--0001--terms; run"):
            await store.open(ONE)
    await store.close()


@pytest.mark.parametrize("damage", ["half", "other", "empty"])
async def test_damaged_statistics_are_named(bench: Bench, damage: str) -> None:
    store = sharded(bench, 2)
    await build(store, ONE, entries(TEXTS))
    name = f"{bench.name(ONE)}--terms"
    async with bench.client() as client:
        [part], _ = await client.scroll(name)
        kept = dict(part.payload or {})
        if damage == "empty":
            await client.delete(name, [part.id])
        else:
            changed = {"half": kept["data"][:8], "other": "AAAA"}[damage]
            await client.set_payload(name, {"data": changed}, [part.id])
    with pytest.raises(StoreChanged, match=r"--terms of .* was changed: its term stat.*--rebuild"):
        await store.open(ONE)
    await store.close()


async def test_statistics_of_others_are_neither_replaced_nor_dropped(bench: Bench) -> None:
    async with bench.client() as client:
        await client.create_collection(
            f"{bench.name(ONE)}--terms",
            {"dense": models.VectorParams(size=4, distance=models.Distance.DOT)},
        )
        store = bench.store(MINE, CollectionShape(shards=2))
        with pytest.raises(Exception, match="SUREFIND_QDRANT_PREFIX"):
            await store.create(ONE, DIMENSIONS, None)
        await store.drop(ONE)
        assert await client.collection_exists(f"{bench.name(ONE)}--terms")
    await store.close()


@pytest.mark.parametrize(("version", "by_grpc"), [("1.15.0", False), ("1.18.0", True)])
async def test_statistics_by_grpc_and_in_an_old_server(
    service: Service, version: str, *, by_grpc: bool
) -> None:
    service.version = version
    opened = Opened(service.url, shape=CollectionShape(shards=3))
    with serve_grpc(service) as port:
        opened.place = ServerAddress(service.url, KEY, port if by_grpc else None)
        async with opened.store() as store:
            await build(store, ONE, passages(60))
            sharded_answers = await answers(store)
            await store.drop(ONE)
            assert service.collections == {}
        single = Opened(service.url)
        async with single.store() as store:
            await build(store, ONE, passages(60))
            same(sharded_answers, await answers(store))


# --- counting ---------------------------------------------------------------------------------

POINTS = st.lists(st.sets(st.integers(0, 2**32 - 1) | st.integers(0, 20), max_size=12), max_size=30)


@given(points=POINTS)
def test_counts_survive_storage_and_single_terms_are_left_out(points: list[set[int]]) -> None:
    counter = TermCounter()
    for terms in points:
        counter.add(terms)
    counted = counter.statistics()
    held = from_parts(reversed(counted.to_parts()))
    assert held.points == counted.points == sum(bool(terms) for terms in points)
    assert counter.added == len(points)
    expected = {
        term: count
        for term in set().union(*points)
        if (count := sum(term in terms for terms in points)) > 1
    }
    assert dict(zip(held.terms.tolist(), held.counts.tolist(), strict=True)) == expected


def test_a_weight_is_multiplied_by_the_rarity_of_its_term() -> None:
    numbers = np.array([3, 9], dtype=np.uint32), np.array([4, 2], dtype=np.uint32)
    weighted = TermStatistics(10, *numbers).weighted(SparseVector((2, 9, 11), (1.0, 0.5, 2.0)))
    assert weighted.ids == (2, 9, 11)
    rarity = [np.log(1 + (10 - n + 0.5) / (n + 0.5)) for n in (1, 2, 1)]
    assert weighted.weights == pytest.approx([rarity[0], rarity[1] / 2, rarity[2] * 2])


def test_large_statistics_are_stored_in_parts() -> None:
    numbers = np.unique(np.random.default_rng(1).integers(0, 2**32, 700_000, dtype=np.uint32))
    counts = np.random.default_rng(2).integers(2, 500, numbers.size, dtype=np.uint32)
    parts = TermStatistics(10**6, numbers, counts).to_parts()
    assert len(parts) > 1
    held = from_parts(parts)
    assert (held.terms == numbers).all()
    assert (held.counts == counts).all()
    with pytest.raises(StoreChanged, match=r"damaged|incomplete"):
        from_parts(parts[1:])
