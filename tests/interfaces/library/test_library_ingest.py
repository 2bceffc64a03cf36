"""Ingesting from Python: pages in memory, websites, and progress."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surefind
from support.fakes import WordEmbedder
from support.website.local_site import page, serve
from surefind import Page

TEA = Page("wiki/guide/tea.md", "---\nlevel: easy\n---\n# Tea\n\nBrew it for three minutes.")
LID = Page("wiki/lid.html", "<h1>Lid</h1><p>Close the <b>lid</b>.</p>", url="https://w.example/1")
NOTE = Page("notes/a note", "# Note\n\nBuy milk.", title="Shopping", version="2", locale="en")


@pytest.fixture
def docs() -> Iterator[surefind.Surefind]:
    with surefind.open(embedder=WordEmbedder()) as opened:
        yield opened


def test_pages_in_memory_are_searched_like_files(docs: surefind.Surefind) -> None:
    report = docs.ingest(pages=iter([TEA, LID, NOTE]))
    assert report.added_pages == ("notes/a note", "wiki/guide/tea.md", "wiki/lid.html")
    tea = docs.search("brew", where={"level": "easy"})[0]
    assert tea.url == "surefind://docs/wiki/guide/tea.md#tea"
    lid = docs.search("lid", mode="lexical")[0]
    assert (lid.title, lid.url) == ("Lid", "https://w.example/1")
    assert lid.text == "# Lid\n\nClose the lid."
    note = docs.search("milk", mode="lexical")[0]
    assert (note.title, note.record.version, note.record.locale) == ("Shopping", "2", "en")
    assert docs.generations()[0].sources == ("notes", "wiki")


def test_a_generator_of_pages_runs_in_the_callers_thread(docs: surefind.Surefind) -> None:
    """As one must that reads them from a database, or from the collection itself."""
    docs.ingest(pages=[TEA])
    here = threading.current_thread()

    def pages() -> Iterator[Page]:
        for record in docs.document(TEA.source_path):
            yield Page(
                record.chunk.source_path, f"{record.chunk.text} {threading.current_thread()}"
            )

    docs.ingest(pages=pages())
    assert str(here) in docs.search("brew", mode="lexical")[0].text


def test_only_what_changed_is_written_again(docs: surefind.Surefind) -> None:
    docs.ingest(pages=[TEA, LID, NOTE])
    assert not docs.ingest(pages=[NOTE, LID, TEA]).published
    changed = Page(TEA.source_path, TEA.text + "\n\nServe it hot.")
    report = docs.ingest(pages=[changed, LID, NOTE])
    assert (report.changed_pages, report.unchanged) == ((TEA.source_path,), 2)


@pytest.mark.parametrize("change", [{"url": "https://w.example/2"}, {"title": "The lid"}])
def test_a_new_url_or_title_of_an_unchanged_text_is_noticed(
    docs: surefind.Surefind, change: dict[str, str]
) -> None:
    docs.ingest(pages=[TEA, LID])
    report = docs.ingest(pages=[TEA, Page(LID.source_path, LID.text, **change)])
    assert report.published
    hit = docs.search("lid", mode="lexical")[0]
    assert hit.title == change.get("title", "Lid")
    assert hit.url.startswith(change.get("url", "surefind://docs/wiki/lid.html"))


def test_addresses_begin_with_the_base_url_where_there_is_one() -> None:
    with surefind.open(embedder=WordEmbedder(), base_url="https://w.example/") as docs:
        docs.ingest(pages=[TEA])
        assert docs.search("brew")[0].url == "https://w.example/guide/tea#tea"


def test_links_between_pages_are_checked(docs: surefind.Surefind) -> None:
    linking = Page("wiki/index.md", "# Home\n\n[tea](guide/tea.md) and [gone](guide/gone.md)")
    report = docs.ingest(pages=[linking, TEA], check_links=True)
    assert report.broken_links is not None
    assert [broken.link for broken in report.broken_links] == ["guide/gone.md"]


def test_the_guards_hold_for_pages_too(docs: surefind.Surefind) -> None:
    many = [Page(f"wiki/part/{number}.md", f"# Page {number}") for number in range(10)]
    docs.ingest(pages=many)
    with pytest.raises(surefind.GuardStopped, match="5 of 10 pages are missing"):
        docs.ingest(pages=many[:5])
    assert docs.generations()[-1].documents == 10
    assert docs.ingest(pages=many[:5], allow_shrink=True).removed == 5


def test_pages_and_folders_make_one_collection(docs: surefind.Surefind, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\nWelcome.")
    report = docs.ingest(tmp_path / "docs", pages=[TEA])
    assert report.added_pages == ("docs/index.md", TEA.source_path)
    with pytest.raises(surefind.InputError, match="two sources have the same name: docs"):
        docs.ingest(tmp_path / "docs", pages=[Page("docs/tea.md", "# Tea")])


def test_a_page_that_can_not_be_read_stops_no_other(docs: surefind.Surefind) -> None:
    bad = [
        Page("wiki/nul.md", "a\0b"),
        Page("wiki/half.md", "half \ud800"),
        Page("wiki/link.md", "# L", url="javascript:alert(1)"),
        Page("wiki/huge.md", "x" * (32 * 2**20 + 1)),
    ]
    report = docs.ingest(pages=[TEA, *bad])
    assert {failure.source_path for failure in report.failures} == {b.source_path for b in bad}
    assert report.documents == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("tea.md", "the name of a source and a path below it"),
        ("/etc/passwd", "a path below it"),
        ("wiki/../tea.md", "a path below it"),
        ("wiki//tea.md", "a path below it"),
        ("wiki/tea\n.md", "a path below it"),
        ("wiki/\0.md", "NUL"),
        (7, "source_path must be a string"),
    ],
)
def test_a_page_needs_a_path_that_identifies_it(path: Any, message: str) -> None:
    with pytest.raises(surefind.InputError, match=message):
        Page(path, "# Tea")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pages": [TEA, Page(TEA.source_path, "# Other")]}, "tea.md is there twice"),
        ({"pages": ["# Tea"]}, "each must be a surefind.Page"),
        ({"pages": "# Tea"}, "pages: give a list"),
        ({"sites": "https://docs.example.com"}, "sites: give a list"),
        ({"pages": []}, "no source given"),
    ],
)
def test_mistakes_are_named(docs: surefind.Surefind, options: Any, message: str) -> None:
    with pytest.raises(surefind.InputError, match=message):
        docs.ingest(**options)


async def test_a_website_is_crawled() -> None:
    with serve() as site:
        site["/"] = page("<h1>Home</h1><p>Welcome.</p>", links=["/tea", "/secret"])
        site["/tea"] = page("<h1>Tea</h1><p>Brew it.</p>")
        site["/secret"] = page("<h1>Secret</h1><p>Hidden.</p>")
        crawl = surefind.CrawlOptions(exclude=("secret",))
        async with surefind.aopen(embedder=WordEmbedder()) as docs:
            report = await docs.ingest(pages=[LID], sites=[f"{site.url}/"], crawl=crawl)
            assert report.documents == 3
            assert (await docs.search("brew", mode="lexical"))[0].url == f"{site.url}/tea"


def test_progress_is_reported_as_it_happens(docs: surefind.Surefind) -> None:
    seen: list[surefind.Progress] = []
    docs.ingest(pages=[TEA, LID, NOTE], progress=seen.append)
    assert {"reading", "embedding", "indexing", "verifying"} <= {one.stage for one in seen}
    assert [one.done for one in seen if one.stage == "reading"] == [1, 2, 3]
    embedding = [one for one in seen if one.stage == "embedding"]
    assert embedding[0] == surefind.Progress("embedding", 0, 3)
    assert embedding[-1] == surefind.Progress("embedding", 3, 3)


def test_an_exception_of_the_callback_ends_the_ingest(docs: surefind.Surefind) -> None:
    def stop(progress: surefind.Progress) -> None:
        if progress.stage == "verifying":
            raise LookupError("enough")

    docs.ingest(pages=[TEA])
    with pytest.raises(LookupError, match="enough"):
        docs.ingest(pages=[TEA, LID], progress=stop)
    assert [manifest.number for manifest in docs.generations()] == [1]
    assert docs.ingest(pages=[TEA, LID]).published


def test_a_dry_run_changes_nothing(docs: surefind.Surefind) -> None:
    docs.ingest(pages=[TEA])
    report = docs.ingest(pages=[TEA, LID], dry_run=True)
    assert (report.published, report.added_pages) == (False, (LID.source_path,))
    assert docs.generations()[-1].documents == 1


def test_a_gate_holds_a_generation_back(docs: surefind.Surefind, tmp_path: Path) -> None:
    gate = tmp_path / "gate.yaml"
    gate.write_text(
        "- {test_id: lid, query_text: the lid, expected_results: [{source_path: wiki/lid.html}]}"
    )
    docs.ingest(pages=[TEA, LID])
    report = docs.ingest(pages=[TEA, NOTE], allow_shrink=True, gate=gate)
    assert not report.published
    assert report.gate is not None
    assert report.gate.held
