"""The profiles `openai` and `maintainer`."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

from interfaces.mcp.conftest import Guarded
from support.assistants import answer_of, assistant_at, refusal_of, rpc, stdio_server


@pytest.fixture(scope="module")
async def chatgpt(guarded: Guarded, anyio_backend: str) -> AsyncIterator[Client]:
    async with assistant_at(f"{guarded.address}/mcp/openai", guarded.key) as client:
        yield client


@pytest.fixture(scope="module")
async def maintainer(guarded: Guarded, anyio_backend: str) -> AsyncIterator[Client]:
    async with assistant_at(f"{guarded.address}/mcp/maintainer", guarded.admin) as client:
        yield client


async def test_chatgpt_gets_exactly_search_and_fetch(chatgpt: Client) -> None:
    tools = (await chatgpt.list_tools()).tools
    assert [(tool.name, list(tool.input_schema["properties"])) for tool in tools] == [
        ("search", ["query"]),
        ("fetch", ["id"]),
    ]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert chatgpt.server_capabilities is not None
    assert chatgpt.server_capabilities.resources is None


async def test_chatgpt_searches_and_fetches(chatgpt: Client, guarded: Guarded) -> None:
    found = await answer_of(chatgpt, "search", query="Which voltage is needed?")
    assert set(found) == {"results"}
    first = found["results"][0]
    assert set(first) == {"id", "title", "url"}
    assert first["title"] == "Installing > Power"
    assert first["url"].startswith(f"{guarded.address}/read/docs/")
    page = await answer_of(chatgpt, "fetch", id=first["id"])
    assert set(page) == {"id", "title", "text", "url", "metadata"}
    assert page["id"] == first["id"]
    assert page["url"] == first["url"]
    assert page["text"].startswith("# Installing")
    assert "230 volts" in page["text"]
    assert page["metadata"]["source_path"] == "docs/guide/install.md"
    same = await answer_of(chatgpt, "fetch", id=first["url"])
    assert same["text"] == page["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("search", {}, "query: it is required"),
        ("search", {"query": " "}, "query is empty"),
        ("search", {"query": "x", "top_k": 3}, "top_k: unknown argument"),
        ("fetch", {"id": "attic"}, "matches 'attic'. Search again"),
        ("fetch", {"id": 7}, "id: it must be a string"),
        ("search_docs", {"query": "x"}, "Use one of: search, fetch."),
    ],
)
async def test_chatgpts_mistakes_are_explained(
    chatgpt: Client, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in await refusal_of(chatgpt, tool, **arguments)


def test_maintaining_requires_an_admin_key(guarded: Guarded) -> None:
    answer = guarded.client.post("/mcp/maintainer", json=rpc("tools/list"))
    assert answer.status_code == 403
    assert "admin scope" in answer.json()["error"]["message"]


async def test_maintainers_learn_why_a_passage_is_missing(
    maintainer: Client, guarded: Guarded
) -> None:
    names = [tool.name for tool in (await maintainer.list_tools()).tools]
    assert names == ["why_not", "validate", "changes"]
    answer = await answer_of(
        maintainer, "why_not", query="vinegar", wanted="docs/guide/install.md", top_k=1
    )
    assert answer["cause"] == "outranked"
    assert answer["rank"] > 1
    [ahead] = answer["ahead"]
    assert ahead["url"].startswith(f"{guarded.address}/read/docs/docs/guide/cleaning.md")


async def test_maintainers_measure_the_search(maintainer: Client) -> None:
    answer = await answer_of(maintainer, "validate", limit=3)
    assert answer["tests"] == 3
    assert answer["generation"] == 1
    questions = [
        {"query": "Which voltage?", "page": "docs/guide/install.md", "heading": "Power"},
        {"query": "What does E42 mean?", "quote": "the lid is open"},
        {"query": "Who brews coffee?", "page": "docs/attic.md"},
    ]
    answer = await answer_of(maintainer, "validate", questions=questions)
    assert (answer["tests"], answer["passed"]) == (3, 2)
    [missed] = answer["missed"]
    assert (missed["query"], missed["outcome"]) == ("Who brews coffee?", "stale")


async def test_maintainers_see_what_an_ingest_changed(maintainer: Client) -> None:
    answer = await answer_of(maintainer, "changes")
    assert answer["generation"] == 1
    assert answer["added"]["number"] == 4
    assert answer["removed"] == {"number": 0, "paths": []}
    assert "generation 9" in await refusal_of(maintainer, "changes", generation=9)


@pytest.mark.parametrize(
    ("questions", "problem"),
    [
        ([{"query": "x"}], "the question 'x' needs either a page or a quote"),
        ([{"query": "x", "page": "a", "quote": "b"}], "needs either a page or a quote"),
        ([{"query": "x", "quote": "y"}] * 51, "questions: at most 50 items are allowed"),
        ("all", "questions: it must be a list"),
    ],
)
async def test_wrong_questions_are_explained(
    maintainer: Client, questions: Any, problem: str
) -> None:
    assert problem in await refusal_of(maintainer, "validate", questions=questions)


async def test_a_profile_can_be_served_on_stdio(guarded: Guarded) -> None:
    server = stdio_server(guarded.home, "--profile", "openai")
    async with Client(server, read_timeout_seconds=120) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch"]
