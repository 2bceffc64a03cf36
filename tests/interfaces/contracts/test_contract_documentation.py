"""The examples of docs/contracts.md run, and answer as they are shown."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import serving, surefind

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "contracts.md").read_text()
SHOWN = re.findall(
    r"^\$ curl -s http://localhost:8000(\S+) --json '(.+)'\n(.+)$", PAGE, re.MULTILINE
)
SCRIPTS = re.findall(r"^```python\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
OF_THE_MOMENT = {"query_time_ms", "timestamp", "created_at", "executed_at"}
OF_THE_CALL = {"query_id", "validation_id", "test_id"}


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's own pages, made by its own commands, ingested."""
    home = tmp_path_factory.mktemp("handbook")
    tutorial = (DOCS / "tutorial.md").read_text()
    pages = re.findall(r"^cat > (\S+) <<'END'\n(.+?)^END$", tutorial, re.MULTILINE | re.DOTALL)
    for path, text in pages:
        (home / path).parent.mkdir(exist_ok=True)
        (home / path).write_text(text)
    assert surefind("ingest", "handbook", cwd=home).returncode == 0
    return home


@pytest.fixture(scope="module")
def address(handbook: Path) -> Iterator[str]:
    with serving(cwd=handbook) as (address, _):
        yield address


def lasting(value: Any) -> Any:
    """An answer without what differs from call to call; scores to four digits."""
    if isinstance(value, dict):
        changing = OF_THE_MOMENT | OF_THE_CALL
        return {name: None if name in changing else lasting(v) for name, v in value.items()}
    if isinstance(value, list):
        return [lasting(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def test_there_is_an_example_of_each_http_contract() -> None:
    assert {path for path, _, _ in SHOWN} == {"/query", "/api/v1/search", "/api/v1/validate"}
    assert len(SCRIPTS) == 2


@pytest.mark.parametrize(("path", "body", "shown"), SHOWN)
def test_a_request_is_answered_as_the_page_shows(
    address: str, path: str, body: str, shown: str
) -> None:
    answer = httpx2.post(address + path, json=json.loads(body), timeout=30)
    assert answer.status_code == 200
    here = json.loads(shown.replace("http://localhost:8000/", f"{address}/"))
    assert lasting(answer.json()) == lasting(here)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs(handbook: Path, script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=handbook,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = "2 1.0\n====" if "to_summary" in script else "384 BAAI/bge-small-en-v1.5-int8\n0."
    assert done.stdout.startswith(expected)
