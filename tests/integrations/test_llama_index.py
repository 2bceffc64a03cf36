"""LlamaIndex: its query engine and its evaluator, which agrees with `surefind validate`."""

import json
from pathlib import Path

import pytest
import yaml
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

import surefind
from support.commands import surefind as run
from support.kiln import QUESTIONS, Served
from surefind.interfaces.integrations.llama_index import SurefindRetriever

TOP_K = 3
HISTORY = [
    {"role": "user", "content": "What does the error F30 mean?"},
    {"role": "assistant", "content": "The error F30 means that the sensor is too hot."},
]


def test_nodes_have_links_and_scores(docs: surefind.Surefind) -> None:
    retriever = SurefindRetriever(
        docs, top_k=1, search_options={"where": {"audience": "beginners"}}
    )
    [node] = retriever.retrieve("How hot is the first firing?")
    assert node.node.ref_doc_id == "docs/start.md"
    assert node.metadata["url"].endswith("docs/start.md#first-firing")
    assert node.get_score() == node.metadata["score"]
    shown = node.node.get_content(MetadataMode.LLM)
    assert "breadcrumb: Starting > First firing" in shown
    assert "600 degrees" in shown
    assert "similarity" not in shown
    assert node.node.get_content(MetadataMode.EMBED) == node.text


def test_a_follow_up_is_searched_after_its_conversation(docs: surefind.Surefind) -> None:
    retriever = SurefindRetriever(docs, top_k=1)
    [node] = retriever.after(HISTORY).retrieve("And what does it mean exactly?")
    assert node.metadata["url"].endswith("docs/errors.md#f30")
    expected = docs.search("And what does it mean exactly?", top_k=1)
    [alone] = retriever.retrieve("And what does it mean exactly?")
    assert alone.get_score() == expected[0].score
    assert alone.metadata["similarity"] != node.metadata["similarity"]


async def test_a_query_engine_answers_from_the_passages(docs: surefind.Surefind) -> None:
    engine = RetrieverQueryEngine.from_args(SurefindRetriever(docs, top_k=2), llm=MockLLM())
    question = "What does the error F12 mean?"
    answer = await engine.aquery(question)
    assert "the door is open" in str(answer)  # this model repeats its prompt
    assert [node.metadata["rank"] for node in answer.source_nodes] == [1, 2]
    assert str(engine.query(question)) == str(answer)


async def test_async_docs_can_only_be_awaited(data_dir: Path) -> None:
    async with surefind.aopen(data_dir=data_dir) as docs:
        retriever = SurefindRetriever(docs)
        assert len(await retriever.aretrieve("glaze")) == 5
        with pytest.raises(surefind.InputError, match="use the async methods"):
            retriever.retrieve("glaze")


async def test_the_evaluator_agrees_with_surefind_validate(
    docs: surefind.Surefind, home: Path, tmp_path: Path
) -> None:
    """Of the tests, some expect the first hit, some a later one, and some what is not found."""
    expected = {
        question: docs.search(question, top_k=8)[rank].record.chunk.id
        for question, rank in zip(QUESTIONS, (0, 1, 2, 5, 0), strict=True)
    }
    tests = [
        {"test_id": str(at), "query_text": question, "expected_results": [chunk]}
        for at, (question, chunk) in enumerate(expected.items())
    ]
    measures = [f"hit@{TOP_K}", "MRR"]
    (tmp_path / "golden.yaml").write_text(
        yaml.safe_dump({"top_k": TOP_K, "measures": measures, "tests": tests})
    )
    golden = tmp_path / "golden.yaml"
    done = run("validate", golden, "--json", cwd=home)
    assert done.returncode == 1, done.stderr  # some tests fail on purpose
    means = json.loads(done.stdout)["means"]["values"]

    evaluator = RetrieverEvaluator.from_metric_names(
        ["hit_rate", "mrr"], retriever=SurefindRetriever(docs, top_k=TOP_K)
    )
    results = [await evaluator.aevaluate(text, [chunk]) for text, chunk in expected.items()]
    for theirs, ours in (("hit_rate", f"hit@{TOP_K}"), ("mrr", "MRR")):
        mean = sum(one.metric_vals_dict[theirs] for one in results) / len(results)
        assert 0 < mean < 1
        assert mean == pytest.approx(means[ours], abs=1e-6)


# --- what goes wrong ----------------------------------------------------------------------------


def test_errors_say_what_to_do(docs: surefind.Surefind, served: Served, tmp_path: Path) -> None:
    with pytest.raises(surefind.InputError, match="query is empty"):
        SurefindRetriever(docs).retrieve("")
    with pytest.raises(surefind.InputError, match="at most 2000"):
        SurefindRetriever(docs).retrieve("x" * 10_000)
    with pytest.raises(surefind.InputError, match="top_k must be a whole number"):
        SurefindRetriever(docs, top_k=0).retrieve("a")
    with pytest.raises(surefind.UnknownCollection, match="no collection 'nope'"):
        SurefindRetriever(docs, collection="nope").retrieve("a")
    with pytest.raises(surefind.SurefindError, match="API key"):
        SurefindRetriever(url=served.address).retrieve("a")
    with pytest.raises(surefind.StoreUnreachable, match=r"127\.0\.0\.1:9"):
        SurefindRetriever(url="http://127.0.0.1:9").retrieve("a")
    with pytest.raises(surefind.SurefindError, match="surefind ingest"):
        SurefindRetriever(data_dir=tmp_path / "empty").retrieve("a")
    with pytest.raises(TypeError, match="topk"):
        SurefindRetriever(docs, topk=3)
    with pytest.raises(surefind.InputError, match=r"must come from surefind\.open"):
        SurefindRetriever("https://docs.example.com")  # type: ignore[arg-type]
