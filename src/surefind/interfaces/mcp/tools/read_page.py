"""The tool `read_page`: a section, its surroundings or a whole page, in parts if it is long."""

from typing import Annotated

from pydantic import Field

from surefind.bootstrap import Application
from surefind.interfaces.links import absolute_url, linked_record
from surefind.interfaces.mcp.tools.search_docs import MAX_TOKENS
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments
from surefind.services.reading.page_reader import PageExcerpt, Part


class ReadArguments(ToolArguments):
    id_or_url: str = Field(description="A passage's id, a page's path, or a url")
    part: Part = Field(Part.SECTION, description="How much to read around the passage")
    collection: str | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 4000
    cursor: str | None = Field(None, description="`next` of the previous answer")


class PageText(ToolAnswer):
    title: str
    path: str
    url: str
    text: str
    next: str | None = None
    links: list[str]


async def _run(application: Application, caller: Caller, asked: ReadArguments) -> PageText:
    collection = asked.collection or application.settings.collection
    reader = application.searching.pages_in(collection)
    return page_text(
        await reader.read(asked.id_or_url, asked.part, asked.max_tokens, asked.cursor), caller
    )


def page_text(excerpt: PageExcerpt, caller: Caller) -> PageText:
    first, links = excerpt.records[0], excerpt.links
    if caller.address is not None:
        first = linked_record(first, caller.address)
        links = tuple(absolute_url(link, caller.address) for link in links)
    return PageText(
        title=first.title,
        path=first.chunk.source_path,
        url=first.link,
        text=excerpt.text,
        next=excerpt.next_chunk,
        links=list(links),
    )


READ_PAGE = Tool(
    "read_page",
    "Read a page",
    "Read more of the documentation than search_docs showed: the section of a passage, the passage "
    "with its neighbours, or its whole page. If `next` is set, pass it as cursor to continue.",
    ReadArguments,
    PageText,
    _run,
)
