"""Assistants at a collection that another program filled."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent, TextResourceContents
from qdrant_client import models

from support.assistants import answer_of, assistant_at, refusal_of
from support.commands import serving, surefind
from support.foreign import client_of, plain_payload
from support.payload_shapes import book
from support.qdrant.http_server import running
from support.qdrant.service import REAL_KEY, unique
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder

PASSAGES = book(12)
QUESTION = "what is a topic?"


@pytest.fixture(scope="module")
async def connected(
    bge: BgeSmallEmbedder, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Path]:
    """A folder whose settings name the server and the collection `theirs`."""
    home = tmp_path_factory.mktemp("connected")
    with running() as address:
        client, name = client_of(address), unique("assistants")
        params = models.VectorParams(size=384, distance=models.Distance.COSINE)
        await client.create_collection(name, vectors_config=params)
        rows = await bge.embed_passages([one.text for one in PASSAGES])
        points = [
            models.PointStruct(
                id=one.uuid, vector=row.tolist(), payload=dict(plain_payload(one) or {})
            )
            for one, row in zip(PASSAGES, rows, strict=True)
        ]
        await client.upsert(name, points, wait=True)
        key = f"QDRANT_API_KEY={REAL_KEY}\n" if REAL_KEY else ""
        (home / ".env").write_text(f"QDRANT_URL={address.url}\n{key}")
        done = surefind("connect", "--collection", name, "--as", "theirs", "--yes", cwd=home)
        assert done.returncode == 0, done.stderr
        yield home
        await client.delete_collection(name)
        await client.close()


async def test_the_printed_command_serves_it_from_any_folder(
    connected: Path, tmp_path: Path
) -> None:
    config = surefind(
        "mcp", "--print-config", "claude-desktop", "--collection", "theirs", cwd=connected
    )
    assert config.returncode == 0, config.stderr
    server = json.loads(config.stdout)["mcpServers"]["surefind"]
    parameters = StdioServerParameters(**server, cwd=tmp_path)
    found = surefind("search", "-c", "theirs", "--json", QUESTION, cwd=connected)
    wanted = [(hit["chunk_id"], hit["score"]) for hit in json.loads(found.stdout)["hits"]]
    async with Client(parameters, read_timeout_seconds=120) as assistant:
        answer = await answer_of(assistant, "search_docs", query=QUESTION)
        assert [(one["id"], one["score"]) for one in answer["results"]] == wanted
        first = answer["results"][0]
        assert first["url"].startswith("https://example.org/docs/")
        assert first["title"]
        assert "no lexical index" in answer["hint"]

        page = await answer_of(assistant, "read_page", id_or_url=first["id"], part="page")
        assert first["text"] in page["text"]
        same = await answer_of(assistant, "read_page", id_or_url=first["url"])
        assert same["path"] == page["path"]
        listed = await answer_of(assistant, "list_docs")
        assert (listed["collection"], listed["collections"]) == ("theirs", ["theirs"])
        assert page["path"] in {one["path"] for one in listed["pages"]}
        resources = (await assistant.list_resources()).resources
        assert len(resources) == len(listed["pages"])
        [content] = (await assistant.read_resource(resources[0].uri)).contents
        assert isinstance(content, TextResourceContents)
        assert content.text
        prompt = await assistant.get_prompt("answer_from_docs", {"question": QUESTION})
        assert isinstance(prompt.messages[0].content, TextContent)
        assert first["url"] in prompt.messages[0].content.text
        message = await refusal_of(assistant, "search_docs", query="x", collection="docs")
        assert message.endswith(" Use one of: theirs.")


async def test_it_is_served_over_http_in_every_profile(connected: Path) -> None:
    created = surefind("keys", "create", "--name", "o", "--scope", "admin", cwd=connected)
    key = created.stdout.strip()
    with serving("-c", "theirs", cwd=connected) as (address, _):
        async with assistant_at(f"{address}/mcp/openai", key) as chatgpt:
            found = await answer_of(chatgpt, "search", query=QUESTION)
            first = found["results"][0]
            page = await answer_of(chatgpt, "fetch", id=first["id"])
            assert page["url"] == first["url"]
        async with assistant_at(f"{address}/mcp/maintainer", key) as maintainer:
            miss = await answer_of(
                maintainer, "why_not", query=QUESTION, wanted=first["id"], top_k=5
            )
            assert miss["cause"]
            changes = await answer_of(maintainer, "changes")
            assert changes["added"]["number"] == 6
        headers = {"Authorization": f"Bearer {key}"}
        with httpx2.Client(base_url=address, headers=headers, timeout=60) as client:
            answer = client.post("/v1/vector_stores/theirs/search", json={"query": QUESTION})
            assert answer.json()["data"][0]["attributes"]["chunk_id"] == first["id"]
            assert client.get("/llms.txt").status_code == 200
