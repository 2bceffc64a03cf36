"""What is looked at, refused and doubted when a collection of others is connected."""

from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from contract.connected.collections import asked, connected
from support.fakes import WordEmbedder
from support.foreign import (
    EMBEDDER,
    TERMS,
    Door,
    Filling,
    client_of,
    foreign,
    plain_payload,
    proposed,
)
from support.payload_shapes import Passage, Payload, book
from support.qdrant.service import Address, unique
from surefind.errors import InputError, UnknownCollection
from surefind.model import (
    Distance,
    Role,
    Status,
    numbered_point,
)
from surefind.ports import PointFields
from surefind.services.connected.connect import ConnectOptions, propose
from surefind.services.connected.model_identity import ModelVerdict
from surefind.services.connected.sampling import sample

pytestmark = pytest.mark.anyio


async def test_a_missing_collection_is_named_with_one_that_is_near(
    address: Address, door: Door
) -> None:
    name = door.collection.connection.name
    with pytest.raises(UnknownCollection, match=f"did you mean.*{name}"):
        await proposed(address, name[:-1])


async def test_vectors_of_another_model_are_refused(address: Address, door: Door) -> None:
    name = door.collection.connection.name

    class Other(WordEmbedder):
        def embed(self, text: str) -> Any:
            return np.roll(super().embed(text), 7)

    proposal = await proposed(address, name, Other())
    assert proposal.identity.verdict is ModelVerdict.OTHER
    assert not proposal.usable
    assert proposal.connection.embedder is None


@pytest.mark.parametrize("every", [2, 10])
@pytest.mark.parametrize("distance", [Distance.COSINE, Distance.DOT])
async def test_a_collection_of_two_models_is_called_mixed(
    address: Address, every: int, distance: Distance
) -> None:
    filling = Filling(
        passages=book(200),
        distance=distance,
        lengths=lambda p: 1.0 if distance is Distance.COSINE else 0.5 + p.number % 7,
        by_another_model=lambda p: p.number % every == 0,
    )
    proposal = await proposed(address, await filling.into(address))
    counts = proposal.identity.counts
    assert proposal.identity.verdict is ModelVerdict.MIXED
    assert proposal.mixed
    assert counts is not None
    low, high = counts.interval()
    assert low - 0.05 <= 1 / every <= high + 0.05
    assert proposal.identity.reason in proposal.doubts
    strange = {one.uuid for one in book(200) if one.number % every == 0}
    assert {one.label for one in counts.examples} <= strange


async def test_a_second_writer_at_the_end_of_the_ids_is_noticed(address: Address) -> None:
    filling = Filling(
        passages=book(1000), numbered=True, by_another_model=lambda p: p.number >= 940
    )
    proposal = await proposed(address, await filling.into(address))
    assert proposal.identity.verdict is ModelVerdict.MIXED


async def test_the_texts_that_are_embedded_again_are_counted_aloud(
    address: Address, door: Door
) -> None:
    name = door.collection.connection.name
    seen: list[tuple[int, int]] = []
    collection = foreign(address, name)
    await propose(
        collection,
        EMBEDDER,
        TERMS,
        ConnectOptions(name, name),
        progress=lambda done, total: seen.append((done, total)),
    )
    await collection.close()
    assert seen == [(16, 48), (32, 48), (48, 48)]


async def test_vectors_of_another_size_name_the_models_of_that_size(
    address: Address, door: Door
) -> None:
    name = door.collection.connection.name
    proposal = await proposed(address, name, WordEmbedder(dimensions=64))
    assert proposal.identity.verdict is ModelVerdict.OTHER
    assert "32 dimensions" in proposal.identity.reason
    assert "have 64" in proposal.identity.reason


async def test_a_text_with_something_before_it_is_doubted(address: Address, door: Door) -> None:
    class WithTitle(WordEmbedder):
        def embed(self, text: str) -> Any:
            return super().embed("a title before it " * 3 + text)

    name = door.collection.connection.name
    proposal = await proposed(address, name, WithTitle())
    assert proposal.identity.verdict is ModelVerdict.DOUBTFUL
    assert proposal.usable
    assert any("more or less than the stored text" in doubt for doubt in proposal.doubts)


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
        found = await sample(collection, await collection.facts(), PointFields(), 64)
        await collection.close()
        assert len({point.id for point in found}) == len(found) == 64
        ids = sorted(point.id.int for point in found)
        whole = numbered_point(299).int - numbered_point(0).int if numbered else 2**128
        assert ids[-1] - ids[0] > 0.6 * whole


async def test_a_collection_without_payloads_can_be_searched(address: Address) -> None:
    filling = Filling(payload=lambda _: None, numbered=True)
    async with connected(address, filling) as opened:
        result = await asked(opened)
    assert result.hits[0].record.flaws == ("it has no payload",)
    assert result.status is Status.PARTIAL


async def test_an_empty_collection_is_reported_as_empty(address: Address) -> None:
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
    assert proposal.identity.verdict is ModelVerdict.UNTESTED
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
