"""A follow-up question finds what the conversation is about, through every interface."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

import surefind
from support.commands import serving
from support.commands import surefind as command

HISTORY = [
    {"role": "user", "content": "What does the error E42 mean?"},
    {"role": "assistant", "content": "The error E42 means that the lid is open."},
]
FOLLOW_UP = "And what does it mean exactly?"
NOTE = "searched in the context of the conversation"


def best(result: surefind.SearchResult) -> str:
    return result[0].record.breadcrumb


def test_the_library_takes_the_turns_before_a_question(ingested: Path) -> None:
    with surefind.open(data_dir=ingested / ".surefind") as docs:
        after = docs.search(FOLLOW_UP, history=HISTORY)
        assert "E42" in best(after)
        assert after.notes == (NOTE,)
        turns = [surefind.Turn(surefind.Speaker.USER, HISTORY[0]["content"])]
        assert "E42" in best(docs.search(FOLLOW_UP, history=turns))
        alone = docs.search(FOLLOW_UP, history=[])
        assert alone.notes == ()
        assert docs.search(FOLLOW_UP).remembered  # the same question, without a conversation
        assert docs.search(FOLLOW_UP, history=HISTORY).remembered
        assert alone[0].similarity != after[0].similarity
        [first, second] = docs.search_many([FOLLOW_UP, "How?"], history=HISTORY)
        assert first.hits == after.hits
        assert second.query.history == after.query.history
        with pytest.raises(surefind.InputError, match=r"history.0: unknown role 'judge'"):
            docs.search(FOLLOW_UP, history=[{"role": "judge", "content": "No."}])


def test_a_client_of_a_server_passes_them_on(home: Path) -> None:
    with serving(cwd=home) as (address, _), surefind.connect_to(address) as docs:
        after = docs.search(FOLLOW_UP, history=HISTORY)
        assert "E42" in best(after)
        assert after.notes == (NOTE,)

        async def awaited() -> surefind.SearchResult:
            async with surefind.aconnect_to(address) as other:
                return await other.search(FOLLOW_UP, history=HISTORY)

        assert asyncio.run(awaited()).hits == after.hits


@pytest.mark.parametrize("path", ["/retrieve", "/retrieve/batch", "/retrieve/why-not"])
def test_the_server_takes_messages_as_other_apis_do(contracts: httpx2.Client, path: str) -> None:
    asked: dict[str, Any] = {"queries": [FOLLOW_UP]} if "batch" in path else {"query": FOLLOW_UP}
    if "why" in path:
        asked["wanted"] = "docs/gone.md"
    system = {"role": "system", "content": "You are helpful."}
    answer = contracts.post(path, json={**asked, "history": [system, *HISTORY]})
    assert answer.status_code == 200, answer.text
    if path == "/retrieve":
        assert answer.json()["notes"] == [NOTE]


@pytest.mark.parametrize(
    "history",
    [
        "How?",
        ["How?"],
        [{"role": "judge", "content": "No."}],
        [{"role": "user", "content": 7}],
        [{"role": "user", "content": "x" * 20_001}],
        [{"role": "user", "content": "a\0b"}],
        [{"role": "user", "content": "How?"}] * 1001,
    ],
)
def test_the_server_refuses_other_histories(contracts: httpx2.Client, history: object) -> None:
    answer = contracts.post("/retrieve", json={"query": "How?", "history": history})
    assert answer.status_code == 400
    assert "history" in answer.json()["message"]


def test_a_lone_surrogate_is_refused(contracts: httpx2.Client) -> None:
    body = json.dumps({"query": "How?", "history": [{"role": "user", "content": "\ud800"}]})
    answer = contracts.post("/retrieve", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_the_command_reads_them_from_a_file(home: Path) -> None:
    (home / "talk.json").write_text(json.dumps(HISTORY))
    done = command("search", FOLLOW_UP, "--history", "talk.json", cwd=home)
    assert "E42" in done.stdout.splitlines()[0]
    assert NOTE in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--history talk.json can't be read"),
        ("{", "--history talk.json is not valid JSON"),
        ("[" * 100_000, "--history talk.json is not valid JSON"),
        ("\xff", "--history talk.json is not valid JSON"),
        ("{}", "--history talk.json must be a JSON list of turns"),
        ('[{"role": "user"}]', "history.0: a turn must be a text"),
    ],
)
def test_a_file_that_is_not_a_conversation_is_refused(
    home: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (home / "talk.json").write_bytes(content.encode("latin-1"))
    done = command("search", "How?", "--history", "talk.json", cwd=home)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert message in done.stderr
