"""The tools `search` and `fetch`, in the shapes that ChatGPT requires."""

from pydantic import Field

from surefind.bootstrap import Application
from surefind.interfaces.links import linked_record
from surefind.interfaces.mcp.tools.search_docs import MAX_CHARACTERS, MAX_TOKENS
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import ChunkRecord
from surefind.services.reading.page_reader import Part

_TOP_K = 10


class OpenaiSearchArguments(ToolArguments):
    query: str = Field(description="A question or keywords")


class SearchedItem(ToolAnswer):
    id: str
    title: str
    url: str


class SearchedItems(ToolAnswer):
    results: list[SearchedItem]


class FetchArguments(ToolArguments):
    id: str = Field(description="The id of a search result")


class FetchedItem(ToolAnswer):
    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


async def _search(
    application: Application, caller: Caller, asked: OpenaiSearchArguments
) -> SearchedItems:
    query = query_of(asked.query, application.settings.collection, SearchOptions(top_k=_TOP_K))
    result = await application.searching.search(query)
    records = [_linked(hit.record, caller) for hit in result.hits]
    return SearchedItems(
        results=[
            SearchedItem(id=one.chunk.id, title=one.breadcrumb or one.title, url=one.link)
            for one in records
        ]
    )


async def _fetch(application: Application, caller: Caller, asked: FetchArguments) -> FetchedItem:
    """The whole page of a result; of a page that is too long, the section."""
    reader = application.searching.pages_in(application.settings.collection)
    excerpt = await reader.read(asked.id, Part.PAGE, MAX_TOKENS)
    if excerpt.next_chunk is not None:
        excerpt = await reader.read(asked.id, Part.SECTION, MAX_TOKENS)
    named = [one for one in excerpt.records if one.chunk.id == asked.id]
    first = _linked((named or excerpt.records)[0], caller)
    metadata = {
        "source_path": first.chunk.source_path,
        "breadcrumb": first.breadcrumb,
        "version": first.version,
        "locale": first.locale,
    }
    return FetchedItem(
        id=asked.id,
        title=first.title,
        text=excerpt.text[:MAX_CHARACTERS],
        url=first.link,
        metadata={name: value for name, value in metadata.items() if value},
    )


def _linked(record: ChunkRecord, caller: Caller) -> ChunkRecord:
    return record if caller.address is None else linked_record(record, caller.address)


OPENAI_TOOLS = (
    Tool(
        "search",
        "Search the documentation",
        "Search the documentation. Returns passages by id, title and url, best first; fetch them "
        "to read their text.",
        OpenaiSearchArguments,
        SearchedItems,
        _search,
    ),
    Tool(
        "fetch",
        "Fetch a result",
        "Fetch the text of a search result by its id: its page, or its section if the page is "
        "long.",
        FetchArguments,
        FetchedItem,
        _fetch,
    ),
)
