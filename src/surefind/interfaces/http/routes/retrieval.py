"""Routes for surefind's own search, with all its options."""

from functools import partial
from typing import Annotated, Any, Literal, Self, cast

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError, to_json

from surefind.bootstrap import Application
from surefind.contracts.request import (
    PUBLISHED,
    Fraction,
    SearchMode,
    StrictRequest,
    Words,
    without_cosine,
)
from surefind.interfaces.http.middleware.access import count_searches
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.openapi import ERRORS, NOT_FOUND, Responses
from surefind.interfaces.http.routes.collections import CollectionName
from surefind.interfaces.http.search_schemas import (
    BatchResponse,
    RetrieveResponse,
    WhyNotResponse,
)
from surefind.interfaces.http.typed_responses import response_of
from surefind.interfaces.json_output import Json
from surefind.interfaces.json_output.search import rendered_json, search_json, why_not_json
from surefind.interfaces.links import linked_cause, with_links
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import (
    AUTO_LANGUAGE,
    LANGUAGE_NAMES,
    Collapse,
    Expand,
    GroupBy,
    Mode,
    Query,
    SearchResult,
)
from surefind.model.strings import MAX_STRING, NO_NUL
from surefind.services.encoding.conversation import MAX_TURN_LENGTH, MAX_TURNS
from surefind.services.search.filters import MAX_CONDITIONS, MAX_VALUES, NUMBER_OR_DATE
from surefind.services.search.query_checks import (
    MAX_COLLECTIONS,
    MAX_NEIGHBOURS,
    MAX_QUERY_LENGTH,
    MAX_TOP_K,
)
from surefind.services.search.why_not import WhyNot

MAX_HTTP_BATCH = 100
_EXAMPLE: dict[str, JsonValue] = {
    "query": "How do I change the port?",
    "top_k": 5,
    "where": {"version": "2.0", "source_path": {"under": "docs/guide"}},
    "group_by": "document",
    "highlight": True,
}

Loose = Field(strict=False)
_RULES: JsonDict = {
    **without_cosine("threshold"),
    "not": {
        "properties": {"collection": {"type": "string"}, "collections": {"minItems": 1}},
        "required": ["collection", "collections"],
    },
}


_STRING: JsonDict = {"type": "string", "maxLength": MAX_STRING, "pattern": NO_NUL}
_SCALARS: list[JsonValue] = [_STRING, {"type": "number"}, {"type": "boolean"}]
_LIST: JsonDict = {
    "type": "array",
    "items": {"anyOf": _SCALARS},
    "minItems": 1,
    "maxItems": MAX_VALUES,
}
_VALUES: JsonDict = {"anyOf": [*_SCALARS, _LIST]}
_BOUND: JsonDict = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": NUMBER_OR_DATE}]}
_OPERATORS: JsonDict = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("gte", "gt", "lte", "lt"), _BOUND),
        "under": _STRING,
        "any": _VALUES,
        "not": _VALUES,
    },
    "additionalProperties": False,
    "minProperties": 1,
}
_LANGUAGE = f"^(auto|any|({'|'.join(sorted(LANGUAGE_NAMES))})([-_][A-Za-z0-9]+)*)$"
_WHERE: JsonDict = {
    "additionalProperties": {"anyOf": [*_SCALARS, _LIST, _OPERATORS]},
    "propertyNames": {"maxLength": MAX_STRING, "pattern": NO_NUL},
    "maxProperties": MAX_CONDITIONS,
}


class HistoryTurn(StrictRequest):
    """A turn of a conversation, as in the messages of other APIs."""

    role: Literal["user", "assistant", "system", "developer", "tool"]
    content: str = Field(max_length=MAX_TURN_LENGTH, json_schema_extra={"pattern": NO_NUL})


