"""The types of settings, each with the check of its values."""

import re
from collections.abc import Mapping
from ipaddress import ip_network
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, SkipValidation
from pydantic_settings import NoDecode

from surefind.adapters.files.connection_table import TABLE, read_connection
from surefind.errors import without_passwords
from surefind.model import Connection, is_address
from surefind.settings.providers import EMBEDDERS, RERANKERS


def _path(value: object) -> object:
    """Reject the empty path, which would mean the current folder."""
    if value == "":
        raise ValueError("it is empty; give a path, or remove the setting")
    if not isinstance(value, str | PathLike):
        return value
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{value}: {error}") from error


def _url(value: str) -> str:
    if value and not is_address(value):
        raise ValueError(
            "it must begin with http:// or https:// and a host name, such as "
            "https://host:6333; write / ? # @ : in a password as %2F %3F %23 %40 %3A"
        )
    return value


def _public(value: str) -> str:
    if without_passwords(value) != value:
        raise ValueError(
            "it must not contain a user name or password, because every link starts with it"
        )
    return value


def _listed(value: Any) -> Any:
    """Environment variables separate list items with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        ip_network(name, strict=False)
    return value


def _host_names(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not re.fullmatch(r"[^/:\s*]+", name):
            raise ValueError("each must be a name like docs.example.com, without port and path")
    return value


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not re.fullmatch(r"https?://[^/\s*]+", name):
            raise ValueError("each must be an origin like https://docs.example.com, without path")
    return value


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"it is not a valid regular expression: {error}") from error
    return value


def _factors(value: dict[str, float]) -> dict[str, float]:
    for kind, weight in value.items():
        if not 0 <= weight <= 2:
            raise ValueError(f"the factor of {kind} must be from 0 to 2, not {weight}")
    return value


def _connections(value: Any) -> Any:
    """Parse the tables [connected.NAME]."""
    if isinstance(value, Mapping):
        return tuple(read_connection(str(name), table) for name, table in value.items())
    if isinstance(value, str):
        raise ValueError(f"it must consist of tables [{TABLE}.NAME]")  # noqa: TRY004
    return tuple(value)


FilePath = Annotated[Path, BeforeValidator(_path)]
Url = Annotated[str, AfterValidator(_url)]
PublicUrl = Annotated[Url, AfterValidator(_public)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Factors = Annotated[dict[str, float], AfterValidator(_factors)]
EmbedderName = Annotated[str, AfterValidator(EMBEDDERS.check)]
RerankerName = Annotated[str, AfterValidator(RERANKERS.check)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Networks = Annotated[Names, AfterValidator(_networks)]
HostNames = Annotated[Names, AfterValidator(_host_names)]
Origins = Annotated[Names, AfterValidator(_origins)]
Connections = Annotated[
    tuple[Connection, ...], SkipValidation, NoDecode, BeforeValidator(_connections)
]
