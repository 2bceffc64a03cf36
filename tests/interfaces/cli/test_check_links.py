"""`--check-links`, as a user meets it."""

from pathlib import Path

import pytest

from support.commands import surefind, surefind_json
from support.website.local_site import Reply, serve


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Tea\n\n[cups](guide/cups.md#warm)\n")
    (tmp_path / "docs" / "guide" / "cups.md").write_text(
        "# Cups\n\n## Warm them {#warm}\n\n[gone](gone.md) [tea](../index.md#te)\n"
    )
    return tmp_path


def test_broken_links_are_listed_by_ingest_and_inspect(book: Path) -> None:
    lines = [
        "broken   docs/guide/cups.md: gone.md: there is no page docs/guide/gone.md",
        "broken   docs/guide/cups.md: ../index.md#te: docs/index.md has no heading #te",
    ]
    planned = surefind("ingest", "docs", "--dry-run", "--check-links", cwd=book)
    assert planned.returncode == 0
    assert "links    2 broken\n  " + "\n  ".join(lines) in planned.stdout
    early = surefind("inspect", "docs/guide/cups.md", "--check-links", cwd=book)
    assert (early.returncode, "there is no collection 'docs' yet" in early.stderr) == (2, True)
    found = surefind_json("ingest", "docs", "--check-links", cwd=book)
    assert [item["link"] for item in found["broken_links"]] == ["gone.md", "../index.md#te"]
    assert surefind_json("ingest", "docs", cwd=book)["broken_links"] is None
    shown = surefind("inspect", "docs/guide/cups.md", "--check-links", cwd=book)
    assert "\n".join(lines) in shown.stdout
    inspected = surefind_json("inspect", "docs/index.md", "--check-links", cwd=book)
    assert (inspected["source_path"], inspected["broken_links"]) == ("docs/index.md", [])
    assert "none broken" in surefind("inspect", "docs/index.md", "--check-links", cwd=book).stdout
    (book / "elsewhere.md").write_text("# Elsewhere\n")
    outside = surefind("inspect", "elsewhere.md", "--check-links", cwd=book)
    assert (
        outside.returncode,
        "source folder of the collection 'docs' (docs)" in outside.stderr,
    ) == (2, True)


def test_a_new_page_is_inspected_as_one_of_its_folder(book: Path) -> None:
    assert surefind("ingest", "docs", cwd=book).returncode == 0
    (book / "docs" / "guide" / "new.md").write_text("[a](cups.md#warm) [b](cups.md#cold)\n")
    inspected = surefind_json("inspect", "docs/guide/new.md", "--check-links", cwd=book)
    assert [item["link"] for item in inspected["broken_links"]] == ["cups.md#cold"]
    cups = book / "docs" / "guide" / "cups.md"
    cups.write_text("# Cups\n\n## Heat {#heat}\n\n### Warm them {#warm}\n\ntea\n")
    assert surefind("ingest", "docs", cwd=book).returncode == 0
    (book / "docs" / "guide" / "new.md").write_text("[a](cups.md#heat)\n")
    inspected = surefind_json("inspect", "docs/guide/new.md", "--check-links", cwd=book)
    assert inspected["broken_links"] == [], "the id of a heading without text is not stored"


def test_links_of_a_website_are_checked_against_what_was_crawled(tmp_path: Path) -> None:
    def html(body: str) -> Reply:
        return Reply(body=body.encode(), headers={"Content-Type": "text/html"})

    with serve() as site:
        site["/docs/"] = html(
            "<main><h1>Tea</h1><a href='milk#cold'>m</a> <a href='gone'>g</a>"
            " <a href='milk#hot'>h</a>"
            " <a href='/docs/blog/x'>b</a> <a href='/other/'>o</a> <a href='ill'>i</a></main>"
        )
        site["/docs/milk"] = html("<main><h1 id='cold'>Milk</h1></main>")
        site["/docs/ill"] = Reply(status=500)
        for _ in range(2):
            found = surefind("ingest", "--site", f"{site.url}/docs/", "--check-links", cwd=tmp_path)
            assert "links    2 broken" in found.stdout, found.stdout + found.stderr
            assert f"gone: there is no page {site.url}/docs/gone" in found.stdout
            assert "milk#hot: " in found.stdout
