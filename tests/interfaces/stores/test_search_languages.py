"""The language of a search: on the command line, in the library and over HTTP."""

import json
from pathlib import Path

import httpx2
import pytest

import surefind
from support.commands import surefind as command

GERMAN = (
    "# Anleitung\n\nDie Installation dauert wenige Minuten. Danach wird der Rechner neu gestartet, "
    "und jede Datei ist auf dem zweiten Laufwerk."
)
ENGLISH = (
    "# Guide\n\nThe installation takes a few minutes. Then the computer is started again, and "
    "every file is on the second drive."
)


def test_a_question_searches_pages_in_its_language_by_default(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "de.md").write_text(GERMAN)
    (tmp_path / "docs" / "en.md").write_text(ENGLISH)
    done = command("ingest", "docs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    asked = command("search", "wie finde ich die Dateien", cwd=tmp_path)
    assert "only the pages in German" in asked.stderr
    assert "docs/en.md" not in asked.stdout
    every = command("search", "wie finde ich die Dateien", "--language", "any", cwd=tmp_path)
    assert {"docs/de.md", "docs/en.md"} <= {
        part.split(":")[0].rstrip() for part in every.stdout.split()
    }
    with surefind.open(data_dir=tmp_path / ".surefind") as docs:
        result = docs.search("where are the files")
        assert {hit.record.language for hit in result.hits} == {"en"}
        assert any("pages in English" in note for note in result.notes)
        assert len(docs.search("where are the files", language="any").hits) == 2
        assert docs.search("files", language="de").hits[0].record.language == "de"
    listed = json.loads(command("generations", "list", "--json", cwd=tmp_path).stdout)
    assert '"languages": ["de", "en"]' in json.dumps(listed)


@pytest.mark.parametrize(
    ("language", "message"),
    [("de", "docs has no pages in German"), ("klingon", "auto, any or a code"), ("", "auto, any")],
)
def test_a_language_that_can_not_be_searched_is_400(
    contracts: httpx2.Client, language: str, message: str
) -> None:
    answer = contracts.post("/retrieve", json={"query": "teapot", "language": language})
    assert answer.status_code == 400
    assert message in answer.text
    found = contracts.post("/retrieve", json={"query": "teapot", "language": "any"})
    assert found.json()["hits"]
