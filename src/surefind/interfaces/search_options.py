"""The search options of the library, the command line and `POST /retrieve`, parsed into a Query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypedDict, TypeVar

from surefind.model import Collapse, Condition, Expand, GroupBy, Mode, Query, Turn

E = TypeVar("E", bound=StrEnum)


class SearchOptions(TypedDict, total=False):
    """The options of a search. See docs/searching.md."""

    top_k: int
    threshold: float
    mode: Mode | str
    where: Mapping[str, object] | Sequence[str]
    group_by: GroupBy | str | None
    group_size: int
    diversity: float
    collapse: Collapse | str
    expand: Expand | str
    neighbours: int
    max_tokens: int | None
    rerank: bool
    highlight: bool
    collections: Sequence[str]
    history: Sequence[Turn | Mapping[str, str] | str]
    language: str


def query_of(text: str, collection: str, options: SearchOptions) -> Query:
    """Parse the options; an InputError names the invalid one, a TypeError an unknown one."""
    for name in options:
        if name not in SearchOptions.__optional_keys__:
            raise TypeError(f"unknown search option: {name}; see surefind.SearchOptions")
    values: dict[str, Any] = dict(options)
    collections = list(values.pop("collections", None) or [collection])
    group_by = values.pop("group_by", None)
    return Query(
        text,
        collection=collections[0],
        also_in=tuple(collections[1:]),
        mode=one_of("mode", Mode, values.pop("mode", Mode.HYBRID)),
        where=_conditions(values.pop("where", ())),
        group_by=None if group_by is None else one_of("group_by", GroupBy, group_by),
        collapse=one_of("collapse", Collapse, values.pop("collapse", Collapse.SAME)),
        expand=one_of("expand", Expand, values.pop("expand", Expand.NONE)),
        history=_turns(values.pop("history", None)),
        **values,
    )


def one_of(name: str, choices: type[E], value: object) -> E:
    from surefind.errors import InputError  # noqa: PLC0415 - importing surefind stays cheap

    try:
        return choices(value)  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(choice.value for choice in choices)
        raise InputError(f"{name} must be one of {known}, not {value!r}") from None


def _turns(history: object) -> tuple[Turn, ...]:
    if not history:
        return ()
    from surefind.services.encoding.conversation import read_history  # noqa: PLC0415

    return read_history(history)


def _conditions(where: Mapping[str, object] | Sequence[str]) -> tuple[Condition, ...]:
    from surefind.errors import InputError  # noqa: PLC0415
    from surefind.services.search.filters import read_expressions, read_where  # noqa: PLC0415

    if isinstance(where, Mapping):
        return read_where(where)
    if isinstance(where, str):
        raise InputError('where must be a mapping or a list of expressions such as ["version=2.0"]')
    return read_expressions(where)
