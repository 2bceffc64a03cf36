"""Embedders whose models run elsewhere: the contract, and what each does when the service can't.

With SUREFIND_TEST_COHERE_URL and SUREFIND_TEST_COHERE_KEY set, the contract of Cohere's embedder
and reranker is held against the real service instead of the stand-in.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from contract.embedders.test_embedders import EmbedderContract
from support.embedding_service import (
    BROKEN,
    CUT,
    KEY,
    OPENAI_SIZE,
    REAL_COHERE_KEY,
    REAL_COHERE_URL,
    TOO_MANY,
    Service,
    Trouble,
    serve,
)
from surefind.adapters.embedders.cohere import MODELS, cohere_embedder
from surefind.adapters.embedders.openai_compatible import (
    Prefixes,
    embeddings_url,
    openai_compatible_embedder,
)
from surefind.adapters.embedders.remote import ModelOptions, RemoteEmbedder
from surefind.adapters.remote_calls import CallPolicy, RetryPolicy
from surefind.errors import EmbeddingError, InputError
from surefind.ports import Embedder

QUICK = RetryPolicy(3, 0.01, 0.02, 5.0, concurrency=4)


@dataclass
class Heard:
    """What the person at the terminal was told."""

    notes: list[str] = field(default_factory=list)

    @property
    def policy(self) -> CallPolicy:
        return CallPolicy(self.notes.append, timeout_s=1.0, ingesting=QUICK, searching=QUICK)


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


@pytest.fixture
def heard() -> Heard:
    return Heard()


Opened = Callable[..., Awaitable[RemoteEmbedder]]


async def cohere(service: Service, heard: Heard, key: str = KEY) -> RemoteEmbedder:
    return cohere_embedder(key, ModelOptions(), heard.policy, service.url)


async def openai(service: Service, heard: Heard, key: str = KEY) -> RemoteEmbedder:
    options = ModelOptions("some-model", dimensions=OPENAI_SIZE)
    return await openai_compatible_embedder(service.url, options, heard.policy, key)


@pytest.fixture(params=[cohere, openai])
async def embedder(
    request: pytest.FixtureRequest, service: Service, heard: Heard
) -> AsyncIterator[RemoteEmbedder]:
    opened = await request.param(service, heard)
    yield opened
    await opened.close()


class TestCohere(EmbedderContract):
    tolerance = 1e-3  # the real service's last digits depend on the rest of a batch

    @pytest.fixture
    async def embedder(self, service: Service, heard: Heard) -> AsyncIterator[Embedder]:
        url, key = REAL_COHERE_URL or service.url, REAL_COHERE_KEY or KEY
        embedder = cohere_embedder(key, ModelOptions(), CallPolicy(heard.notes.append), url)
        yield embedder
        await embedder.close()


class TestOpenAiCompatible(EmbedderContract):
    tolerance = 1e-3

    @pytest.fixture
    async def embedder(self, service: Service, heard: Heard) -> AsyncIterator[Embedder]:
        embedder = await openai(service, heard)
        yield embedder
        await embedder.close()


# --- what goes over the wire ------------------------------------------------------------------


async def test_cohere_is_asked_in_batches_of_96_with_the_type_of_the_input(
    service: Service, heard: Heard
) -> None:
    embedder = await cohere(service, heard)
    rows = await embedder.embed_passages([f"passage number {number}" for number in range(200)])
    await embedder.embed_query("a question")
    await embedder.close()
    assert rows.shape == (200, 1024)
    asked = [request.body for request in service.requests]
    assert sorted(len(body["texts"]) for body in asked) == [1, 8, 96, 96]
    assert {body["input_type"] for body in asked[:3]} == {"search_document"}
    assert asked[3]["input_type"] == "search_query"
    assert {body["model"] for body in asked} == {"embed-english-v3.0"}
    assert {request.path for request in service.requests} == {"/v2/embed"}


async def test_prefixes_are_sent_and_are_part_of_the_fingerprint(
    service: Service, heard: Heard
) -> None:
    prefixes = Prefixes("search_document: ", "search_query: ")
    options = ModelOptions("nomic", OPENAI_SIZE)
    embedder = await openai_compatible_embedder(service.url, options, heard.policy, KEY, prefixes)
    plain = await openai_compatible_embedder(service.url, options, heard.policy, KEY)
    await embedder.embed_passages(["tea"])
    await embedder.embed_query("tea")
    assert [r.texts for r in service.requests] == [["search_document: tea"], ["search_query: tea"]]
    assert embedder.fingerprint != plain.fingerprint
    assert embedder.max_tokens < plain.max_tokens
    await embedder.close()
    await plain.close()


async def test_questions_of_one_moment_go_out_in_one_call(
    embedder: RemoteEmbedder, service: Service
) -> None:
    questions = [f"question {number}" for number in range(10)]
    together = await asyncio.gather(*map(embedder.embed_query, [*questions, "question 0"]))
    assert [len(request.texts) for request in service.requests] == [10]
    assert np.array_equal(together[0], together[10])
    assert not np.array_equal(together[0], together[1])


async def test_a_question_that_is_refused_does_not_spoil_the_others(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.troubles = [Trouble(422), Trouble(), Trouble(422)]
    answers = await asyncio.gather(
        *map(embedder.embed_query, ["one", "two"]), return_exceptions=True
    )
    assert sum(isinstance(answer, EmbeddingError) for answer in answers) == 1
    assert [len(request.texts) for request in service.requests] == [2, 1, 1]


async def test_a_group_of_questions_is_one_call(embedder: RemoteEmbedder, service: Service) -> None:
    told = await embedder.embed_queries([f"question {number}" for number in range(20)])
    assert [len(request.texts) for request in service.requests] == [20]
    [took_ms] = {one.took_ms for one in told}
    assert took_ms > 0


async def test_a_group_that_is_refused_is_requested_once(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.troubles = [Trouble(422)]
    with pytest.raises(EmbeddingError, match="rejected the request"):
        await embedder.embed_queries(["one", "two"])
    assert len(service.requests) == 1


async def test_the_time_of_a_group_is_that_of_the_call_that_was_answered(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.troubles = [Trouble(503, silent_s=0.3)]
    begun = time.perf_counter()
    [one] = await embedder.embed_queries(["one"])
    assert len(service.requests) == 2
    assert one.took_ms <= (time.perf_counter() - begun - 0.3) * 1000


async def test_an_unexpected_error_reaches_every_caller(service: Service, heard: Heard) -> None:
    embedder = await cohere(service, heard)
    await embedder.close()
    with pytest.raises(RuntimeError, match="closed"):
        await embedder.embed_query("tea")


async def test_a_caller_that_stops_waiting_does_not_stop_the_others(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.troubles = [Trouble(silent_s=0.2)]
    leaving = asyncio.ensure_future(embedder.embed_query("the same"))
    staying = asyncio.ensure_future(embedder.embed_query("the same"))
    await asyncio.sleep(0.05)
    leaving.cancel()
    assert np.isfinite(await staying).all()


async def test_what_is_too_long_is_reported_once(embedder: RemoteEmbedder, heard: Heard) -> None:
    long = "word " * 600
    await embedder.embed_passages([long, long + "more", "short"])
    await embedder.embed_query(long)
    [note] = heard.notes
    assert "about 600 tokens exceeds the limit of 512" in note


async def test_a_service_that_does_not_cut_is_sent_no_more_than_it_reads(
    service: Service, heard: Heard
) -> None:
    embedder = await openai(service, heard)
    await embedder.embed_passages(["word " * 600])
    await embedder.close()
    [request] = service.requests
    assert len(request.texts[0].split()) == 512


# --- models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MODELS))
async def test_the_models_of_cohere_are_known(name: str, heard: Heard) -> None:
    embedder = cohere_embedder(KEY, ModelOptions(name), heard.policy)
    assert embedder.fingerprint.dimensions == MODELS[name].dimensions[0]
    assert embedder.max_tokens == MODELS[name].max_tokens
    await embedder.close()


async def test_another_model_of_cohere_needs_its_dimensions(heard: Heard) -> None:
    with pytest.raises(InputError, match="embed_dimensions"):
        cohere_embedder(KEY, ModelOptions("embed-v9"), heard.policy)
    embedder = cohere_embedder(KEY, ModelOptions("embed-v9", 64), heard.policy)
    assert (embedder.fingerprint.model, embedder.fingerprint.dimensions) == ("embed-v9", 64)
    await embedder.close()


async def test_dimensions_that_a_model_does_not_give_are_refused(heard: Heard) -> None:
    with pytest.raises(InputError, match="supports 1024"):
        cohere_embedder(KEY, ModelOptions(dimensions=384), heard.policy)


async def test_a_model_that_shortens_its_vectors_is_asked_to(
    service: Service, heard: Heard
) -> None:
    ours = cohere_embedder(KEY, ModelOptions("embed-v4.0", 256), heard.policy, service.url)
    options = ModelOptions("text-embedding-3-small", 512)
    theirs = await openai_compatible_embedder(service.url, options, heard.policy, KEY)
    assert (await ours.embed_query("tea")).shape == (256,)
    assert (await theirs.embed_query("tea")).shape == (512,)
    assert service.requests[0].body["output_dimension"] == 256
    assert service.requests[1].body["dimensions"] == 512
    await ours.close()
    await theirs.close()


async def test_unknown_dimensions_are_requested_once(service: Service, heard: Heard) -> None:
    options = ModelOptions("some-model")
    embedder = await openai_compatible_embedder(f"{service.url}/v1", options, heard.policy, KEY)
    assert embedder.fingerprint.dimensions == OPENAI_SIZE
    assert (await embedder.embed_passages(["tea"])).shape == (1, OPENAI_SIZE)
    assert len(service.requests) == 2
    await embedder.close()


@pytest.mark.parametrize("trouble", [Trouble(400), Trouble(change=lambda _rows: None)])
async def test_a_service_that_does_not_tell_its_dimensions_is_an_embedding_error(
    service: Service, heard: Heard, trouble: Trouble
) -> None:
    service.always = trouble
    with pytest.raises(EmbeddingError, match="the embedding service at 127"):
        await openai_compatible_embedder(service.url, ModelOptions("m"), heard.policy, KEY)


@pytest.mark.parametrize(
    ("service_name", "path", "asked"),
    [
        ("TEI", "/v1", "/v1/embeddings"),
        ("vLLM", "", "/v1/embeddings"),
        ("infinity", "/embeddings", "/embeddings"),
    ],
)
async def test_batches_and_concurrent_calls_are_as_set(
    service: Service, heard: Heard, service_name: str, path: str, asked: str
) -> None:
    options = ModelOptions(service_name, OPENAI_SIZE, batch_size=3)
    policy = replace(heard.policy, ingesting=replace(heard.policy.ingesting, concurrency=6))
    service.always = Trouble(silent_s=0.05)
    embedder = await openai_compatible_embedder(f"{service.url}{path}", options, policy, KEY)
    texts = [f"passage {number}" for number in range(40)]
    rows = await embedder.embed_passages(texts)
    await embedder.close()
    assert rows.shape == (40, OPENAI_SIZE)
    assert {request.path for request in service.requests} == {asked}
    assert [len(request.texts) for request in service.requests].count(3) == 13
    assert max(len(request.texts) for request in service.requests) == 3
    assert 1 < service.most_at_once <= 6


async def test_cohere_takes_no_larger_batches_than_it_documents(heard: Heard) -> None:
    with pytest.raises(InputError, match="embed_batch is 97, but Cohere accepts at most 96"):
        cohere_embedder(KEY, ModelOptions(batch_size=97), heard.policy)
    embedder = cohere_embedder(KEY, ModelOptions(batch_size=10), heard.policy)
    assert embedder.batch_size == 10
    await embedder.close()


async def test_a_model_has_to_be_named(service: Service, heard: Heard) -> None:
    with pytest.raises(InputError, match="embed_model"):
        await openai_compatible_embedder(service.url, ModelOptions(), heard.policy)


# --- when the service can't -------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [BROKEN, CUT, Trouble(503), Trouble(429), Trouble(silent_s=5)])
async def test_what_may_pass_is_tried_again(
    embedder: RemoteEmbedder, service: Service, trouble: Trouble
) -> None:
    service.troubles = [trouble]
    assert (await embedder.embed_passages(["tea"])).shape[0] == 1
    assert (len(service.requests), service.answered) == (2, ["tea"])


async def test_a_refusal_that_is_not_json_is_reported_as_it_came(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.always = Trouble(413, body="<html>too large</html>")
    with pytest.raises(EmbeddingError, match="rejected the request: 413 <html>too large"):
        await embedder.embed_query("tea")


async def test_an_answer_that_is_not_json_is_an_embedding_error(
    embedder: RemoteEmbedder, service: Service
) -> None:
    service.always = Trouble(body="<html>")
    with pytest.raises(EmbeddingError):
        await embedder.embed_query("tea")


async def test_a_retry_after_is_waited_for(embedder: RemoteEmbedder, service: Service) -> None:
    service.troubles = [TOO_MANY]
    began = asyncio.get_running_loop().time()
    await embedder.embed_passages(["tea"])
    assert asyncio.get_running_loop().time() - began >= 1.0


async def test_it_is_not_tried_forever(embedder: RemoteEmbedder, service: Service) -> None:
    service.always = BROKEN
    with pytest.raises(EmbeddingError, match="failed 3 times; the last error was: 500"):
        await embedder.embed_passages(["tea"])
    assert len(service.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_what_can_not_pass_is_not_tried_again(
    embedder: RemoteEmbedder, service: Service, status: int
) -> None:
    service.always = Trouble(status)
    with pytest.raises(EmbeddingError, match=f"rejected the request: {status}"):
        await embedder.embed_query("tea")
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("open_", "name"), [(cohere, "COHERE_API_KEY"), (openai, "OPENAI_API_KEY")]
)
async def test_a_wrong_key_stops_at_once_names_its_setting_and_is_never_shown(
    open_: Opened, name: str, service: Service, heard: Heard
) -> None:
    embedder = await open_(service, heard, "wrong-secret-key")
    with pytest.raises(EmbeddingError, match=name) as caught:
        await embedder.embed_passages(["tea"])
    await embedder.close()
    assert len(service.requests) == 1
    chain = [caught.value, caught.value.__cause__]
    assert (
        "wrong-secret-key" not in f"{chain!r} {chain[0]} {chain[1]} {embedder!r} {vars(embedder)}"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "1 vectors for 2 texts"),
        (lambda rows: [row[:-1] for row in rows], "dimensions"),
        (lambda rows: [rows[0], rows[1][:-1]], "not return vectors"),
        (lambda rows: [rows[0], [float("nan"), *rows[1][1:]]], "not finite"),
        (lambda rows: [rows[0], [float("inf"), *rows[1][1:]]], "not finite"),
        (lambda rows: [rows[0], [None, *rows[1][1:]]], "not finite"),
        (lambda rows: [rows[0], [0.0] * len(rows[1])], "zero"),
        (lambda rows: [rows[0], ["a"] * len(rows[1])], "not return vectors"),
        (lambda _rows: None, "not return a list"),
    ],
)
async def test_vectors_that_would_poison_an_index_are_refused(
    embedder: RemoteEmbedder,
    service: Service,
    change: Callable[[list[list[float]]], object],
    message: str,
) -> None:
    service.always = Trouble(change=change)
    with pytest.raises(EmbeddingError, match=message):
        await embedder.embed_passages(["tea", "coffee"])
    assert len(service.requests) == 1


async def test_vectors_are_made_unit_vectors(embedder: RemoteEmbedder, service: Service) -> None:
    service.always = Trouble(change=lambda rows: [[7 * x for x in row] for row in rows])
    [row] = await embedder.embed_passages(["tea"])
    assert np.isclose(np.linalg.norm(row), 1)


async def test_a_service_that_is_unavailable_is_an_embedding_error(heard: Heard) -> None:
    with serve() as gone:
        pass
    for open_ in (cohere, openai):
        embedder = await open_(gone, heard)
        with pytest.raises(EmbeddingError, match="the connection failed"):
            assert np.isfinite(await embedder.embed_query("tea")).all()
        await embedder.close()


async def test_openai_needs_no_key_if_the_service_does_not(heard: Heard) -> None:
    with serve(key="") as service:
        options = ModelOptions("all-minilm")
        embedder = await openai_compatible_embedder(service.url, options, heard.policy)
        assert (await embedder.embed_query("tea")).shape == (OPENAI_SIZE,)
        assert service.requests[0].authorization == ""
        await embedder.close()


async def test_the_address_may_end_where_one_has_it() -> None:
    for url in ("http://h", "http://h/", "http://h/v1", "http://h/v1/", "http://h/v1/embeddings"):
        assert embeddings_url(url) == "http://h/v1/embeddings"
    assert embeddings_url("https://h/openai/v1") == "https://h/openai/v1/embeddings"


async def test_a_key_that_can_not_be_sent_is_refused(heard: Heard) -> None:
    for key in ("two\nlines", "ключ"):
        with pytest.raises(InputError, match="COHERE_API_KEY") as caught:
            cohere_embedder(key, ModelOptions(), heard.policy)
        assert key not in str(caught.value)


async def test_white_space_around_a_key_is_not_part_of_it(service: Service, heard: Heard) -> None:
    for open_ in (cohere, openai):
        embedder = await open_(service, heard, f" {KEY}\n")
        assert (await embedder.embed_query("tea")).any()
        await embedder.close()
