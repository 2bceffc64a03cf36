"""LangChain: its own tests of retrievers and tools, chains, and what goes wrong."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import SecretStr, ValidationError

import surefind
from support.kiln import Served
from surefind.interfaces.integrations.langchain import SurefindRetriever, SurefindSearchTool


class OfTheHandbook:
    """What LangChain's tests construct: a retriever of the data folder of the session."""

    params: dict[str, Any]

    @pytest.fixture(autouse=True)
    def handbook(self, docs: surefind.Surefind) -> None:
        type(self).params = {"docs": docs}


class TestRetriever(OfTheHandbook, RetrieversIntegrationTests):
    retriever_constructor = SurefindRetriever
    retriever_query_example = "How hot is the first firing?"

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params


class TestRetrieverWithTopK(TestRetriever):
    num_results_arg_name = "top_k"


class OfATool(OfTheHandbook):
    tool_constructor = SurefindSearchTool
    tool_invoke_params_example = {"query": "How hot is the first firing?"}  # noqa: RUF012 - LangChain's name

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"retriever": SurefindRetriever(**self.params)}


class TestToolUnit(OfATool, ToolsUnitTests):
    pass


class TestToolIntegration(OfATool, ToolsIntegrationTests):
    pass


def called(query: str) -> dict[str, Any]:
    return {"name": "search_docs", "args": {"query": query}, "id": "1", "type": "tool_call"}


def test_documents_have_links_and_scores(docs: surefind.Surefind) -> None:
    options = {"where": {"audience": "beginners"}}
    retriever = SurefindRetriever(docs=docs, k=1, search_options=options)
    [found] = retriever.invoke("How hot is the first firing?")
    assert "600 degrees" in found.page_content
    assert found.id == found.metadata["chunk_id"]
    assert found.metadata["url"].endswith("docs/start.md#first-firing")
    assert found.metadata["breadcrumb"] == "Starting > First firing"
    assert found.metadata["front_matter"]["tags"] == ["first", "quick"]
    assert 0 < found.metadata["similarity"] <= 1
    assert 0 < found.metadata["score"] <= 1
    assert retriever.invoke("chimney", where={"title": "x"}) == []


async def test_both_kinds_of_docs_can_be_awaited(data_dir: Path, docs: surefind.Surefind) -> None:
    question = "What does the error F12 mean?"
    wanted = SurefindRetriever(docs=docs).invoke(question)
    async with surefind.aopen(data_dir=data_dir) as opened:
        retriever = SurefindRetriever(docs=opened)
        assert await retriever.ainvoke(question) == wanted
        with pytest.raises(surefind.InputError, match="use the async methods"):
            retriever.invoke(question)
    assert await SurefindRetriever(docs=docs).ainvoke(question) == wanted
    message = await SurefindSearchTool(retriever=SurefindRetriever(docs=docs)).ainvoke(
        called("F12")
    )
    assert isinstance(message, ToolMessage)
    assert message.status == "success"


def test_a_chain_passes_documents_on(docs: surefind.Surefind) -> None:
    def links(documents: list[Document]) -> list[str]:
        return [one.metadata["source_path"] for one in documents]

    chain = SurefindRetriever(docs=docs, k=1) | RunnableLambda(links)
    questions = ["the blue glaze", "sweep the chimney"]
    assert chain.batch(questions) == [["docs/glazes/blue.md"], ["docs/care.md"]]


def test_the_tool_cites_and_says_when_the_evidence_is_thin(docs: surefind.Surefind) -> None:
    tool = SurefindSearchTool(retriever=SurefindRetriever(docs=docs, k=2))
    message = tool.invoke(called("What does the error F12 mean?"))
    assert message.content.startswith("[1] Errors > F12\nsurefind://docs/docs/errors.md#f12\n\n")
    assert "[2] " in message.content
    assert "thin" not in message.content
    assert [one.metadata["rank"] for one in message.artifact] == [1, 2]
    assert "The evidence is thin" in tool.invoke(called("Who sings at the opera tonight?")).content
    nowhere = SurefindRetriever(docs=docs, search_options={"where": {"title": "x"}})
    nothing = SurefindSearchTool(retriever=nowhere).invoke(called("chimney"))
    assert (nothing.content.splitlines()[0], nothing.artifact) == ("No passage was found.", [])


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "message"),
    [("", "query is empty"), (" ", "query is empty"), ("x" * 10_000, "at most 2000")],
)
def test_bad_queries_are_explained(docs: surefind.Surefind, query: str, message: str) -> None:
    retriever = SurefindRetriever(docs=docs)
    with pytest.raises(surefind.InputError, match=message):
        retriever.invoke(query)
    failed = SurefindSearchTool(retriever=retriever).invoke(called(query))
    assert failed.status == "error"
    assert message in failed.content


async def test_a_failed_search_is_reported_to_callbacks_and_to_the_model(
    docs: surefind.Surefind,
) -> None:
    seen: list[BaseException] = []

    class Watching(BaseCallbackHandler):
        def on_retriever_error(self, error: BaseException, **_: Any) -> None:
            seen.append(error)

    retriever = SurefindRetriever(docs=docs, collection="nope")
    with pytest.raises(surefind.UnknownCollection, match="no collection 'nope'"):
        retriever.invoke("a", config={"callbacks": [Watching()]})
    assert [type(one) for one in seen] == [surefind.UnknownCollection]
    message = await SurefindSearchTool(retriever=retriever).ainvoke(called("a"))
    assert message.status == "error"
    assert "no collection 'nope'" in message.content


def test_wrong_parameters_are_named(docs: surefind.Surefind, served: Served) -> None:
    for wrong in ({"k": 0}, {"k": "many"}, {"topk": 3}, {"search_options": 5}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            SurefindRetriever(docs=docs, **wrong)
    with pytest.raises(TypeError, match="unknown search option: top"):
        SurefindRetriever(docs=docs).invoke("a", top=3)
    with pytest.raises(ValidationError, match="only one of docs, url and data_dir"):
        SurefindRetriever(docs=docs, url=served.address)
    with pytest.raises(ValidationError, match="pass its url too") as refused:
        SurefindRetriever(key="secret")
    assert "secret" not in str(refused.value)


def test_a_missing_or_wrong_key_and_a_stopped_server(served: Served) -> None:
    for key in (None, SecretStr("surefind_wrong")):
        retriever = SurefindRetriever(url=served.address, key=key)
        assert "surefind_wrong" not in repr(retriever)
        with pytest.raises(surefind.SurefindError, match="key"):
            retriever.invoke("a")
    stopped = SurefindRetriever(url="http://127.0.0.1:9")
    with pytest.raises(surefind.StoreUnreachable, match=r"127\.0\.0\.1:9"):
        stopped.invoke("a")


def test_a_folder_without_documents_says_so(tmp_path: Path) -> None:
    with pytest.raises(surefind.SurefindError, match="surefind ingest"):
        SurefindRetriever(data_dir=tmp_path / "empty").invoke("a")
