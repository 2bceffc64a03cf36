"""Results made elsewhere: TREC runs in trec_eval's order, and lines of JSON."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import pytrec_eval

from surefind.adapters.targets.mapped_target import MappedTarget
from surefind.adapters.targets.result_files import ResultFile, result_lines, trec_run
from surefind.errors import InputError
from surefind.evaluation.golden.judged_sets import judged_set
from surefind.evaluation.measures.ranking import Measure
from surefind.model import TargetQuery, TargetSpec
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.target_run import run_on_target

THEIRS = {
    "nDCG@10": "ndcg_cut.10",
    "MAP": "map",
    "MRR": "recip_rank",
    "P@5": "P.5",
    "R@10": "recall.10",
    "bpref": "bpref",
    "Rprec": "Rprec",
}


def query(test_id: str, text: str = "") -> TargetQuery:
    return TargetQuery(test_id, text, 10)


async def names(results: ResultFile, one: TargetQuery) -> list[str]:
    target = MappedTarget(TargetSpec("file"), results, lambda _: None)
    await target.infer([one])
    answer = await target.search(one)
    assert answer.latency_ms is None
    return [hit.name for hit in answer.hits]


async def test_a_run_is_sorted_like_trec_eval_does(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 0.5 me\nq1 Q0 d3 2 0.5 me\nq1 Q0 d2 3 0.9 me\nq2 Q0 d1 1 1 me\n")
    run = trec_run(path)
    assert await names(run, query("q1")) == ["d2", "d3", "d1"]
    assert run.missing([query("q1"), query("q9")]) == ["q9"]


LINES = [
    '{"query_id": "q1", "results": [{"url": "https://a.example/x"}, {"url": "https://a.example/y"}]}',
    '{"query_id": "q1", "rank": 2, "url": "https://a.example/y"}\n'
    '{"query_id": "q1", "rank": 1, "url": "https://a.example/x"}',
    '{"query": "how?", "hits": ["https://a.example/x", "https://a.example/y"]}',
]


@pytest.mark.parametrize("lines", LINES)
async def test_lines_of_json_are_read(tmp_path: Path, lines: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(lines)
    found = await names(result_lines(path), query("q1", "how?"))
    assert found == ["https://a.example/x", "https://a.example/y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q1 Q0 d1 1 0.5", "line 1: a line of a run needs six columns"),
        ("q1 Q0 d1 1 high me", "line 1: the score high is not a number"),
        ("q1 Q0 d1 1 nan me", "line 1: the score nan is not a number"),
        ("q1 Q0 d1 1 1 me\nq1 Q0 d1 2 0 me", "line 2: q1 has the document d1 twice"),
        ("\n", "is empty"),
    ],
)
def test_a_wrong_run_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        trec_run(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["x"]', "line 1: a line must be an object"),
        ('{"results": []}', "line 1: a line needs one of test_id"),
        ('{"qid": "1"}\n{"id": "2"}', "line 2: the line has no qid, unlike those before"),
        ('{"qid": [1]}', "line 1: qid must be text"),
        ("{", "line 1: invalid JSON"),
        ("", "is empty"),
    ],
)
def test_wrong_lines_are_refused_with_their_number(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        result_lines(path)


def test_results_of_other_questions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"qid": "1", "results": []}')
    with pytest.raises(InputError, match="has no results for any of the 2 tests"):
        result_lines(path).missing([query("a"), query("b")])


async def test_a_run_with_ties_has_the_measures_of_trec_eval(tmp_path: Path) -> None:
    chance = random.Random(3)
    documents = [f"d{n}" for n in range(20)]
    scores = {
        f"q{q}": {one: chance.choice([0.1, 0.5, 0.9]) for one in chance.sample(documents, 12)}
        for q in range(10)
    }
    judged = {
        query: {one: chance.randint(0, 3) for one in chance.sample(documents, 15)}
        for query in scores
    }
    path = tmp_path / "run.txt"
    path.write_text(
        "".join(
            f"{query} Q0 {document} 0 {score} me\n"
            for query, found in scores.items()
            for document, score in found.items()
        )
    )
    golden = judged_set("judged", {query: query for query in scores}, judged)
    golden = replace(golden, measures=tuple(map(Measure.parse, THEIRS)))
    target = MappedTarget(TargetSpec("file"), trec_run(path), lambda _: None)
    report = await run_on_target(target, golden, RunRequest(top_k=20), "test")
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(THEIRS.values()))
    for query, values in evaluator.evaluate(scores).items():
        [test] = [one for one in report.tests if one.test_id == query]
        for ours, theirs in THEIRS.items():
            assert test.measures[ours] == pytest.approx(values[theirs.replace(".", "_")])
