"""A collection that something else filled, through the real client: read, searched, never written.

With SUREFIND_TEST_QDRANT_URL set, the suites that need no misbehaviour run against that server.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from qdrant_client import models

from fakes import WordEmbedder
from foreign import (
    EMBEDDER,
    Door,
    Filling,
    client_of,
    foreign,
    our_terms,
    plain_payload,
    proposed,
)
from payload_shapes import Passage, Payload, book
from qdrant_service import BROKEN, CUT, SILENT, Address, Service, Trouble, running, serve, unique
from surefind.errors import InputError, StoreError, UnknownChunk, UnknownCollection
from surefind.model import (
    AnyOf,
    Between,
    Distance,
    Expand,
    GenerationRef,
    Mode,
    PayloadMapping,
    Query,
    Role,
    SearchResult,
    Status,
    Under,
    numbered_point,
)
from surefind.ports import DenseProbe, Wanted
from surefind.services.identity import Verdict
from surefind.services.passages import Passages
from surefind.services.sampling import sample
from surefind.services.why_not import Cause, Explainer

pytestmark = pytest.mark.anyio
QUESTION = "messages lost when the network is slow"


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with running() as found:
        yield found


@asynccontextmanager
async def connected(
    address: Address, filling: Filling | None = None, **changes: Any
) -> AsyncIterator[Door]:
    name = await (filling or Filling()).into(address)
    proposal = await proposed(address, name)
    door = Door(address, replace(proposal.connection, **changes))
    try:
        yield door
    finally:
        await door.close()
        client = client_of(address)
        await client.delete_collection(name)
        await client.close()


@pytest.fixture(scope="module")
async def door(address: Address, anyio_backend: str) -> AsyncIterator[Door]:
    async with connected(address) as opened:
        yield opened


async def asked(door: Door, text: str = QUESTION, **options: Any) -> SearchResult:
    name = door.collection.connection.name
    return await door.searcher.search(Query(text, collection=name, **options))


async def true_cosines(text: str = QUESTION, passages: int = 48) -> dict[str, float]:
    pages = book(passages)
    rows = await EMBEDDER.embed_passages([one.text for one in pages])
    query = await EMBEDDER.embed_query(text)
    return {one.uuid: float(row @ query) for one, row in zip(pages, rows, strict=True)}


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
    assert "no lexical leg" in result.notes[0]
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
async def test_of_unit_vectors_the_score_tells_the_cosine(
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


async def test_other_terms_are_left_alone(address: Address) -> None:
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
        (Under("url", "https://example.org"), "under a path"),
    ],
)
async def test_what_can_not_be_filtered_by_is_said(
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
    passages = Passages(door.readers.of(name))
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


# --- connecting -------------------------------------------------------------------------------


async def test_a_missing_collection_is_named_with_one_that_is_near(
    address: Address, door: Door
) -> None:
    name = door.collection.connection.name
    with pytest.raises(UnknownCollection, match=f"did you mean.*{name}"):
        await proposed(address, name[:-1])


async def test_vectors_of_another_model_are_refused(address: Address, door: Door) -> None:
    name = door.collection.connection.name

    class Other(WordEmbedder):
        def _embed(self, text: str) -> Any:
            return np.roll(super()._embed(text), 7)

    proposal = await proposed(address, name, Other())
    assert proposal.identity.verdict is Verdict.OTHER
    assert not proposal.usable
    assert proposal.connection.embedder is None


async def test_vectors_of_another_size_name_the_models_of_that_size(
    address: Address, door: Door
) -> None:
    name = door.collection.connection.name
    proposal = await proposed(address, name, WordEmbedder(dimensions=64))
    assert proposal.identity.verdict is Verdict.OTHER
    assert "32 dimensions" in proposal.identity.reason
    assert "have 64" in proposal.identity.reason


async def test_a_text_with_something_before_it_is_doubted(address: Address, door: Door) -> None:
    class WithTitle(WordEmbedder):
        def _embed(self, text: str) -> Any:
            return super()._embed("a title before it " * 3 + text)

    name = door.collection.connection.name
    proposal = await proposed(address, name, WithTitle())
    assert proposal.identity.verdict is Verdict.DOUBTFUL
    assert proposal.usable
    assert any("something else than the text" in doubt for doubt in proposal.doubts)


async def test_a_multivector_is_refused_with_the_reason(address: Address) -> None:
    client = client_of(address)
    name = unique("colbert")
    many = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
    await client.create_collection(
        name,
        vectors_config=models.VectorParams(
            size=32, distance=models.Distance.COSINE, multivector_config=many
        ),
    )
    with pytest.raises(InputError, match="multivector"):
        await proposed(address, name)
    await client.delete_collection(name)
    await client.close()


async def test_several_vectors_of_one_size_have_to_be_chosen(address: Address) -> None:
    more = {"b": models.VectorParams(size=32, distance=models.Distance.DOT)}
    name = await Filling(vector="a", more_vectors=more).into(address)
    with pytest.raises(InputError, match="--vector"):
        await proposed(address, name)
    with pytest.raises(InputError, match="has no 'c'"):
        await proposed(address, name, vector="c")
    assert (await proposed(address, name, vector="a")).connection.space.name == "a"


async def test_a_mapping_that_is_given_wins_and_is_checked(address: Address, door: Door) -> None:
    name = door.collection.connection.name
    given = await proposed(address, name, keys={Role.TITLE: ("section",)})
    assert given.connection.mapping.of(Role.TITLE) == ("section",)
    assert given.inference.of(Role.TITLE).given
    with pytest.raises(InputError, match="none of the 48 points"):
        await proposed(address, name, keys={Role.TEXT: ("nothing",)})
    with pytest.raises(InputError, match="no whole numbers"):
        await proposed(address, name, keys={Role.POSITION: ("title",)})


async def test_a_sample_is_spread_and_bounded(address: Address) -> None:
    for numbered in (True, False):
        name = await Filling(passages=book(300), numbered=numbered).into(address)
        collection = foreign(address, name)
        found = await sample(collection, await collection.facts(), Wanted(), 64)
        await collection.close()
        assert len({point.id for point in found}) == len(found) == 64
        ids = sorted(point.id.int for point in found)
        whole = numbered_point(299).int - numbered_point(0).int if numbered else 2**128
        assert ids[-1] - ids[0] > 0.6 * whole


async def test_a_collection_without_payloads_is_searched_all_the_same(address: Address) -> None:
    filling = Filling(payload=lambda _: None, numbered=True)
    async with connected(address, filling) as opened:
        result = await asked(opened)
    assert result.hits[0].record.flaws == ("it has no payload",)
    assert result.status is Status.PARTIAL


async def test_an_empty_collection_is_said_to_be_empty(address: Address) -> None:
    client = client_of(address)
    name = unique("empty")
    params = models.VectorParams(size=32, distance=models.Distance.COSINE)
    await client.create_collection(name, vectors_config=params)
    proposal = await proposed(address, name)
    opened = Door(address, proposal.connection)
    result = await asked(opened)
    await opened.close()
    await client.delete_collection(name)
    await client.close()
    assert proposal.identity.verdict is Verdict.UNTESTED
    assert result.status is Status.NO_RESULTS


async def test_strange_values_in_single_points_are_shown_and_marked(address: Address) -> None:
    """The best hit's payload is nonsense: it is a hit all the same, and the others are whole."""

    def payload(p: Passage) -> Payload:
        if p.number % 8 == 0:
            return {"text": ["not", {"a": 1}], "url": {"no": "address"}, "chunk_index": "x"}
        return plain_payload(p)

    async with connected(address, Filling(payload)) as opened:
        result = await asked(opened, top_k=48)
    odd = [hit for hit in result.hits if hit.record.flaws]
    assert len(odd) == 6
    assert result.status is Status.PARTIAL
    assert any("position can't be read" in flaw for flaw in odd[0].record.flaws)


