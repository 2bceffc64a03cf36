"""A collection that something else filled, through the real client: read, searched, never written.

With SUREFIND_TEST_QDRANT_URL set, the suites that need no misbehaviour run against that server.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from contract.connected.collections import QUESTION, asked, connected, true_cosines
from support.foreign import EMBEDDER, Door, Filling, our_terms
from support.payload_shapes import Passage, Payload, book
from support.qdrant.service import Address
from surefind.errors import InputError, UnknownChunk
from surefind.model import (
    AnyOf,
    Between,
    Distance,
    Expand,
    Mode,
    Query,
    Status,
    Under,
)
from surefind.services.search.passages import PassageReader
from surefind.services.search.why_not import Cause, Explainer

pytestmark = pytest.mark.anyio


# --- searching --------------------------------------------------------------------------------


async def test_a_strangers_collection_is_searched_as_it_is(door: Door) -> None:
    result = await asked(door, top_k=5)
    cosines = await true_cosines()
    best = sorted(cosines.values(), reverse=True)[:5]
    assert [hit.similarity for hit in result.hits] == pytest.approx(best, abs=1e-4)
    hit = result.hits[0]
    assert hit.record.chunk.text.startswith(tuple(one.text[:20] for one in book(48)))
    assert hit.record.url.startswith("https://example.org/docs/")
    assert hit.record.title
    assert result.status is Status.SUCCESS
    assert result.chunks == 48


async def test_hybrid_falls_back_to_meaning_and_says_so(door: Door) -> None:
    result = await asked(door)
    assert result.query.mode is Mode.DENSE
    assert "no lexical index" in result.notes[0]
    with pytest.raises(InputError, match="mode dense"):
        await asked(door, mode=Mode.LEXICAL)


async def test_points_known_by_numbers_are_found_by_them(address: Address) -> None:
    async with connected(address, Filling(numbered=True)) as door:
        result = await asked(door)
        label = result.hits[0].record.chunk.id
        async with door.readers.of(door.collection.connection.name).lease() as generation:
            assert generation.catalog is not None
            record = await generation.catalog.chunk(label)
    assert label.isdecimal()
    assert record == result.hits[0].record


@pytest.mark.parametrize("distance", [Distance.DOT, Distance.EUCLID])
async def test_of_unit_vectors_the_score_shows_the_cosine(
    address: Address, distance: Distance
) -> None:
    async with connected(address, Filling(distance=distance)) as door:
        assert door.collection.connection.gives_cosines
        result = await asked(door)
    best = sorted((await true_cosines()).values(), reverse=True)[:5]
    assert [hit.similarity for hit in result.hits] == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("distance", [Distance.DOT, Distance.EUCLID, Distance.MANHATTAN])
async def test_other_scores_keep_the_engines_order_and_show_true_cosines(
    address: Address, distance: Distance
) -> None:
    def length(passage: Passage) -> float:
        return 1.0 + passage.number % 5

    filling = Filling(distance=distance, lengths=length)
    async with connected(address, filling) as door:
        assert not door.collection.connection.gives_cosines
        result = await asked(door, top_k=10)
        threshold = result.hits[3].similarity or 0.0
        above = await asked(door, top_k=48, threshold=threshold)
    cosines = await true_cosines()
    for hit in result.hits:
        assert hit.similarity == pytest.approx(cosines[hit.record.chunk.id], abs=1e-4)
    assert [hit.score for hit in result.hits] == sorted(
        (hit.score for hit in result.hits), reverse=True
    )
    assert result.hits[0].score == 1.0
    query = await EMBEDDER.embed_query(QUESTION)
    rows = await EMBEDDER.embed_passages([one.text for one in book(48)])
    order = {}
    for one, row in zip(book(48), rows, strict=True):
        stored = row * np.float32(length(one))
        order[one.uuid] = {
            Distance.DOT: -float(stored @ query),
            Distance.EUCLID: float(np.linalg.norm(stored - query)),
            Distance.MANHATTAN: float(np.abs(stored - query).sum()),
        }[distance]
    assert result.hits[0].record.chunk.id == min(order, key=lambda one: (order[one], one))
    assert all((hit.similarity or 0) >= threshold for hit in above.hits)
    assert above.best_similarity == pytest.approx(max(cosines.values()), abs=1e-4)


async def test_a_vector_among_several_is_the_one_of_the_right_size(address: Address) -> None:
    more = {"other": models.VectorParams(size=7, distance=models.Distance.COSINE)}
    filling = Filling(vector="mine", more_vectors=more)
    async with connected(address, filling) as door:
        assert door.collection.connection.space.name == "mine"
        assert (await asked(door)).hits


async def test_terms_of_our_own_making_are_a_lexical_leg(address: Address) -> None:
    filling = Filling(vector="dense", sparse=our_terms)
    async with connected(address, filling) as door:
        assert door.collection.connection.lexical == "words"
        result = await asked(door)
        words = await asked(door, "supervisor", mode=Mode.LEXICAL)
    assert result.query.mode is Mode.HYBRID
    assert all("supervisor" in hit.record.chunk.text for hit in words.hits)
    assert words.hits


async def test_other_terms_are_not_changed(address: Address) -> None:
    def theirs(text: str) -> models.SparseVector:
        words = sorted({len(word) for word in text.split()})
        return models.SparseVector(indices=words, values=[1.0] * len(words))

    async with connected(address, Filling(vector="dense", sparse=theirs)) as door:
        assert not door.collection.connection.lexical
        assert (await asked(door)).query.mode is Mode.DENSE


# --- filters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (AnyOf("title", ("Topics",)), lambda p: p.title == "Topics"),
        (AnyOf("title", ("Topics",), exclude=True), lambda p: p.title != "Topics"),
        (AnyOf("position", (0, 1)), lambda p: p.index <= 1),
        (Between("chunk_index", gte=3, lt=5), lambda p: 3 <= p.index < 5),
        (Between("meta.words", gt=30), lambda p: len(p.text.split()) > 30),
        (AnyOf("draft", (True,)), lambda p: p.index % 2 == 0),
        (AnyOf("meta.tags", ("bags",)), lambda p: p.slug == "bags"),
        (
            Between("created_at", lt=datetime(2025, 12, 1, 10, 1, tzinfo=UTC)),
            lambda p: p.number * 7 < 60,
        ),
    ],
)
async def test_filters_go_by_the_keys_of_the_payload(
    door: Door, condition: Any, holds: Callable[[Passage], bool]
) -> None:
    result = await asked(door, top_k=48, where=(condition,))
    assert {hit.record.chunk.id for hit in result.hits} == {
        one.uuid for one in book(48) if holds(one)
    }


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (AnyOf("locale", ("de",)), "have no locale"),
        (AnyOf("titel", ("x",)), "did you mean title"),
        (Under("url", "https://example.org"), "path prefix"),
    ],
)
async def test_what_can_not_be_filtered_by_is_reported(
    door: Door, condition: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        await asked(door, where=(condition,))


async def test_positions_from_one_are_shown_and_filtered_from_zero(address: Address) -> None:
    def payload(p: Passage) -> Payload:
        return {"text": p.text, "url": p.url, "chunk_no": p.index + 1}

    async with connected(address, Filling(payload)) as opened:
        assert opened.collection.connection.mapping.first_position == 1
        result = await asked(opened, top_k=48, where=(AnyOf("position", (0,)),))
    assert {hit.record.chunk.position for hit in result.hits} == {0}
    assert len(result.hits) == 6


# --- what stands around -----------------------------------------------------------------------


async def test_documents_and_neighbours_are_read_from_the_payloads(door: Door) -> None:
    name = door.collection.connection.name
    passages = PassageReader(door.readers.of(name))
    around = await asked(door, top_k=1, expand=Expand.NEIGHBOURS)
    chunk = around.hits[0].record.chunk
    [context] = [hit.context for hit in around.hits]
    assert context is not None
    assert chunk.text in context.text
    assert context.last - context.first <= 2
    document = await passages.document(chunk.source_path)
    assert [record.chunk.position for record in document] == list(range(8))
    with pytest.raises(UnknownChunk):
        await passages.chunk("no such")


async def test_why_not_is_answered(door: Door) -> None:
    name = door.collection.connection.name
    last = (await asked(door, top_k=48)).hits[-1]
    explainer = Explainer(door.readers, door.searcher)
    answer = await explainer.why_not(Query(QUESTION, collection=name), last.record.chunk.id)
    assert answer.cause is Cause.OUTRANKED
    assert answer.rank == 48
    found = await explainer.why_none_of(await asked(door), "it", [last.record.chunk.id])
    assert found.rank == 48


async def test_all_documents_are_listed(door: Door) -> None:
    async with door.readers.of(door.collection.connection.name).lease() as generation:
        assert generation.catalog is not None
        documents = await generation.catalog.documents()
        assert await generation.catalog.document("https://nowhere.example") is None
    assert len(documents) == 6
    assert {held.chunks for held in documents} == {8}
