"""The testing contract's answers: `POST /query` and `surefind query`."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from interfaces.contracts.field_tables import Field
from support.commands import surefind, surefind_json
from support.fakes import record
from surefind.contracts.testing import QueryResponse
from surefind.model import Hit, Query, SearchResult, Status, Timings

CHUNK = {
    "content": str,
    "url": str,
    "position": int,
    "similarity_score": float,
    "chunk_id": str,
    "created_at": str,
}
DETAILS = {"title": str, "section": str, "breadcrumb": str, "source_path": str}
METADATA = {"query_time_ms": int, "total_results": int, "timestamp": str}
QUESTION = "which voltage does the socket need"


def kinds(values: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in values.items()}


def check_answer(answer: dict[str, dict[str, object]], results: int) -> None:
    assert list(answer) == ["query", "results", "metadata"]
    assert kinds(answer["metadata"]) == METADATA
    assert answer["metadata"]["total_results"] == len(answer["results"]) == results
    timestamp = datetime.fromisoformat(str(answer["metadata"]["timestamp"]))
    assert timestamp.tzinfo == UTC
    assert abs(datetime.now(UTC) - timestamp) < timedelta(minutes=2)


def test_an_answer_has_exactly_the_published_fields(contracts: httpx2.Client) -> None:
    answer = contracts.post("/query", json={"query_text": QUESTION}).json()
    check_answer(answer, results=5)
    assert answer["query"] == QUESTION
    for chunk in answer["results"]:
        assert kinds(chunk) == {**CHUNK, "metadata": dict}
        assert kinds(chunk["metadata"]) == DETAILS
        assert 0 <= chunk["similarity_score"] <= 1
        assert datetime.fromisoformat(chunk["created_at"]).tzinfo == UTC
    best = answer["results"][0]
    assert "230 volts" in best["content"]
    assert best["url"] == str(contracts.base_url.join("/read/docs/docs/guide/install.md"))
    assert contracts.get(best["url"]).status_code == 200
    assert best["position"] == 1
    assert best["metadata"] == {
        "title": "Installing",
        "section": "Power",
        "breadcrumb": "Installing > Power",
        "source_path": "docs/guide/install.md",
    }
    scores = [chunk["similarity_score"] for chunk in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def test_without_metadata_every_required_field_stays(contracts: httpx2.Client) -> None:
    whole = contracts.post("/query", json={"query_text": QUESTION}).json()["results"]
    bare = contracts.post("/query", json={"query_text": QUESTION, "include_metadata": False}).json()
    check_answer(bare, results=5)
    assert bare["results"] == [{name: chunk[name] for name in CHUNK} for chunk in whole]


def test_threshold_and_top_k_only_take_away(contracts: httpx2.Client) -> None:
    def ask(**more: object) -> list[dict[str, float]]:
        answer = contracts.post("/query", json={"query_text": QUESTION, "top_k": 20, **more})
        results: list[dict[str, float]] = answer.json()["results"]
        return results

    every = ask()
    middle = every[2]["similarity_score"]
    assert ask(threshold=middle) == every[:3]
    assert ask(top_k=2) == every[:2]
    assert ask(threshold=1.0) == []
    hybrid = ask(mode="hybrid")
    known = {chunk["chunk_id"]: chunk["similarity_score"] for chunk in every}
    for chunk in hybrid:
        assert chunk["similarity_score"] == pytest.approx(known[chunk["chunk_id"]])
    assert ask(mode="lexical")[0]["similarity_score"] == 1.0


# --- the command ------------------------------------------------------------------------------


def test_the_command_prints_the_same_json(ingested: Path, contracts: httpx2.Client) -> None:
    printed = surefind_json("query", QUESTION, cwd=ingested)
    check_answer(printed, results=5)
    served = contracts.post("/query", json={"query_text": QUESTION}).json()
    assert [c["content"] for c in printed["results"]] == [c["content"] for c in served["results"]]
    assert kinds(printed["results"][0]) == {**CHUNK, "metadata": dict}
    options = ("--top-k", "1", "--threshold", "0.3", "--no-include-metadata", "--mode", "hybrid")
    bare = surefind_json("query", QUESTION, *options, cwd=ingested)
    check_answer(bare, results=1)
    assert kinds(bare["results"][0]) == CHUNK


def test_without_json_the_command_prints_a_table(ingested: Path) -> None:
    done = surefind("query", QUESTION, "-k", "2", cwd=ingested)
    assert done.returncode == 0
    head, line, first, *_ = done.stdout.splitlines()
    assert head.split() == ["#", "similarity", "content", "position", "place"]
    assert set(line.strip()) == {"─"}
    assert re.match(r" 1 +0\.\d{3}   ## Power Plug the cable", first)
    assert re.search(r"2 passages in \d+ ms \(generation 1 of docs", done.stderr)
    nothing = surefind("query", QUESTION, "--threshold", "1", cwd=ingested)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "no passage reaches the threshold" in nothing.stderr


def test_long_passages_are_shortened_in_the_table(home: Path) -> None:
    (home / "docs" / "long.md").write_text("# Long\n\n" + "zebra crossing " * 60 + "THE END")
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    done = surefind("query", "zebra crossing", "-k", "1", cwd=home)
    assert "…" in done.stdout
    assert "THE END" not in done.stdout
    assert "THE END" in surefind("query", "zebra crossing", "--json", cwd=home).stdout


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("",), "query_text"),
        ((" \t",), "query_text"),
        (("x" * 2001,), "query_text"),
        (("x", "--top-k", "0"), "top_k"),
        (("x", "--top-k", "21"), "top_k"),
        (("x", "--top-k", "five"), "--top-k"),
        (("x", "--threshold", "-0.1"), "threshold"),
        (("x", "--threshold", "1.1"), "threshold"),
        (("x", "--threshold", "nan"), "threshold"),
        (("x", "--threshold", "0.5", "--mode", "lexical"), "threshold"),
        (("x", "--mode", "magic"), "--mode"),
        ((), "QUERY is missing"),
    ],
)
def test_what_the_contract_forbids_is_exit_2_and_named(
    ingested: Path, arguments: tuple[str, ...], field: str
) -> None:
    done = surefind("query", *arguments, "--json", cwd=ingested)
    assert (done.returncode, done.stdout) == (2, "")
    assert field in done.stderr
    assert "Traceback" not in done.stderr


def test_the_bounds_themselves_are_fine_on_the_command_line(ingested: Path) -> None:
    longest = next(value for value in Field("", str, high=2000).good() if isinstance(value, str))
    assert len(surefind_json("query", longest, "-k", "20", cwd=ingested)["results"]) == 6
    assert surefind_json("query", "x", "-k", "1", "--threshold", "0", cwd=ingested)["results"]


def test_a_count_that_is_not_the_number_of_results_is_refused() -> None:
    hit = Hit(1, 0.9, 0.9, None, None, record(0))
    result = SearchResult(
        Query("x"), (hit,), Status.SUCCESS, 0.9, 1, 1, Timings(1.0, 1.0, 1.0, 1.0, 4.4)
    )
    answer = QueryResponse.of(result)
    assert (answer.metadata.query_time_ms, answer.metadata.total_results) == (4, 1)
    with pytest.raises(ValueError, match="number of results"):
        QueryResponse(query="x", results=[], metadata=answer.metadata)
