"""Parses timestamps in common formats: ISO 8601, Unix epochs and regional dates."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FORMATS = (
    "%m/%d/%Y, %I:%M:%S %p",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
)
_LIKE_A_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[A-Z][a-z]+ \d{1,2}, \d{4}|, \d\d? \w")
_EARLIEST, _LATEST = 631_152_000.0, 4_102_444_800.0  # the years 1990 to 2100
_SCALES = (1.0, 1e3, 1e6, 1e9)


def moment(value: object) -> datetime | None:
    """An aware datetime in UTC, also assumed for naive values; None if it is not a timestamp."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _epoch(float(value))
    if not isinstance(value, str) or len(value) > 60:
        return None
    text = value.strip()
    if re.fullmatch(r"\d{9,19}(\.\d+)?", text):
        return _epoch(float(text))
    return _written(text)


def _epoch(number: float) -> datetime | None:
    """Seconds, milli-, micro- or nanoseconds: whichever gives a plausible year."""
    for scale in _SCALES:
        if _EARLIEST <= number / scale <= _LATEST:
            return datetime.fromtimestamp(number / scale, UTC)
    return None


def _written(text: str) -> datetime | None:
    if not _LIKE_A_DATE.search(text) and not re.match(r"\d{4}-?\d{2}-?\d{2}", text):
        return None
    try:
        return _aware(datetime.fromisoformat(text))
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        return _aware(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError):
        return None


def _aware(read: datetime) -> datetime:
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
