"""What every reranker promises, and what Cohere's does when the service can't."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from support.embedding_service import (
    BROKEN,
    CUT,
    KEY,
    REAL_COHERE_KEY,
    REAL_COHERE_URL,
    Service,
    Trouble,
    serve,
)
from support.onnx_models import Encoder, write_model
from surefind.adapters.embedders.cohere import CohereReranker
from surefind.adapters.embedders.rerank_service import ServiceReranker
from surefind.adapters.embedders.supplied import SuppliedReranker
from surefind.adapters.onnx.reranker import OnnxReranker
from surefind.adapters.remote_calls import CallPolicy, RetryPolicy
from surefind.errors import RerankingError
from surefind.ports import Reranker

AGREEING = 3
"""The seed of a tiny model that happens to rank the passages of the contract."""
QUICK = RetryPolicy(3, 0.01, 0.02, 5.0, concurrency=4)
PASSAGES = ["cats sleep in sunshine", "how to install the program", "the program"]


class RerankerContract:
    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    async def test_one_score_per_passage_in_the_order_of_the_passages(
        self, reranker: Reranker
    ) -> None:
        scores = await reranker.rerank("install the program", PASSAGES)
        assert len(scores) == 3
        assert all(0 <= score <= 1 for score in scores)
        assert scores[1] == max(scores)
        assert scores[0] == min(scores)

    async def test_no_passages_have_no_scores(self, reranker: Reranker) -> None:
        assert await reranker.rerank("install the program", []) == []

    async def test_odd_texts_have_scores_too(self, reranker: Reranker) -> None:
        odd = ["x" * 5000, "😀", "half \ud800 a character"]
        assert len(await reranker.rerank("install", odd)) == 3

    async def test_it_says_what_it_is(self, reranker: Reranker) -> None:
        assert "/" in reranker.name


@pytest.fixture
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


class TestCohereReranker(RerankerContract):
    @pytest.fixture
    async def reranker(self, service: Service) -> AsyncIterator[Reranker]:
        url, key = REAL_COHERE_URL or service.url, REAL_COHERE_KEY or KEY
        reranker = CohereReranker(key, CallPolicy(print), url=url)
        yield reranker
        await reranker.close()


@pytest.fixture
async def service_reranker(service: Service) -> AsyncIterator[ServiceReranker]:
    policy = CallPolicy(print, timeout_s=1.0, searching=QUICK)
    reranker = ServiceReranker(service.url, policy, api_key=KEY)
    yield reranker
    await reranker.close()


class TestTextEmbeddingsInference(RerankerContract):
    @pytest.fixture
    def reranker(self, service_reranker: ServiceReranker) -> Reranker:
        return service_reranker

    async def test_requests_have_its_format_and_are_sent_in_batches(
        self, service: Service, reranker: Reranker
    ) -> None:
        assert len(await reranker.rerank("install", ["passage"] * 40)) == 40
        assert {request.path for request in service.requests} == {"/rerank"}
        assert sorted(len(request.body["texts"]) for request in service.requests) == [8, 32]
        assert {frozenset(request.body) for request in service.requests} == {
            frozenset({"query", "texts", "truncate", "raw_scores"})
        }


class TestServiceWithModels(RerankerContract):
    """The format of vLLM, Jina and Cohere."""

    @pytest.fixture
    async def reranker(self, service: Service) -> AsyncIterator[Reranker]:
        url = f"{service.url}/v1/rerank"
        reranker = ServiceReranker(url, CallPolicy(print), "acme/reranker", KEY, batch_size=2)
        yield reranker
        await reranker.close()

    async def test_requests_name_the_model(self, service: Service, reranker: Reranker) -> None:
        await reranker.rerank("install", PASSAGES)
        assert {request.path for request in service.requests} == {"/v1/rerank"}
        assert sorted(len(request.body["documents"]) for request in service.requests) == [1, 2]
        assert {request.body["model"] for request in service.requests} == {"acme/reranker"}


class TestRawScores(RerankerContract):
    @pytest.fixture
    async def reranker(self, service: Service) -> AsyncIterator[Reranker]:
        reranker = ServiceReranker(service.url, CallPolicy(print), api_key=KEY, raw=True)
        yield reranker
        await reranker.close()

    async def test_logits_become_shares(self, reranker: Reranker) -> None:
        [score] = await reranker.rerank("install program", ["the program"])
        assert score == pytest.approx(0.5)  # half of the words: a logit of 0


class TestOnnxReranker(RerankerContract):
    @pytest.fixture
    async def reranker(self, tmp_path: Path) -> AsyncIterator[Reranker]:
        folder = write_model(tmp_path, Encoder(classes=1, seed=AGREEING), None)
        reranker = OnnxReranker(folder)
        yield reranker
        await reranker.close()


class TestSuppliedReranker(RerankerContract):
    @pytest.fixture
    async def reranker(self, service: Service) -> AsyncIterator[Reranker]:
        reranker = SuppliedReranker(CohereReranker(KEY, CallPolicy(print), url=service.url))
        yield reranker
        await reranker.close()

    async def test_an_error_of_surefind_is_passed_on_as_it_is(self, service: Service) -> None:
        reranker = SuppliedReranker(CohereReranker("wrong", CallPolicy(print), url=service.url))
        service.always = Trouble(401)
        with pytest.raises(RerankingError, match="check COHERE_API_KEY"):
            await reranker.rerank("install", PASSAGES)
        await reranker.close()


@pytest.fixture
async def cohere(service: Service) -> AsyncIterator[CohereReranker]:
    policy = CallPolicy(print, timeout_s=1.0, searching=QUICK)
    reranker = CohereReranker(KEY, policy, url=service.url)
    yield reranker
    await reranker.close()


async def test_the_model_is_named_and_more_than_a_thousand_passages_go_in_parts(
    service: Service, cohere: CohereReranker
) -> None:
    passages = [*(f"passage {number}" for number in range(1000)), "install the program"]
    scores = await cohere.rerank("install the program", passages)
    assert (len(scores), scores[1000]) == (1001, 1.0)
    assert [len(request.body["documents"]) for request in service.requests] == [1000, 1]
    assert {request.body["model"] for request in service.requests} == {"rerank-v3.5"}
    assert {request.path for request in service.requests} == {"/v2/rerank"}


@pytest.mark.parametrize("trouble", [BROKEN, CUT, Trouble(429), Trouble(silent_s=5)])
async def test_what_may_pass_is_tried_again(
    service: Service, cohere: CohereReranker, trouble: Trouble
) -> None:
    service.troubles = [trouble]
    assert len(await cohere.rerank("install", PASSAGES)) == 3
    assert len(service.requests) == 2


async def test_what_does_not_pass_is_a_reranking_error(
    service: Service, cohere: CohereReranker
) -> None:
    service.always = BROKEN
    with pytest.raises(RerankingError, match="failed 3 times"):
        await cohere.rerank("install", PASSAGES)


async def test_a_wrong_key_stops_at_once_and_is_named_not_shown(service: Service) -> None:
    reranker = CohereReranker("wrong-secret-key", CallPolicy(print), url=service.url)
    with pytest.raises(RerankingError, match="COHERE_API_KEY") as caught:
        await reranker.rerank("install", PASSAGES)
    await reranker.close()
    assert len(service.requests) == 1
    assert "wrong-secret-key" not in f"{caught.value!r} {caught.value.__cause__!r} {reranker!r}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda results: results[:-1], "2 scores for 3 passages"),
        (lambda results: [*results[:-1], results[0]], "3 scores for 3 passages"),
        (lambda results: [{**one, "relevance_score": 1.5} for one in results], "outside 0..1"),
        (lambda results: [{**one, "relevance_score": float("nan")} for one in results], "outside"),
        (lambda results: [{**one, "relevance_score": None} for one in results], "no valid scores"),
        (lambda _results: None, "no valid scores"),
    ],
)
async def test_scores_that_make_no_sense_are_refused(
    service: Service,
    cohere: CohereReranker,
    change: Callable[[list[list[float]]], object],
    message: str,
) -> None:
    service.always = Trouble(change=change)
    with pytest.raises(RerankingError, match=message):
        await cohere.rerank("install", PASSAGES)
    assert len(service.requests) == 1


# --- /rerank ------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [BROKEN, CUT, Trouble(429), Trouble(silent_s=5)])
async def test_a_service_is_tried_again(
    service: Service, service_reranker: ServiceReranker, trouble: Trouble
) -> None:
    service.troubles = [trouble]
    assert len(await service_reranker.rerank("install", PASSAGES)) == 3
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (BROKEN, "failed 3 times"),
        (CUT, "the connection failed"),
        (Trouble(422), "rejected the request: 422 .*set rerank_model unless the service is TEI"),
        (Trouble(401), "rejected the API key"),
        (Trouble(body="<html>"), "returned no valid scores"),
        (Trouble(body="{}"), "returned no valid scores"),
        (Trouble(body='[{"index": 0}]'), "returned no valid scores"),
        (Trouble(body='[{"index": 0, "score": 1}, {"index": 0, "score": 1}]'), "no valid scores"),
        (Trouble(body='[{"index": 7, "score": 1}]'), "returned 1 scores for 3 passages"),
        (Trouble(change=lambda rows: rows[1:]), "returned 2 scores for 3 passages"),
        (
            Trouble(change=lambda rows: [{**one, "score": 8.5} for one in rows]),  # type: ignore[dict-item]
            "if these are logits, set rerank_raw_scores",
        ),
    ],
)
async def test_a_service_that_fails_is_a_reranking_error(
    service: Service, service_reranker: ServiceReranker, trouble: Trouble, message: str
) -> None:
    service.always = trouble
    with pytest.raises(RerankingError, match=message) as caught:
        await service_reranker.rerank("install", PASSAGES)
    assert KEY not in str(caught.value)
