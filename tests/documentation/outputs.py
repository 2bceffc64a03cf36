"""Compares what a page shows with what was printed, apart from what differs in every run."""

import re
from collections.abc import Iterable

LEFT_OUT = "…"
SCORE_TOLERANCE = 0.005
"""Processors round the sums of a quantized model differently."""

# Each number, and what may stand around it, differs in every run or on every machine.
VARYING = (
    r"\b\d+(?:\.\d+)? (?:ms|s)\b",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    r"\d+\.\d+ MB",
    r'"(?:query_time_ms|seconds)": ?[\d.]+',
    r'"(?:received|embedded|searched|filtered|formatted|returned|total)": ?\d+\.\d+',
)
_SECRET = re.compile(r"surefind_([0-9a-f]{8})_\w{3}(?:[\w-]{20,}|…)")
_PROGRESS = re.compile(r"^surefind: [a-z ]+: \d+(?: of \d+)?\n", re.MULTILINE)
"""Printed only on slow machines."""
_NUMBER = re.compile(r"(\d+\.\d{3,})")
_ANY_NUMBER = r"[-+]?\d+(?:[.,]\d+)*"


def refreshed(shown: str, printed: str, varying: Iterable[str] = ()) -> str:
    """What the page should show: `shown` itself if it is still true, else what was printed.

    Parts that the page leaves out (…) stay left out. Raises ValueError if what it shows of the
    rest was not printed.
    """
    printed = _without_secrets(shown, printed)
    printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    printed = _PROGRESS.sub("", printed)
    if LEFT_OUT in shown and not _same(shown, printed, varying):
        printed = _shortened(shown, printed)
    return shown if _same(shown, printed, varying) else printed


def _without_secrets(shown: str, printed: str) -> str:
    """With the shortened key that the page already shows, wherever one was printed."""
    made = _SECRET.search(printed)
    if made is None:
        return printed
    kept = _SECRET.search(shown)
    shortened = kept[0] if kept else f"surefind_{made[1]}_{LEFT_OUT}"
    printed = printed.replace(made[0], shortened)
    return printed.replace(made[1], kept[1]) if kept else printed


def _same(shown: str, printed: str, varying: Iterable[str]) -> bool:
    pattern = re.compile("|".join((*varying, *VARYING)))
    parts, others = (_NUMBER.split(pattern.sub("<varies>", text)) for text in (shown, printed))
    return (
        len(parts) == len(others)
        and parts[::2] == others[::2]
        and all(
            abs(float(one) - float(other)) <= SCORE_TOLERANCE
            for one, other in zip(parts[1::2], others[1::2], strict=True)
        )
    )


def _shortened(shown: str, printed: str) -> str:
    """What was printed, without what the page leaves out; numbers may have changed."""
    fragments = shown.split(LEFT_OUT)
    pattern = "(.*?)".join(f"({_numberless(fragment)})" for fragment in fragments)
    found = re.fullmatch(pattern, printed, re.DOTALL)
    if found is None:
        raise ValueError(f"shown:\n{shown}\nprinted:\n{printed}")
    return LEFT_OUT.join(found.groups()[::2])


def _numberless(fragment: str) -> str:
    return _ANY_NUMBER.join(map(re.escape, re.split(_ANY_NUMBER, fragment)))
