"""`serve` with a query log, and `surefind gaps` that reads it."""

import json
import sqlite3
import time
from pathlib import Path

import httpx2

from support.commands import serving, surefind, surefind_json

MISSING = ("How do I connect it to my phone?", "Can I connect my phone?")


def ask(address: str, text: str, **options: object) -> None:
    answer = httpx2.post(f"{address}/retrieve", json={"query": text, **options}, timeout=60)
    assert answer.status_code == 200, answer.text


def test_gaps_lists_what_was_asked_and_is_not_answered(home: Path) -> None:
    with serving(cwd=home, SUREFIND_QUERY_LOG="true", SUREFIND_QUERY_LOG_CLIENTS="true") as (
        address,
        _,
    ):
        ask(address, "How do I descale the teapot with vinegar?")
        for text in (*MISSING, MISSING[0]):
            ask(address, text)
        ask(address, "Who wrote the third symphony?")
        ask(address, "Is there a warranty?", where={"source_path": "docs/guide/cleaning.md"})
    # What was asked last is written when the server ends.
    found = surefind_json("gaps", cwd=home)
    assert (found["searches"], found["thin"], found["gaps_total"]) == (5, 4, 2)
    phone, symphony = found["gaps"]
    assert (phone["questions"], phone["count"]) == ([*MISSING], 3)
    assert (phone["clients"], phone["trend"]) == (1, "new")
    assert symphony["questions"] == ["Who wrote the third symphony?"]
    assert phone["nearest"][0]["url"].startswith("surefind://docs/docs/")

    shown = surefind("gaps", "--at-least", "2", cwd=home).stdout
    assert shown.startswith("docs, 30 days: 5 searches, 4 with thin evidence (80%), 1 gap\n")
    assert MISSING[0] in shown
    assert "symphony" not in shown
    assert surefind_json("gaps", "--below", "0", cwd=home)["gaps"] == []
    few = surefind("gaps", "--possible", cwd=home)
    assert few.returncode == 0
    assert "fewer than 30 links and headings" in few.stderr


def test_possible_gaps_are_listed_after_the_others(tmp_path: Path) -> None:
    parts = [f"{one}{other}" for one in ("tele", "micro", "hydro", "photo", "thermo", "baro")
             for other in ("scope", "graph", "meter", "phone", "stat", "gauge")]  # fmt: skip
    (tmp_path / "docs").mkdir()
    for part in parts:
        care = "It needs care once a month, and a dry place all year round, away from the sun."
        text = f"# The {part}\n\n{care}\n\n## Calibrating it\n\nTo calibrate a {part}, {care}\n"
        (tmp_path / "docs" / f"{part}.md").write_text(text)
    assert surefind("ingest", "docs", cwd=tmp_path).returncode == 0
    missing = [f"The {part}: Calibrating it" for part in ("zoetrope", "gyroscope", "sextant")]
    with serving(cwd=tmp_path, SUREFIND_QUERY_LOG="true") as (address, _):
        for text in missing:
            ask(address, text)
    found = surefind_json("gaps", "--possible", "--below", "0", cwd=tmp_path)
    assert found["gaps"] == []
    questions = {text for gap in found["possible"] for text in gap["questions"]}
    assert questions == set(missing)
    shown = surefind("gaps", "--possible", "--below", "0", "-n", "1", cwd=tmp_path).stdout
    assert "found by searching again:" in shown


def test_the_log_has_neither_keys_nor_addresses_nor_conditions(home: Path) -> None:
    key = surefind("keys", "create", "--name", "web", cwd=home).stdout.strip()
    with serving(cwd=home, SUREFIND_QUERY_LOG="true") as (address, _):
        body = {"query": "What is E42?", "where": {"source_path": "docs/reference/errors.md"}}
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx2.post(f"{address}/retrieve", json=body, headers=headers, timeout=60)
        assert answer.status_code == 200
        assert httpx2.post(f"{address}/retrieve", json=body, timeout=60).status_code == 401
    path = home / ".surefind" / "queries.sqlite"
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT text, filtered, client FROM search").fetchall()
    connection.close()
    assert rows == [("What is E42?", 1, "")]
    for secret in (key, key.split("_")[1], "127.0.0.1", "source_path"):
        assert secret.encode() not in path.read_bytes()


def test_nothing_is_logged_unless_it_is_requested(home: Path) -> None:
    with serving(cwd=home) as (address, _):
        ask(address, "anything")
    assert not list((home / ".surefind").glob("queries*"))
    done = surefind("gaps", cwd=home)
    assert done.returncode == 0
    assert done.stdout == "docs, 30 days: 0 searches, 0 with thin evidence, 0 gaps\n"
    assert "query_log = true" in done.stderr


def test_a_log_that_cant_be_written_fails_no_request(home: Path) -> None:
    (home / ".surefind" / "queries.sqlite").mkdir()
    with serving(cwd=home, SUREFIND_QUERY_LOG="true") as (address, server):
        ask(address, "vinegar")
    lines = [json.loads(line) for line in server.said if line.startswith("{")]
    assert any("searches are not logged" in str(line) for line in lines), server.said


def test_an_admin_reads_the_gaps_over_http(home: Path) -> None:
    read, admin = (
        surefind("keys", "create", "--name", scope, "--scope", scope, cwd=home).stdout.strip()
        for scope in ("read", "admin")
    )
    with serving(cwd=home, SUREFIND_QUERY_LOG="true") as (address, _):

        def answer(path: str, key: str) -> httpx2.Response:
            return httpx2.get(f"{address}{path}", headers={"X-API-Key": key}, timeout=60)

        body = {"query": MISSING[0]}
        asked = httpx2.post(f"{address}/retrieve", json=body, headers={"X-API-Key": read})
        assert asked.status_code == 200
        assert httpx2.get(f"{address}/gaps").status_code == 401
        assert answer("/gaps", read).status_code == 403
        for wrong in ("?days=0", "?below=2", "?limit=0", "?day=3"):
            assert answer(f"/gaps{wrong}", admin).status_code == 400
        deadline = time.monotonic() + 30
        while not (found := answer("/gaps?days=2", admin).json())["searches"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert found["query_log"] is True
        assert found["gaps"][0]["questions"] == [MISSING[0]]
        assert answer("/gaps?at_least=2", admin).json()["gaps"] == []


def test_without_a_log_the_gaps_say_so(home: Path) -> None:
    key = surefind("keys", "create", "--name", "x", "--scope", "admin", cwd=home).stdout.strip()
    with serving(cwd=home) as (address, _):
        found = httpx2.get(f"{address}/gaps", headers={"X-API-Key": key}, timeout=60).json()
    assert (found["query_log"], found["searches"], found["gaps"]) == (False, 0, [])
