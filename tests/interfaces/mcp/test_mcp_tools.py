"""The tools of `surefind mcp`, called by the official client over stdin and stdout."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tokenizers import Tokenizer

from support.assistants import answer_of, refusal_of


async def test_there_are_three_read_only_tools(assistant: Client) -> None:
    tools = (await assistant.list_tools()).tools
    assert [tool.name for tool in tools] == ["search_docs", "read_page", "list_docs"]
    for tool in tools:
        assert tool.title
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert not tool.annotations.destructive_hint
        assert tool.annotations.idempotent_hint


async def test_the_tools_take_little_of_a_models_context(
    assistant: Client, model_files: Path
) -> None:
    """What hosts put into every conversation: names, descriptions and input schemas."""
    tokenizer = Tokenizer.from_file(str(model_files / "tokenizer.json"))
    tokenizer.no_truncation()
    tools = (await assistant.list_tools()).tools
    shown = [
        tool.model_dump_json(by_alias=True, include={"name", "description", "input_schema"})
        for tool in tools
    ]
    # This tokenizer counts each bracket and quote, so a model's own counts are lower.
    assert sum(len(tokenizer.encode(text).ids) for text in shown) < 800


async def test_a_search_answers_with_passages_and_evidence(assistant: Client) -> None:
    answer = await answer_of(assistant, "search_docs", query="Which voltage is needed?", top_k=2)
    first, _ = answer["results"]
    assert first["title"] == "Installing"
    assert first["breadcrumb"] == "Installing > Power"
    assert first["url"] == "surefind://docs/docs/guide/install.md#power"
    assert "230 volts" in first["text"]
    assert first["id"]
    assert 0 < first["similarity"] < 1
    assert 0 < first["score"] <= 1
    assert answer["generation"] == 1
    assert answer["omitted"] == []
    assert answer["evidence"] in {"strong", "fair"}
    assert "hint" not in answer


async def test_thin_evidence_comes_with_a_hint(assistant: Client) -> None:
    answer = await answer_of(assistant, "search_docs", query="Who won the cup final in 1974?")
    assert answer["evidence"] == "thin"
    assert "probably does not answer" in answer["hint"]


async def test_passages_beyond_the_budget_are_listed(assistant: Client) -> None:
    everything = await answer_of(assistant, "search_docs", query="teapot")
    answer = await answer_of(assistant, "search_docs", query="teapot", max_tokens=40)
    assert answer["omitted"]
    ids = {one["id"] for one in [*answer["results"], *answer["omitted"]]}
    assert ids == {one["id"] for one in everything["results"]}
    nothing = await answer_of(assistant, "search_docs", query="teapot", max_tokens=1)
    assert nothing["results"] == []
    fewest = min(one["tokens"] for one in nothing["omitted"])
    assert f"max_tokens to {fewest} or more" in nothing["hint"]


async def test_a_search_can_be_limited_to_a_folder(assistant: Client) -> None:
    answer = await answer_of(assistant, "search_docs", query="teapot", under="docs/reference/")
    assert answer["results"]
    assert {hit["url"].partition("#")[0] for hit in answer["results"]} == {
        "surefind://docs/docs/reference/errors.md"
    }


async def test_an_empty_result_names_the_filter(assistant: Client) -> None:
    answer = await answer_of(assistant, "search_docs", query="teapot", version="9.9")
    assert answer["results"] == []
    assert "version=9.9" in answer["hint"]
    assert "list_docs" in answer["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"userQuery": "E42", "topK": 1},
        {"question": "E42", "limit": "1"},
        {"q": "E42", "num_results": 1, "version": None, "under": ""},
        {"search_query": "E42", "maxResults": 1, "collectionName": "docs"},
    ],
)
async def test_arguments_may_have_the_names_that_models_invent(
    assistant: Client, arguments: dict[str, Any]
) -> None:
    answer = await answer_of(assistant, "search_docs", **arguments)
    [hit] = answer["results"]
    assert hit["breadcrumb"] == "Errors > E42"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "query: it is required"),
        ({"query": ""}, "query is empty; enter a question or keywords."),
        ({"query": " \n "}, "query is empty"),
        ({"query": "x" * 10_000}, "query: it has 10000 characters; at most 2000 are allowed."),
        ({"query": ["x"]}, "query: it must be a string"),
        ({"query": "a\0b"}, "query: it contains a NUL character"),
        ({"query": "x", "top_k": 0}, "top_k: it must be at least 1"),
        ({"query": "x", "top_k": 51}, "top_k: it must be at most 50"),
        ({"query": "x", "top_k": "many"}, "top_k: it must be a whole number"),
        ({"query": "x", "max_tokens": 100_000}, "max_tokens: it must be at most"),
        ({"query": "x", "fuzzy": True}, "fuzzy: unknown argument. search_docs accepts: query,"),
        ({"query": "x", "question": "y"}, "question: unknown argument"),
        ({"query": "x", "collection": "attic"}, "there is no collection 'attic'"),
        (
            {"query": "x", "collection": "../etc"},
            "invalid collection name '../etc'; use 1 to 63 of",
        ),
    ],
)
async def test_a_wrong_argument_is_explained(
    assistant: Client, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in await refusal_of(assistant, "search_docs", **arguments)


async def test_an_unknown_tool_is_refused_with_the_known_ones(assistant: Client) -> None:
    message = await refusal_of(assistant, "ask_docs", query="x")
    assert message == (
        "There is no tool 'ask_docs'. Use one of: search_docs, read_page, list_docs."
    )


# --- reading ----------------------------------------------------------------------------------


async def found(assistant: Client, query: str) -> dict[str, Any]:
    answer = await answer_of(assistant, "search_docs", query=query, top_k=1)
    hit: dict[str, Any] = answer["results"][0]
    return hit


async def test_a_passage_can_be_read_in_its_context(assistant: Client) -> None:
    hit = await found(assistant, "Which voltage is needed?")
    section = await answer_of(assistant, "read_page", id_or_url=hit["id"])
    assert section["text"] == hit["text"]
    assert section["title"] == "Installing"
    assert section["path"] == "docs/guide/install.md"
    around = await answer_of(assistant, "read_page", id_or_url=hit["id"], part="neighbours")
    assert around["text"].index("stable table") < around["text"].index("230 volts")
    assert "fresh water" in around["text"]
    whole = await answer_of(assistant, "read_page", id_or_url=hit["id"], part="page")
    assert whole["text"].startswith("# Installing")
    assert "next" not in whole


@pytest.mark.parametrize(
    "name",
    [
        "docs/guide/install.md",
        "surefind://docs/docs/guide/install.md",
        "http://localhost:8000/read/docs/docs/guide/install.md",
    ],
)
async def test_a_page_can_be_read_by_path_and_by_url(assistant: Client, name: str) -> None:
    page = await answer_of(assistant, "read_page", url=name)
    assert page["text"].startswith("# Installing")
    assert page["text"].endswith("press start.")
    section = await answer_of(assistant, "read_page", uri=f"{name}#power")
    assert section["text"].startswith("## Power")
    assert section["url"] == "surefind://docs/docs/guide/install.md#power"


async def test_a_long_page_is_read_in_parts(assistant: Client) -> None:
    wanted = {"id_or_url": "docs/guide/install.md", "max_tokens": 1}
    answers = [await answer_of(assistant, "read_page", **wanted)]
    while "next" in answers[-1]:
        cursor = answers[-1]["next"]
        answers.append(await answer_of(assistant, "read_page", **wanted, cursor=cursor))
    assert len(answers) == 3
    page = await answer_of(assistant, "read_page", id_or_url="docs/guide/install.md")
    assert "\n\n".join(answer["text"] for answer in answers) == page["text"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"id": "attic"}, "no passage ID, URL or page path matches 'attic'. Search again"),
        ({"id": "https://example.org/a"}, "matches 'https://example.org/a'"),
        ({"id": "docs/guide/install.md#attic"}, "docs/guide/install.md has no heading #attic"),
        ({"id": "  "}, "id: it cannot be empty"),
        ({"id": "docs/index.md", "part": "all"}, "part: it must be 'section', 'neighbours'"),
        ({"id": "docs/index.md", "cursor": "x"}, "read it again without a cursor"),
    ],
)
async def test_what_can_not_be_read_is_explained(
    assistant: Client, arguments: dict[str, Any], problem: str
) -> None:
    assert problem in await refusal_of(assistant, "read_page", **arguments)


# --- listing ----------------------------------------------------------------------------------


async def test_the_documentation_is_listed(assistant: Client) -> None:
    answer = await answer_of(assistant, "list_docs")
    assert answer["collection"] == "docs"
    assert answer["collections"] == ["docs"]
    assert answer["generation"] == 1
    assert answer["ingested_at"].endswith("+00:00")
    assert answer["total_pages"] == 4
    assert [page["path"] for page in answer["pages"]] == [
        "docs/guide/cleaning.md",
        "docs/guide/install.md",
        "docs/index.md",
        "docs/reference/errors.md",
    ]
    assert answer["pages"][0]["title"] == "Cleaning"
    below = await answer_of(assistant, "list_docs", folder="docs/guide")
    assert below["pages"] == answer["pages"][:2]
    assert (await answer_of(assistant, "list_docs", under="attic"))["pages"] == []
