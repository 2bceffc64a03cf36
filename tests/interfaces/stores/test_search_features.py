"""Filters, groups, budgets and why-not, alike on the command line, in the library and over HTTP."""

import asyncio
import json
from pathlib import Path

import httpx2
import pytest

import surefind
from support.commands import surefind as command


def found(folder: Path, *arguments: str) -> dict[str, object]:
    done = command("search", *arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def hits(answer: object) -> list[dict[str, object]]:
    assert isinstance(answer, dict)
    listed: list[dict[str, object]] = answer["hits"]
    return listed


def test_one_question_three_doors_one_answer(ingested: Path, contracts: httpx2.Client) -> None:
    """The same options give the same hits, whoever asks."""
    by_command = found(
        ingested, "teapot", "-w", "source_path^=docs/guide", "--group-by", "document", "-k", "9"
    )
    asked = {
        "query": "teapot",
        "where": {"source_path": {"under": "docs/guide"}},
        "group_by": "document",
        "top_k": 9,
    }
    by_http = contracts.post("/retrieve", json=asked).json()
    with surefind.open(data_dir=ingested / ".surefind") as docs:
        by_library = docs.search(
            "teapot", where=["source_path^=docs/guide"], group_by="document", top_k=9
        )
    ids = [hit["chunk_id"] for hit in hits(by_command)]
    assert ids == [hit["chunk_id"] for hit in hits(by_http)]
    assert ids == [hit.record.chunk.id for hit in by_library.hits]
    paths = [hit["source_path"] for hit in hits(by_command)]
    assert sorted(map(str, paths)) == ["docs/guide/cleaning.md", "docs/guide/install.md"]


def test_explain_shows_what_each_leg_says(ingested: Path) -> None:
    done = command("search", "which voltage", "--explain", "-k", "1", cwd=ingested)
    assert "dense    score 0." in done.stdout
    assert "rank 1, contributes" in done.stdout
    assert "lexical  score" in done.stdout


def test_why_not_names_the_cause(ingested: Path, contracts: httpx2.Client) -> None:
    done = command("search", "vinegar", "-k", "1", "--why-not", "docs/index.md", cwd=ingested)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "outranked"), done.stderr
    assert "ranked higher: 1. Cleaning" in done.stdout
    as_json = command("search", "vinegar", "--why-not", "docs/nowhere.md", "--json", cwd=ingested)
    assert json.loads(as_json.stdout)["cause"] == "absent"
    answer = contracts.post(
        "/retrieve/why-not",
        json={"query": "vinegar", "wanted": "docs/guide/cleaning.md", "top_k": 1},
    ).json()
    assert (answer["cause"], answer["rank"]) == ("found", 1)


def test_a_budget_a_context_and_doubts_are_shown(ingested: Path) -> None:
    small = command("search", "teapot", "--max-tokens", "30", cwd=ingested)
    assert "did not fit within 30 tokens" in small.stderr
    none = command("search", "teapot", "--max-tokens", "1", cwd=ingested)
    assert "no passage fits within 1 tokens" in none.stderr
    section = command("search", "which voltage", "--expand", "document", "-k", "1", cwd=ingested)
    assert "First brew" in section.stdout
    off_topic = command("search", "how deep is the ocean", "-k", "1", cwd=ingested)
    assert "the evidence is thin" in off_topic.stderr
    filtered = command("search", "vinegar", "-w", "title=Errors", "--mode", "lexical", cwd=ingested)
    assert "no passage matches the filter" in filtered.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "colour=red"], "unknown field 'colour'"),
        (["--where", "nonsense"], "is not a valid condition"),
        (["--diversity", "2"], "diversity must be a number from 0.0 to 1.0"),
        (["--rerank"], "no reranker is configured"),
        (["--also-in", "nowhere"], "nowhere"),
        (["--why-not", " "], "why_not"),
    ],
)
def test_what_can_not_be_meant_is_one_line_and_exit_2(
    ingested: Path, arguments: list[str], message: str
) -> None:
    done = command("search", "tea", *arguments, cwd=ingested)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_highlights_are_places_in_the_text(contracts: httpx2.Client) -> None:
    answer = contracts.post(
        "/retrieve", json={"query": "descaling with vinegar", "highlight": True, "top_k": 1}
    ).json()
    [hit] = answer["hits"]
    marked = [hit["text"][start:end] for start, end in hit["highlights"]]
    assert marked == ["Descale", "vinegar"]
    assert answer["confidence"]["evidence"] in {"strong", "fair", "thin"}


