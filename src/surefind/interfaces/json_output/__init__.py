"""surefind's own JSON: what `--json` prints and the HTTP API answers, outside the contracts."""

from typing import Any

_DIGITS = 6

Json = dict[str, Any]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
