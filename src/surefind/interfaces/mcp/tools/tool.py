"""What all tools share: how they are described, read their arguments and report errors."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import mcp_types as types
from pydantic import BaseModel, ConfigDict, ValidationError

from surefind.bootstrap import Application
from surefind.contracts.request import explain
from surefind.errors import (
    InputError,
    SurefindError,
    UnknownChunk,
    UnknownCollection,
    UnknownDocument,
)
from surefind.interfaces.failures import public_message
from surefind.model.strings import check_strings
from surefind.services.search.facets import Facet

_log = logging.getLogger(__name__)
_READ_ONLY = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# Names that models invent for an argument, in snake case.
_OTHER_NAMES = {
    "query": ("user_query", "question", "q", "search_query", "query_text", "search", "text"),
    "top_k": ("k", "limit", "n", "num_results", "max_results", "count"),
    "max_tokens": ("tokens", "token_limit", "max_output_tokens"),
    "under": ("path", "folder", "prefix", "directory"),
    "locale": ("language", "lang"),
    "collection": ("collection_name", "index"),
    "id_or_url": ("id", "url", "chunk_id", "page", "path", "source_path", "uri"),
    "id": ("chunk_id", "document_id", "doc_id", "url", "uri"),
    "cursor": ("next", "next_cursor", "page_token"),
    "wanted": ("expected", "id_or_url", "id", "url", "chunk_id", "path"),
}
_NEXT_STEPS: tuple[tuple[type[SurefindError], str], ...] = (
    (UnknownChunk, "Search again, and use an id or a url of the results."),
    (UnknownDocument, "Search again, and use an id or a url of the results."),
)
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ToolArguments(BaseModel):
    """Numbers may be sent as strings; unknown arguments are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolAnswer(BaseModel):
    """Fields that are None are omitted."""

    model_config = ConfigDict(frozen=True)


A = TypeVar("A", bound=ToolArguments)


def _no_charge(_searches: int) -> None:
    pass


def _not_recorded(_tool: str, _failed: bool) -> None:  # noqa: FBT001 - as `Caller.called`
    pass


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool. A local one may see paths and hosts in errors.

    `address` is the server's address as the caller uses it, for links to unpublished pages; None
    on stdio. `charge` counts searches against the caller's rate limit. `called` records the tool
    and whether it failed.
    """

    address: str | None = None
    local: bool = True
    charge: Callable[[int], None] = _no_charge
    called: Callable[[str, bool], None] = _not_recorded


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    name: str
    title: str
    description: str
    arguments: type[A]
    answer: type[ToolAnswer]
    run: Callable[[Application, Caller, A], Awaitable[ToolAnswer]]

    def described(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=compact(self.arguments.model_json_schema()),
            output_schema=compact(self.answer.model_json_schema()),
            annotations=_READ_ONLY,
        )

    async def call(
        self, application: Application, caller: Caller, given: Mapping[str, Any]
    ) -> types.CallToolResult:
        try:
            answer = await self.run(application, caller, self._read(given))
        except SurefindError as error:
            return refused(await explained(error, application, caller))
        text = answer.model_dump_json(exclude_none=True)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=answer.model_dump(mode="json", exclude_none=True),
        )

    def _read(self, given: Mapping[str, Any]) -> A:
        check_strings(given)
        known = self.arguments.model_fields
        try:
            return self.arguments.model_validate(_renamed(given, known))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0]) if first["loc"] else ""
            problem = explain(first)
            if first["type"] == "extra_forbidden":
                problem = f"{name}: unknown argument"
            raise InputError(f"{problem}. {self.name} accepts: {', '.join(known)}") from error


def refused(message: str) -> types.CallToolResult:
    """An error that the model can read and correct."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )


async def explained(error: SurefindError, application: Application, caller: Caller) -> str:
    message = str(error) if caller.local else public_message(error)
    if message != str(error):
        _log.warning("an assistant's request failed: %s", error)
    steps = [step for kind, step in _NEXT_STEPS if isinstance(error, kind)]
    if isinstance(error, UnknownCollection):
        steps = await _other_collections(application)
    # A message may quote a lone surrogate from the request, which UTF-8 can't encode.
    return (
        " ".join([f"{message.rstrip('.')}.", *steps]).encode("utf-8", "backslashreplace").decode()
    )


async def _other_collections(application: Application) -> list[str]:
    try:
        names = sorted(await application.parts.catalogs.collections())
    except SurefindError:  # the first error is the one to report
        return []
    return [f"Use one of: {', '.join(names)}."] if names else []


def _renamed(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by their own names. Models send null and "" for arguments to omit."""
    arguments: dict[str, Any] = {}
    for key, value in given.items():
        if value is not None and not (value == "" and not _is_required(known.get(key))):
            name = _own_name(key, known)
            arguments[key if name in given else name] = value
    return arguments


def _is_required(field: Any) -> bool:
    return field is not None and field.is_required()


def _own_name(key: str, known: Mapping[str, Any]) -> str:
    if key in known:
        return key
    plain = _CAPITAL.sub("_", key).lower().replace("-", "_")
    if plain in known:
        return plain
    for name, others in _OTHER_NAMES.items():
        if name in known and plain in others:
            return name
    return key


def compact(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema in fewer tokens: no titles, references, `null` types or null defaults."""
    definitions = schema.get("$defs", {})

    def shortened(part: Any) -> Any:
        if isinstance(part, list):
            return [shortened(one) for one in part]
        if not isinstance(part, dict):
            return part
        kept = {
            key: {name: shortened(one) for name, one in value.items()}
            if key == "properties"
            else shortened(value)
            for key, value in part.items()
            if key not in {"title", "$defs"} and not (key == "default" and value is None)
        }
        choices = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
        if len(choices) == 1:
            del kept["anyOf"]
            kept = {**choices[0], **kept}
        if "$ref" in kept:
            named = shortened(definitions[str(kept.pop("$ref")).rpartition("/")[2]])
            named.pop("description", None)  # the docstring, which is for readers of the code
            kept = {**named, **kept}
        return kept

    short: dict[str, Any] = shortened(schema)
    short.pop("description", None)
    return short


def values_of(field: str, facets: Sequence[Facet]) -> list[str]:
    """The values of a field, most frequent first; empty if they are too many to list."""
    return [
        str(value)
        for facet in facets
        if facet.field.name == field
        for value, _ in facet.values or ()
    ]