# --- nothing is written, and what fails is said -----------------------------------------------


@pytest.fixture
def service() -> Iterator[Service]:
    with serve(key="full", reading_key="reading") as made:
        yield made


async def test_no_request_that_writes_ever_reaches_the_server(service: Service) -> None:
    name = await Filling().into(service.address)
    service.requests.clear()
    reading = Address(service.url, "reading")
    proposal = await proposed(reading, name)
    opened = Door(reading, proposal.connection)
    await asked(opened, top_k=10, where=(AnyOf("title", ("Topics",)),))
    await asked(opened, expand=Expand.DOCUMENT)
    async with opened.readers.of(name).lease() as generation:
        assert generation.catalog is not None
        await generation.catalog.documents()
    ref = GenerationRef(name, 1)
    for refused in (
        opened.indexes.create(ref, 3, None),
        opened.indexes.drop(ref),
        opened.indexes.require_room(1, 1),
        opened.indexes.published(ref),
        opened.catalogs.create(ref, None),
        opened.catalogs.drop(ref),
        opened.catalogs.point_to(ref),
        opened.catalogs.next_ref(name),
    ):
        with pytest.raises(InputError, match="only reads it"):
            await refused
    await opened.close()
    reads = r"^(GET /|POST /collections/[^/]+/points(/scroll|/query|/query/batch|/count)?$)"
    assert service.requests
    assert [one.line for one in service.requests if not re.search(reads, one.line)] == []


