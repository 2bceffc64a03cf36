"""What a page says of itself in its front matter, as far as a search can filter by it."""

from collections.abc import Mapping
from datetime import date, datetime

from surefind.model import FIELDS, Attribute, Scalar

_LONGEST = 200
_MOST = 50
_RESERVED = frozenset(field.name for field in FIELDS)


def attributes_of(front_matter: Mapping[str, object]) -> dict[str, Attribute]:
    """Scalars and lists of them, by name; `last_update: {date: …}` is `last_update.date`.

    What every chunk has anyway is not repeated, and prose is not an attribute.
    """
    found: dict[str, Attribute] = {}
    _collect(front_matter, "", found)
    return dict(sorted(found.items())[:_MOST])


def _collect(values: Mapping[str, object], above: str, found: dict[str, Attribute]) -> None:
    for key, value in values.items():
        name = f"{above}{key}"
        if '"' in name or len(name) > _LONGEST or name in _RESERVED:
            continue
        if isinstance(value, Mapping):
            if not above:
                _collect(value, f"{name}.", found)
        elif isinstance(value, list):
            items = [item for item in map(_scalar, value) if item is not None]
            if items:
                found[name] = tuple(items[:_MOST])
        else:
            scalar = _scalar(value)
            if scalar is not None:
                found[name] = scalar


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124 - NaN
        return value
    if isinstance(value, str) and value and len(value) <= _LONGEST:
        return value
    return None
