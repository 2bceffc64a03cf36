"""Results for surefind's own clients: every value unchanged; the public JSON rounds and omits.

A client requests this format in its Accept header. Fields may be added to a format; any other
change needs a new number.
"""

import re
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar

from pydantic import TypeAdapter

from surefind.model import ChunkRecord, Hit, SearchResult
from surefind.services.search.why_not import WhyNot

T = TypeVar("T")

FORMAT = 1
MEDIA_TYPE = f"application/vnd.surefind.v{FORMAT}+json"
VERSION_HEADER = "Surefind-Version"
ERROR_HEADER = "Surefind-Error"
_REQUESTED = re.compile(r"application/vnd\.surefind\.v(\d{1,6})\+json")


def own_version() -> str:
    return version("surefind")


def requested_format(accept: str) -> int | None:
    """The number of the format that an Accept header requests, None for public JSON."""
    found = _REQUESTED.search(accept)
    return int(found[1]) if found else None


def dump(value: object, kind: object) -> bytes:
    return _adapter(kind).dump_json(_without_payloads(value))


def load(body: bytes, kind: type[T]) -> T:
    """Raises a ValueError if the body is not of this kind."""
    wanted: Any = kind
    loaded: T = _adapter(wanted).validate_json(body)
    return loaded


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _without_payloads(value: Any) -> Any:
    """Payloads of connected collections may hold fields that are not mapped, and so not public."""
    match value:
        case ChunkRecord():
            return value if value.payload is None else replace(value, payload=None)
        case Hit():
            record, also = map(_without_payloads, (value.record, value.also))
            return replace(value, record=record, also=also)
        case SearchResult():
            hits, over_budget = map(_without_payloads, (value.hits, value.over_budget))
            return replace(value, hits=hits, over_budget=over_budget)
        case WhyNot():
            record, ahead = map(_without_payloads, (value.record, value.ahead))
            return replace(value, record=record, ahead=ahead)
        case list() | tuple():
            return type(value)(map(_without_payloads, value))
        case _:
            return value
