"""What our suites rely on in a Qdrant server: true of the real one and of the one on loopback."""

import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from support.qdrant.service import Address, unique

SOME_UUID = "0b6a2c5e-7f33-4f0c-9d7a-5a3f6a3f4a11"
PLANETS: list[models.PointStruct] = [
    models.PointStruct(
        id=1,
        vector={
            "near": [1.0, 0.0],
            "words": models.SparseVector(indices=[1, 2], values=[1.0, 2.0]),
        },
        payload={
            "name": "mercury",
            "about": "small and near the sun",
            "moons": 0,
            "rings": False,
            "seen": "2026-01-01T00:00:00Z",
            "of": {"system": "sun", "neighbours": [{"name": "venus"}]},
            "note": None,
        },
    ),
    models.PointStruct(
        id=2,
        vector={"near": [0.6, 0.8], "words": models.SparseVector(indices=[2], values=[1.0])},
        payload={
            "name": "saturn",
            "about": "large with rings around it",
            "moons": 274,
            "rings": True,
            "seen": "2026-02-01T00:00:00Z",
            "of": {"system": "sun", "neighbours": [{"name": "jupiter"}, {"name": "uranus"}]},
            "tags": ["giant", "gas"],
        },
    ),
    models.PointStruct(
        id=SOME_UUID,
        vector={"near": [0.0, 1.0], "words": models.SparseVector(indices=[3], values=[1.0])},
        payload={"name": "vega", "about": "a star", "tags": []},
    ),
]


@pytest.fixture
async def client(address: Address) -> AsyncIterator[AsyncQdrantClient]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a key over http, on a server for tests
        opened = AsyncQdrantClient(
            url=address.url,
            api_key=address.key,
            check_compatibility=False,
            timeout=30,
            verify=address.url.startswith("https"),
        )
    yield opened
    await opened.close()


@pytest.fixture
async def planets(client: AsyncQdrantClient) -> AsyncIterator[str]:
    name = unique("planets")
    await client.create_collection(
        name,
        vectors_config={"near": models.VectorParams(size=2, distance=models.Distance.COSINE)},
        sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    await client.upsert(name, PLANETS, wait=True)
    yield name
    await client.delete_collection(name)


def matches(key: str, match: Any) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=match)


CASES: list[tuple[str, models.Filter, set[int | str]]] = [
    ("a word", models.Filter(must=[matches("name", models.MatchValue(value="vega"))]), {SOME_UUID}),
    ("a number", models.Filter(must=[matches("moons", models.MatchValue(value=0))]), {1}),
    ("a flag", models.Filter(must=[matches("rings", models.MatchValue(value=True))]), {2}),
    (
        "a flag that is off",
        models.Filter(must=[matches("rings", models.MatchValue(value=False))]),
        {1},
    ),
    ("one of", models.Filter(must=[matches("tags", models.MatchAny(any=["gas", "ice"]))]), {2}),
    (
        "none of",
        models.Filter(must_not=[matches("tags", models.MatchAny(any=["gas"]))]),
        {1, SOME_UUID},
    ),
    (
        "a part of a text",
        models.Filter(must=[matches("about", models.MatchText(text="the sun"))]),
        {1},
    ),
    (
        "a range",
        models.Filter(must=[models.FieldCondition(key="moons", range=models.Range(gt=0))]),
        {2},
    ),
    (
        "dates",
        models.Filter(
            must=[
                models.FieldCondition(
                    key="seen",
                    range=models.DatetimeRange(lt="2026-01-15T00:00:00Z"),  # type: ignore[arg-type]
                )
            ]
        ),
        {1},
    ),
    ("ids", models.Filter(must=[models.HasIdCondition(has_id=[1, SOME_UUID])]), {1, SOME_UUID}),
    (
        "empty",
        models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key="tags"))]),
        {1, SOME_UUID},
    ),
    (
        "null",
        models.Filter(must=[models.IsNullCondition(is_null=models.PayloadField(key="note"))]),
        {1},
    ),
    (
        "a nested key",
        models.Filter(must=[matches("of.system", models.MatchValue(value="sun"))]),
        {1, 2},
    ),
    (
        "within a list",
        models.Filter(must=[matches("of.neighbours[].name", models.MatchValue(value="uranus"))]),
        {2},
    ),
    (
        "should",
        models.Filter(
            should=[
                matches("name", models.MatchValue(value="vega")),
                matches("moons", models.MatchValue(value=274)),
            ]
        ),
        {2, SOME_UUID},
    ),
]


