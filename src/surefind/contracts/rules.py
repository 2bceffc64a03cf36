"""Checks of single values in the published shapes. Each returns the value or raises InputError.

This is plain Python because `import surefind` loads it and must stay fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from numbers import Integral, Real
from urllib.parse import urlsplit

from surefind.errors import InputError

_SCRIPTS = frozenset({"javascript", "data", "vbscript"})
_ROUNDING = 1e-4
"""How far rounding may push a computed cosine out of bounds, half-precision vectors included."""


def text(name: str, value: object, longest: int | None = None) -> str:
    """Check for text that can be embedded: not blank, not too long, no lone surrogate."""
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, got {_kind(value)}")
    if not value.strip():
        raise InputError(f"{name} cannot be empty")
    if longest is not None and len(value) > longest:
        raise InputError(f"{name} must have at most {longest} characters, got {len(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} must be valid Unicode, got a lone surrogate") from None
    return value


def optional_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, got {_kind(value)}")
    return value


def whole(name: str, value: object, low: int, high: int | None = None) -> int:
    """A whole number within bounds, both included; numpy's count, booleans don't."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be a whole number, got {_kind(value)}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise InputError(f"{name} must be {_bounds(low, high)}, got {number}")
    return number


def number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {_kind(value)}")
    if not math.isfinite(value):
        raise InputError(f"{name} must be finite, got {value}")
    return float(value)


def fraction(name: str, value: object) -> float:
    found = value if isinstance(value, float) else number(name, value)
    if not 0.0 <= found <= 1.0:
        raise InputError(f"{name} must be in [0.0, 1.0], got {value}")
    return float(found)


def cosine(name: str, value: object) -> float:
    """A cosine as stores give it, clamped to 0..1. Anything else is another kind of score."""
    found = number(name, value)
    if abs(found) > 1.0 + _ROUNDING:
        raise InputError(
            f"{name} must be a cosine in [-1.0, 1.0], got {value}; the collection uses another "
            "distance"
        )
    return min(1.0, max(0.0, found))


def url(name: str, value: object) -> str:
    if not is_url(value):
        raise InputError(f"{name} must be a URL such as https://example.com/a, got {value!r}")
    return str(value)


def is_url(value: object) -> bool:
    """Checks the syntax only."""
    return isinstance(value, str) and _is_url(value)


@lru_cache(maxsize=4096)  # many passages share a page, and each hit is checked twice
def _is_url(text: str) -> bool:
    if any(letter.isspace() for letter in text):
        return False
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:  # an unbalanced bracket in the host
        return False
    if parts.scheme in _SCRIPTS:
        return False
    return bool(parts.scheme and (host or (parts.scheme == "file" and parts.path)))


def moment(name: str, value: object) -> datetime:
    """Check for a datetime; naive ones stay naive."""
    if not isinstance(value, datetime):
        raise InputError(f"{name} must be a datetime, got {_kind(value)}")
    return value


def seconds_between(started_at: datetime, completed_at: datetime) -> float:
    """The duration; InputError if only one of the two has a time zone."""
    begin, end = moment("started_at", started_at), moment("completed_at", completed_at)
    if (begin.utcoffset() is None) != (end.utcoffset() is None):
        aware, naive = "started_at", "completed_at"
        if begin.utcoffset() is None:
            aware, naive = naive, aware
        raise InputError(
            f"{aware} has a time zone, but {naive} does not; use datetime.now(UTC) for both, or "
            "utcnow() for both"
        )
    return (end - begin).total_seconds()


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return str(value)


def _bounds(low: int, high: int | None) -> str:
    if high is not None:
        return f"from {low} to {high}"
    return {0: "non-negative", 1: "positive"}.get(low, f"{low} or more")


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
