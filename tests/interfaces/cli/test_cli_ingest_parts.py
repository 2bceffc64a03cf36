"""`surefind ingest` of a part of a folder: patterns, and updates of single pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import surefind

PAGES = {
    "index.md": "# Home\n\nWelcome.\n",
    "CHANGELOG.md": "# Changes\n\n## 1.0\n\nFirst.\n",
    "guide/install.md": "# Install\n\nPlug it in.\n",
    "guide/drafts/next.md": "# Next\n\nSoon.\n",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        page = tmp_path / "docs" / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)
    return tmp_path


def ingest(home: Path, *options: str, code: int = 0) -> dict[str, Any]:
    done = surefind("ingest", *options, "--json", cwd=home)
    assert done.returncode == code, done.stderr
    report: dict[str, Any] = json.loads(done.stdout) if code == 0 else {"error": done.stderr}
    return report


def test_patterns_choose_the_pages_of_a_folder(home: Path) -> None:
    report = ingest(home, "docs", "--exclude", "CHANGELOG.md", "--exclude", "drafts/")
    assert report["added_pages"] == ["docs/guide/install.md", "docs/index.md"]
    report = ingest(home, "docs", "--include", "guide/**", "--allow-shrink")
    assert report["added_pages"] == ["docs/guide/drafts/next.md"]
    assert report["removed_pages"] == ["docs/index.md"]


def test_the_settings_choose_them_too(home: Path) -> None:
    (home / "surefind.toml").write_text('exclude = ["CHANGELOG.md", "guide/drafts"]\n')
    assert len(ingest(home, "docs")["added_pages"]) == 2
    assert len(ingest(home, "docs", "--exclude", "index.md")["added_pages"]) == 2


def test_patterns_that_leave_nothing_are_an_error(home: Path) -> None:
    error = ingest(home, "docs", "--include", "nowhere/**", code=2)["error"]
    assert "docs" in error


def test_an_update_changes_only_the_named_pages(home: Path) -> None:
    ingest(home, "docs")
    install = home / "docs/guide/install.md"
    install.write_text("# Install\n\nPlug it in, then wait.\n")
    (home / "docs/guide/start.md").write_text("# Start\n\nPress.\n")
    (home / "docs/index.md").unlink()
    refused = ingest(home, "docs/guide/install.md", code=1)["error"]
    assert "--update" in refused
    report = ingest(home, "docs/guide/install.md", "--update")
    assert (report["changed_pages"], report["added_pages"]) == (["docs/guide/install.md"], [])
    assert (report["removed_pages"], report["documents"]) == ([], 4)
    report = ingest(home, "docs/guide", "--update")
    assert report["added_pages"] == ["docs/guide/start.md"]
    assert report["documents"] == 5
    again = ingest(home, "docs", "--allow-shrink")
    assert again["removed_pages"] == ["docs/index.md"]
    assert again["changed_pages"] == []


def test_naming_a_page_does_not_remove_another_one_even_of_two(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "one.md").write_text("# One\n\nFirst.\n")
    (docs / "two.md").write_text("# Two\n\nSecond.\n")
    ingest(tmp_path, "docs")
    for options in (["docs/two.md"], ["docs/two.md", "--dry-run"], ["docs/two.md", "--rebuild"]):
        refused = ingest(tmp_path, *options, code=1)["error"]
        assert "1 page of the collection would be removed" in refused
        assert "docs/one.md" in refused
        assert "--update" in refused
    (tmp_path / "other").mkdir()
    (tmp_path / "other/three.md").write_text("# Three\n\nThird.\n")
    assert "2 pages" in ingest(tmp_path, "other/three.md", code=1)["error"]
    assert ingest(tmp_path, "docs", "other/three.md")["documents"] == 3
    assert ingest(tmp_path, "docs", "--dry-run")["removed_pages"] == ["other/three.md"]


def test_a_named_page_may_be_removed_once_it_is_deleted_or_on_request(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    pages = [docs / f"{name}.md" for name in ("one", "two", "three")]
    for page in pages:
        page.write_text(f"# {page.stem}\n\nText of {page.stem}.\n")
    ingest(tmp_path, *map(str, pages))
    pages[0].unlink()
    assert ingest(tmp_path, *map(str, pages[1:]))["removed_pages"] == ["docs/one.md"]
    assert ingest(tmp_path, str(pages[1]), "--allow-shrink")["removed_pages"] == ["docs/three.md"]


def test_an_update_can_add_another_folder(home: Path) -> None:
    ingest(home, "docs")
    (home / "api").mkdir()
    (home / "api/calls.md").write_text("# Calls\n\nCall it.\n")
    report = ingest(home, "api", "--update")
    assert (report["added_pages"], report["documents"]) == (["api/calls.md"], 5)


def test_an_update_needs_a_collection_and_a_page_of_it(home: Path) -> None:
    assert "ingest" in ingest(home, "docs/index.md", "--update", code=2)["error"]
    ingest(home, "docs")
    (home / "other.md").write_text("# Other\n")
    assert "not in a source folder" in ingest(home, "other.md", "--update", code=2)["error"]
    assert "--rebuild" in ingest(home, "docs", "--update", "--rebuild", code=2)["error"]
