"""`--label-free` and `--from`: which tests to make, and how valid each kind is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefind.evaluation.golden.label_free import LabelFreeKind

LOGS = "logs"


def kinds_of(written: str | None) -> "list[LabelFreeKind]":
    """`links,faq` -> the kinds; without a list, those that are valid."""
    from surefind.evaluation.golden.label_free import LabelFreeKind, default_kinds

    if written is None:
        return list(default_kinds())
    return [LabelFreeKind(name) for name in named(written, tuple(LabelFreeKind))]


def named(written: str, allowed: Sequence[str]) -> list[str]:
    from surefind.errors import InputError

    names = list(dict.fromkeys(part.strip() for part in written.split(",") if part.strip()))
    wrong = [name for name in names if name not in allowed]
    if wrong or not names:
        raise InputError(
            f"unknown kind of tests {', '.join(wrong) or repr(written)}; use some of "
            f"{', '.join(allowed)}, separated by commas"
        )
    return names


def validity_text(kinds: "Sequence[LabelFreeKind]") -> str:
    """To print beside the numbers of these kinds."""
    from surefind.evaluation.golden.label_free import CONFIGURATIONS, JUDGED, VALIDITY
    from surefind.interfaces.reports.tables import table

    rows = [
        (kind.value, f"{held.tau:.2f}", f"{held.low:.2f}..{held.high:.2f}", f"{held.sound:.2f}")
        for kind in kinds
        for held in (VALIDITY[kind],)
    ]
    head = ("kind", "validity", "95 % interval", "unbroken only")
    return (
        f"{table(head, rows)}\nvalidity: Kendall's tau between the orders in which these tests and "
        f"{JUDGED}\nput {CONFIGURATIONS} search configurations; 1 is the same order, 0 is chance"
    )


def validity_json(kinds: "Sequence[LabelFreeKind]") -> dict[str, Any]:
    from surefind.evaluation.golden.label_free import CONFIGURATIONS, JUDGED, VALIDITY

    return {
        "judged": JUDGED,
        "configurations": CONFIGURATIONS,
        "kinds": {
            kind.value: {
                "tau": held.tau,
                "interval": [held.low, held.high],
                "tau_of_unbroken": held.sound,
            }
            for kind in kinds
            for held in (VALIDITY[kind],)
        },
    }
