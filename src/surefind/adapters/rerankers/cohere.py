"""Cohere: reranking by its own SDK, over the v2 API."""

import math
from collections.abc import Sequence

import httpx
from cohere.core.api_error import ApiError

from surefind.adapters.embedders.cohere import KEY_SETTING, SERVICE, CohereSession
from surefind.adapters.embedders.remote import explained
from surefind.adapters.retrying import AdaptiveLimiter, AttemptFailed, CallPolicy
from surefind.errors import RerankingError

DEFAULT_MODEL = "rerank-v3.5"
_AT_ONCE = 1000  # documents in a call, as Cohere advises


class CohereReranker:
    def __init__(
        self,
        api_key: str,
        policy: CallPolicy,
        model: str | None = None,
        url: str | None = None,
    ) -> None:
        self._model = model or DEFAULT_MODEL
        self._session = CohereSession(api_key, url, policy.timeout_s)
        self._calls = AdaptiveLimiter(SERVICE, policy.searching, policy.notify)

    @property
    def name(self) -> str:
        return f"cohere/{self._model}"

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(passages), _AT_ONCE):
            scores += await self._scores(query, passages[start : start + _AT_ONCE])
        return scores

    async def close(self) -> None:
        await self._session.close()

    async def _scores(self, query: str, passages: Sequence[str]) -> list[float]:
        try:
            results = await self._calls.call(lambda: self._ask(query, passages))
        except AttemptFailed as failure:
            raise RerankingError(explained(failure, SERVICE, KEY_SETTING)) from failure
        scores = dict(results)
        if len(results) != len(passages) or scores.keys() != set(range(len(passages))):
            raise RerankingError(
                f"{SERVICE} answered with {len(results)} scores for {len(passages)} passages"
            )
        if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
            raise RerankingError(f"{SERVICE} answered with a score outside of 0..1")
        return [scores[number] for number in range(len(passages))]

    async def _ask(self, query: str, passages: Sequence[str]) -> list[tuple[int, float]]:
        session = self._session
        try:
            answer = await session.client.rerank(
                model=self._model,
                query=_whole(query),
                documents=[_whole(passage) for passage in passages],
                request_options=session.options,
            )
            return [(int(one.index), float(one.relevance_score)) for one in answer.results]
        except (ApiError, httpx.HTTPError) as error:
            raise session.failed(error) from error
        except (AttributeError, TypeError, ValueError) as error:
            raise RerankingError(f"{SERVICE} answered with something that is no scores") from error


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
