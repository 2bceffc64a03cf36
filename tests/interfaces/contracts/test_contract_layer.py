"""The retrieval layer's contract: two functions that need nothing opened by hand."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefind
from interfaces.contracts.field_tables import Field, Values, bad_cases, named
from support.fakes import record
from support.homes import copy_home
from surefind.contracts.layer import QueryEmbedding, RetrievalResult, nearest_chunks
from surefind.model import Hit

MODEL = "BAAI/bge-small-en-v1.5-int8"

EMBEDDING = (Field("query_text", str, low=1, high=1000), Field("model", str))
RESULT = (
    Field("text", str),
    Field("source_url", str),
    Field("relevance_score", float, low=0.0, high=1.0),
    Field("chunk_id", str),
    Field("position", int, 0, low=0),
)
AN_EMBEDDING: Values = {"vector": [0.1] * 1024, "query_text": "x", "model": "embed-english-v3.0"}
A_RESULT: Values = {
    "text": "Some words",
    "source_url": "https://docs.example.com/page",
    "relevance_score": 0.5,
    "chunk_id": "page-0",
    "position": 3,
    "title": "Page",
}


@pytest.fixture(scope="module")
def served(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this module alone, since what is opened here stays open."""
    home = tmp_path_factory.mktemp("layer") / "home"
    copy_home(ingested, home)
    return home


