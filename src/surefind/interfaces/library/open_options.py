"""The options of `surefind.open()`: every setting, and the caller's own models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from pydantic import SecretStr

    from surefind.model import Connection
    from surefind.ports import Embedder, Reranker
    from surefind.settings import Settings


class OpenOptions(TypedDict, total=False):
    """Every setting, by its name in `surefind.toml`; see docs/settings.md.

    `embedder` and `reranker` also accept objects.
    """

    data_dir: str | PathLike[str]
    cache_dir: str | PathLike[str]
    model_dir: str | PathLike[str] | None
    hub_url: str
    collection: str
    base_url: str | None
    url_style: Literal["bare", "directory", "html"] | None
    max_tokens: int
    overlap_tokens: int
    include: Sequence[str]
    exclude: Sequence[str]
    kind_weights: dict[str, float]
    notebook_outputs: bool
    openapi_anchors: Literal["redoc", "swagger-ui"]
    keep_generations: int
    gate: str | PathLike[str] | None
    gate_strict: bool
    threads: int | None
    embedder: str | Embedder
    embed_model: str | None
    embed_file: str | None
    embed_pooling: Literal["cls", "mean", "max", "last"] | None
    embed_url: str | None
    embed_dimensions: int | None
    embed_max_tokens: int | None
    embed_passage_prefix: str | None
    embed_query_prefix: str | None
    embed_batch: int | None
    embed_concurrency: int | None
    embedder_device: Literal["auto", "cpu", "cuda", "coreml", "directml"]
    embed_price_per_million_tokens: float | None
    reranker: str | Reranker
    rerank_model: str | None
    rerank_file: str | None
    rerank_url: str | None
    rerank_api_key: str | SecretStr | None
    rerank_raw_scores: bool
    rerank_depth: int
    rerank_batch: int | None
    rerank_budget_ms: int | None
    host: str
    port: int
    workers: Literal["auto"] | int
    allow_open: bool
    rate_limit_per_minute: int | None
    max_concurrency: int
    max_queue: int
    header_timeout_s: float
    body_timeout_s: float
    request_timeout_s: float
    shutdown_timeout_s: int
    trusted_proxies: Sequence[str]
    allowed_hosts: Sequence[str]
    cors_origins: Sequence[str]
    cors_origin_regex: str | None
    docs: bool | None
    strict_health: bool
    log_queries: bool
    query_log: bool
    query_log_days: int
    query_log_clients: bool
    connected: Sequence[Connection]
    qdrant_prefix: str
    qdrant_grpc_port: int | None
    qdrant_timeout_s: float
    qdrant_shards: int
    qdrant_replicas: int
    qdrant_write_consistency: int
    qdrant_read_consistency: Literal["majority", "quorum", "all"] | int | None
    qdrant_require_replicas: bool
    qdrant_on_disk: bool
    qdrant_quantization: Literal["none", "scalar", "binary"]
    qdrant_oversampling: float | None
    qdrant_indexing_timeout_s: float
    database_schema: str
    documents_table: str | None
    database_pool_size: int
    database_connect_timeout_s: float
    database_timeout_s: float
    stores: Literal["auto", "embedded"]
    qdrant_url: str | None
    qdrant_api_key: str | SecretStr | None
    cohere_api_key: str | SecretStr | None
    openai_api_key: str | SecretStr | None
    database_url: str | SecretStr | None


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The settings of an installation, and the caller's own models if there are any."""

    settings: Settings
    embedder: Embedder | None
    reranker: Reranker | None

    @classmethod
    def of(cls, options: OpenOptions) -> OpenRequest:
        """Parse the options; InputError if one is unknown or invalid."""
        from surefind.settings import load  # noqa: PLC0415 - importing surefind stays cheap

        settings: dict[str, Any] = dict(options)
        embedder, reranker = _object(settings, "embedder"), _object(settings, "reranker")
        return cls(load(**settings), embedder, reranker)


def _object(options: dict[str, Any], name: str) -> Any:
    """Remove an object from the options and return it; None for a provider's name."""
    return None if isinstance(options.get(name), str) else options.pop(name, None)
