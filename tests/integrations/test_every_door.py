"""Every door gives the same hits in the same order with the same scores."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from haystack.utils import Secret
from openai import OpenAI

import surefind
from support.assistants import answer_of, assistant_at
from support.commands import surefind_json
from support.kiln import QUESTIONS, Served
from surefind.interfaces.integrations import haystack, langchain, llama_index

TOP_K = 4
DIGITS = 6
"""Of scores in JSON."""

Found = list[tuple[str, float]]


@dataclass(frozen=True)
class House:
    """What all doors lead to."""

    home: Path
    docs: surefind.Surefind
    served: Served


@pytest.fixture(scope="module")
def house(home: Path, docs: surefind.Surefind, served: Served) -> House:
    return House(home, docs, served)


def hits_of(result: surefind.SearchResult) -> Found:
    return [(hit.record.chunk.id, round(hit.score, DIGITS)) for hit in result]


def library(house: House, question: str) -> Found:
    return hits_of(house.docs.search(question, top_k=TOP_K))


def client(house: House, question: str) -> Found:
    with surefind.connect_to(house.served.address, key=house.served.key) as docs:
        return hits_of(docs.search(question, top_k=TOP_K))


def command_line(house: House, question: str) -> Found:
    answer = surefind_json("search", "--top-k", str(TOP_K), question, cwd=house.home)
    return [(hit["chunk_id"], hit["score"]) for hit in answer["hits"]]


def http(house: House, question: str) -> Found:
    headers = {"Authorization": f"Bearer {house.served.key}"}
    body = {"query": question, "top_k": TOP_K}
    answer = httpx2.post(f"{house.served.address}/retrieve", json=body, headers=headers, timeout=60)
    return [(hit["chunk_id"], hit["score"]) for hit in answer.json()["hits"]]


def mcp(house: House, question: str) -> Found:
    async def ask() -> Found:
        async with assistant_at(f"{house.served.address}/mcp", house.served.key) as assistant:
            answer = await answer_of(assistant, "search_docs", query=question, top_k=TOP_K)
        return [(one["id"], one["score"]) for one in answer["results"]]

    return asyncio.run(ask())


def openai(house: House, question: str) -> Found:
    with OpenAI(base_url=f"{house.served.address}/v1", api_key=house.served.key) as api:
        page = api.vector_stores.search("docs", query=question, max_num_results=TOP_K)
    return [(str((one.attributes or {})["chunk_id"]), one.score) for one in page]


def by_langchain(retriever: langchain.SurefindRetriever, question: str) -> Found:
    documents = retriever.invoke(question)
    return [(str(one.id), round(one.metadata["score"], DIGITS)) for one in documents]


def langchain_here(house: House, question: str) -> Found:
    return by_langchain(langchain.SurefindRetriever(docs=house.docs, k=TOP_K), question)


def langchain_remote(house: House, question: str) -> Found:
    url, key = house.served.address, house.served.key
    return by_langchain(langchain.SurefindRetriever(url=url, key=key, top_k=TOP_K), question)


def langchain_tool(house: House, question: str) -> Found:
    retriever = langchain.SurefindRetriever(docs=house.docs, k=TOP_K)
    call = {"name": "x", "args": {"query": question}, "id": "1", "type": "tool_call"}
    message = langchain.SurefindSearchTool(retriever=retriever).invoke(call)
    return [(one.id, round(one.metadata["score"], DIGITS)) for one in message.artifact]


def by_llama_index(retriever: llama_index.SurefindRetriever, question: str) -> Found:
    nodes = retriever.retrieve(question)
    return [(node.node_id, round(node.get_score(), DIGITS)) for node in nodes]


def llama_index_here(house: House, question: str) -> Found:
    return by_llama_index(llama_index.SurefindRetriever(house.docs, top_k=TOP_K), question)


def llama_index_remote(house: House, question: str) -> Found:
    url, key = house.served.address, house.served.key
    return by_llama_index(llama_index.SurefindRetriever(url=url, key=key, top_k=TOP_K), question)


def by_haystack(retriever: haystack.SurefindRetriever, question: str) -> Found:
    documents = retriever.run(question)["documents"]
    return [(one.id, round(one.score or 0.0, DIGITS)) for one in documents]


def haystack_here(house: House, question: str) -> Found:
    return by_haystack(haystack.SurefindRetriever(house.docs, top_k=TOP_K), question)


def haystack_remote(house: House, question: str) -> Found:
    key = Secret.from_token(house.served.key)
    retriever = haystack.SurefindRetriever(url=house.served.address, key=key, top_k=TOP_K)
    return by_haystack(retriever, question)


DOORS: tuple[Callable[[House, str], Found], ...] = (
    client,
    command_line,
    http,
    mcp,
    openai,
    langchain_here,
    langchain_remote,
    langchain_tool,
    llama_index_here,
    llama_index_remote,
    haystack_here,
    haystack_remote,
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_gives_the_hits_of_the_library(
    house: House, door: Callable[[House, str], Found]
) -> None:
    for question in QUESTIONS:
        wanted = library(house, question)
        assert len(wanted) == TOP_K
        assert door(house, question) == wanted, question
