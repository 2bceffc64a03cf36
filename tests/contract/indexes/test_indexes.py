"""What every vector index promises."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

from contract.indexes.index_conditions import CONDITIONS, various
from contract.indexes.index_contents import DIMENSIONS, NOTHING, ONE, TEXTS, TWO, build, entries
from support.fakes import MemoryIndexStore, WordEmbedder, record, word_terms
from surefind.errors import StoreChanged, StoreError
from surefind.model import AnyOf, Between, SparseVector
from surefind.ports import DenseQuery, IndexStore, SparseQuery, VectorIndex
from surefind.services.search.candidates import CollectionScope, EncodedQuery, find
from surefind.services.search.filters import describe, failing, meets


class IndexContract:
    readers_outlive_a_drop = True

    @pytest.fixture
    def store(self) -> IndexStore:
        raise NotImplementedError

    @pytest.fixture
    async def index(self, store: IndexStore) -> AsyncIterator[VectorIndex]:
        assert await build(store, ONE, entries(TEXTS)) == len(TEXTS)
        index = await store.open(ONE)
        yield index
        await index.close()

    async def test_the_nearest_comes_first_with_its_cosine(self, index: VectorIndex) -> None:
        query = WordEmbedder(DIMENSIONS).embed("install the program on linux")
        [answer] = await index.search([DenseQuery(query, 3)])
        assert len(answer.points) == len(answer.scores) == 3
        assert await index.point_ids(answer.points[:1]) == [record(0).chunk.point_id]
        assert answer.scores[0] == pytest.approx(1.0, abs=1e-5)
        assert answer.scores == sorted(answer.scores, reverse=True)

    async def test_scores_are_those_of_an_exact_index(self, index: VectorIndex) -> None:
        """Cosine and BM25, over the whole and among a few, equal a plain computation of them."""
        exact_store = MemoryIndexStore()
        await build(exact_store, ONE, entries(TEXTS))
        exact = await exact_store.open(ONE)
        vector = WordEmbedder(DIMENSIONS).embed("install passages on the sunshine")
        terms = word_terms("install the passages on the sunshine the")
        few = [record(number).chunk.point_id for number in (1, 3, 4)]

        def queries(numbering: VectorIndex) -> list[DenseQuery | SparseQuery]:
            restrict_to = frozenset(map(numbering.number, few))
            return [
                DenseQuery(vector, 5),
                SparseQuery(terms, 5),
                DenseQuery(vector, 3, restrict_to),
                SparseQuery(terms, 3, restrict_to),
            ]

        answers = await index.search(queries(index))
        for got, wanted in zip(answers, await exact.search(queries(exact)), strict=True):
            assert await index.point_ids(got.points) == await exact.point_ids(wanted.points)
            assert got.scores == pytest.approx(wanted.scores, abs=1e-4)
            assert got.scores == sorted(got.scores, reverse=True)  # which fusion builds upon

    async def test_numbers_stand_for_points_and_keep_their_order(self, index: VectorIndex) -> None:
        points = sorted(record(number).chunk.point_id for number in range(len(TEXTS)))
        numbers = [index.number(point) for point in points]
        assert numbers == sorted(set(numbers))
        assert numbers[0] >= 0
        assert numbers[-1] < 2**128
        assert await index.point_ids(numbers[::-1]) == points[::-1]
        assert await index.point_ids([*numbers, numbers[0]]) == [*points, points[0]]
        assert await index.point_ids([]) == []

    async def test_words_that_do_not_occur_find_nothing(self, index: VectorIndex) -> None:
        nowhere, nothing = word_terms("zebra"), SparseVector((), ())
        answers = await index.search([SparseQuery(nowhere, 5), SparseQuery(nothing, 5)])
        assert answers == [NOTHING, NOTHING]

    async def test_a_search_restricted_to_no_points_finds_nothing(self, index: VectorIndex) -> None:
        vector = WordEmbedder(DIMENSIONS).embed("install")
        terms = word_terms("install")
        queries: list[DenseQuery | SparseQuery] = [
            DenseQuery(vector, 0, frozenset()),
            SparseQuery(terms, 0, frozenset()),
        ]
        assert await index.search(queries) == [NOTHING, NOTHING]

    async def test_ties_come_in_the_order_of_the_point_ids(self, store: IndexStore) -> None:
        same = entries(["the very same words"] * 6)
        await build(store, ONE, same)
        index = await store.open(ONE)
        queries: list[DenseQuery | SparseQuery] = [
            DenseQuery(same[0].vector, 6),
            SparseQuery(same[0].terms, 6),
        ]
        for answer in await index.search(queries):
            assert answer.points == sorted(answer.points)
            ids = await index.point_ids(answer.points)
            assert ids == sorted(ids)
        await index.close()

    async def test_equal_content_is_ranked_alike_whatever_order_it_was_written_in(
        self, store: IndexStore
    ) -> None:
        """Also where a leg ends in the middle of a tie: all passages have equally many words."""
        chance = random.Random(5)
        words = [f"word{number}" for number in range(30)]
        content = entries([" ".join(chance.choices(words, k=10)) for _ in range(200)])
        await build(store, ONE, content)
        await build(store, TWO, chance.sample(content, len(content)))
        indexes = [await store.open(ONE), await store.open(TWO)]
        for count in range(12):
            text = " ".join(chance.sample(words, 1 + count % 3))
            question = EncodedQuery(WordEmbedder(DIMENSIONS).embed(text), word_terms(text))
            pools = [
                await find(question, [CollectionScope("docs", index)], 50) for index in indexes
            ]
            one, other = ([(hit.point, hit.score) for hit in pool.candidates()] for pool in pools)
            assert one == other, text
        for index in indexes:
            await index.close()

    async def test_vectors_come_in_the_order_asked_for(self, index: VectorIndex) -> None:
        wanted = [record(number).chunk.point_id for number in (3, 0)]
        rows = await index.vectors(wanted)
        embedder = WordEmbedder(DIMENSIONS)
        assert rows == pytest.approx(
            np.stack([embedder.embed(TEXTS[3]), embedder.embed(TEXTS[0])]), abs=1e-6
        )
        with pytest.raises(StoreError, match="no point"):
            await index.vectors([*wanted, uuid4()])

    async def test_a_filter_keeps_exactly_what_meets_it(self, store: IndexStore) -> None:
        """Each condition against a plain reading of it, in both legs."""
        kept = various()
        await build(store, ONE, kept)
        index = await store.open(ONE)
        vector, terms = kept[0].vector, word_terms("word")
        for where in CONDITIONS:
            dense, lexical = await index.search(
                [DenseQuery(vector, 50, where=(where,)), SparseQuery(terms, 50, where=(where,))]
            )
            wanted = {index.number(e.record.chunk.point_id) for e in kept if meets(e.record, where)}
            assert 0 < len(wanted) < len(kept), describe(where)
            assert set(dense.points) == set(lexical.points) == wanted, describe(where)
        await index.close()

    async def test_filters_hold_together_and_within_a_choice(self, store: IndexStore) -> None:
        kept = various()
        await build(store, ONE, kept)
        index = await store.open(ONE)
        vector = kept[0].vector
        where = (AnyOf("version", ("1.0", "2.0")), Between("position", gte=2.0, lt=9.0))
        restrict_to = frozenset(index.number(e.record.chunk.point_id) for e in kept[:6])
        both, chosen, exact = await index.search(
            [
                DenseQuery(vector, 50, where=where),
                DenseQuery(vector, 50, restrict_to, where),
                DenseQuery(vector, 50, where=where, exact=True),
            ]
        )
        wanted = {
            index.number(e.record.chunk.point_id) for e in kept if not failing(e.record, where)
        }
        assert set(both.points) == set(exact.points) == wanted
        assert set(chosen.points) == wanted & restrict_to
        await index.close()

    async def test_a_few_points_are_not_worth_an_approximate_index(
        self, index: VectorIndex
    ) -> None:
        assert await index.indexed() == 0

    async def test_payloads_give_back_what_was_written(self, index: VectorIndex) -> None:
        wanted = [record(1).chunk.point_id, record(3).chunk.point_id]
        payloads = await index.payloads([*wanted, uuid4()])
        assert payloads == {
            point: replace(record(number, TEXTS[number]), term_count=0)
            for point, number in zip(wanted, (1, 3), strict=True)
        }

    async def test_a_copy_takes_changes_and_the_original_does_not(self, store: IndexStore) -> None:
        original = await store.create(ONE, DIMENSIONS, None)
        for entry in entries(TEXTS) * 3:  # more operations than the copy will see
            await original.upsert([entry])
        await original.finish()
        writer = await store.create(TWO, DIMENSIONS, ONE)
        await writer.upsert(entries(["dogs run in the rain"], first=4))
        await writer.delete([record(0).chunk.point_id, record(1).chunk.point_id])
        await writer.upsert(entries(["a passage that is new"], first=9))
        assert await writer.finish() == 4
        old, new = await store.open(ONE), await store.open(TWO)
        assert (await old.count(), await new.count()) == (5, 4)
        vector = WordEmbedder(DIMENSIONS).embed("dogs run in the rain")
        [in_old] = await old.search([DenseQuery(vector, 1)])
        [in_new] = await new.search([DenseQuery(vector, 1)])
        assert in_new.scores[0] == pytest.approx(1.0, abs=1e-5)
        assert in_old.scores[0] < 0.9
        await old.close()
        await new.close()

    async def test_readers_of_a_dropped_index_read_on_or_get_an_error(
        self, store: IndexStore
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        await store.drop(ONE)
        leg_query = DenseQuery(WordEmbedder(DIMENSIONS).embed(TEXTS[4]), 1)
        if self.readers_outlive_a_drop:
            [answer] = await index.search([leg_query])
            assert answer.points == [index.number(record(4).chunk.point_id)]
        else:
            with pytest.raises(StoreChanged, match="docs--0001"):
                await index.search([leg_query])
        await index.close()
        with pytest.raises(StoreError):
            await store.open(ONE)

    async def test_publishing_can_be_repeated(self, store: IndexStore) -> None:
        await build(store, ONE, entries(TEXTS))
        await store.published(ONE)
        await store.published(ONE)
        index = await store.open(ONE)
        assert await index.count() == 5
        await index.close()

    async def test_dropping_what_is_not_there_is_fine(self, store: IndexStore) -> None:
        await store.drop(TWO)
        with pytest.raises(StoreError):
            await store.open(TWO)

    async def test_an_empty_index_finds_nothing(self, store: IndexStore) -> None:
        assert await build(store, ONE, []) == 0
        index = await store.open(ONE)
        vector = WordEmbedder(DIMENSIONS).embed("install")
        terms = word_terms("install")
        assert await index.search([DenseQuery(vector, 3), SparseQuery(terms, 3)]) == [
            NOTHING,
            NOTHING,
        ]
        assert await index.count() == 0
        await index.close()

    @pytest.mark.parametrize(
        "bad",
        [
            np.ones(DIMENSIONS + 1, dtype=np.float32),
            np.full(DIMENSIONS, np.nan, dtype=np.float32),
            np.full(DIMENSIONS, np.inf, dtype=np.float32),
        ],
        ids=["size", "nan", "infinite"],
    )
    async def test_a_bad_vector_is_refused_and_nothing_of_its_batch_is_kept(
        self, store: IndexStore, bad: np.ndarray
    ) -> None:
        writer = await store.create(ONE, DIMENSIONS, None)
        good = entries(TEXTS)
        await writer.upsert(good[:1])
        with pytest.raises(StoreError, match="chunk-2"):
            await writer.upsert([good[1], replace(good[2], vector=bad)])
        assert await writer.finish() == 1

    async def test_an_abandoned_index_can_be_dropped(self, store: IndexStore) -> None:
        writer = await store.create(ONE, DIMENSIONS, None)
        await writer.upsert(entries(TEXTS))
        await writer.abandon()
        await store.drop(ONE)
        assert await build(store, ONE, entries(TEXTS[:2])) == 2

    async def test_a_leftover_of_an_earlier_run_is_replaced(self, store: IndexStore) -> None:
        writer = await store.create(ONE, DIMENSIONS, None)
        await writer.upsert(entries(TEXTS))
        await writer.abandon()
        assert await build(store, ONE, entries(TEXTS[1:3], first=1)) == 2
        index = await store.open(ONE)
        held = await index.payloads([record(number).chunk.point_id for number in range(5)])
        assert {one.chunk.text for one in held.values()} == set(TEXTS[1:3])
        await index.close()


class TestMemoryIndex(IndexContract):
    @pytest.fixture
    def store(self) -> IndexStore:
        return MemoryIndexStore()
