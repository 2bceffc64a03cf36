"""Pages as resources, their completion, and the prompt."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import ResourceTemplateReference, TextContent, TextResourceContents

PAGE = ResourceTemplateReference(uri="surefind://{collection}/{+path}")


async def test_pages_are_resources(assistant: Client) -> None:
    resources = (await assistant.list_resources()).resources
    assert [resource.uri for resource in resources] == [
        "surefind://docs/docs/guide/cleaning.md",
        "surefind://docs/docs/guide/install.md",
        "surefind://docs/docs/index.md",
        "surefind://docs/docs/reference/errors.md",
    ]
    assert resources[0].title == "Cleaning"
    assert {resource.mime_type for resource in resources} == {"text/markdown"}
    for resource in resources:
        [page] = (await assistant.read_resource(resource.uri)).contents
        assert isinstance(page, TextResourceContents)
        assert page.uri == resource.uri
        assert page.text.startswith(f"# {resource.title}")


async def test_there_is_a_template_for_pages_of_any_collection(assistant: Client) -> None:
    [template] = (await assistant.list_resource_templates()).resource_templates
    assert template.uri_template == PAGE.uri
    assert template.mime_type == "text/markdown"


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("surefind://docs/attic.md", "matches 'surefind://docs/attic.md'"),
        ("surefind://attic/docs/index.md", "there is no collection 'attic' yet"),
        ("surefind://docs/", "resources have URIs such as surefind://docs/guide/install.md"),
        ("surefind://../etc/passwd", "invalid collection name '..'"),
        ("file:///etc/passwd", "there is no resource 'file:///etc/passwd'"),
        ("surefind://docs/a%00b", "matches 'surefind://docs/a%00b'"),
    ],
)
async def test_a_missing_resource_is_an_error(assistant: Client, uri: str, problem: str) -> None:
    with pytest.raises(MCPError) as caught:
        await assistant.read_resource(uri)
    assert caught.value.code == -32602
    assert problem in caught.value.message
    assert caught.value.data == {"uri": uri}


@pytest.mark.parametrize(
    ("name", "typed", "context", "values"),
    [
        ("collection", "d", {}, ["docs"]),
        ("collection", "x", {}, []),
        ("path", "docs/guide/", {}, ["docs/guide/cleaning.md", "docs/guide/install.md"]),
        ("path", "docs/guide/i", {"collection": "docs"}, ["docs/guide/install.md"]),
        ("path", "docs/index.md", {}, ["docs/index.md"]),
        ("path", "zebra", {}, []),
        ("colour", "r", {}, []),
    ],
)
async def test_collections_and_paths_are_completed(
    assistant: Client, name: str, typed: str, context: Mapping[str, str], values: list[str]
) -> None:
    argument = {"name": name, "value": typed}
    done = await assistant.complete(PAGE, argument, context_arguments=dict(context))
    assert done.completion.values == values
    assert done.completion.has_more is False


async def test_the_prompt_has_the_passages_and_the_task(assistant: Client) -> None:
    [prompt] = (await assistant.list_prompts()).prompts
    assert prompt.name == "answer_from_docs"
    assert prompt.arguments is not None
    assert [argument.name for argument in prompt.arguments] == ["question"]
    text = await prompt_of(assistant, question="Which voltage is needed?")
    assert text.startswith("Question: Which voltage is needed?")
    assert "Cite the url of each passage" in text
    assert "surefind://docs/docs/guide/install.md#power" in text
    assert "230 volts" in text
    assert "The evidence is thin" not in text


async def test_the_prompt_says_when_there_is_no_answer(assistant: Client) -> None:
    text = await prompt_of(assistant, question="Who won the cup final in 1974?")
    assert "The evidence is thin" in text


async def prompt_of(assistant: Client, **arguments: str) -> str:
    [message] = (await assistant.get_prompt("answer_from_docs", arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("answer_from_docs", {}, "query is empty"),
        ("answer_from_docs", {"question": "x" * 10_000}, "at most 2000 are allowed"),
        ("ask", {"question": "x"}, "there is no prompt 'ask'; use answer_from_docs"),
    ],
)
async def test_a_wrong_prompt_is_an_error(
    assistant: Client, name: str, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await assistant.get_prompt(name, arguments)
    assert caught.value.code == -32602
    assert problem in caught.value.message
