"""What the published shapes demand of single values: each check returns the value or refuses it.

Plain Python, since `import surefind` brings them along and stays cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from numbers import Real
from urllib.parse import urlsplit

from surefind.errors import InputError


def text(name: str, value: object, longest: int | None = None) -> str:
    """Words that can be read and embedded: not blank, not too long, no half of a character."""
    if not isinstance(value, str):
        raise InputError(f"{name}: it is {_kind(value)}, it must be text")
    if not value.strip():
        raise InputError(f"{name}: it cannot be empty")
    if longest is not None and len(value) > longest:
        raise InputError(f"{name}: it has {len(value)} characters, at most {longest} are allowed")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: it holds half of a character (a lone surrogate)") from None
    return value


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """A whole number within bounds, both included. True is no number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name}: it is {_kind(value)}, it must be a whole number")
    if value < low or (high is not None and value > high):
        bounds = f"{low} or more" if high is None else f"from {low} to {high}"
        raise InputError(f"{name}: it is {value}, it must be {bounds}")
    return value


def number(name: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name}: it is {_kind(value)}, it must be a number")
    if not math.isfinite(value):
        raise InputError(f"{name}: it is {value}, it must be finite")
    return float(value)


def fraction(name: str, value: object) -> float:
    found = number(name, value)
    if not 0.0 <= found <= 1.0:
        raise InputError(f"{name}: it is {value}, it must be in [0.0, 1.0]")
    return found


def url(name: str, value: object) -> str:
    if not is_url(value):
        raise InputError(f"{name}: it is {value!r}, it must be a URL such as https://example.com/a")
    return str(value)


def is_url(value: object) -> bool:
    """By its form alone: nothing is fetched."""
    if not isinstance(value, str) or any(letter.isspace() for letter in value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:  # an unbalanced bracket in the host
        return False
    return bool(parts.scheme and (parts.netloc or (parts.scheme == "file" and parts.path)))


def moment(name: str, value: object) -> datetime:
    """In UTC and aware of it. One without a zone is taken for UTC, as `utcnow()` means it."""
    if not isinstance(value, datetime):
        raise InputError(f"{name}: it is {_kind(value)}, it must be a datetime")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InputError(f"{name}: it is {value!r}, it must be one of {', '.join(choices)}")
    return str(value)


def _kind(value: object) -> str:
    return "missing" if value is None else f"of the type {type(value).__name__}"
