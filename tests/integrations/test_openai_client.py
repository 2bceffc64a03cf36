"""The vector store endpoints, called by OpenAI's own client."""

from collections.abc import AsyncIterator, Iterator

import openai
import pytest

import surefind
from support.kiln import PAGES, Served


@pytest.fixture(scope="module")
def api(served: Served) -> Iterator[openai.OpenAI]:
    url = f"{served.address}/v1"
    with openai.OpenAI(base_url=url, api_key=served.key, max_retries=0, timeout=60) as api:
        yield api


@pytest.fixture
async def async_api(served: Served) -> AsyncIterator[openai.AsyncOpenAI]:
    url = f"{served.address}/v1"
    async with openai.AsyncOpenAI(base_url=url, api_key=served.key, max_retries=0) as api:
        yield api


def test_a_search_finds_the_passages(api: openai.OpenAI, docs: surefind.Surefind) -> None:
    question = "At how many degrees do I fire the blue glaze?"
    page = api.vector_stores.search("docs", query=question, max_num_results=2)
    hits = docs.search(question, top_k=2)
    assert [one.content[0].text for one in page] == [hit.text for hit in hits]
    first = page.data[0]
    assert first.filename == "docs/glazes/blue.md"
    assert first.attributes is not None
    page_url = api.base_url.join("/read/docs/docs/glazes/blue.md")
    assert first.attributes["url"] == f"{page_url}#the-blue-glaze"
    assert (
        "1100 degrees"
        in api.vector_stores.files.content(first.file_id, vector_store_id="docs").data[0].text
    )


async def test_the_async_client_filters(async_api: openai.AsyncOpenAI) -> None:
    page = await async_api.vector_stores.search(
        "docs",
        query=["degrees", "glaze"],
        filters={
            "type": "and",
            "filters": [
                {"type": "in", "key": "title", "value": ["The red glaze", "The blue glaze"]},
                {"type": "ne", "key": "source_path", "value": "docs/glazes/red.md"},
            ],
        },
        ranking_options={"ranker": "auto", "score_threshold": 0.01},
    )
    assert [one.filename async for one in page] == ["docs/glazes/blue.md"]


def test_stores_and_files_are_listed(api: openai.OpenAI) -> None:
    [store] = api.vector_stores.list()
    assert (store.id, store.status, store.file_counts.completed) == (
        "docs",
        "completed",
        len(PAGES),
    )
    assert api.vector_stores.retrieve("docs") == store
    files = list(api.vector_stores.files.list("docs", limit=2))  # the client asks for the rest
    paths = [(file.attributes or {})["source_path"] for file in files]
    assert paths == sorted(f"docs/{path}" for path in PAGES)
    assert api.vector_stores.files.retrieve(files[0].id, vector_store_id="docs") == files[0]


def test_errors_are_those_of_the_client(api: openai.OpenAI) -> None:
    search = api.vector_stores.search
    with pytest.raises(openai.NotFoundError, match="no collection 'nope'"):
        search("nope", query="a")
    with pytest.raises(openai.BadRequestError, match="it cannot be empty") as empty:
        search("docs", query="")
    assert empty.value.param == "query"
    with pytest.raises(openai.BadRequestError, match="at most 2000"):
        search("docs", query="x" * 10_000)
    with pytest.raises(openai.BadRequestError, match="did you mean title") as unknown:
        search("docs", query="a", filters={"type": "eq", "key": "titel", "value": "x"})
    assert unknown.value.param == "filters"
    with pytest.raises(openai.APIStatusError, match="surefind ingest") as refused:
        api.vector_stores.create(name="mine")
    assert refused.value.status_code == 405


def test_a_wrong_key_is_an_authentication_error(served: Served) -> None:
    url = f"{served.address}/v1"
    with (
        openai.OpenAI(base_url=url, api_key="sk-wrong", max_retries=0) as api,
        pytest.raises(openai.AuthenticationError, match="unknown or revoked") as wrong,
    ):
        api.vector_stores.search("docs", query="a")
    assert wrong.value.code == "invalid_api_key"
