"""Every door explains the same mistakes in its own way, and reveals nothing."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from haystack.utils import Secret
from mcp.shared.exceptions import MCPError
from openai import APIStatusError, OpenAI

import surefind
from support.assistants import assistant_at, refusal_of
from support.commands import serving
from support.commands import surefind as run
from support.kiln import Served
from support.qdrant.http_server import serve
from surefind.interfaces.integrations import haystack, langchain, llama_index


@dataclass(frozen=True)
class House:
    home: Path
    docs: surefind.Surefind
    served: Served


@dataclass(frozen=True)
class Mistake:
    query: str = "F12"
    collection: str | None = None
    top_k: Any = 5


def raised(call: Callable[[], object]) -> str:
    """The errors of the library, or the type errors of a framework."""
    with pytest.raises((surefind.SurefindError, ValueError)) as caught:
        call()
    return str(caught.value)


def library(house: House, wrong: Mistake) -> str:
    options = {"collection": wrong.collection, "top_k": wrong.top_k}
    return raised(lambda: house.docs.search(wrong.query, **options))


def client(house: House, wrong: Mistake) -> str:
    key = house.served.key or None
    with surefind.connect_to(house.served.address, key=key, retries=0) as docs:
        options = {"collection": wrong.collection, "top_k": wrong.top_k}
        return raised(lambda: docs.search(wrong.query, **options))


def command_line(house: House, wrong: Mistake) -> str:
    named = () if wrong.collection is None else ("--collection", wrong.collection)
    done = run("search", *named, "--top-k", str(wrong.top_k), "--", wrong.query, cwd=house.home)
    assert done.returncode > 1
    assert done.stdout == ""
    *notes, error = done.stderr.splitlines()
    assert all(line.startswith("surefind: index: ") for line in notes)
    assert error.startswith("surefind: error: ")
    return error


def http(house: House, wrong: Mistake) -> str:
    headers = {"Authorization": f"Bearer {house.served.key}"} if house.served.key else {}
    body = {"query": wrong.query, "collection": wrong.collection, "top_k": wrong.top_k}
    answer = httpx2.post(f"{house.served.address}/retrieve", json=body, headers=headers, timeout=60)
    assert answer.status_code >= 400
    assert set(answer.json()) == {"error", "message"}
    return str(answer.json()["message"])


def mcp(house: House, wrong: Mistake) -> str:
    async def ask() -> str:
        async with assistant_at(f"{house.served.address}/mcp", house.served.key) as assistant:
            arguments = {"query": wrong.query, "top_k": wrong.top_k}
            if wrong.collection is not None:
                arguments["collection"] = wrong.collection
            return await refusal_of(assistant, "search_docs", **arguments)

    try:
        return asyncio.run(ask())
    except ExceptionGroup as group:  # it can't even connect
        errors = group.split(lambda one: isinstance(one, MCPError))[0]
        assert errors is not None
        return str(errors.exceptions)


def openai(house: House, wrong: Mistake) -> str:
    url, key = f"{house.served.address}/v1", house.served.key or "none"
    store = wrong.collection or "docs"
    with OpenAI(base_url=url, api_key=key, max_retries=0) as api:
        search = partial(api.vector_stores.search, store, query=wrong.query)
        with pytest.raises(APIStatusError) as caught:
            search(max_num_results=wrong.top_k)
    body: Any = caught.value.body
    assert set(body) == {"message", "type", "param", "code"}
    return str(body["message"])


def place_of(house: House, *, remote: bool) -> dict[str, Any]:
    if remote:
        return {"url": house.served.address, "key": house.served.key or None}
    return {"docs": house.docs}


def langchain_retriever(house: House, wrong: Mistake, *, remote: bool = False) -> str:
    place = place_of(house, remote=remote)
    return raised(
        lambda: langchain.SurefindRetriever(
            **place, collection=wrong.collection, k=wrong.top_k
        ).invoke(wrong.query)
    )


def langchain_tool(house: House, wrong: Mistake, *, remote: bool = False) -> str:
    options = {"top_k": wrong.top_k}
    retriever = langchain.SurefindRetriever(
        **place_of(house, remote=remote), collection=wrong.collection, search_options=options
    )
    call = {"name": "x", "args": {"query": wrong.query}, "id": "1", "type": "tool_call"}
    message = langchain.SurefindSearchTool(retriever=retriever).invoke(call)
    assert message.status == "error"
    return str(message.content)


def by_llama_index(house: House, wrong: Mistake, *, remote: bool = False) -> str:
    place = place_of(house, remote=remote)
    retriever = llama_index.SurefindRetriever(
        **place, collection=wrong.collection, top_k=wrong.top_k
    )
    return raised(lambda: retriever.retrieve(wrong.query))


def by_haystack(house: House, wrong: Mistake, *, remote: bool = False) -> str:
    place = place_of(house, remote=remote)
    if place.get("key"):
        place["key"] = Secret.from_token(place["key"])
    retriever = haystack.SurefindRetriever(**place, collection=wrong.collection, top_k=wrong.top_k)
    return raised(lambda: retriever.run(wrong.query))


def away(door: Callable[..., str]) -> Callable[[House, Mistake], str]:
    """The door of a framework, against the server."""

    def through(house: House, wrong: Mistake) -> str:
        return door(house, wrong, remote=True)

    through.__name__ = f"{door.__name__}_remote"
    return through


FRAMEWORKS = (langchain_retriever, langchain_tool, by_llama_index, by_haystack)
LOCAL: tuple[Callable[[House, Mistake], str], ...] = (library, command_line, *FRAMEWORKS)
REMOTE = (client, http, mcp, openai, *map(away, FRAMEWORKS))
MISTAKES = {
    "unknown collection": (Mistake(collection="attic"), "there is no collection 'attic'"),
    "empty": (Mistake(query=""), "empty"),
    "blank": (Mistake(query=" \n"), "empty"),
    "too long": (Mistake(query="x" * 10_000), "at most 2000"),
    "wrong type": (Mistake(top_k="many"), r"top_k|top-k|max_num_results|\bk\b"),
    "out of range": (Mistake(top_k=0), r"top_k|top-k|max_num_results|\bk\b"),
}


def named(door: Callable[..., str]) -> str:
    return door.__name__


@pytest.fixture(scope="module")
def house(home: Path, docs: surefind.Surefind, served: Served) -> House:
    return House(home, docs, served)


@pytest.fixture(scope="module")
def stranded(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Its index is in a Qdrant server that has gone away."""
    place = tmp_path_factory.mktemp("stranded")
    shutil.copytree(home / "docs", place / "docs")
    with ExitStack() as opened:
        with serve() as qdrant:
            url = qdrant.address.url
            (place / ".env").write_text(f"QDRANT_URL={url}\n")
            done = run("ingest", "docs", cwd=place)
            assert done.returncode == 0, done.stderr
            address, _ = opened.enter_context(serving(cwd=place))
            docs = opened.enter_context(surefind.open(data_dir=place / ".surefind", qdrant_url=url))
        yield House(place, docs, Served(address, ""))


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("door", [*LOCAL, *REMOTE], ids=named)
def test_a_mistake_is_explained(
    house: House, door: Callable[[House, Mistake], str], name: str
) -> None:
    wrong, message = MISTAKES[name]
    said = door(house, wrong)
    assert pytest.RaisesExc(Exception, match=message).matches(Exception(said)), said
    assert "Traceback" not in said
    assert len(said) < 1000


@pytest.mark.parametrize("door", REMOTE, ids=named)
@pytest.mark.parametrize(
    ("key", "message"),
    [("", "an API key is required|unknown or revoked"), ("surefind_wrong", "unknown or revoked")],
)
def test_a_missing_or_wrong_key_is_explained(
    house: House, door: Callable[[House, Mistake], str], key: str, message: str
) -> None:
    said = door(House(house.home, house.docs, Served(house.served.address, key)), Mistake())
    assert pytest.RaisesExc(Exception, match=message).matches(Exception(said)), said


@pytest.mark.parametrize("door", LOCAL, ids=named)
def test_an_unavailable_store_is_named(
    stranded: House, door: Callable[[House, Mistake], str]
) -> None:
    said = door(stranded, Mistake(query="chimney"))
    assert "the connection was refused; check QDRANT_URL and that the server runs" in said


@pytest.mark.parametrize("door", REMOTE, ids=named)
def test_an_unavailable_store_is_reported_without_its_place(
    stranded: House, door: Callable[[House, Mistake], str]
) -> None:
    said = door(stranded, Mistake(query="chimney"))
    assert "unavailable" in said, said
    assert not re.search(r":\d{4,5}\b|/home|/tmp|/dev", said.replace(stranded.served.address, ""))