@pytest.mark.parametrize(
    ("where", "wanted"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
async def test_filters(
    client: AsyncQdrantClient, planets: str, where: models.Filter, wanted: set[int | str]
) -> None:
    found, _ = await client.scroll(planets, scroll_filter=where, with_payload=False)
    assert {point.id for point in found} == wanted
    assert (await client.count(planets, where, exact=True)).count == len(wanted)
    nearest = await client.query_points(planets, [1.0, 0.0], using="near", query_filter=where)
    assert {point.id for point in nearest.points} == wanted


async def test_nearest_by_vector_words_and_example(client: AsyncQdrantClient, planets: str) -> None:
    dense, words, like = await client.query_batch_points(
        planets,
        [
            models.QueryRequest(query=[1.0, 0.0], using="near", limit=2, with_payload=["name"]),
            models.QueryRequest(
                query=models.SparseVector(indices=[2], values=[1.0]), using="words", limit=5
            ),
            models.QueryRequest(
                query=1, using="near", limit=5, params=models.SearchParams(exact=True)
            ),
        ],
    )
    assert [(point.id, point.payload) for point in dense.points] == [
        (1, {"name": "mercury"}),
        (2, {"name": "saturn"}),
    ]
    assert [point.score for point in dense.points] == pytest.approx([1.0, 0.6], abs=1e-6)
    assert [point.id for point in words.points] == [1, 2]
    assert words.points[0].score == pytest.approx(2 * words.points[1].score)
    assert [point.id for point in like.points] == [2, SOME_UUID], "all but itself"


async def test_scrolling_goes_on_where_it_stopped(client: AsyncQdrantClient, planets: str) -> None:
    seen: list[int | str | UUID] = []
    offset = None
    while True:
        found, offset = await client.scroll(
            planets,
            limit=1,
            offset=offset,
            with_payload=models.PayloadSelectorExclude(exclude=["of"]),
        )
        seen += [point.id for point in found]
        assert all("of" not in (point.payload or {}) for point in found)
        if offset is None:
            break
    assert seen == [1, 2, SOME_UUID]


async def test_vectors_come_back_as_they_are_requested(
    client: AsyncQdrantClient, planets: str
) -> None:
    [both] = await client.retrieve(planets, [2], with_vectors=True, with_payload=False)
    assert isinstance(both.vector, dict)
    assert both.vector["near"] == pytest.approx([0.6, 0.8])
    assert both.vector["words"] == models.SparseVector(indices=[2], values=[1.0])
    [one] = await client.retrieve(planets, [2, 99], with_vectors=["near"])
    assert isinstance(one.vector, dict)
    assert set(one.vector) == {"near"}
    await client.delete(planets, models.PointIdsList(points=[2]))
    assert (await client.count(planets)).count == 2


@pytest.mark.parametrize(
    ("distance", "order", "scores"),
    [
        (models.Distance.COSINE, [1, 2], [1.0, 0.6]),
        (models.Distance.DOT, [2, 1], [3.0, 1.0]),
        (models.Distance.EUCLID, [1, 2], [0.0, 20**0.5]),
        (models.Distance.MANHATTAN, [1, 2], [0.0, 6.0]),
    ],
)
async def test_one_vector_without_a_name_in_every_distance(
    client: AsyncQdrantClient, distance: models.Distance, order: list[int], scores: list[float]
) -> None:
    name = unique("plain")
    await client.create_collection(name, models.VectorParams(size=2, distance=distance))
    try:
        points = [
            models.PointStruct(id=1, vector=[1.0, 0.0]),
            models.PointStruct(id=2, vector=[3.0, 4.0]),
        ]
        await client.upsert(name, points, wait=True)
        found = (await client.query_points(name, [1.0, 0.0])).points
        assert [point.id for point in found] == order
        assert [point.score for point in found] == pytest.approx(scores, abs=1e-5)
        info = await client.get_collection(name)
        assert isinstance(info.config.params.vectors, models.VectorParams)
        assert info.config.params.vectors.distance == distance
    finally:
        await client.delete_collection(name)


async def test_collections_aliases_and_indexes(client: AsyncQdrantClient, planets: str) -> None:
    assert await client.collection_exists(planets)
    assert planets in {held.name for held in (await client.get_collections()).collections}
    await client.create_payload_index(planets, "name", models.PayloadSchemaType.KEYWORD, wait=True)
    info = await client.get_collection(planets)
    assert info.payload_schema["name"].data_type == models.PayloadSchemaType.KEYWORD
    assert info.payload_schema["name"].points == 3
    alias = unique("alias")
    create = models.CreateAlias(collection_name=planets, alias_name=alias)
    await client.update_collection_aliases([models.CreateAliasOperation(create_alias=create)])
    held = (await client.get_collection_aliases(planets)).aliases
    assert [one.alias_name for one in held] == [alias]
    assert (await client.count(alias)).count == 3
    await client.update_collection(planets, hnsw_config=models.HnswConfigDiff(m=24))
    assert (await client.get_collection(planets)).config.hnsw_config.m == 24


MISTAKES: dict[str, tuple[set[int], Callable[[AsyncQdrantClient, str], Awaitable[object]]]] = {
    "missing": ({404}, lambda client, name: client.count(f"{name}-missing")),
    "size": ({400}, lambda client, name: client.query_points(name, [1.0], using="near")),
    "vector": ({400}, lambda client, name: client.query_points(name, [1.0, 0.0], using="far")),
    "twice": ({400, 409}, lambda client, name: client.create_collection(name, {})),
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_mistakes_are_refused(client: AsyncQdrantClient, planets: str, mistake: str) -> None:
    statuses, ask = MISTAKES[mistake]
    with pytest.raises(UnexpectedResponse) as raised:
        await ask(client, planets)
    assert raised.value.status_code in statuses
