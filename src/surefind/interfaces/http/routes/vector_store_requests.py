"""Requests to vector stores as OpenAI's clients send them, and the queries they become."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.config import JsonDict

from surefind.contracts.request import Fraction, StrictRequest
from surefind.errors import InputError
from surefind.interfaces.json_output import rounded
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import AnyOf, Condition, Hit, Query
from surefind.model.strings import MAX_STRING, NO_NUL, NOT_BLANK, string_problem
from surefind.services.search.filters import MAX_CONDITIONS, MAX_VALUES, read_where
from surefind.services.search.query_checks import MAX_QUERY_LENGTH

MAX_RESULTS = 50
DEFAULT_RESULTS = 10
MAX_QUERIES = 20
MAX_PAGE = 100
MAX_DEPTH = 8
FILE_ID = r"^file-[A-Za-z0-9_-]+$"
MAX_FILE_ID = 8000
_NO_NUL: JsonDict = {"pattern": NO_NUL}
_OPERATORS = {"eq": "any", "in": "any", "ne": "not", "nin": "not"}

_QUESTION: JsonDict = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_QUERY_LENGTH,
    "pattern": NOT_BLANK,
}
_QUERY: JsonDict = {
    "anyOf": [
        _QUESTION,
        {"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": MAX_QUERIES},
    ]
}
_SCALARS: list[JsonValue] = [
    {"type": "string", "maxLength": MAX_STRING, **_NO_NUL},
    {"type": "number"},
    {"type": "boolean"},
]
_LIST: JsonDict = {
    "type": "array",
    "items": {"anyOf": _SCALARS},
    "minItems": 1,
    "maxItems": MAX_VALUES,
}


def _listed(value: object) -> object:
    """A single query as a list of one. The messages name `query` alone, without an index."""
    queries = [value] if isinstance(value, str) else value
    if not isinstance(queries, list) or not 1 <= len(queries) <= MAX_QUERIES:
        raise ValueError(f"send a text, or a list of 1 to {MAX_QUERIES} texts")
    for query in queries:
        if not isinstance(query, str):
            raise ValueError(f"send a text, or a list of 1 to {MAX_QUERIES} texts")  # noqa: TRY004 - pydantic catches ValueError
        if problem := string_problem(query, MAX_QUERY_LENGTH, blank=False):
            raise ValueError(problem)
    return queries


def _shallow(value: object) -> object:
    """Refuse deep nesting here: pydantic's message would have the place at full length."""
    waiting = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep; send fewer levels")
        inside = inner.get("filters") if isinstance(inner, dict) else None
        if isinstance(inside, list):
            waiting += ((one, depth + 1) for one in inside)
    return value


Queries = Annotated[list[str], BeforeValidator(_listed), WithJsonSchema(_QUERY)]
"""A query, or a list of them."""


class ComparisonFilter(StrictRequest):
    """An attribute compared with a value, or with several by `in` and `nin`."""

    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: Annotated[str, Field(max_length=MAX_STRING, json_schema_extra=_NO_NUL)]
    value: JsonValue = Field(json_schema_extra={"anyOf": [*_SCALARS, _LIST]})

    def conditions(self) -> tuple[Condition, ...]:
        if isinstance(self.value, list) and self.type not in {"in", "nin"}:
            raise InputError(f"filters: {self.type} takes one value; use in or nin for a list")
        return read_where({self.key: {_OPERATORS.get(self.type, self.type): self.value}})


class CompoundFilter(StrictRequest):
    """Filters that all apply (`and`), or of which one does (`or`)."""

    type: Literal["and", "or"]
    filters: list["Filter"] = Field(min_length=1, max_length=MAX_CONDITIONS)

    def conditions(self) -> tuple[Condition, ...]:
        inner = [one.conditions() for one in self.filters]
        if self.type == "and" or len(inner) == 1:
            return tuple(condition for conditions in inner for condition in conditions)
        return (_either([one[0] for one in inner if len(one) == 1], len(inner)),)


Filter = Annotated[ComparisonFilter | CompoundFilter, Field(discriminator="type")]


def _either(alternatives: Sequence[Condition], wanted: int) -> AnyOf:
    """Values of one attribute; surefind has no other alternatives."""
    plain = [one for one in alternatives if isinstance(one, AnyOf) and not one.exclude]
    values = [value for one in plain for value in one.values]
    keys = {one.key for one in plain}
    if len(plain) != wanted or len(keys) != 1:
        raise InputError(
            "filters: `or` can only combine `eq` and `in` of one attribute; search once for each "
            "alternative"
        )
    return AnyOf(plain[0].key, tuple(values))


class RankingOptions(StrictRequest):
    """The ranker is ignored: surefind has one."""

    ranker: Literal["none", "auto", "default-2024-11-15"] = "auto"
    score_threshold: Fraction = 0.0


class VectorStoreSearch(StrictRequest):
    """A search in OpenAI's shape. Queries are never rewritten.

    Some clients, such as LiteLLM, send null for parameters that were not given.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "How do I change the port?",
                    "max_num_results": 5,
                    "filters": {"type": "eq", "key": "version", "value": "2.0"},
                }
            ]
        }
    )

    query: Queries
    filters: Annotated[Filter | None, BeforeValidator(_shallow)] = None
    max_num_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = DEFAULT_RESULTS
    ranking_options: RankingOptions | None = None
    rewrite_query: bool | None = False

    @property
    def wanted(self) -> int:
        return self.max_num_results or DEFAULT_RESULTS

    def to_queries(self, collection: str) -> list[Query]:
        where = () if self.filters is None else self.filters.conditions()
        options = SearchOptions(top_k=self.wanted)
        return [replace(query_of(text, collection, options), where=where) for text in self.query]

    def best_of(self, hits: Iterable[Hit]) -> list[Hit]:
        """The threshold compares with the score as clients see it."""
        least = 0.0 if self.ranking_options is None else self.ranking_options.score_threshold
        return [hit for hit in hits if (rounded(hit.score) or 0.0) >= least][: self.wanted]


class ListRange(BaseModel):
    """Which part of a list. Everything in it has the same age, so `order` changes nothing."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(20, ge=1, le=MAX_PAGE, description="Maximum number of items")
    after: Annotated[str, Field(max_length=MAX_STRING, json_schema_extra=_NO_NUL)] | None = Field(
        None, description="Start after this ID: the `last_id` of the previous page"
    )
    order: Literal["asc", "desc"] = Field("desc", description="Accepted and ignored")


class FileRange(ListRange):
    """Which files of a store."""

    after: Annotated[str, Field(max_length=MAX_FILE_ID, pattern=FILE_ID)] | None = Field(
        None, description="Start after this ID: the `last_id` of the previous page"
    )
    filter: Literal["in_progress", "completed", "failed", "cancelled"] = Field(
        "completed", description="The status; surefind lists completed files only"
    )
