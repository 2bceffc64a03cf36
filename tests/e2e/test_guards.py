"""What an ingest refuses, told by the command, with everything left as it was."""

import hashlib
import json
from pathlib import Path

import pytest

from support.commands import surefind, surefind_json


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number in range(6):
        page = tmp_path / "docs" / f"part{number % 2}" / f"page{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\nwords of page {number}\n")
    assert surefind("ingest", "docs", cwd=tmp_path).returncode == 0
    return tmp_path


def chunks(home: Path) -> object:
    return surefind_json("chunks", "count", cwd=home)


def contents(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_source_that_shrank_is_refused_until_it_is_meant(home: Path) -> None:
    before = chunks(home)
    for page in (home / "docs" / "part0").iterdir():
        page.unlink()
    for arguments in (("ingest", "docs"), ("ingest", "docs", "--dry-run")):
        refused = surefind(*arguments, cwd=home)
        assert refused.returncode == 1
        assert "3 of 6 pages are missing" in refused.stderr
        assert "section docs/part0 is missing entirely" in refused.stderr
        assert "docs/part0/page2.md" in refused.stderr
        assert chunks(home) == before
    done = surefind("ingest", "docs", "--allow-shrink", cwd=home)
    assert (done.returncode, "3 removed" in done.stdout) == (0, True)


def test_another_model_is_refused_and_both_are_named(home: Path) -> None:
    """A collection that another model has made: its manifest says so."""
    path = home / ".surefind" / "collections" / "docs" / "0001" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["embedder"] |= {"provider": "cohere", "model": "embed-v3", "dimensions": 1024}
    path.write_text(json.dumps(manifest))
    before = contents(path.parent)
    (home / "docs" / "new.md").write_text("# New\n")
    for arguments in (("ingest", "docs"), ("ingest", "docs", "--dry-run"), ("search", "words")):
        refused = surefind(*arguments, cwd=home)
        assert refused.returncode == 2
        assert "cohere/embed-v3 (1024 dimensions" in refused.stderr
        assert "onnx/BAAI/bge-small-en-v1.5-int8 (384 dimensions" in refused.stderr
        assert "--rebuild" in refused.stderr
    assert contents(path.parent) == before
    rebuilt = surefind("ingest", "docs", "--rebuild", cwd=home)
    assert (rebuilt.returncode, "vectors  1 embedded" in rebuilt.stdout) == (0, True)


def test_other_chunks_are_refused_and_both_are_named(home: Path) -> None:
    refused = surefind("ingest", "docs", cwd=home, SUREFIND_MAX_TOKENS="200")
    assert refused.returncode == 2
    assert "at most 400 tokens" in refused.stderr
    assert "at most 200 tokens" in refused.stderr
    assert chunks(home) == {"generation": 1, "catalog": 6, "index": 6}
