"""Settings: surefind.toml, then SUREFIND_* (also from .env), then what the caller gives."""

import os
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_network
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

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
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from surefind.adapters.files.connection_table import TABLE, read_connection
from surefind.errors import InputError, without_passwords
from surefind.model import DEFAULT_COLLECTION, ChunkerSettings, Connection, is_address
from surefind.settings.surroundings import (
    ADDRESS_OF_KUBERNETES,
    DOTENV,
    OTHERS,
    PREFIX,
    TOML,
    check_platform_port,
    read_dotenv,
    read_toml,
    with_port,
)

__all__ = ["TOML", "Settings", "check_platform_port", "load"]


class _Environment(EnvSettingsSource):
    """The environment, without the address that Kubernetes leaves under the name of our port."""

    def __call__(self) -> dict[str, Any]:
        values = super().__call__()
        if ADDRESS_OF_KUBERNETES.match(str(values.get("port", ""))):
            del values["port"]
        return values


def _listed(value: Any) -> Any:
    """In the environment a list is written with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _connections(value: Any) -> Any:
    """From the tables [connected.NAME]."""
    if isinstance(value, Mapping):
        return tuple(read_connection(str(name), table) for name, table in value.items())
    if isinstance(value, str):
        raise ValueError(f"it is written as tables, [{TABLE}.NAME]")  # noqa: TRY004
    return tuple(value)


Connections = Annotated[
    tuple[Connection, ...], SkipValidation, NoDecode, BeforeValidator(_connections)
]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class Settings(BaseSettings):
    """Everything that can be set. Secrets never appear in a repr, a log or an error."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=DOTENV,
        toml_file=TOML,
        frozen=True,
        extra="ignore",  # a .env holds other programs' names too; `load` refuses misspelt ones
        hide_input_in_errors=True,
        env_file_encoding="utf-8-sig",
        env_ignore_empty=True,
        validate_by_name=True,  # in code, a key is given as cohere_api_key
        validate_by_alias=True,
    )

    data_dir: Path = Field(Path(".surefind"), description="Where everything embedded is stored")
    cache_dir: Path = Field(
        default_factory=lambda: user_cache_path("surefind"),
        description="Where the embedding model is kept, shared by all projects of a user",
    )
    model_dir: Path | None = Field(
        None, description="A folder with the model's files, instead of fetching them"
    )
    collection: str = Field(DEFAULT_COLLECTION, description="The collection to work on")
    base_url: str | None = Field(
        None, description="The address of the site that the documentation is published on"
    )
    max_tokens: int = Field(400, ge=32, le=8192, description="The longest passage, in tokens")
    overlap_tokens: int = Field(
        0, ge=0, description="How many tokens of a passage the next one may repeat"
    )
    kind_weights: dict[str, Annotated[float, Field(ge=0, le=2)]] = Field(
        default_factory=dict,
        description="Factors for the hybrid scores of kinds of pages, such as blog; 0 excludes one",
    )
    keep_generations: int = Field(5, ge=1, description="How many generations to keep")
    gate: Path | None = Field(
        None, description="Golden tests that every new generation must pass to be published"
    )
    gate_strict: bool = Field(
        default=False, description="Whether the gate also holds back what it can't decide"
    )
    threads: int | None = Field(
        None, ge=1, description="How many threads embed; by default one more than cores"
    )
    embedder: Literal["local", "cohere", "openai"] = Field(
        "local", description="Who embeds: this machine, Cohere, or a service that speaks as OpenAI"
    )
    embed_model: str | None = Field(None, description="The embedding service's model")
    embed_url: str | None = Field(None, description="The address of the embedding service")
    embed_dimensions: int | None = Field(
        None, ge=1, le=16384, description="The size of the model's vectors, where it is not known"
    )
    embed_max_tokens: int | None = Field(
        None, ge=32, description="How many tokens the model reads, where it is not known"
    )
    embed_passage_prefix: str = Field(
        "", description="What the model is to read before every passage"
    )
    embed_query_prefix: str = Field("", description="What the model is to read before every query")
    embed_price_per_million_tokens: float | None = Field(
        None, ge=0, description="What embedding costs, for estimates and --max-cost"
    )
    reranker: Literal["none", "cohere"] = Field(
        "none", description="Who has the last word on the order of passages, where asked to"
    )
    rerank_model: str | None = Field(None, description="The reranker's model")
    rerank_url: str | None = Field(None, description="The address of the reranker")
    host: str = Field("127.0.0.1", description="The address to serve on")
    port: int = Field(8000, ge=0, le=65535, description="The port to serve on; 0 takes a free one")
    allow_open: bool = Field(
        default=False, description="Whether other machines may be served without any keys"
    )
    rate_limit_per_minute: int | None = Field(
        None, ge=1, description="How often a key, or an address without one, may ask"
    )
    max_concurrency: int = Field(32, ge=1, description="How many searches may run at once")
    max_queue: int = Field(256, ge=0, description="How many searches may wait for their turn")
    header_timeout_s: float = Field(10, gt=0, description="How long a request's head may take")
    body_timeout_s: float = Field(10, gt=0, description="How long a request's body may take")
    request_timeout_s: float = Field(30, gt=0, description="How long an answer may take")
    shutdown_timeout_s: int = Field(
        10, ge=1, description="How long requests under way may take when the server is stopped"
    )
    trusted_proxies: Names = Field(
        (), description="Addresses or networks whose X-Forwarded-For is believed"
    )
    allowed_hosts: Names = Field(
        (), description="Names that the server answers to, beside localhost and bare addresses"
    )
    cors_origins: Names = Field((), description="Sites whose pages may call the API")
    cors_origin_regex: str | None = Field(
        None, description="A regular expression of sites whose pages may call the API"
    )
    docs: bool | None = Field(
        None, description="Whether /docs is served; by default to this machine only"
    )
    strict_health: bool = Field(
        default=False, description="Whether /health answers 503 when degraded, not only when down"
    )
    log_queries: bool = Field(default=False, description="Whether the log tells what was asked")
    connected: Connections = Field(
        (), description="Collections that something else filled; `surefind connect` writes them"
    )

    qdrant_prefix: str = Field(
        "",
        pattern=r"^[A-Za-z0-9_-]{0,100}$",
        description="What the names of collections in a Qdrant server begin with",
    )
    qdrant_grpc_port: int | None = Field(
        None, ge=1, le=65535, description="The Qdrant server's port for gRPC, to speak it"
    )
    qdrant_timeout_s: float = Field(
        10, gt=0, description="How long the Qdrant server may take to answer a search"
    )
    qdrant_shards: int = Field(
        1, ge=1, le=1024, description="How many shards a collection of the Qdrant server has"
    )
    qdrant_replicas: int = Field(
        1, ge=1, le=64, description="How many nodes of the Qdrant server hold each shard"
    )
    qdrant_write_consistency: int = Field(
        1, ge=1, le=64, description="How many replicas must have taken a write"
    )
    qdrant_on_disk: bool = Field(
        default=False, description="Whether the Qdrant server leaves vectors on disk"
    )
    qdrant_quantization: Literal["none", "scalar", "binary"] = Field(
        "none", description="How the Qdrant server makes vectors smaller for searching"
    )
    qdrant_oversampling: float | None = Field(
        None, ge=1, le=100, description="How many times as many candidates small vectors give"
    )
    qdrant_indexing_timeout_s: float = Field(
        3600, gt=0, description="How long the Qdrant server may take to index a generation"
    )
    database_schema: str = Field(
        "surefind",
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="The schema of the catalog's tables, where DATABASE_URL is set",
    )
    documents_table: str | None = Field(
        None,
        description="A table made as the retrieval API's contract says, to take the collection's "
        "metadata from",
    )
    database_pool_size: int = Field(
        10, ge=1, le=1000, description="How many connections to the database may be open at once"
    )
    database_connect_timeout_s: float = Field(
        5, gt=0, description="How long connecting to the database may take"
    )
    database_timeout_s: float = Field(
        5, gt=0, description="How long the database may take to answer, or to be free"
    )

    qdrant_url: str | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    cohere_api_key: SecretStr | None = Field(None, validation_alias="COHERE_API_KEY")
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")

    @field_validator("data_dir", "cache_dir", "model_dir", "gate", mode="before")
    @classmethod
    def _is_a_path(cls, value: object) -> object:
        """The empty path would be the folder one happens to be in."""
        if value == "":
            raise ValueError("it is empty; name a path, or leave it out")
        if not isinstance(value, str | PathLike):
            return value
        try:
            return Path(value).expanduser()
        except RuntimeError as error:
            raise ValueError(f"{value}: {error}") from error

    @field_validator("base_url", "embed_url", "rerank_url", "qdrant_url")
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
            raise ValueError("it must hold no user name or password: every link begins with it")
        return value

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, without_passwords(value) if isinstance(value, str) else value

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
                raise ValueError("each must be a name like docs.example.com, no port and no path")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"https?://[^/\s*]+", name):
                raise ValueError("each must be an origin like https://docs.example.com, no path")
        return value

    @field_validator("cors_origin_regex")
    @classmethod
    def _is_a_pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"it is no regular expression: {error}") from error
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
    def idle_keys(self) -> list[str]:
        """Keys that are there, though nothing that needs them was chosen."""
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
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (
            init_settings,
            _Environment(settings_cls),
            dotenv_settings,
            TomlConfigSettingsSource(settings_cls),
        )


