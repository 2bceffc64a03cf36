"""Services with OpenAI's `POST /v1/embeddings`: Ollama, vLLM, TEI and OpenAI itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from surefind.adapters.embedders.json_service import BATCH_SIZE, JsonService, host_of, with_path
from surefind.adapters.embedders.remote import (
    InputType,
    ModelOptions,
    RemoteEmbedder,
    RemoteModel,
    checked_size,
    explained,
)
from surefind.adapters.embedders.token_estimate import count
from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, CallPolicy
from surefind.errors import EmbeddingError, InputError
from surefind.model import EmbedderFingerprint

KEY_SETTING = "OPENAI_API_KEY"
UNKNOWN_MAX_TOKENS = 512


@dataclass(frozen=True, slots=True)
class OpenAiModel:
    """`price`: US dollars per million tokens, the list price at the end of 2025."""

    dimensions: int
    max_tokens: int
    price: float
    shortens: bool


MODELS = {
    "text-embedding-3-small": OpenAiModel(1536, 8191, 0.02, shortens=True),
    "text-embedding-3-large": OpenAiModel(3072, 8191, 0.13, shortens=True),
    "text-embedding-ada-002": OpenAiModel(1536, 8191, 0.10, shortens=False),
}


def price_of(model: str | None) -> float | None:
    """The list price; None for unknown models."""
    known = MODELS.get(model or "")
    return known.price if known else None


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Texts that some models need before a passage or a query, such as `search_query: `."""

    passage: str = ""
    query: str = ""


async def openai_compatible_embedder(
    url: str,
    options: ModelOptions,
    policy: CallPolicy,
    api_key: str | None = None,
    prefixes: Prefixes | None = None,
) -> RemoteEmbedder:
    """Create the embedder; unknown dimensions are detected by embedding a test text."""
    if not options.name:
        raise InputError("embed_model is not set; set it to a model of the embedding service")
    known = MODELS.get(options.name)
    prefixes = prefixes or Prefixes()
    wire = OpenAiWire(url, options.name, api_key, prefixes, policy.timeout_s)
    if known and known.shortens and options.dimensions not in {None, known.dimensions}:
        wire.shorten_to(options.dimensions)
    service = f"the embedding service at {host_of(url)}"
    dimensions = options.dimensions or (known.dimensions if known else None)
    facts = RemoteModel(
        service=service,
        key_setting=KEY_SETTING,
        fingerprint=EmbedderFingerprint(
            provider="openai",
            model=options.name,
            dimensions=dimensions or await _asked_dimensions(wire, service, policy),
            weights="hosted",
            input_types=f"passage={prefixes.passage},query={prefixes.query}",
        ),
        max_tokens=_read_whole(options, known)
        - max(map(count, (prefixes.passage, prefixes.query))),
        batch_size=options.batch_size or BATCH_SIZE,
        cuts=False,
    )
    return RemoteEmbedder(facts, wire, policy)


def _read_whole(options: ModelOptions, known: OpenAiModel | None) -> int:
    return options.max_tokens or (known.max_tokens if known else UNKNOWN_MAX_TOKENS)


async def _asked_dimensions(wire: "OpenAiWire", service: str, policy: CallPolicy) -> int:
    calls = AdaptiveLimiter(service, policy.searching, policy.notify)
    try:
        rows = await calls.call(lambda: wire.embed(["dimensions"], "passage"))
        return checked_size(rows, service)
    except AttemptFailed as failure:
        await wire.close()
        raise EmbeddingError(explained(failure, service, KEY_SETTING)) from failure
    except EmbeddingError:
        await wire.close()
        raise


class OpenAiWire:
    def __init__(
        self, url: str, model: str, api_key: str | None, prefixes: Prefixes, timeout_s: float
    ) -> None:
        self._service = JsonService(embeddings_url(url), api_key, KEY_SETTING, timeout_s)
        self._body: dict[str, object] = {"model": model, "encoding_format": "float"}
        self._prefixes = {"passage": prefixes.passage, "query": prefixes.query}

    def shorten_to(self, dimensions: int | None) -> None:
        self._body["dimensions"] = dimensions

    async def embed(self, texts: Sequence[str], input_type: InputType) -> object:
        prefix = self._prefixes[input_type]
        body = {**self._body, "input": [prefix + text for text in texts]}
        return _rows(await self._service.post(body))

    async def close(self) -> None:
        await self._service.close()


def embeddings_url(url: str) -> str:
    """Accept both `http://host:11434` and `http://host:11434/v1`."""
    base = url.rstrip("/")
    return with_path(base if urlsplit(base).path else f"{base}/v1", "/embeddings")


def _rows(answer: Any) -> object:
    """The rows sorted by their `index`; None if the answer has another format."""
    try:
        items = sorted(answer["data"], key=lambda item: item["index"])
        numbered = [item["index"] for item in items] == list(range(len(items)))
        return [item["embedding"] for item in items] if numbered else None
    except (KeyError, TypeError):
        return None
