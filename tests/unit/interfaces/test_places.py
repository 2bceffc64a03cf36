"""Where the command line says that a passage is."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.fakes import record
from surefind.interfaces.cli.searching.places import place_of
from surefind.model import ChunkRecord, unpublished_url

TEXT = "## Power\n\nPlug the cable in.\n"
PAGE = f"---\ntitle: A\n---\n# Tea\n\n## Power\n\nOther.\n\n{TEXT}"


def passage(source_path: str = "docs/a.md", text: str = TEXT) -> ChunkRecord:
    one = record(1)
    chunk = replace(one.chunk, source_path=source_path, text=text)
    return replace(one, chunk=chunk, url=unpublished_url("docs", source_path))


def test_a_published_page_has_its_url(tmp_path: Path) -> None:
    published = replace(passage(), url="https://x.org/a")
    assert place_of(published, tmp_path) == published.link


def test_another_page_has_the_line_in_its_file(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(PAGE)
    assert place_of(passage(), tmp_path) == "docs/a.md:10"
    assert place_of(passage(), docs) == "a.md:10"  # after `surefind ingest .`


@pytest.mark.parametrize("content", [None, b"# Something else", b"\xff\xfe", b""])
def test_a_line_is_never_guessed(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "a.md").write_bytes(content)
    assert place_of(passage(), tmp_path) == "docs/a.md"
    assert place_of(passage("docs/nul\0.md"), tmp_path) == "docs/nul\0.md"
    assert place_of(passage(text=""), tmp_path) == "docs/a.md"