class SearchParameters(StrictRequest):
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)
    threshold: Fraction = 0.0
    mode: SearchMode = Mode.HYBRID
    where: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Conditions by field: a value, a list of alternatives, or an object with "
        "any of gte, gt, lte, lt, under, any and not. `GET /fields` lists the fields and their "
        "kinds; an unknown field or a wrong kind is a 400",
        json_schema_extra=_WHERE,
    )
    group_by: Annotated[GroupBy, Loose] | None = None
    group_size: int = Field(default=1, ge=1, le=MAX_TOP_K)
    diversity: Fraction = 0.0
    collapse: Annotated[Collapse, Loose] = Collapse.SAME
    expand: Annotated[Expand, Loose] = Expand.NONE
    neighbours: int = Field(default=1, ge=1, le=MAX_NEIGHBOURS)
    max_tokens: int | None = Field(default=None, ge=1, le=10**7)
    rerank: bool = False
    highlight: bool = False
    history: list[HistoryTurn] = Field(
        default_factory=list,
        max_length=MAX_TURNS,
        description="The conversation before the question, oldest turn first. A follow-up question "
        "is searched in its context; the last four questions and the last answer count",
    )
    language: str = Field(
        default=AUTO_LANGUAGE,
        max_length=MAX_STRING,
        json_schema_extra={"pattern": _LANGUAGE},
        description="Language of the pages to search: a code such as de, any, or auto, which is "
        "the language of the query if the collection has pages in it",
    )
    rendered: bool = Field(
        default=False,
        description="Add `rendered` to every hit: its passage as a tree of elements that is safe "
        "to show, with the query's words marked if `highlight` is true. A node is a string or "
        "[tag, attributes, ...nodes]",
    )
    collection: CollectionName | None = Field(
        default=None, description="The collection to search; by default the one that is served"
    )
    collections: list[CollectionName] = Field(
        default_factory=list,
        max_length=MAX_COLLECTIONS,
        description="Collections to search together, instead of `collection`",
    )

    @model_validator(mode="after")
    def _names_collections_once(self) -> Self:
        if self.collection is not None and self.collections:
            raise PydanticCustomError(PUBLISHED, "collection: give it, or collections, not both")
        return self

    def to_query(self, text: str, served: str) -> Query:
        names = SearchOptions.__optional_keys__
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        options["history"] = [turn.model_dump() for turn in self.history]
        return query_of(text, self.collection or served, cast("SearchOptions", options))


class RetrieveRequest(SearchParameters):
    """A search with all of surefind's options."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE], **_RULES})

    query: Words = Field(min_length=1, max_length=MAX_QUERY_LENGTH)


class BatchRequest(SearchParameters):
    """Several queries with the same parameters."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"queries": ["How?", "Where?"], "top_k": 3}],
            **_RULES,
        }
    )

    queries: list[Annotated[Words, Field(min_length=1, max_length=MAX_QUERY_LENGTH)]] = Field(
        min_length=1, max_length=MAX_HTTP_BATCH
    )


class WhyNotRequest(RetrieveRequest):
    """A search, and the passage that is missing from its hits."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "How?", "wanted": "docs/settings.md"}],
            **_RULES,
        }
    )

    wanted: Words = Field(
        min_length=1,
        max_length=MAX_QUERY_LENGTH,
        description="A chunk ID, the URL of a page or heading, or a source path",
    )


class PassagesResponse(JSONResponse):
    """Encoded by pydantic, four times as fast as the standard library, with the same bytes."""

    def render(self, content: object) -> bytes:
        return to_json(content)


def add_retrieval(app: FastAPI, application: Application) -> None:
    served = application.settings.collection

    def responses(answer: type[BaseModel]) -> Responses:
        return {200: {"model": answer, "description": "Found"}, **ERRORS, **NOT_FOUND}

    def found(request: SearchParameters, result: SearchResult) -> Json:
        """The result as JSON, with the passages rendered on request."""
        answer = search_json(result)
        if request.rendered:
            for hit, shown in zip(result.hits, answer["hits"], strict=True):
                matches = None
                if request.highlight:
                    matches = partial(application.parts.terms.matches, language=hit.record.language)
                shown["rendered"] = rendered_json(hit, result.highlighted_text, matches)
        return answer

    @app.post("/retrieve", responses=responses(RetrieveResponse), tags=["surefind"])
    async def retrieve(http: Request, request: RetrieveRequest) -> Response:
        """Search with all options: hybrid by default, with every score of every hit."""
        query = request.to_query(request.query, served)
        result = with_links(await application.searching.search(query), address_of(http))
        return response_of(
            http, result, SearchResult, lambda: found(request, result), PassagesResponse
        )

    @app.post("/retrieve/batch", responses=responses(BatchResponse), tags=["surefind"])
    async def batch(http: Request, request: BatchRequest) -> Response:
        """Run several queries; the results come in the same order."""
        count_searches(http, len(request.queries))
        queries = [request.to_query(text, served) for text in request.queries]
        address = address_of(http)
        results = [
            with_links(result, address)
            for result in await application.searching.search_many(queries)
        ]
        return response_of(
            http,
            results,
            list[SearchResult],
            lambda: {"results": [found(request, result) for result in results]},
            PassagesResponse,
        )

    @app.post("/retrieve/why-not", responses=responses(WhyNotResponse), tags=["surefind"])
    async def why_not(http: Request, request: WhyNotRequest) -> Response:
        """Explain why a passage is not among the hits: the cause and its scores."""
        query = request.to_query(request.query, served)
        found = await application.searching.why_not(query, request.wanted)
        answer = linked_cause(found, address_of(http))
        return response_of(http, answer, WhyNot, lambda: why_not_json(answer), PassagesResponse)
