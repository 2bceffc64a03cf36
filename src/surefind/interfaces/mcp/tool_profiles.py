"""The profiles of the server: what an assistant is offered."""

from dataclasses import dataclass
from typing import Any

from surefind.interfaces.mcp.tools.list_docs import LIST_DOCS
from surefind.interfaces.mcp.tools.maintaining import MAINTAINER_TOOLS
from surefind.interfaces.mcp.tools.openai import OPENAI_TOOLS
from surefind.interfaces.mcp.tools.read_page import READ_PAGE
from surefind.interfaces.mcp.tools.search_docs import SEARCH_DOCS
from surefind.interfaces.mcp.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class ToolProfile:
    """`has_pages` also offers pages as resources, and the prompt."""

    name: str
    tools: tuple[Tool[Any], ...]
    instructions: str
    has_pages: bool = False


_READERS = ToolProfile(
    "default",
    (SEARCH_DOCS, READ_PAGE, LIST_DOCS),
    "Answers questions from the documentation. Search first, cite the urls of the passages you "
    "use, and if the evidence is thin, say that the documentation does not answer the question.",
    has_pages=True,
)
_OPENAI = ToolProfile(
    "openai",
    OPENAI_TOOLS,
    "Answers questions from the documentation. Search first, fetch the results you need, and cite "
    "their urls.",
)
_MAINTAINERS = ToolProfile(
    "maintainer",
    MAINTAINER_TOOLS,
    "Helps to maintain the documentation's search: explains why a passage is not found, measures "
    "how well questions are answered, and lists what the last ingest changed.",
)
_PROFILES = {profile.name: profile for profile in (_READERS, _OPENAI, _MAINTAINERS)}


def profile_named(name: str) -> ToolProfile:
    return _PROFILES[name]
