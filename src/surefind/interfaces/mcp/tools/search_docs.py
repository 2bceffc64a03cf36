"""The tool `search_docs`: the passages that answer a question, within a token budget."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from surefind.bootstrap import Application
from surefind.interfaces.json_output import rounded
from surefind.interfaces.links import with_links
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments, values_of
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import Evidence, Hit, Query, SearchResult
from surefind.services.search.filters import describe

MAX_TOKENS = 8000
"""Keeps answers below the output limits of assistants, the lowest of which is 10,000 tokens."""
MAX_CHARACTERS = 4 * MAX_TOKENS
"""The same for texts such as encoded data, of which an embedder's tokens have many characters."""
_MAX_TOP_K = 50
_THIN = (
    "The evidence is thin: the documentation probably does not answer this. Rephrase the question "
    "once with other words; if the evidence stays thin, say that the documentation has no answer."
)


class SearchArguments(ToolArguments):
    query: str = Field(description="A question or keywords")
    version: str | None = Field(default=None, description="Only this version of the documentation")
    locale: str | None = Field(default=None, description="Only this language")
    under: str | None = Field(default=None, description="Only pages below this path")
    collection: str | None = Field(default=None, description="A collection from list_docs")
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 3000
    top_k: Annotated[int, Field(ge=1, le=_MAX_TOP_K)] = 5


class FoundPassage(ToolAnswer):
    id: str
    title: str
    breadcrumb: str
    url: str
    text: str
    score: float
    similarity: float | None = None
    version: str | None = None


class OmittedPassage(ToolAnswer):
    id: str
    tokens: int


class FoundPassages(ToolAnswer):
    results: list[FoundPassage]
    evidence: Evidence | None = None
    omitted: list[OmittedPassage]
    generation: int
    hint: str | None = None


async def search_docs(
    application: Application, caller: Caller, asked: SearchArguments
) -> FoundPassages:
    collection = asked.collection or application.settings.collection
    where: dict[str, object] = {}
    if asked.version:
        where["version"] = asked.version
    if asked.locale:
        where["locale"] = asked.locale
    if asked.under:
        where["source_path"] = {"under": asked.under.strip("/")}
    options = SearchOptions(where=where, max_tokens=asked.max_tokens, top_k=asked.top_k)
    result = await application.searching.search(query_of(asked.query, collection, options))
    if caller.address is not None:
        result = with_links(result, caller.address)
    result = _within_limit(result)
    return FoundPassages(
        results=[_passage(hit) for hit in result.hits],
        evidence=None if result.confidence is None else result.confidence.evidence,
        omitted=[_omitted(hit) for hit in result.over_budget],
        generation=result.generation,
        hint=await _hint(application, result),
    )


def _within_limit(result: SearchResult) -> SearchResult:
    shown: list[Hit] = []
    omitted: list[Hit] = []
    characters = 0
    for hit in result.hits:
        characters += len(hit.record.chunk.text)
        (omitted if characters > MAX_CHARACTERS else shown).append(hit)
    if not omitted:
        return result
    return replace(result, hits=tuple(shown), over_budget=(*omitted, *result.over_budget))


def _passage(hit: Hit) -> FoundPassage:
    record = hit.record
    return FoundPassage(
        id=record.chunk.id,
        title=record.title,
        breadcrumb=record.breadcrumb,
        url=record.link,
        text=record.chunk.text,
        score=round(hit.score, 6),
        similarity=rounded(hit.similarity),
        version=record.version or None,
    )


def _omitted(hit: Hit) -> OmittedPassage:
    return OmittedPassage(id=hit.record.chunk.id, tokens=hit.tokens)


async def _hint(application: Application, result: SearchResult) -> str | None:
    hints = list(result.notes)
    if not result.hits and result.over_budget:
        hints.append(_no_passage_fits(result))
    elif not result.hits and result.query.where:
        hints.append(await _unfiltered(application, result.query))
    elif result.confidence is not None and result.confidence.evidence is Evidence.THIN:
        hints.append(_THIN)
    return " ".join(hints) or None


def _no_passage_fits(result: SearchResult) -> str:
    fewest = min(hit.tokens for hit in result.over_budget)
    if (result.query.max_tokens or 0) < fewest <= MAX_TOKENS:
        return f"No passage fits. Set max_tokens to {fewest} or more, or use read_page."
    return "No passage fits into an answer. Use read_page to read it in parts."


async def _unfiltered(application: Application, query: Query) -> str:
    """What to filter by instead."""
    filters = ", ".join(describe(condition) for condition in query.where)
    hints = [f"No passage matches the filter {filters}."]
    facets = (await application.searching.facets.read(query.collection)).facets
    for name in ("version", "locale"):
        values = values_of(name, facets)
        if values and any(condition.key == name for condition in query.where):
            hints.append(f"Values of {name}: {', '.join(values)}.")
    return " ".join([*hints, "Use list_docs to see the pages."])


SEARCH_DOCS = Tool(
    "search_docs",
    "Search the documentation",
    "Find the passages of the documentation that answer a question. `evidence` says whether they "
    "do: thin means that the documentation probably has no answer. `omitted` passages did not fit "
    "into max_tokens. Cite the `url` of what you use.",
    SearchArguments,
    FoundPassages,
    search_docs,
)