def load(**given: Any) -> Settings:
    """`given` wins over the environment, which wins over the file; None means not given."""
    try:
        _check_names(given)
        return Settings(**with_port(given))
    except ValidationError as error:
        raise InputError(_explain(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be read: {error.strerror}") from error


def _check_names(given: Iterable[str]) -> None:
    """A misspelt name is an error, not silence, and so is one that would have no effect."""
    services = {
        name: str(field.validation_alias)
        for name, field in Settings.model_fields.items()
        if field.validation_alias
    }
    known = Settings.model_fields.keys() - services.keys()
    wrong = [(name, name) for name in given if name not in Settings.model_fields]
    wrong += [
        (name, f"{name} in {TOML}")
        for name in read_toml()
        if name not in {*known, *services.values()}
    ]
    for variable in (*os.environ, *read_dotenv()):
        name = variable.removeprefix(PREFIX).lower()
        ours = variable.startswith(PREFIX) and not OTHERS.fullmatch(variable)
        if ours and name not in known:
            wrong.append((name, variable))
    for name, spelled in wrong:
        meant = f"the name is {services[name]}, " if name in services else ""
        raise InputError(
            f"{spelled} is no setting of surefind; {meant}`surefind settings` lists them all"
        )


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    return f"the setting {name}: {first['msg'].removeprefix('Value error, ')}"