def test_a_batch_answers_in_order(contracts: httpx2.Client) -> None:
    answer = contracts.post(
        "/retrieve/batch", json={"queries": ["vinegar", "lid is open"], "top_k": 1}
    ).json()
    assert [r["hits"][0]["title"] for r in answer["results"]] == ["Cleaning", "Errors"]
    assert [r["query"] for r in answer["results"]] == ["vinegar", "lid is open"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": "x", "where": {"colour": "red"}}, "where"),
        ({"query": "x", "where": []}, "where"),
        ({"query": "x", "where": {"tokens": {"gte": "many"}}}, "where"),
        ({"query": "x", "group_by": "colour"}, "group_by"),
        ({"query": "x", "group_size": 0}, "group_size"),
        ({"query": "x", "diversity": 1.1}, "diversity"),
        ({"query": "x", "expand": "all"}, "expand"),
        ({"query": "x", "neighbours": 21}, "neighbours"),
        ({"query": "x", "max_tokens": 0}, "max_tokens"),
        ({"query": "x", "rerank": True}, "rerank"),
        ({"query": "x", "rerank": "yes"}, "rerank"),
        ({"query": "x", "collections": ["a"] * 17}, "collections"),
        ({"query": "x", "colour": "red"}, "colour"),
    ],
)
def test_a_wrong_field_is_400_and_named(
    contracts: httpx2.Client, body: dict[str, object], field: str
) -> None:
    answer = contracts.post("/retrieve", json=body)
    assert (answer.status_code, set(answer.json())) == (400, {"error", "message"})
    assert answer.json()["message"].startswith(field)


@pytest.mark.parametrize("queries", [[], ["x"] * 101, [""], [" "], "x"])
def test_a_batch_that_can_not_be_asked_is_400(contracts: httpx2.Client, queries: object) -> None:
    assert contracts.post("/retrieve/batch", json={"queries": queries}).status_code == 400


def test_the_library_gives_passages_by_name(ingested: Path) -> None:
    with surefind.open(data_dir=ingested / ".surefind") as docs:
        [hit] = docs.search("which voltage", top_k=1).hits
        power = hit.record
        around = docs.neighbours(power.chunk.id)
        assert [r.section for r in around] == ["Installing", "Power", "First brew"]
        assert docs.neighbours(power.chunk.id, 0, 0) == docs.section(power.chunk.id) == [power]
        assert docs.chunk(power.chunk.id) == power
        assert docs.document("docs/guide/install.md") == around
        assert docs.why_not("vinegar", power.chunk.id, top_k=1).cause == "outranked"
        with pytest.raises(surefind.UnknownChunk):
            docs.chunk("nothing")
        with pytest.raises(surefind.UnknownDocument):
            docs.document("nothing")
        with pytest.raises(ValueError, match="before"):
            docs.neighbours(power.chunk.id, before=-1)
        with pytest.raises(ValueError, match="list of expressions"):
            docs.search("x", where="version=2")


async def test_many_questions_at_once_are_answered_in_order(ingested: Path) -> None:
    async with surefind.aopen(data_dir=ingested / ".surefind") as docs:
        texts = ["vinegar", "voltage", "lid"] * 10
        results = await docs.search_many(texts, top_k=1)
        assert [r.query.text for r in results] == texts
        alone = await asyncio.gather(*(docs.search(text, top_k=1) for text in texts[:3]))
        assert [r.hits for r in results[:3]] == [r.hits for r in alone]
        assert await docs.search_many([]) == []
        with pytest.raises(ValueError, match="1001"):
            await docs.search_many(["x"] * 1001)
        with pytest.raises(ValueError, match="query"):
            await docs.search_many(["fine", " "])
