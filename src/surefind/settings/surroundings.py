"""Reads the surroundings of a process: the environment, `.env`, `surefind.toml` and PORT."""

import os
import re
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from surefind.errors import InputError

TOML = Path("surefind.toml")
DOTENV = Path(".env")
PREFIX = "SUREFIND_"
_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)


# Kubernetes sets variables with our prefix for a Service named `surefind`, in every container.
# Developers use the prefix too, to locate the corpora and services for tests.
OTHERS = re.compile(
    r"SUREFIND_SERVICE_(?:HOST|PORT(?:_\w+)?)"
    r"|SUREFIND_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?"
    r"|SUREFIND_DATA|SUREFIND_TEST_\w+"
)
ADDRESS_OF_KUBERNETES = re.compile(r"(?:tcp|udp|sctp)://", re.IGNORECASE)


def check_platform_port(given: int | None) -> None:
    """Raise InputError if PORT applies and is invalid. Only servers need this check."""
    port = None if given is not None or _names_port() else os.environ.get("PORT")
    if port and not _is_port(port):
        raise InputError(
            "the environment variable PORT must be 0 to 65535; correct it, or pass --port"
        )


def with_port(given: Mapping[str, Any]) -> dict[str, Any]:
    """Add PORT, set by container platforms. It ranks below SUREFIND_PORT and above the file."""
    settings = {name: value for name, value in given.items() if value is not None}
    port = os.environ.get("PORT", "")
    if "port" not in settings and not _names_port() and _is_port(port):
        settings["port"] = port
    return settings


def _names_port() -> bool:
    here = os.environ.get("SUREFIND_PORT", "")
    ours = here and not ADDRESS_OF_KUBERNETES.match(here)
    return bool(ours or read_dotenv().get("SUREFIND_PORT"))


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= 65535


def read_dotenv() -> Mapping[str, str | None]:
    if not DOTENV.exists():
        return {}
    try:
        return dotenv_values(DOTENV, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(_not_utf_8(DOTENV, error)) from error


def ignored_in_dotenv() -> dict[str, str]:
    """The addresses in .env that surefind can't use, each with the reason.

    They are probably another program's: a team's application often has a DATABASE_URL.
    """
    found, reasons = read_dotenv(), dict[str, str]()
    if found.get("QDRANT_URL") and find_spec("qdrant_client") is None:
        reasons["QDRANT_URL"] = (
            "Qdrant's client is not installed; to keep the index there, run "
            "pip install 'surefind[qdrant]'"
        )
    database = found.get("DATABASE_URL") or ""
    if "://" in database and not _POSTGRES.match(database.strip()):
        reasons["DATABASE_URL"] = "it is not the address of a PostgreSQL database"
    elif database and find_spec("psycopg") is None:
        reasons["DATABASE_URL"] = (
            "the PostgreSQL driver is not installed; to keep the catalog there, run "
            "pip install 'surefind[postgres]'"
        )
    return {name: reason for name, reason in reasons.items() if not _overridden(name)}


def _overridden(name: str) -> bool:
    """Whether another source, which ranks higher, sets it too."""
    return bool(os.environ.get(name) or own_name(name))


def own_name(name: str) -> str | None:
    """The value of SUREFIND_QDRANT_URL and the like, which no other program uses."""
    ours = PREFIX + name
    return os.environ.get(ours) or read_dotenv().get(ours)


def origin_of(name: str) -> str:
    """The variable that sets an address or a key, and its file; empty if Python code does."""
    if own_name(name):
        return PREFIX + name
    if os.environ.get(name):
        return name
    if read_dotenv().get(name):
        return f"{name} in {DOTENV}"
    return f"{name} in {TOML}" if {name, name.lower()} & read_toml().keys() else ""


def place_of(setting: str) -> str:
    """Where a setting without a name of its own is set: `by SUREFIND_PORT in .env`."""
    variable = PREFIX + setting.upper()
    if os.environ.get(variable):
        return f"by {variable}"
    if read_dotenv().get(variable):
        return f"by {variable} in {DOTENV}"
    return f"in {TOML}" if setting in read_toml() else ""


def read_toml() -> Mapping[str, Any]:
    if not TOML.exists():
        return {}
    try:
        return tomllib.loads(TOML.read_bytes().decode())
    except UnicodeDecodeError as error:
        raise InputError(_not_utf_8(TOML, error)) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{TOML} is not valid TOML: {error}") from error


def _not_utf_8(path: Path, error: UnicodeDecodeError) -> str:
    return f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8"
