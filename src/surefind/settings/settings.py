"""The class that holds all settings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from surefind.adapters.onnx.downloads import HUB
from surefind.adapters.processor import cores
from surefind.errors import without_passwords
from surefind.model import DEFAULT_COLLECTION, ChunkerSettings, FormatOptions, UrlStyle
from surefind.settings.sources import DotEnv, Environment, OwnNames
from surefind.settings.surroundings import DOTENV, PREFIX, TOML
from surefind.settings.values import (
    Connections,
    EmbedderName,
    Factors,
    FilePath,
    HostNames,
    Names,
    Networks,
    Origins,
    Pattern,
    PublicUrl,
    RerankerName,
    Url,
)


class Settings(BaseSettings):
    """All settings. Secrets never appear in a repr, a log or an error."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=DOTENV,
        toml_file=TOML,
        frozen=True,
        extra="ignore",  # a .env file has other programs' names too; `load` rejects misspelt ones
        hide_input_in_errors=True,
        env_file_encoding="utf-8-sig",
        env_ignore_empty=True,
        validate_by_name=True,  # Python code passes cohere_api_key
        validate_by_alias=True,
    )

    data_dir: FilePath = Field(
        Path(".surefind"), description="The folder for catalogs, indexes and caches"
    )
    cache_dir: FilePath = Field(
        default_factory=lambda: user_cache_path("surefind"),
        description="The folder for downloaded models, shared by all projects of a user",
    )
    model_dir: FilePath | None = Field(
        None, description="A folder with the model files, to use instead of downloading them"
    )
    hub_url: Url = Field(HUB, description="The Hugging Face hub, or a mirror of it")
    stores: Literal["auto", "embedded"] = Field(
        "auto",
        description="auto: the servers at QDRANT_URL and DATABASE_URL, as far as they are set; "
        "embedded: the data folder only",
    )
    collection: str = Field(DEFAULT_COLLECTION, description="The default collection")
    base_url: PublicUrl | None = Field(
        None, description="The URL of the published documentation site"
    )
    url_style: UrlStyle | None = Field(
        None, description="The addresses of pages: bare, directory or html; else as the site has it"
    )
    include: Names = Field((), description="Patterns of the only paths of folders to ingest")
    exclude: Names = Field((), description="Patterns of paths of folders that are not ingested")
    max_tokens: int = Field(400, ge=32, le=8192, description="Maximum passage length in tokens")
    overlap_tokens: int = Field(
        0, ge=0, description="Maximum overlap of consecutive passages, in tokens"
    )
    kind_weights: Factors = Field(
        default_factory=dict,
        description="Factors for the hybrid scores of kinds of pages, such as blog; 0 excludes one",
    )
    notebook_outputs: bool = Field(
        default=False, description="Also read the text outputs of Jupyter notebooks"
    )
    openapi_anchors: Literal["redoc", "swagger-ui"] = Field(
        "redoc", description="The tool that publishes OpenAPI documents, for links to operations"
    )
    keep_generations: int = Field(5, ge=1, description="Number of generations to keep")
    gate: FilePath | None = Field(
        None, description="Golden tests that a new generation must pass before it is published"
    )
    gate_strict: bool = Field(
        default=False, description="Also hold back a generation when the gate is inconclusive"
    )
    threads: int | None = Field(
        None,
        ge=1,
        description="Number of embedding threads; by default the number of cores plus one",
    )
    embedder: EmbedderName = Field(
        "local",
        description="The embedder: local, onnx (any model on this machine), cohere, openai (any "
        "compatible service), or the name that an installed package provides",
    )
    embed_model: str | None = Field(
        None,
        description="The model of the embedding service; for onnx a folder, or an id on the hub",
    )
    embed_file: str | None = Field(
        None, description="The ONNX file of an onnx embedder, such as onnx/model_quantized.onnx"
    )
    embed_pooling: Literal["cls", "mean", "max", "last"] | None = Field(
        None, description="How an onnx embedder pools token vectors, if its files do not say it"
    )
    embed_url: Url | None = Field(None, description="The URL of the embedding service")
    embed_dimensions: int | None = Field(
        None,
        ge=1,
        le=16384,
        description="The dimensions of the model's vectors, if surefind does not know them",
    )
    embed_max_tokens: int | None = Field(
        None, ge=32, description="The model's token limit, if surefind does not know it"
    )
    embed_passage_prefix: str | None = Field(
        None, description="Text to put before every passage that is embedded"
    )
    embed_query_prefix: str | None = Field(
        None, description="Text to put before every query that is embedded"
    )
    embed_batch: int | None = Field(
        None, ge=1, le=2048, description="Texts per call of the embedding service"
    )
    embed_concurrency: int | None = Field(
        None, ge=1, le=256, description="Concurrent calls of the embedding service in an ingest"
    )
    embedder_device: Literal["auto", "cpu", "cuda", "coreml", "directml"] = Field(
        "cpu", description="The device that runs a local or onnx embedder; auto: the fastest"
    )
    embed_price_per_million_tokens: float | None = Field(
        None, ge=0, description="The price of embedding, for estimates and --max-cost"
    )
    reranker: RerankerName = Field(
        "none",
        description="The reranker that searches can ask for: none, onnx (a model on this "
        "machine), http (a /rerank service), cohere, or the name that an installed package "
        "provides",
    )
    rerank_model: str | None = Field(
        None, description="The model of the reranker; for onnx a folder, or an id on the hub"
    )
    rerank_file: str | None = Field(
        None, description="The ONNX file of an onnx reranker, such as onnx/model_quantized.onnx"
    )
    rerank_url: Url | None = Field(None, description="The URL of the reranker")
    rerank_api_key: SecretStr | None = Field(
        None, description="The API key of an http reranker, if it needs one"
    )
    rerank_raw_scores: bool = Field(
        default=False, description="The scores of an http reranker are logits, not in 0..1"
    )
    rerank_depth: int = Field(
        50, ge=1, le=1000, description="Number of candidates that are reranked"
    )
    rerank_batch: int | None = Field(
        None, ge=1, le=1000, description="Candidates per call of the reranker"
    )
    rerank_budget_ms: int | None = Field(
        None, ge=1, description="Milliseconds for reranking; then the other candidates keep theirs"
    )
    host: str = Field("127.0.0.1", description="The address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="The port to listen on; 0 picks a free one")
    workers: Literal["auto"] | Annotated[int, Field(ge=1, le=256)] = Field(
        1, description="Number of processes that answer requests; auto: one per core"
    )
    allow_open: bool = Field(
        default=False, description="Serve other machines even if no API keys exist"
    )
    rate_limit_per_minute: int | None = Field(
        None, ge=1, description="Requests per minute for each key, or each address without a key"
    )
    max_concurrency: int = Field(32, ge=1, description="Maximum number of concurrent searches")
    max_queue: int = Field(256, ge=0, description="Maximum number of queued searches")
    header_timeout_s: float = Field(
        10, gt=0, description="Seconds to wait for the headers of a request"
    )
    body_timeout_s: float = Field(10, gt=0, description="Seconds to wait for the body of a request")
    request_timeout_s: float = Field(30, gt=0, description="Seconds that a request may take")
    shutdown_timeout_s: int = Field(
        10, ge=1, description="Seconds to let running requests finish when the server stops"
    )
    trusted_proxies: Networks = Field(
        (), description="Addresses or networks whose X-Forwarded-For header is trusted"
    )
    allowed_hosts: HostNames = Field(
        (), description="Accepted host names, besides localhost and IP addresses"
    )
    cors_origins: Origins = Field((), description="Origins that may call the API from a browser")
    cors_origin_regex: Pattern | None = Field(
        None, description="A regular expression for origins that may call the API from a browser"
    )
    docs: bool | None = Field(None, description="Serve /docs; by default to this machine only")
    strict_health: bool = Field(
        default=False, description="Let /health return 503 when degraded, not only when down"
    )
    log_queries: bool = Field(default=False, description="Include query texts in the log")
    query_log: bool = Field(
        default=False, description="Keep the queries of the server in the data folder, for gaps"
    )
    query_log_days: int = Field(
        30, ge=1, le=3650, description="Days after which a query is removed from the query log"
    )
    query_log_clients: bool = Field(
        default=False, description="Keep a hash of each query's client in the query log"
    )
    connected: Connections = Field(
        (), description="Connected collections; `surefind connect` writes them"
    )

    qdrant_prefix: str = Field(
        "",
        pattern=r"^[A-Za-z0-9_-]{0,100}$",
        description="A prefix for the collection names in a Qdrant server",
    )
    qdrant_grpc_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="The gRPC port of the Qdrant server; setting it enables gRPC",
    )
    qdrant_timeout_s: float = Field(
        10, gt=0, description="Seconds to wait for a search of the Qdrant server"
    )
    qdrant_shards: int = Field(
        1, ge=1, le=1024, description="Shards per collection of the Qdrant server"
    )
    qdrant_replicas: int = Field(
        1, ge=1, le=64, description="Replicas of each shard of the Qdrant server"
    )
    qdrant_write_consistency: int = Field(
        1, ge=1, le=64, description="Replicas that must confirm a write"
    )
    qdrant_read_consistency: (
        Literal["majority", "quorum", "all"] | Annotated[int, Field(ge=1, le=64)] | None
    ) = Field(None, description="Replicas that must agree on what a search finds")
    qdrant_require_replicas: bool = Field(
        default=False, description="Publish only if every shard has all of its replicas"
    )
    qdrant_on_disk: bool = Field(
        default=False, description="Keep vectors of the Qdrant server on disk"
    )
    qdrant_quantization: Literal["none", "scalar", "binary"] = Field(
        "none", description="How the Qdrant server quantizes vectors"
    )
    qdrant_oversampling: float | None = Field(
        None,
        ge=1,
        le=100,
        description="Factor by which a search of quantized vectors fetches more candidates",
    )
    qdrant_indexing_timeout_s: float = Field(
        3600, gt=0, description="Seconds to wait for the Qdrant server to index a generation"
    )
    database_schema: str = Field(
        "surefind",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The schema of the catalog's tables, if DATABASE_URL is set",
    )
    documents_table: str | None = Field(
        None,
        description="A table in the format of the retrieval API's contract, to read the "
        "collection's metadata from",
    )
    database_pool_size: int = Field(
        10, ge=1, le=1000, description="Maximum number of open database connections"
    )
    database_connect_timeout_s: float = Field(
        5, gt=0, description="Seconds to wait for a new database connection"
    )
    database_timeout_s: float = Field(
        5, gt=0, description="Seconds to wait for the database, or for a free connection to it"
    )

    qdrant_url: Url | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    cohere_api_key: SecretStr | None = Field(None, validation_alias="COHERE_API_KEY")
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, without_passwords(value) if isinstance(value, str) else value

    def __hash__(self) -> int:
        return hash(repr(self))  # a dict such as kind_weights has no hash of its own

    @field_validator("overlap_tokens")
    @classmethod
    def _is_at_most_half(cls, value: int, others: ValidationInfo) -> int:
        longest = others.data.get("max_tokens", value * 2)
        if value > longest // 2:
            raise ValueError(f"it must be at most half of max_tokens, {longest // 2}")
        return value

    @property
    def chunker(self) -> ChunkerSettings:
        return ChunkerSettings(max_tokens=self.max_tokens, overlap_tokens=self.overlap_tokens)

    @property
    def worker_count(self) -> int:
        return cores() if self.workers == "auto" else self.workers

    def for_worker(self) -> Self:
        """The settings of one of the workers, which share the processor's cores."""
        threads = -(-(self.threads or cores() + 1) // self.worker_count)
        return self.model_copy(update={"threads": threads})

    @property
    def formats(self) -> FormatOptions:
        return FormatOptions(self.notebook_outputs, self.openapi_anchors)

    @property
    def index_url(self) -> str | None:
        """The Qdrant server with the indexes of surefind's own collections."""
        return None if self.stores == "embedded" else self.qdrant_url

    @property
    def catalog_url(self) -> SecretStr | None:
        """The database with the catalog of surefind's own collections."""
        return None if self.stores == "embedded" else self.database_url

    @property
    def idle_keys(self) -> list[str]:
        """API keys that are set but not needed by the chosen embedder or reranker."""
        idle = []
        if self.cohere_api_key and "cohere" not in {self.embedder, self.reranker}:
            idle.append("COHERE_API_KEY")
        return idle

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (
            init_settings,
            OwnNames(settings_cls),
            Environment(settings_cls),
            DotEnv(settings_cls),
            TomlConfigSettingsSource(settings_cls),
        )
