"""Haystack: a pipeline that is saved as YAML, loaded and run."""

from pathlib import Path

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.core.errors import DeserializationError
from haystack.utils import Secret

import surefind
from support.kiln import Served
from surefind.interfaces.integrations.haystack import SurefindRetriever

QUESTION = "What does the error F12 mean?"
TEMPLATE = "{% for one in documents %}{{ one.meta.url }}: {{ one.content }}\n{% endfor %}"


def pipeline(retriever: SurefindRetriever) -> Pipeline:
    made = Pipeline()
    made.add_component("docs", retriever)
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents"]))
    made.connect("docs.documents", "prompt.documents")
    return made


def prompt(of: Pipeline, **inputs: object) -> str:
    answer: str = of.run({"docs": {"query": QUESTION, **inputs}})["prompt"]["prompt"]
    return answer


async def test_a_saved_pipeline_of_a_folder_gives_the_same_answers(data_dir: Path) -> None:
    options = {"where": {"source_path": {"under": "docs/errors.md"}}}
    made = pipeline(SurefindRetriever(data_dir=data_dir, top_k=2, search_options=options))
    saved = made.dumps()
    loaded = Pipeline.loads(saved, allowed_modules=["surefind.*"])
    assert loaded.dumps() == saved
    answer = prompt(made)
    assert answer.startswith("surefind://docs/docs/errors.md#f12: # Errors\n\n## F12\n\nThe error")
    assert prompt(loaded) == answer
    awaited = await loaded.run_async({"docs": {"query": QUESTION}})
    assert awaited["prompt"]["prompt"] == answer
    assert len(prompt(loaded, top_k=1)) < len(answer)
    elsewhere = {"where": {"source_path": "docs/care.md"}}
    assert "docs/care.md" in prompt(loaded, search_options=elsewhere)


def test_a_saved_pipeline_of_a_server_holds_no_key(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_KEY", served.key)
    key = Secret.from_env_var("DOCS_KEY")
    made = pipeline(SurefindRetriever(url=served.address, key=key, top_k=2))
    saved = made.dumps()
    assert served.key not in saved
    answer = prompt(Pipeline.loads(saved, allowed_modules=["surefind.*"]))
    assert f"{served.address}/read/docs/docs/errors.md#f12" in answer
    monkeypatch.delenv("DOCS_KEY")
    with pytest.raises(DeserializationError, match="DOCS_KEY"):
        Pipeline.loads(saved, allowed_modules=["surefind.*"])


async def test_async_docs_can_only_be_awaited(data_dir: Path) -> None:
    async with surefind.aopen(data_dir=data_dir) as docs:
        retriever = SurefindRetriever(docs)
        [first, *_] = (await retriever.run_async(QUESTION))["documents"]
        assert first.meta["breadcrumb"] == "Errors > F12"
        assert first.score == first.meta["score"]
        with pytest.raises(surefind.InputError, match="use the async methods"):
            retriever.run(QUESTION)


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_pipeline_of_opened_docs_is_not_saved(docs: surefind.Surefind) -> None:
    made = pipeline(SurefindRetriever(docs))
    assert "the door is open" in prompt(made)
    with pytest.raises(surefind.InputError, match="can't be saved"):
        made.dumps()


def test_errors_say_what_to_do(docs: surefind.Surefind, served: Served, tmp_path: Path) -> None:
    with pytest.raises(surefind.InputError, match="query is empty"):
        SurefindRetriever(docs).run("")
    with pytest.raises(surefind.InputError, match="at most 2000"):
        SurefindRetriever(docs).run("x" * 10_000)
    with pytest.raises(surefind.InputError, match="top_k must be a whole number"):
        SurefindRetriever(docs).run("a", top_k=0)
    with pytest.raises(TypeError, match="unknown search option: topk"):
        SurefindRetriever(docs).run("a", search_options={"topk": 1})
    with pytest.raises(surefind.UnknownCollection, match="no collection 'nope'"):
        SurefindRetriever(docs, collection="nope").run("a")
    with pytest.raises(surefind.SurefindError, match="API key"):
        SurefindRetriever(url=served.address).run("a")
    with pytest.raises(surefind.StoreUnreachable, match=r"127\.0\.0\.1:9"):
        SurefindRetriever(url="http://127.0.0.1:9").run("a")
    with pytest.raises(surefind.SurefindError, match="surefind ingest"):
        SurefindRetriever(data_dir=tmp_path / "empty").run("a")