@pytest.mark.parametrize("trouble", [BROKEN, CUT, SILENT, Trouble(body="[]")])
async def test_a_failing_server_is_an_error_that_names_it(
    service: Service, trouble: Trouble
) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    proposal = await proposed(service.address, name)
    opened = Door(service.address, proposal.connection, timeout_s=0.3 if trouble.silent else 5.0)
    await asked(opened)
    service.always = replace(trouble, on="/points/query")
    with pytest.raises(StoreError, match=r"Qdrant server at 127\.0\.0\.1"):
        await asked(opened)
    service.always = None
    assert (await asked(opened)).hits
    await opened.close()


async def test_a_wrong_key_is_named(service: Service) -> None:
    with pytest.raises(StoreError, match="QDRANT_API_KEY"):
        await proposed(Address(service.url, "wrong"), "x")


async def test_a_collection_that_vanishes_is_said_to_be_gone(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    await asked(opened)
    service.delete(name)
    with pytest.raises(StoreError, match="is gone"):
        await asked(opened)
    opened.now += 60
    with pytest.raises(UnknownCollection, match="has no collection"):
        await asked(opened)
    await opened.close()


async def test_a_collection_of_another_making_since_then_is_refused(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    connection = (await proposed(service.address, name)).connection
    service.delete(name)
    await Filling(passages=book(4), distance=Distance.DOT).into(service.address, name)
    opened = Door(service.address, connection)
    with pytest.raises(StoreError, match="has changed since it was connected"):
        await asked(opened)
    await opened.close()


async def test_texts_that_moved_to_another_key_are_noticed(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    connection = (await proposed(service.address, name)).connection
    moved = replace(connection, mapping=PayloadMapping({Role.TEXT: ("body",)}))
    opened = Door(service.address, moved)
    result = await asked(opened)
    await opened.close()
    assert "has a text in body any more" in caplog.text
    assert result.hits[0].record.flaws == ("text is missing",)


async def test_new_points_are_seen_within_half_a_minute(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    assert (await asked(opened)).chunks == 4
    client = client_of(service.address)
    row = (await EMBEDDER.embed_passages(["new words here"]))[0]
    point = models.PointStruct(id=str(UUID(int=9)), vector=row.tolist(), payload={"text": "new"})
    await client.upsert(name, [point], wait=True)
    await client.close()
    opened.now += 60
    assert (await asked(opened)).chunks == 5
    await opened.close()


async def test_an_unchecked_connection_is_checked_when_it_is_opened(service: Service) -> None:
    name = await Filling().into(service.address)
    connection = (await proposed(service.address, name)).connection
    opened = Door(service.address, replace(connection, embedder=None))
    assert (await asked(opened)).hits
    await opened.close()
    other = await Filling(passages=book(8)).into(service.address)
    client = client_of(service.address)
    rows = await EMBEDDER.embed_passages([one.text for one in book(8)])
    await client.upsert(
        other,
        [
            models.PointStruct(id=one.uuid, vector=row[::-1].tolist(), payload={"text": one.text})
            for one, row in zip(book(8), np.roll(rows, 5, axis=1), strict=True)
        ],
    )
    await client.close()
    wrong = Door(service.address, replace(connection, collection=other, embedder=None))
    with pytest.raises(InputError, match="another model"):
        await asked(wrong)
    await wrong.close()


async def test_a_probe_of_nothing_asks_nothing(service: Service) -> None:
    name = await Filling(passages=book(4)).into(service.address)
    opened = Door(service.address, (await proposed(service.address, name)).connection)
    index = await opened.indexes.open(GenerationRef(name, 1))
    vector = await EMBEDDER.embed_query("x")
    [found] = await index.probe([DenseProbe(vector, 0)])
    assert found.points == []
    with pytest.raises(StoreError, match="no vector for the point"):
        await index.vectors([UUID(int=1)])
    gone = await index.payloads([UUID(int=1)])
    assert gone[UUID(int=1)].flaws == ("it was removed meanwhile",)
    await opened.close()
