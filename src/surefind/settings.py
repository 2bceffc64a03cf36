"""Settings: surefind.toml, then SUREFIND_* (also from .env), then what the caller gives."""

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from surefind.errors import InputError
from surefind.model import DEFAULT_COLLECTION, ChunkerSettings

TOML = Path("surefind.toml")
DOTENV = Path(".env")
_PREFIX = "SUREFIND_"


class Settings(BaseSettings):
    """Everything that can be set. Secrets never appear in a repr, a log or an error."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_file=DOTENV,
        toml_file=TOML,
        frozen=True,
        extra="ignore",  # a .env holds other programs' names too; `load` refuses misspelt ones
        hide_input_in_errors=True,
        env_ignore_empty=True,
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
    keep_generations: int = Field(5, ge=1, description="How many generations to keep")
    threads: int | None = Field(
        None, ge=1, description="How many threads embed; by default one per core"
    )
    host: str = Field("127.0.0.1", description="The address to serve on")
    port: int = Field(8000, ge=0, le=65535, description="The port to serve on; 0 takes a free one")

    qdrant_url: str | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    cohere_api_key: SecretStr | None = Field(None, validation_alias="COHERE_API_KEY")
    database_url: SecretStr | None = Field(None, validation_alias="DATABASE_URL")

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("it must begin with http:// or https://")
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
    def unused_services(self) -> list[str]:
        """Services that are configured, but that this version does not use yet."""
        names = {
            "QDRANT_URL": self.qdrant_url,
            "COHERE_API_KEY": self.cohere_api_key,
            "DATABASE_URL": self.database_url,
        }
        return [name for name, value in names.items() if value is not None]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library's signature
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (
            init_settings,
            env_settings,
            dotenv_settings,
            TomlConfigSettingsSource(settings_cls),
        )


def load(**given: Any) -> Settings:
    """`given` wins over the environment, which wins over the file; None means not given."""
    try:
        _check_names(given)
        return Settings(**_with_port(given))
    except ValidationError as error:
        raise InputError(_explain(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{TOML} is not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(f"{error.filename} can't be read: {error.strerror}") from error


def _with_port(given: Mapping[str, Any]) -> dict[str, Any]:
    """PORT is what container platforms set; ours is more explicit, the file is less."""
    wanted = {name: value for name, value in given.items() if value is not None}
    named = "port" in wanted or "SUREFIND_PORT" in (*os.environ, *_dotenv())
    if not named and os.environ.get("PORT"):
        wanted["port"] = os.environ["PORT"]
    return wanted


def _dotenv() -> Mapping[str, str | None]:
    return dotenv_values(DOTENV) if DOTENV.exists() else {}


def _check_names(given: Iterable[str]) -> None:
    """A misspelt name is an error, not silence."""
    known = set(Settings.model_fields)
    wrong = [name for name in given if name not in known]
    if TOML.exists():
        services = {field.validation_alias for field in Settings.model_fields.values()}
        written = tomllib.loads(TOML.read_text()).keys()
        wrong += [f"{name} in {TOML}" for name in written if name not in known | services]
    for name in (*os.environ, *_dotenv()):
        ours = name.startswith(_PREFIX) and not name.startswith("SUREFIND_TEST_")
        if ours and name != "SUREFIND_DATA" and name.removeprefix(_PREFIX).lower() not in known:
            wrong.append(name)
    if wrong:
        raise InputError(
            f"{wrong[0]} is no setting of surefind; `surefind settings` lists them all"
        )


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    return f"the setting {name}: {first['msg'].removeprefix('Value error, ')}"
