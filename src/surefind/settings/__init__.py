"""Settings, in rising precedence: surefind.toml, SUREFIND_* (also in .env), arguments."""

import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from platformdirs import user_cache_path
from pydantic import (
    BeforeValidator,
    Field,
    SecretStr,
    SkipValidation,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from surefind.adapters.files.connection_table import TABLE, read_connection
from surefind.adapters.onnx.downloads import HUB
from surefind.adapters.processor import cores
from surefind.contracts.request import problem_of
from surefind.errors import InputError, without_passwords
from surefind.model import (
    DEFAULT_COLLECTION,
    ChunkerSettings,
    Connection,
    FormatOptions,
    UrlStyle,
    is_address,
)
from surefind.settings.providers import EMBEDDERS, RERANKERS
from surefind.settings.surroundings import (
    ADDRESS_OF_KUBERNETES,
    DOTENV,
    OTHERS,
    PREFIX,
    TOML,
    check_platform_port,
    ignored_in_dotenv,
    origin_of,
    own_name,
    place_of,
    read_dotenv,
    read_toml,
    with_port,
)

__all__ = [
    "DOTENV",
    "TOML",
    "Settings",
    "check_platform_port",
    "environment_names",
    "load",
    "notices_of",
    "origin_of",
]


class _Environment(EnvSettingsSource):
    """The environment, ignoring the address that Kubernetes sets as SUREFIND_PORT."""

    def __call__(self) -> dict[str, Any]:
        values = super().__call__()
        if ADDRESS_OF_KUBERNETES.match(str(values.get("port", ""))):
            del values["port"]
        return values


class _DotEnv(DotEnvSettingsSource):
    """The file .env, without addresses that are probably another program's."""

    def __call__(self) -> dict[str, Any]:
        ignored = ignored_in_dotenv()
        return {name: value for name, value in super().__call__().items() if name not in ignored}


class _OwnNames(InitSettingsSource):
    """SUREFIND_DATABASE_URL and the like, which win over names that other programs use too."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        aliases = (field.validation_alias for field in settings_cls.model_fields.values())
        found = {str(alias): own_name(str(alias)) for alias in aliases if alias}
        super().__init__(settings_cls, {name: value for name, value in found.items() if value})


def _listed(value: Any) -> Any:
    """Environment variables separate list items with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _connections(value: Any) -> Any:
    """Parse the tables [connected.NAME]."""
    if isinstance(value, Mapping):
        return tuple(read_connection(str(name), table) for name, table in value.items())
    if isinstance(value, str):
        raise ValueError(f"it must consist of tables [{TABLE}.NAME]")  # noqa: TRY004
    return tuple(value)


Connections = Annotated[
    tuple[Connection, ...], SkipValidation, NoDecode, BeforeValidator(_connections)
]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


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

    data_dir: Path = Field(
        Path(".surefind"), description="The folder for catalogs, indexes and caches"
    )
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("surefind"),
        description="The folder for downloaded models, shared by all projects of a user",
    )
    model_dir: Path | None = Field(
        None, description="A folder with the model files, to use instead of downloading them"
    )
    hub_url: str = Field(HUB, description="The Hugging Face hub, or a mirror of it")
    stores: Literal["auto", "embedded"] = Field(
        "auto",
        description="auto: the servers at QDRANT_URL and DATABASE_URL, as far as they are set; "
        "embedded: the data folder only",
    )
    collection: str = Field(DEFAULT_COLLECTION, description="The default collection")
    base_url: str | None = Field(None, description="The URL of the published documentation site")
    url_style: UrlStyle | None = Field(
        None, description="The addresses of pages: bare, directory or html; else as the site has it"
    )
    include: Names = Field((), description="Patterns of the only paths of folders to ingest")
    exclude: Names = Field((), description="Patterns of paths of folders that are not ingested")
    max_tokens: int = Field(400, ge=32, le=8192, description="Maximum passage length in tokens")
    overlap_tokens: int = Field(
        0, ge=0, description="Maximum overlap of consecutive passages, in tokens"
    )
    kind_weights: dict[str, float] = Field(
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
    gate: Path | None = Field(
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
    embedder: str = Field(
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
    embed_url: str | None = Field(None, description="The URL of the embedding service")
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
    embed_price_per_million_tokens: float | None = Field(
        None, ge=0, description="The price of embedding, for estimates and --max-cost"
    )
    reranker: str = Field(
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
    rerank_url: str | None = Field(None, description="The URL of the reranker")
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
    trusted_proxies: Names = Field(
        (), description="Addresses or networks whose X-Forwarded-For header is trusted"
    )
    allowed_hosts: Names = Field(
        (), description="Accepted host names, besides localhost and IP addresses"
    )
    cors_origins: Names = Field((), description="Origins that may call the API from a browser")
    cors_origin_regex: str | None = Field(
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

    qdrant_url: str | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    cohere_api_key: SecretStr | None = Field(None, validation_alias="COHERE_API_KEY")
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")

    @field_validator("data_dir", "cache_dir", "model_dir", "gate", mode="before")
    @classmethod
    def _is_a_path(cls, value: object) -> object:
        """Reject the empty path, which would mean the current folder."""
        if value == "":
            raise ValueError("it is empty; give a path, or remove the setting")
        if not isinstance(value, str | PathLike):
            return value
        try:
            return Path(value).expanduser()
        except RuntimeError as error:
            raise ValueError(f"{value}: {error}") from error

    @field_validator("embedder")
    @classmethod
    def _is_an_embedder(cls, value: str) -> str:
        return EMBEDDERS.check(value)

    @field_validator("reranker")
    @classmethod
    def _is_a_reranker(cls, value: str) -> str:
        return RERANKERS.check(value)

    @field_validator("base_url", "embed_url", "hub_url", "rerank_url", "qdrant_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value and not is_address(value):
            raise ValueError(
                "it must begin with http:// or https:// and a host name, such as "
                "https://host:6333; write / ? # @ : in a password as %2F %3F %23 %40 %3A"
            )
        return value

    @field_validator("base_url")
    @classmethod
    def _is_public(cls, value: str | None) -> str | None:
        if value is not None and without_passwords(value) != value:
            raise ValueError(
                "it must not contain a user name or password, because every link starts with it"
            )
        return value

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, without_passwords(value) if isinstance(value, str) else value

    def __hash__(self) -> int:
        return hash(repr(self))  # a dict such as kind_weights has no hash of its own

    @field_validator("kind_weights")
    @classmethod
    def _are_factors(cls, value: dict[str, float]) -> dict[str, float]:
        for kind, weight in value.items():
            if not 0 <= weight <= 2:
                raise ValueError(f"the factor of {kind} must be from 0 to 2, not {weight}")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            ip_network(name, strict=False)
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"[^/:\s*]+", name):
                raise ValueError("each must be a name like docs.example.com, without port and path")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"https?://[^/\s*]+", name):
                raise ValueError(
                    "each must be an origin like https://docs.example.com, without path"
                )
        return value

    @field_validator("cors_origin_regex")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"it is not a valid regular expression: {error}") from error
        return value

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
            _OwnNames(settings_cls),
            _Environment(settings_cls),
            _DotEnv(settings_cls),
            TomlConfigSettingsSource(settings_cls),
        )


def load(**given: Any) -> Settings:
    """Load the settings: `given`, then the environment, then the file; None means not given."""
    try:
        _check_names(given)
        return Settings(**with_port(given))
    except ValidationError as error:
        raise InputError(_explain(error, given)) from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be read: {error.strerror}") from error


def notices_of(settings: Settings) -> dict[str, str]:
    """What is set but has no effect, by the name of the variable, and how to change that."""
    notices = {
        name: f"{name} is set but not used; to use it, set SUREFIND_EMBEDDER=cohere or "
        "SUREFIND_RERANKER=cohere"
        for name in settings.idle_keys
    }
    if settings.stores != "embedded":
        for name, reason in ignored_in_dotenv().items():
            notices[name] = f"{name} in {DOTENV} is ignored: {reason}"
    return notices


def environment_names() -> set[str]:
    """The settings that the environment of this process has, which other processes may lack."""
    services = _names_of_services()
    return {
        name for name, value in os.environ.items() if value and (name in services or _is_own(name))
    }


def _names_of_services() -> set[str]:
    """QDRANT_URL and the like, without our prefix."""
    return {str(field.validation_alias) for field in Settings.model_fields.values()}


def _is_own(variable: str) -> bool:
    return variable.startswith(PREFIX) and not OTHERS.fullmatch(variable)


def _check_names(given: Iterable[str]) -> None:
    """Reject unknown names, and names that would have no effect."""
    services = _names_of_services()
    known = Settings.model_fields.keys()
    wrong = [(name, name) for name in given if name not in Settings.model_fields]
    wrong += [
        (name, f"{name} in {TOML}") for name in read_toml() if name not in {*known, *services}
    ]
    for variable in (*os.environ, *read_dotenv()):
        name = variable.removeprefix(PREFIX).lower()
        if _is_own(variable) and name not in known:
            wrong.append((name, variable))
    for name, spelled in wrong:
        hint = ""
        for near in get_close_matches(name, known, n=1):
            meant = f"{PREFIX}{near.upper()}" if spelled.startswith(PREFIX) else near
            hint = f"did you mean {meant}? "
        raise InputError(
            f"Unknown setting: {spelled}; {hint}`surefind settings` lists all settings"
        )


def _explain(error: ValidationError, given: Mapping[str, Any]) -> str:
    """Names the setting and where it is set, but not its value, which may be a secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    place = "" if given.get(name) is not None else place_of(str(first["loc"][0]))
    return f"the setting {name}: {problem_of(first)}{place and f'; it is set {place}'}"