@pytest.fixture
def inside(served: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(served)
    return served


def refused() -> Iterator[Any]:
    for shape, table, base in (
        (QueryEmbedding, EMBEDDING, AN_EMBEDDING),
        (RetrievalResult, RESULT, A_RESULT),
    ):
        for values, field in bad_cases(table, base):
            if values.keys() >= base.keys():
                case = f"{shape.__name__} {field} {named(values[field])}"
                yield pytest.param(shape, values, field, id=case)


@pytest.mark.parametrize(("shape", "values", "field"), list(refused()))
def test_what_breaks_a_rule_is_a_value_error_that_names_the_field(
    shape: type, values: Values, field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field} "):
        shape(**values)


def test_names_order_and_defaults_are_the_published_ones() -> None:
    assert [field.name for field in fields(QueryEmbedding)] == list(AN_EMBEDDING)
    assert [field.name for field in fields(RetrievalResult)] == list(A_RESULT)
    assert QueryEmbedding([0.5] * 1024, "x").model == "embed-english-v3.0"
    least = RetrievalResult("text", "https://example.com", 1.0, "id")
    assert (least.position, least.title) == (0, "")
    with pytest.raises(ValueError, match=r"^title "):
        replace(least, title=None)  # type: ignore[arg-type]
    assert surefind.RetrievalResult.__module__ != RetrievalResult.__module__


BAD_VECTORS = [
    [],
    [0.0] * 384,
    [*[0.1] * 383, math.nan],
    [*[0.1] * 383, math.inf],
    [*[0.1] * 383, "0.1"],
    [*[0.1] * 383, None],
    [*[0.1] * 383, True],
    "0.1" * 384,
    b"0" * 384,
    None,
    5,
]


@pytest.mark.parametrize("vector", BAD_VECTORS, ids=named)
def test_a_vector_holds_finite_numbers(vector: Any, inside: Path) -> None:
    with pytest.raises(ValueError, match=r"^vector "):
        QueryEmbedding(vector, "x", "any-model")
    with pytest.raises(ValueError, match=r"^query_embedding "):
        surefind.retrieve_content_chunks(vector)


def test_a_vector_has_exactly_its_models_size(inside: Path) -> None:
    for size in (1023, 1025, 384):
        with pytest.raises(ValueError, match=rf"^vector must have 1024 numbers.* got {size}$"):
            QueryEmbedding([0.1] * size, "x")
    for size in (383, 385, 1024):
        with pytest.raises(ValueError, match=rf"^query_embedding must have 384 .* got {size}$"):
            surefind.retrieve_content_chunks([0.1] * size)
    with pytest.raises(ValueError, match=r"made with embed-english-v3\.0, the collection with"):
        surefind.retrieve_content_chunks(QueryEmbedding([0.1] * 1024, "x"))
    with pytest.raises(ValueError, match=r"^query_embedding must have 384 .* got 12$"):
        surefind.retrieve_content_chunks(QueryEmbedding([0.1] * 12, "x", MODEL))


def test_a_question_becomes_a_vector_and_the_vector_chunks(inside: Path) -> None:
    embedding = surefind.generate_query_embedding("which voltage does the socket need")
    assert embedding.query_text == "which voltage does the socket need"
    assert (len(embedding.vector), embedding.model) == (384, MODEL)
    assert all(type(number) is float for number in embedding.vector)
    chunks = surefind.retrieve_content_chunks(embedding)
    assert len(chunks) == 5
    assert all(isinstance(chunk, RetrievalResult) for chunk in chunks)
    best = chunks[0]
    assert (best.title, best.position) == ("Installing", 1)
    assert best.source_url == "surefind://docs/docs/guide/install.md"
    assert "230 volts" in best.text
    scores = [chunk.relevance_score for chunk in chunks]
    assert scores == sorted(scores, reverse=True)


def test_it_is_what_a_dense_search_finds_however_the_vector_is_given(inside: Path) -> None:
    with surefind.open() as docs:
        hits = docs.search("descale with vinegar", mode="dense", top_k=1000).hits
        embedding = docs.generate_query_embedding("descale with vinegar")
        same = docs.retrieve_content_chunks(embedding, 1000)
    assert [c.chunk_id for c in same] == [hit.record.chunk.id for hit in hits]
    assert [c.relevance_score for c in same] == pytest.approx([hit.similarity for hit in hits])
    numbers = np.array(embedding.vector)
    for given in (embedding.vector, numbers, numbers * 1e300, numbers * 1e-300, tuple(numbers)):
        found = surefind.retrieve_content_chunks(given, limit=2)
        assert [c.chunk_id for c in found] == [c.chunk_id for c in same[:2]]
    opposite = surefind.retrieve_content_chunks(-numbers, limit=1)
    assert opposite[0].relevance_score == 0.0


@pytest.mark.parametrize("query", [*Field("query", str, low=1, high=1000).bad()], ids=named)
def test_a_question_has_1_to_1000_characters(query: Any, inside: Path) -> None:
    with pytest.raises(ValueError, match=r"^query "):
        surefind.generate_query_embedding(query)


@pytest.mark.parametrize("limit", [*Field("limit", int, low=1, high=1000).bad()], ids=named)
def test_a_limit_is_a_number_from_1_to_1000(limit: Any, inside: Path) -> None:
    with pytest.raises(ValueError, match=r"^limit "):
        surefind.retrieve_content_chunks([0.1] * 384, limit=limit)


def test_the_bounds_themselves_are_fine(inside: Path) -> None:
    for query, limit, found in (("x", 1, 1), ("x" * 1000, 1000, 6)):
        embedding = surefind.generate_query_embedding(query)
        assert len(surefind.retrieve_content_chunks(embedding, limit)) == found


async def test_both_work_inside_a_running_loop_and_can_be_awaited(inside: Path) -> None:
    embedding = surefind.generate_query_embedding("the lid is open")
    found = surefind.retrieve_content_chunks(embedding, 1)
    async with surefind.aopen() as docs:
        awaited = await docs.generate_query_embedding("the lid is open")
        assert await docs.retrieve_content_chunks(awaited, limit=1) == found
    assert "E42" in found[0].text


def test_many_threads_share_one_installation(inside: Path) -> None:
    def ask(number: int) -> int:
        embedding = surefind.generate_query_embedding(f"question {number}")
        return len(surefind.retrieve_content_chunks(embedding))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == [5] * 24


def test_another_folder_is_another_installation(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert surefind.retrieve_content_chunks([0.1] * 384)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(surefind.UnknownCollection, match="surefind ingest"):
        surefind.retrieve_content_chunks([0.1] * 384)


SCRIPT = """
import multiprocessing, surefind

def ask(question):
    embedding = surefind.generate_query_embedding(question)
    return surefind.retrieve_content_chunks(embedding, 1)[0].title

print(ask("vinegar"))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(ask, ["vinegar", "volts"]))
print(ask("volts"))
"""


def test_nothing_is_left_behind_when_the_program_ends(home: Path) -> None:
    script = "import surefind; surefind.retrieve_content_chunks([0.1] * 384)"
    subprocess.run([sys.executable, "-c", script], cwd=home, timeout=60, check=True)
    assert not list((home / ".surefind" / "views").iterdir())


def test_forked_workers_open_their_own(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=home,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    expected = "Cleaning\n['Cleaning', 'Installing']\nInstalling\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


WHOLE = Hit(1, 0.9, 0.9, None, None, record(0))
FLAWED = [
    replace(WHOLE, record=one)
    for one in (
        replace(record(1), url=""),
        replace(record(2), url="not a url"),
        replace(record(3), chunk=replace(record(3).chunk, text=" \n")),
    )
]


async def nearest(hits: list[Hit], limit: int, most: int = 1000) -> list[RetrievalResult]:
    async def search(wanted: int) -> list[Hit]:
        assert wanted <= most
        return hits[:wanted]

    return await nearest_chunks(search, limit, most)


async def test_a_stored_chunk_that_breaks_a_rule_is_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await nearest([*FLAWED, WHOLE], 4) == [RetrievalResult.of(WHOLE)]
    assert caplog.messages == [
        "left out the stored chunk 'chunk-1': url is missing",
        "left out the stored chunk 'chunk-2': url is not absolute: 'not a url'",
        "left out the stored chunk 'chunk-3': text is missing",
    ]
    assert await nearest([], 5) == []


@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_chunks_that_are_left_out_take_no_place_of_others(limit: int) -> None:
    hits = [*FLAWED * 10, *[WHOLE] * 40]
    assert await nearest(hits, limit) == [RetrievalResult.of(WHOLE)] * limit
    assert await nearest(hits, 60) == [RetrievalResult.of(WHOLE)] * 40


async def test_only_chunks_before_the_last_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await nearest([WHOLE, *FLAWED], 1)
    assert not caplog.messages
    assert await nearest([*FLAWED * 10, WHOLE], 1)
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "left out 10 more stored chunks"


async def test_no_usable_chunk_at_all_is_an_error() -> None:
    with pytest.raises(surefind.StoreError, match=r"none of the 3 chunks .*`surefind audit`"):
        await nearest(FLAWED, 2)
    with pytest.raises(surefind.StoreError, match=r"none of the 12 chunks "):
        await nearest(FLAWED * 10, 1, most=12)


def test_numpy_numbers_become_pythons() -> None:
    values = {**A_RESULT, "position": np.int64(3), "relevance_score": np.float32(0.5)}
    result = RetrievalResult(**values)
    assert result == RetrievalResult(**A_RESULT)
    assert json.loads(json.dumps(asdict(result))) == A_RESULT
