"""`surefind collections`."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import surefind


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Home\n\nWelcome to the handbook.\n")
    for name in ("docs", "other"):
        done = surefind("ingest", "docs", "--collection", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    return tmp_path


def listed(home: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        surefind("collections", "list", "--json", cwd=home).stdout
    )
    return found


def test_collections_are_listed(home: Path) -> None:
    shown = surefind("collections", "list", cwd=home).stdout.splitlines()
    assert shown[1].split() == ["*", "docs", "1", "1", "1"]
    assert shown[2].split() == ["other", "1", "1", "1"]
    assert [one["name"] for one in listed(home)] == ["docs", "other"]
    empty = surefind("collections", "list", "--data-dir", "new", cwd=home)
    assert "surefind ingest" in empty.stdout


def test_a_renamed_collection_is_found_under_its_new_name(home: Path) -> None:
    done = surefind("collections", "rename", "docs", "handbook", cwd=home)
    assert done.stdout.startswith("docs is now handbook: generation 1, 1 pages, 1 chunks")
    assert [one["name"] for one in listed(home)] == ["handbook", "other"]
    found = surefind("search", "welcome", "-c", "handbook", "--json", cwd=home)
    [hit] = json.loads(found.stdout)["hits"]
    assert hit["url"] == "surefind://handbook/docs/index.md#home"
    taken = surefind("collections", "rename", "handbook", "other", cwd=home)
    assert (taken.returncode, "already" in taken.stderr) == (2, True)
    gone = surefind("collections", "rename", "docs", "new", cwd=home)
    assert (gone.returncode, "handbook" in gone.stderr) == (2, True)


def test_a_deleted_collection_is_gone_with_its_files(home: Path) -> None:
    asked = surefind("collections", "delete", "docs", cwd=home)
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    done = surefind("collections", "delete", "docs", "--yes", cwd=home)
    assert done.stdout == "deleted docs: 1 generation\n"
    assert [one["name"] for one in listed(home)] == ["other"]
    assert list(home.glob(".surefind/collections/docs/*/*")) == []
    again = surefind("collections", "delete", "docs", "--yes", cwd=home)
    assert (again.returncode, "docs" in again.stderr) == (2, True)
    back = surefind("ingest", "docs", cwd=home)
    assert "1 added" in back.stdout
