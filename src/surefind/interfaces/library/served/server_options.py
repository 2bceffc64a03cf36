"""How to reach a server: its address, the key, the collection and the limits, all checked."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlsplit

from surefind.errors import InputError

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

DEFAULT_TIMEOUT_S = 60.0
MAX_RETRIES = 10
_LOOPBACK = ("localhost", "127.", "::1")


class ClientOptions(TypedDict, total=False):
    """The options of `surefind.connect_to()`.

    `key` is an API key of the server. `collection` is searched unless a call names another one; by
    default the server decides. `timeout_s` limits each attempt, and `retries` the attempts after
    the first. `ca_file` holds the certificates to trust instead of the system's.
    """

    key: str | SecretStr | None
    collection: str | None
    timeout_s: float
    retries: int
    ca_file: str | PathLike[str] | None


@dataclass(frozen=True, slots=True)
class ServerOptions:
    url: str
    key: str | None = field(repr=False)
    collection: str | None
    timeout_s: float
    retries: int
    trust: ssl.SSLContext | bool

    @classmethod
    def of(cls, url: str, options: ClientOptions) -> ServerOptions:
        """Parse the options; InputError if one is invalid, TypeError if one is unknown."""
        for name in options:
            if name not in ClientOptions.__optional_keys__:
                raise TypeError(f"unknown option: {name}; see surefind.ClientOptions")
        address = _checked_url(url)
        key = _checked_key(options.get("key"))
        if key is not None and _is_in_clear(address):
            warnings.warn(f"the key is sent unencrypted to {address}; use https://", stacklevel=2)
        return cls(
            address,
            key,
            _checked_collection(options.get("collection")),
            _checked_timeout(options.get("timeout_s", DEFAULT_TIMEOUT_S)),
            _checked_retries(options.get("retries", 2)),
            _trust(options.get("ca_file")),
        )


def _checked_url(url: object) -> str:
    example = "such as https://search.example.com"
    if not isinstance(url, str):
        raise InputError(f"the server's address must be a string {example}, not {url!r}")
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is not the address of a server: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{url!r} is not the address of a server; give one {example}")
    if "@" in parts.netloc:
        raise InputError("the server's address contains a user name; pass the API key as key=")
    if parts.query or parts.fragment:
        raise InputError(f"{url!r} has a query or fragment; give only the address {example}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _checked_key(key: object) -> str | None:
    if key is None:
        return None
    text = str(getattr(key, "get_secret_value", lambda: key)())
    if not text.strip() or not (text.isascii() and text.isprintable()):
        raise InputError(
            "key is empty or has invalid characters; pass a key of `surefind keys create`"
        )
    return text.strip()


def _is_in_clear(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "http" and not str(parts.hostname).startswith(_LOOPBACK)


def _checked_collection(name: object) -> str | None:
    from surefind.model.strings import check_string  # noqa: PLC0415 - importing surefind stays cheap

    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"collection must be a name, not {name!r}")
    return check_string("collection", name, blank=False)


def _checked_timeout(seconds: object) -> float:
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not (math.isfinite(seconds) and seconds > 0)
    ):
        raise InputError(f"timeout_s must be a positive number of seconds, not {seconds!r}")
    return float(seconds)


def _checked_retries(retries: object) -> int:
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= MAX_RETRIES:
        raise InputError(f"retries must be a whole number from 0 to {MAX_RETRIES}, not {retries!r}")
    return retries


def _trust(ca_file: str | PathLike[str] | None) -> ssl.SSLContext | bool:
    import ssl  # noqa: PLC0415 - importing surefind stays cheap

    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=os.fspath(ca_file))
    except (OSError, TypeError) as error:
        raise InputError(f"ca_file: can't read certificates from {ca_file!r}: {error}") from None
