"""The tool `read_page`: a section, its surroundings or a whole page, in parts if it is long."""

import re
from typing import Annotated

from pydantic import Field

from surefind.bootstrap import Application
from surefind.errors import UnknownChunk
from surefind.interfaces.links import absolute_url, linked_record
from surefind.interfaces.mcp.tools.search_docs import MAX_CHARACTERS, MAX_TOKENS
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments
from surefind.services.reading.page_reader import PageExcerpt, Part


class ReadArguments(ToolArguments):
    id_or_url: str = Field(description="A passage's id, a page's path, or a url")
    part: Part = Field(default=Part.SECTION, description="How much to read around the passage")
    collection: str | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)] = 4000
    cursor: str | None = Field(default=None, description="`next` of the previous answer")


class PageText(ToolAnswer):
    title: str
    path: str
    url: str
    text: str
    next: str | None = None
    links: list[str]


# A cursor is where the part starts and how much of it has been read. Only a passage that is longer
# than an answer may be is continued within.
_CURSOR = re.compile(r"(\d{1,9}):(.+)", re.DOTALL)


async def read_page(application: Application, caller: Caller, asked: ReadArguments) -> PageText:
    collection = asked.collection or application.settings.collection
    reader = application.searching.pages_in(collection)
    skipped, start = _place_of(asked.cursor)
    excerpt = await reader.read(asked.id_or_url, asked.part, asked.max_tokens, start)
    text = excerpt.text[skipped:]
    following = excerpt.next_chunk and f"0:{excerpt.next_chunk}"
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        following = f"{skipped + MAX_CHARACTERS}:{start or excerpt.records[0].chunk.id}"
    return _page_text(excerpt, text, following, caller)


def _place_of(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise UnknownChunk(f"the cursor {cursor!r} is invalid; read it again without a cursor")
    return int(match[1]), match[2]


def _page_text(excerpt: PageExcerpt, text: str, following: str | None, caller: Caller) -> PageText:
    first, links = excerpt.records[0], excerpt.links
    if caller.address is not None:
        first = linked_record(first, caller.address)
        links = tuple(absolute_url(link, caller.address) for link in links)
    return PageText(
        title=first.title,
        path=first.chunk.source_path,
        url=first.link,
        text=text,
        next=following,
        links=list(links),
    )


READ_PAGE = Tool(
    "read_page",
    "Read a page",
    "Read more of the documentation than search_docs showed: the section of a passage, the passage "
    "with its neighbours, or its whole page. If `next` is set, pass it as cursor to continue.",
    ReadArguments,
    PageText,
    read_page,
)
