"""Cohere: embeddings and reranking through its SDK and the v2 API."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cohere
import httpx
from cohere.core.api_error import ApiError

from surefind.adapters.embedders.remote import (
    InputType,
    ModelOptions,
    RemoteEmbedder,
    RemoteModel,
    explained,
    sendable_key,
)
from surefind.adapters.remote_calls import (
    AdaptiveLimiter,
    AttemptFailed,
    CallPolicy,
    retry_after_s,
)
from surefind.errors import InputError, RerankingError
from surefind.model import EmbedderFingerprint

SERVICE = "Cohere"
KEY_SETTING = "COHERE_API_KEY"
DEFAULT_MODEL = "embed-english-v3.0"
DEFAULT_RERANK_MODEL = "rerank-v3.5"
BATCH_SIZE = 96
_RERANK_BATCH_SIZE = 1000  # documents per call, as Cohere recommends
_INPUT_TYPES = {"passage": "search_document", "query": "search_query"}
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class CohereModel:
    """`dimensions` lists the supported sizes; the first is the default.

    `price` is in US dollars per million tokens, the list price at the end of 2025; the setting
    embed_price_per_million_tokens overrides it.
    """

    dimensions: tuple[int, ...]
    max_tokens: int
    price: float | None


MODELS = {
    "embed-english-v3.0": CohereModel((1024,), 512, 0.10),
    "embed-english-light-v3.0": CohereModel((384,), 512, 0.10),
    "embed-multilingual-v3.0": CohereModel((1024,), 512, 0.10),
    "embed-multilingual-light-v3.0": CohereModel((384,), 512, 0.10),
    "embed-v4.0": CohereModel((1536, 1024, 512, 256), 128_000, 0.12),
}
_UNKNOWN_MAX_TOKENS = 512


def price_of(model: str | None) -> float | None:
    known = MODELS.get(model or DEFAULT_MODEL)
    return known.price if known else None


def cohere_embedder(
    api_key: str, wanted: ModelOptions, policy: CallPolicy, url: str | None = None
) -> RemoteEmbedder:
    """A model that is not in `MODELS` needs explicit dimensions."""
    name = wanted.name or DEFAULT_MODEL
    known = MODELS.get(name) or _unknown(name, wanted)
    dimensions = wanted.dimensions or known.dimensions[0]
    if dimensions not in known.dimensions:
        sizes = " or ".join(map(str, known.dimensions))
        raise InputError(
            f"embed_dimensions is {dimensions}, but {name} supports {sizes}; correct it"
        )
    if wanted.batch_size is not None and wanted.batch_size > BATCH_SIZE:
        raise InputError(
            f"embed_batch is {wanted.batch_size}, but Cohere accepts at most {BATCH_SIZE} texts "
            "per call; lower it"
        )
    facts = RemoteModel(
        service=SERVICE,
        key_setting=KEY_SETTING,
        fingerprint=EmbedderFingerprint(
            provider="cohere",
            model=name,
            dimensions=dimensions,
            weights="hosted",
            input_types=",".join(f"{ours}={theirs}" for ours, theirs in _INPUT_TYPES.items()),
        ),
        max_tokens=min(wanted.max_tokens or known.max_tokens, known.max_tokens),
        batch_size=wanted.batch_size or BATCH_SIZE,
        cuts=True,
    )
    session = CohereSession(api_key, url, policy.timeout_s)
    if dimensions != known.dimensions[0]:
        session.options["additional_body_parameters"] = {"output_dimension": dimensions}
    return RemoteEmbedder(facts, CohereWire(session, name), policy)


def _unknown(name: str, wanted: ModelOptions) -> CohereModel:
    if wanted.dimensions is None:
        raise InputError(
            f"embed_model: unknown Cohere model {name}; known models are {', '.join(MODELS)}. "
            "To use another one, set embed_dimensions"
        )
    return CohereModel((wanted.dimensions,), wanted.max_tokens or _UNKNOWN_MAX_TOKENS, None)


class CohereSession:
    """The SDK's client without its retries; surefind's retries account for concurrent calls."""

    def __init__(self, api_key: str, url: str | None, timeout_s: float) -> None:
        self._api_key = sendable_key(api_key, KEY_SETTING)
        self._http = httpx.AsyncClient(timeout=timeout_s)
        self.client = cohere.AsyncClientV2(
            self._api_key, base_url=url, httpx_client=self._http, client_name="surefind"
        )
        self.options: cohere.core.RequestOptions = {"max_retries": 0, "timeout": timeout_s}

    def failed(self, error: Exception) -> AttemptFailed:
        """Translate an error of the SDK or its transport, without the API key."""
        if isinstance(error, ApiError):
            headers = {name.lower(): value for name, value in (error.headers or {}).items()}
            status = error.status_code or 0
            if status < 400:
                return AttemptFailed(f"an unexpected answer ({status})")
            reason = self._without_key(_message(error.body))
            wait_s = retry_after_s(headers.get("retry-after"))
            return AttemptFailed(f"{status} {reason}".strip(), status, wait_s)
        if isinstance(error, httpx.TimeoutException):
            return AttemptFailed("no answer in time")
        return AttemptFailed(f"the connection failed ({type(error).__name__})")

    async def close(self) -> None:
        await self._http.aclose()

    def _without_key(self, text: str) -> str:
        return text.replace(self._api_key, "…")


class CohereWire:
    def __init__(self, session: CohereSession, model: str) -> None:
        self._session = session
        self._model = model

    async def embed(self, texts: Sequence[str], input_type: InputType) -> object:
        session = self._session
        try:
            answer = await session.client.embed(
                model=self._model,
                texts=texts,
                input_type=_INPUT_TYPES[input_type],
                embedding_types=["float"],
                truncate="END",
                request_options=session.options,
            )
        except (ApiError, httpx.HTTPError) as error:
            raise session.failed(error) from error
        return getattr(answer.embeddings, "float_", None)

    async def close(self) -> None:
        await self._session.close()


class CohereReranker:
    def __init__(
        self,
        api_key: str,
        policy: CallPolicy,
        model: str | None = None,
        url: str | None = None,
    ) -> None:
        self._model = model or DEFAULT_RERANK_MODEL
        self._session = CohereSession(api_key, url, policy.timeout_s)
        self._calls = AdaptiveLimiter(SERVICE, policy.searching, policy.notify)

    @property
    def name(self) -> str:
        return f"cohere/{self._model}"

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(passages), _RERANK_BATCH_SIZE):
            scores += await self._scores(query, passages[start : start + _RERANK_BATCH_SIZE])
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
                f"{SERVICE} returned {len(results)} scores for {len(passages)} passages; check "
                "rerank_url"
            )
        if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
            raise RerankingError(f"{SERVICE} returned a score outside 0..1; check rerank_model")
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
            raise RerankingError(
                f"{SERVICE} returned no valid scores; check rerank_model and rerank_url"
            ) from error


def _message(body: object) -> str:
    text = body.get("message", "") if isinstance(body, dict) else body
    return " ".join(str(text or "").split())[:_LONGEST_REASON]


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
