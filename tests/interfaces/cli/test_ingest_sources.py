"""What `surefind ingest` reads: sites, formats, rehearsals; and what `inspect` shows."""

from pathlib import Path

import pytest

from support.commands import surefind, surefind_json
from support.website.local_site import Reply, serve


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A Docusaurus site and a folder with every format."""
    site = tmp_path / "site"
    (site / "docs").mkdir(parents=True)
    (site / "docusaurus.config.js").write_text(
        "export default {url: 'https://tea.example', baseUrl: '/', presets: [['classic', {}]]}"
    )
    (site / "docs" / "01-brewing.mdx").write_text(
        "import Tabs from '@theme/Tabs';\n\n# Brewing\n\n<Tabs>Pour hot water.</Tabs>\n"
    )
    (site / "docs" / "secret.md").write_text("---\ndraft: true\n---\n\n# Secret\n")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "a.html").write_text("<nav>menu</nav><main><h1>Cups</h1><p>Warm the cups.</p></main>")
    (mixed / "b.rst").write_text("Spoons\n======\n\nUse two spoons.\n")
    (mixed / "c.txt").write_text("# not a heading\n\nPlain words about milk.\n")
    (mixed / "d.md").write_bytes("# Café\n\nThé au café.\n".encode("latin-1"))
    return tmp_path


def test_a_rehearsal_says_what_would_change_and_writes_nothing(book: Path) -> None:
    planned = surefind("ingest", "site", "--dry-run", cwd=book)
    assert planned.returncode == 0
    assert "nothing was changed; a run would process" in planned.stdout
    assert "added    site/docs/01-brewing.mdx" in planned.stdout
    assert "skipped  site/docs/secret.md" in planned.stdout
    assert not (book / ".surefind").exists()
    assert surefind("ingest", "site", cwd=book).returncode == 0
    (book / "site" / "docs" / "02-more.md").write_text("# More\n\nMore words.\n")
    again = surefind_json("ingest", "site", "--dry-run", cwd=book)
    assert again["added_pages"] == ["site/docs/02-more.md"]
    assert (again["new_chunks"], again["published"], again["generation"]) == (1, False, 1)
    assert surefind_json("chunks", "count", cwd=book)["catalog"] == 1


def test_a_site_gives_its_pages_their_real_addresses(book: Path) -> None:
    assert surefind("ingest", "site", cwd=book).returncode == 0
    [hit] = surefind_json("search", "hot water", cwd=book)["hits"]
    assert hit["url"] == "https://tea.example/docs/brewing#brewing"
    assert "import" not in hit["text"]
    assert "Tabs" not in hit["text"]


def test_a_page_changes_with_what_it_includes(tmp_path: Path) -> None:
    (tmp_path / "site/docs").mkdir(parents=True)
    (tmp_path / "site/mkdocs.yml").write_text("markdown_extensions: [pymdownx.snippets]\n")
    (tmp_path / "site/docs/index.md").write_text('# Tea\n\n--8<-- "shared/milk.md"\n')
    (tmp_path / "site/docs/other.md").write_text('# Other\n\nWords.\n\n--8<-- "shared/no.md"\n')
    (tmp_path / "site/shared").mkdir()
    (tmp_path / "site/shared/milk.md").write_text("Milk comes first.\n")
    first = surefind("ingest", "site", cwd=tmp_path)
    assert "shared/no.md, which is missing; the include was dropped" in first.stdout
    assert (
        "# Tea\n\nMilk comes first."
        in surefind("inspect", "site/docs/index.md", cwd=tmp_path).stdout
    )
    (tmp_path / "site/shared/milk.md").write_text("Milk comes last.\n")
    second = surefind_json("ingest", "site", cwd=tmp_path)
    assert second["changed_pages"] == ["site/docs/index.md"]
    [hit, *_] = surefind_json("search", "milk", cwd=tmp_path)["hits"]
    assert "comes last" in hit["text"]


def test_every_format_is_read(book: Path) -> None:
    done = surefind("ingest", "mixed", cwd=book)
    assert done.returncode == 0, done.stdout
    assert "warning  mixed/d.md: it is not UTF-8; read as windows-1252" in done.stdout
    for question, page, section in (
        ("warm the cups", "mixed/a.html", "Cups"),
        ("how many spoons", "mixed/b.rst", "Spoons"),
        ("milk", "mixed/c.txt", "c"),
        ("thé au café", "mixed/d.md", "Café"),
    ):
        hit = surefind_json("search", question, cwd=book)["hits"][0]
        assert (hit["source_path"], hit["section"]) == (page, section)
        assert "menu" not in hit["text"]


def test_inspect_shows_what_a_page_becomes(book: Path) -> None:
    shown = surefind("inspect", "site/docs/01-brewing.mdx", cwd=book)
    assert shown.returncode == 0
    assert "url      https://tea.example/docs/brewing" in shown.stdout
    assert "--- 0  Brewing  #brewing" in shown.stdout
    assert "Pour hot water." in shown.stdout
    found = surefind_json("inspect", "site/docs/01-brewing.mdx", cwd=book)
    assert [chunk["anchor"] for chunk in found["chunks"]] == ["brewing"]
    left = surefind("inspect", "site/docs/secret.md", cwd=book)
    assert "skipped:" in left.stdout
    assert surefind_json("inspect", "site/docs/secret.md", cwd=book)["left_out"]
    assert "windows-1252" in surefind("inspect", "mixed/d.md", cwd=book).stdout
    folder = surefind("inspect", "site", cwd=book)
    assert (folder.returncode, "name a single page" in folder.stderr) == (2, True)
    (book / "mixed" / "e.md").symlink_to(book / "nowhere.md")
    broken = surefind("inspect", "mixed/e.md", cwd=book)
    assert (broken.returncode, "Traceback" in broken.stderr) == (2, False)
    assert not (book / ".surefind").exists()


def test_a_website_is_crawled_searched_and_kept_when_a_page_fails(tmp_path: Path) -> None:
    def html(title: str, text: str, link: str = "") -> Reply:
        body = f"<nav>everywhere</nav><main><h1>{title}</h1><p>{text} <a href='{link}'>x</a></main>"
        return Reply(body=body.encode(), headers={"Content-Type": "text/html"})

    with serve() as site:
        site["/docs/"] = html("Tea", "All about tea.", "milk")
        site["/docs/milk"] = html("Milk", "Milk comes first.")
        done = surefind("ingest", "--site", f"{site.url}/docs/", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        hit = surefind_json("search", "milk", cwd=tmp_path)["hits"][0]
        assert hit["url"] == f"{site.url}/docs/milk#milk"
        assert "everywhere" not in hit["text"]
        site["/docs/milk"] = Reply(status=500)
        failed = surefind("ingest", "--site", f"{site.url}/docs/", cwd=tmp_path)
        assert failed.returncode == 1
        assert "returned 500" in failed.stdout
        assert surefind_json("search", "milk", cwd=tmp_path)["hits"][0]["url"] == hit["url"]
        address = site.url
    gone = surefind("ingest", "--site", f"{address}/docs/", cwd=tmp_path)
    assert gone.returncode == 4
    assert "Traceback" not in gone.stderr
    assert surefind("ingest", cwd=tmp_path).returncode == 2
