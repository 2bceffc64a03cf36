"""What `surefind ingest` reads: sites, formats, rehearsals; and what `inspect` shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fpdf import FPDF

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
    (site / "blog").mkdir()
    for number in range(5):
        (site / "blog" / f"2026-01-0{number + 1}-tea.md").write_text(f"# Tea {number}\n\nNews.\n")
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
    posts = [line for line in planned.stdout.splitlines() if "site/blog" in line]
    first = "site/blog/2026-01-01-tea.md"
    assert posts == [f"  skipped  5 pages such as {first}: blog pages are skipped"]
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
    assert hit["url"] == "https://tea.example/docs/brewing"
    assert "import" not in hit["text"]
    assert "Tabs" not in hit["text"]


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    """A folder with formats that are read, some that are not, and files that are no documents."""
    folder = tmp_path / "formats"
    folder.mkdir()
    notebook = {"cells": [{"cell_type": "markdown", "source": "# Train\n\nTrain the kettle."}]}
    (folder / "train.ipynb").write_text(json.dumps(notebook))
    operation = {"operationId": "boil", "summary": "Boil the water", "tags": ["kettle"]}
    api = {"openapi": "3.1.0", "info": {"title": "API"}, "paths": {"/boil": {"post": operation}}}
    (folder / "api.json").write_text(json.dumps(api))
    (folder / "package.json").write_text('{"dependencies": {"openapi": "3.0.0"}}')
    (folder / "data.yaml").write_text("a: 1\n")
    paper = FPDF()
    for words in ("The cup is white.", "The spoon is silver."):
        paper.add_page()
        paper.set_font("Helvetica", "", 11)
        paper.cell(0, 6, words)
    (folder / "manual.pdf").write_bytes(bytes(paper.output()))
    for name in ("a.odt", "b.odt", "c.PPTX", "logo.png", ".hidden.odt"):
        (folder / name).write_bytes(b"x")
    return folder


def test_documents_that_are_not_read_are_counted_by_format(formats: Path) -> None:
    done = surefind("ingest", "formats", "--base-url", "https://tea.example", cwd=formats.parent)
    assert done.returncode == 0, done.stderr
    assert "pages    3 added" in done.stdout
    assert "  skipped  3 files: 2 .odt, 1 .pptx; see https://surefind.github.io/" in done.stdout
    planned = surefind_json("ingest", "formats", "--dry-run", cwd=formats.parent)
    assert planned["unread_files"] == {".odt": 2, ".pptx": 1}
    for query, link in (
        ("the spoon is silver", "https://tea.example/manual.pdf#page=2"),
        ("boil the water", "https://tea.example/api#tag/kettle/operation/boil"),
        ("train the kettle", "https://tea.example/train#Train"),
    ):
        [hit, *_] = surefind_json("search", query, cwd=formats.parent)["hits"]
        assert hit["url"] == link


def test_asciidoc_includes_files_of_the_repository_only(tmp_path: Path) -> None:
    docs = tmp_path / "project" / "docs"
    docs.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (tmp_path / "secret.adoc").write_text("The secret is green.\n")
    (docs.parent / "shared.adoc").write_text("== Milk\n\nMilk comes last.\n")
    (docs / "_part.adoc").write_text("A part.\n")
    (docs / "tea.adoc").write_text(
        "= Tea\n\ninclude::../shared.adoc[]\n\ninclude::../../secret.adoc[]\n\n"
        "include::_part.adoc[]\n"
    )
    done = surefind("ingest", "docs", cwd=docs.parent)
    assert done.returncode == 0, done.stderr
    assert "pages    1 added" in done.stdout
    assert (
        "warning  docs/tea.adoc: it includes ../../secret.adoc, which is outside the project"
    ) in done.stdout
    shown = surefind("inspect", "docs/tea.adoc", cwd=docs.parent).stdout
    assert "Tea > Milk  #_milk" in shown
    assert "Milk comes last." in shown
    assert "A part." in shown
    assert "green" not in shown


def test_settings_of_formats_apply_to_pages_that_have_not_changed(formats: Path) -> None:
    assert surefind("ingest", "formats", cwd=formats.parent).returncode == 0
    (formats.parent / "surefind.toml").write_text('openapi_anchors = "swagger-ui"\n')
    assert surefind("ingest", "formats", cwd=formats.parent).returncode == 0
    [hit, *_] = surefind_json("search", "boil the water", cwd=formats.parent)["hits"]
    assert hit["url"].endswith("/formats/api.json#/kettle/boil")
    shown = surefind("inspect", "formats/api.json", cwd=formats.parent).stdout
    assert "--- 0  API > kettle > Boil the water  #/kettle/boil" in shown


def test_a_format_whose_extra_is_missing_is_counted_and_named(formats: Path) -> None:
    program = (
        "import sys; sys.modules['pypdfium2'] = None; "
        "from surefind.interfaces.cli import main; main()"
    )
    run = [sys.executable, "-c", program]
    whole = subprocess.run(
        [*run, "ingest", "formats"], cwd=formats.parent, capture_output=True, text=True, check=False
    )
    assert whole.returncode == 0, whole.stderr
    assert "  skipped  4 files: 2 .odt, 1 .pdf (surefind[pdf]), 1 .pptx; see" in whole.stdout
    single = subprocess.run(
        [*run, "inspect", "formats/manual.pdf"],
        cwd=formats.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert single.returncode == 2
    assert "run pip install 'surefind[pdf]'" in single.stderr


def test_broken_documents_are_named_and_the_others_are_read(formats: Path) -> None:
    (formats / "broken.pdf").write_bytes(b"%PDF-1.7")
    (formats / "broken.docx").write_bytes(b"PK")
    (formats / "broken.ipynb").write_text("{")
    (formats / "broken.yaml").write_text("openapi: 3.0.0\ninfo: [")
    done = surefind("ingest", "formats", cwd=formats.parent)
    assert done.returncode == 1
    assert "pages    3 added, 4 failed" in done.stdout
    for name, reason in (
        ("broken.pdf", "it is not a valid PDF"),
        ("broken.docx", "it is not a valid Word document"),
        ("broken.ipynb", "it is not a notebook"),
        ("broken.yaml", "its YAML is invalid in line"),
    ):
        assert f"failed   formats/{name}: {reason}" in done.stdout
    single = surefind("inspect", "formats/package.json", cwd=formats.parent)
    assert single.returncode == 2
    assert "it is not an OpenAPI 3 document" in single.stderr


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
    assert "--- 0  Brewing  \n" in shown.stdout
    assert "Pour hot water." in shown.stdout
    found = surefind_json("inspect", "site/docs/01-brewing.mdx", cwd=book)
    assert [chunk["anchor"] for chunk in found["chunks"]] == [""], "titles have no anchor"
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
        assert hit["url"] == f"{site.url}/docs/milk"
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


def test_pages_that_the_model_does_not_know_are_named_once(tmp_path: Path) -> None:
    german = "Öffnen Sie das Ventil, bis der Druck im Kessel wieder höher ist. " * 5
    (tmp_path / "docs").mkdir()
    for name in ("druck", "ventil"):
        (tmp_path / f"docs/{name}.md").write_text(f"# {name}\n\n{german}")
    (tmp_path / "docs/home.md").write_text("# Home\n\nOpen the valve and press the button.\n")
    first, second = (surefind("ingest", "docs", cwd=tmp_path) for _ in range(2))
    assert (
        "docs/druck.md: this page and 1 more page are not in English, but "
        "BAAI/bge-small-en-v1.5-int8 is a model for English; use a multilingual one"
    ) in first.stdout
    assert "English" not in second.stdout + second.stderr
