"""Creates the embedder and the reranker from the settings."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from surefind.bootstrap.plugins import installed_embedder, installed_reranker
from surefind.ports import Notify

if TYPE_CHECKING:
    from surefind.adapters.embedders.remote import ModelOptions
    from surefind.adapters.remote_calls import CallPolicy
    from surefind.ports import Embedder, Reranker
    from surefind.settings import Settings


async def open_embedder(settings: Settings, notify: Notify) -> Embedder:
    if settings.embedder == "cohere":
        return _cohere_embedder(settings, notify)
    if settings.embedder == "openai":
        return await _openai_embedder(settings, notify)
    if settings.embedder == "onnx":
        return await asyncio.to_thread(_onnx_embedder, settings, notify)
    if settings.embedder != "local":
        return await installed_embedder(settings)
    return await asyncio.to_thread(_local_embedder, settings, notify)


def _local_embedder(settings: Settings, notify: Notify) -> Embedder:
    from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
    from surefind.adapters.embedders.model_files import locate

    files = locate(settings.model_dir, settings.cache_dir, notify, settings.hub_url)
    return BgeSmallEmbedder(files, settings.threads, settings.embedder_device)


def _onnx_embedder(settings: Settings, notify: Notify) -> Embedder:
    from surefind.adapters.onnx.embedder import SETTING, OnnxEmbedder, OnnxOptions
    from surefind.adapters.onnx.hub import Hub, locate
    from surefind.adapters.onnx.recommended import facts_of
    from surefind.errors import InputError

    model = settings.embed_model
    if model is None:
        raise InputError(
            "embedder is onnx, but embed_model is not set; set it to a folder, or to an id such as "
            "intfloat/multilingual-e5-small (`surefind model list` recommends some)"
        )
    hub = Hub(settings.cache_dir, notify, settings.hub_url)
    facts = facts_of(model)
    options = OnnxOptions(
        settings.embed_file,
        settings.embed_pooling or (facts.pooling if facts else None),
        settings.embed_dimensions,
        settings.embed_max_tokens,
        settings.embed_passage_prefix,
        settings.embed_query_prefix,
        settings.embedder_device,
    )
    path = locate(model, settings.embed_file, hub, SETTING)
    return OnnxEmbedder(path, options, notify, facts.prompts if facts else None, settings.threads)


def _cohere_embedder(settings: Settings, notify: Notify) -> Embedder:
    key = _cohere_key(settings, "embedder")
    from surefind.adapters.embedders.cohere import cohere_embedder

    policy = _call_policy(settings, notify)
    return cohere_embedder(key, _model_options(settings), policy, settings.embed_url)


async def _openai_embedder(settings: Settings, notify: Notify) -> Embedder:
    from surefind.adapters.embedders.openai_compatible import Prefixes, openai_compatible_embedder
    from surefind.errors import InputError

    if settings.embed_url is None:
        raise InputError(
            "embedder is openai, but embed_url is not set; set it to the service's URL, such as "
            "http://localhost:11434/v1"
        )
    key = settings.openai_api_key
    return await openai_compatible_embedder(
        settings.embed_url,
        _model_options(settings),
        _call_policy(settings, notify),
        key.get_secret_value() if key else None,
        Prefixes(settings.embed_passage_prefix or "", settings.embed_query_prefix or ""),
    )


def reranker_of(settings: Settings, notify: Notify) -> Reranker | None:
    if settings.reranker == "none":
        return None
    if settings.reranker == "onnx":
        return _onnx_reranker(settings, notify)
    if settings.reranker == "http":
        return _http_reranker(settings, notify)
    if settings.reranker != "cohere":
        return installed_reranker(settings)
    key = _cohere_key(settings, "reranker")
    from surefind.adapters.embedders.cohere import CohereReranker
    from surefind.adapters.remote_calls import CallPolicy

    return CohereReranker(key, CallPolicy(notify), settings.rerank_model, settings.rerank_url)


def _onnx_reranker(settings: Settings, notify: Notify) -> Reranker:
    from surefind.adapters.onnx.hub import Hub, locate
    from surefind.adapters.onnx.reranker import SETTING, LazyReranker, OnnxReranker
    from surefind.errors import InputError, RerankingError

    model = settings.rerank_model
    if model is None:
        raise InputError(
            "reranker is onnx, but rerank_model is not set; set it to a folder, or to an id such "
            "as cross-encoder/ettin-reranker-32m-v1 (`surefind model list` recommends some)"
        )
    hub = Hub(settings.cache_dir, notify, settings.hub_url, RerankingError)

    def load() -> OnnxReranker:
        path = locate(model, settings.rerank_file, hub, SETTING)
        return OnnxReranker(path, settings.rerank_file, settings.threads)

    return LazyReranker(model, load)


def _http_reranker(settings: Settings, notify: Notify) -> Reranker:
    from surefind.adapters.embedders.json_service import BATCH_SIZE
    from surefind.adapters.embedders.rerank_service import ServiceReranker
    from surefind.adapters.remote_calls import CallPolicy
    from surefind.errors import InputError

    if settings.rerank_url is None:
        raise InputError(
            "reranker is http, but rerank_url is not set; set it to the service's URL, such as "
            "http://localhost:8080"
        )
    key = settings.rerank_api_key
    return ServiceReranker(
        settings.rerank_url,
        CallPolicy(notify),
        settings.rerank_model,
        key.get_secret_value() if key else None,
        raw=settings.rerank_raw_scores,
        batch_size=settings.rerank_batch or BATCH_SIZE,
    )


def _cohere_key(settings: Settings, part: str) -> str:
    """Raises InputError if the key or the optional package is missing."""
    from surefind.errors import InputError

    if settings.cohere_api_key is None:
        raise InputError(
            f"{part} is cohere, but COHERE_API_KEY is not set; set it in the environment or in .env"
        )
    if find_spec("cohere") is None:
        raise InputError(
            f"{part} is cohere, but its package is not installed; run "
            "pip install 'surefind[cohere]'"
        )
    return settings.cohere_api_key.get_secret_value()


def _model_options(settings: Settings) -> ModelOptions:
    from surefind.adapters.embedders.remote import ModelOptions

    return ModelOptions(
        settings.embed_model,
        settings.embed_dimensions,
        settings.embed_max_tokens,
        settings.embed_batch,
    )


def _call_policy(settings: Settings, notify: Notify) -> CallPolicy:
    from dataclasses import replace

    from surefind.adapters.remote_calls import PATIENT, CallPolicy

    concurrency = settings.embed_concurrency or PATIENT.concurrency
    return CallPolicy(notify, ingesting=replace(PATIENT, concurrency=concurrency))


def price_of_tokens(settings: Settings) -> float | None:
    """The price per million tokens; None if unknown."""
    if settings.embed_price_per_million_tokens is not None:
        return settings.embed_price_per_million_tokens
    if settings.embedder == "cohere":
        from surefind.adapters.embedders.cohere import price_of

        return price_of(settings.embed_model)
    if settings.embedder == "openai":
        from surefind.adapters.embedders.openai_compatible import price_of

        return price_of(settings.embed_model)
    return 0.0 if settings.embedder in {"local", "onnx"} else None
