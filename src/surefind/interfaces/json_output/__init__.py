"""surefind's own JSON, for `--json` and the HTTP API, apart from the published contracts."""

from typing import Any

_DIGITS = 6

Json = dict[str, Any]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
