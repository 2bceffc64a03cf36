"""Services with `POST /rerank`: TEI, vLLM, Jina, Cohere and others.

There are two request formats. Text Embeddings Inference (TEI) serves one model and takes `texts`;
the others take `model` and `documents`. The answer is a list of scores, or an object that holds one
as `results`. Both answers are read, whichever format was sent.
"""

import math
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from surefind.adapters.embedders.json_service import BATCH_SIZE, JsonService, host_of, with_path
from surefind.adapters.embedders.remote import explained
from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, CallPolicy, all_or_none
from surefind.errors import RerankingError

KEY_SETTING = "SUREFIND_RERANK_API_KEY"
_TOO_LARGE = 40.0  # exp() of more overflows nothing here, and the score is 1 anyway


class ServiceReranker:
    """Without `model`, requests have TEI's format. `raw` scores are logits."""

    def __init__(
        self,
        url: str,
        policy: CallPolicy,
        model: str | None = None,
        api_key: str | None = None,
        *,
        raw: bool = False,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        address = with_path(url, "/rerank")
        self._service = JsonService(address, api_key, KEY_SETTING, policy.timeout_s)
        self._model = model
        self._raw = raw
        self._batch_size = batch_size
        self._label = f"the reranking service at {host_of(url)}"
        self._calls = AdaptiveLimiter(self._label, policy.searching, policy.notify)

    @property
    def name(self) -> str:
        return f"http/{self._model or urlsplit(self._service.url).hostname}"

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        size = self._batch_size
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        answered = await all_or_none(self._scores(query, batch) for batch in batches)
        return [score for scores in answered for score in scores]

    async def close(self) -> None:
        await self._service.close()

    async def _scores(self, query: str, passages: Sequence[str]) -> list[float]:
        body = self._body(_whole(query), [_whole(passage) for passage in passages])
        try:
            answer = await self._calls.call(lambda: self._service.post(body))
        except AttemptFailed as failure:
            advice = "" if failure.may_pass or failure.is_about_the_key else f"; {self._hint}"
            raise RerankingError(explained(failure, self._label, KEY_SETTING) + advice) from failure
        scores = _scores_in(answer)
        if scores is None:
            raise RerankingError(f"{self._label} returned no valid scores; {self._hint}")
        if scores.keys() != set(range(len(passages))):
            raise RerankingError(
                f"{self._label} returned {len(scores)} scores for {len(passages)} passages; "
                f"{self._hint}"
            )
        return [self._calibrated(scores[number]) for number in range(len(passages))]

    @property
    def _hint(self) -> str:
        if self._model is None:
            return "check rerank_url, and set rerank_model unless the service is TEI"
        return "check rerank_url and rerank_model; for TEI, remove rerank_model"

    def _body(self, query: str, passages: list[str]) -> dict[str, object]:
        if self._model is None:
            return {"query": query, "texts": passages, "truncate": True, "raw_scores": self._raw}
        return {
            "model": self._model,
            "query": query,
            "documents": passages,
            "top_n": len(passages),
            "return_documents": False,
        }

    def _calibrated(self, score: float) -> float:
        if self._raw:
            return 1 / (1 + math.exp(-max(-_TOO_LARGE, min(_TOO_LARGE, score))))
        if not 0 <= score <= 1:
            raise RerankingError(
                f"{self._label} returned a score outside 0..1; if these are logits, set "
                "rerank_raw_scores"
            )
        return score


def _scores_in(answer: Any) -> dict[int, float] | None:
    """The score of each passage by its number; None if the answer has another format."""
    results: Any = answer.get("results") if isinstance(answer, dict) else answer
    try:
        scores = {
            int(one["index"]): float(one.get("relevance_score", one.get("score")))
            for one in results
        }
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    valid = len(scores) == len(results) and all(map(math.isfinite, scores.values()))
    return scores if valid else None


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # lone surrogates are invalid in JSON
