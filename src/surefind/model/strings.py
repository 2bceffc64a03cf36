"""Checks the strings that callers send; every interface uses them."""

import re
from collections.abc import Mapping

from surefind.errors import InputError

MAX_STRING = 4000
COLLECTION_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
NO_NUL = r"^[^\u0000]*$"
# White space of Python, JavaScript and Unicode, and invisible characters.
_UNSEEN = (
    r"\u0001-\u0020\u007f-\u00a0\u00ad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064"
    r"\u3000\ufeff"
)
NOT_BLANK = rf"^[{_UNSEEN}]*[^\u0000{_UNSEEN}][^\u0000]*$"
"""For JSON Schema: as strict as `check_string` with `blank=False`, in every regex dialect."""
_SEEN = re.compile(f"[^{_UNSEEN}]")


def check_string(
    name: str, value: str, max_length: int | None = MAX_STRING, *, blank: bool = True
) -> str:
    """Return the value. InputError, starting with its name, if stores or models would reject it."""
    if problem := string_problem(value, max_length, blank=blank):
        raise InputError(f"{name}: {problem}")
    return value


def string_problem(value: str, max_length: int | None = MAX_STRING, *, blank: bool = True) -> str:
    """The reason why the string is invalid; empty if it is valid."""
    if max_length is not None and len(value) > max_length:
        return f"it has {len(value)} characters; at most {max_length} are allowed"
    if "\0" in value:
        return "it contains a NUL character; remove it"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "it contains a lone surrogate; send valid UTF-8"
    if not blank and _SEEN.search(value) is None:
        return "it cannot be empty"
    return ""


def check_strings(value: object, name: str = "") -> None:
    """Check every string in nested lists and mappings, keys included; lengths are not checked.

    The error names the location: `where.version.0`.
    """
    waiting = [(name, value)]
    while waiting:
        place, inner = waiting.pop()
        if isinstance(inner, str):
            check_string(place, inner, None)
        elif isinstance(inner, Mapping):
            for key, item in inner.items():
                check_string(place or "body", str(key), None)
                waiting.append((f"{place}.{key}" if place else str(key), item))
        elif isinstance(inner, list | tuple):
            waiting += ((f"{place}.{at}", item) for at, item in enumerate(inner))
