"""The prompt `answer_from_docs`: a question with the passages that answer it."""

from collections.abc import Mapping

import mcp_types as types

from surefind.bootstrap import Application
from surefind.errors import InputError
from surefind.interfaces.mcp.tools.search_docs import SearchArguments, search_docs
from surefind.interfaces.mcp.tools.tool import Caller
from surefind.model import Evidence

_NAME = "answer_from_docs"
ANSWER_PROMPT = types.Prompt(
    name=_NAME,
    title="Answer from the documentation",
    description="Answers a question from the documentation, with its sources",
    arguments=[
        types.PromptArgument(name="question", description="What you want to know", required=True)
    ],
)
_TASK = (
    "Answer the question from the passages of the documentation below, and from nothing else. Cite "
    "the url of each passage that you use. If they don't answer it, search once more with other "
    "words; if that does not help either, say that the documentation does not answer it."
)
_NO_ANSWER = "The evidence is thin: the documentation probably does not answer this question."


async def answer_prompt(
    application: Application, caller: Caller, name: str, given: Mapping[str, str]
) -> types.GetPromptResult:
    if name != _NAME:
        raise InputError(f"there is no prompt {name!r}; use {_NAME}")
    question = given.get("question", "")
    found = await search_docs(application, caller, SearchArguments(query=question))
    passages = [
        f"## {passage.breadcrumb or passage.title}\n\n{passage.url}\n\n{passage.text}"
        for passage in found.results
    ]
    thin = [_NO_ANSWER] if found.evidence is Evidence.THIN else []
    text = "\n\n".join([f"Question: {question}", _TASK, *thin, "# Passages", *passages])
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=ANSWER_PROMPT.description, messages=[message])
