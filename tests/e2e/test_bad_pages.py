"""Pages that tired people, broken tools and hostile hands leave behind."""

import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from support.commands import surefind, surefind_json

pytestmark = pytest.mark.thorough

ARABIC = "# دليل\n\nكيف أنظف الإبريق بالخل؟\n"
FINE: dict[str, bytes] = {
    "crlf.md": b"# Carriage\r\n\r\nzebracrlf lines end twice.\r\n\r\n## Second\r\n\r\nmore\r\n",
    "bom.md": b"\xef\xbb\xbf---\ntitle: Marked\n---\n\n# Marked\n\nzebrabom comes first.\n",
    "invisible.md": "# In\u200bvisible\x07\n\nzebra\u200binvi\x08sible\ufeff words\x1b\n".encode(),
    "arabic.md": ARABIC.encode(),
    "fence.md": b"# Open\n\n```python\nzebrafence = 1\n# no heading\n\n## neither\n",
    "line.md": b"# Line\n\n" + b"zebraline " + b"x" * 100_000 + b" end\n",
    "words.md": b"# Words\n\n" + b"zebrawords and more " * 5_000 + b"\n",
    "latin.md": "# Café\n\nzebralatin thé.\n".encode("latin-1"),
    "sixteen.md": "# Sixteen\n\nzebrasixteen bits.\n".encode("utf-16"),
    "deep.md": b">" * 3_000 + b" zebradeep\n" + b"- " * 3_000 + b"x\n",
    "brackets.md": b"# B\n\n" + b"[" * 20_000 + b"(" * 20_000 + b" zebrabrackets\n",
    "nested.html": b"<main>" + b"<div>" * 10_000 + b"zebranested",
    "yaml.md": b"---\n" + b"a: &a [x, x]\nb: [*a, *a]\n" * 2_000 + b"---\n\nzebrayaml\n",
    "notyaml.md": b"---\n: : :\n---\n\nzebranotyaml\n",
    "torn.rst": b"Title\n=\n\n.. code-block::\n\n`zebratorn <\n\n.. include:: /etc/passwd\n",
    "half.mdx": b"import X from 'x'\n\n<X a={ >\n\nzebrahalf {1 +\n",
}
EMPTY: dict[str, bytes] = {
    "empty.md": b"",
    "spaces.md": b" \n\t\n\n",
    "front.md": b"---\ntitle: Nothing below\n---\n",
    "front-open.md": b"---\n---\n",
}
REFUSED: dict[str, bytes] = {
    "picture.md": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
    "program.md": b"\x7fELF\x02\x01\x01\x00" + random.Random(1).randbytes(5_000),
    "torn16.md": b"\xff\xfea\x00b",
    "deeper.html": b"<main>" + b"<div>" * 20_000 + b"nobody reads this",
}


def words(data: Path) -> str:
    """Everything that a reader can find."""
    import surefind as library

    with library.open(data_dir=data / ".surefind") as docs:
        found = docs.search("zebra", top_k=1000, mode="dense", collapse="off")
    assert len(found.hits) == found.chunks
    return "\n".join(hit.record.chunk.text for hit in found.hits)


@pytest.mark.timeout(300)
def test_bad_pages_are_read_or_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n\nzebragood\n")
    (docs / "large.md").write_bytes(b"# Large\n\n" + b"A zebralarge sentence of words. " * 13_000)
    for name, content in {**FINE, **EMPTY, **REFUSED}.items():
        (docs / name).write_bytes(content)
    done = surefind("ingest", "docs", "--check-links", cwd=tmp_path)
    assert done.returncode == 1, "some pages could not be used, and the exit code says so"
    assert "Traceback" not in done.stderr
    for name in REFUSED:
        assert f"failed   docs/{name}: " in done.stdout
    for name in EMPTY:
        assert f"empty    docs/{name}: contains no text" in done.stdout
    assert done.stdout.count("failed   ") == len(REFUSED)
    assert done.stdout.count("empty    ") == len(EMPTY)
    assert "warning  docs/latin.md: it is not UTF-8; read as windows-1252" in done.stdout
    texts = words(tmp_path)
    for name in ("good.md", "large.md", *FINE):
        assert f"zebra{Path(name).stem}" in texts or name == "arabic.md"
    assert not set("\x08\x07\x1b\r\u200b\ufeff") & set(texts)
    assert "root:" not in texts, "no page may pull in a file of the machine"
    arabic = surefind_json("search", "كيف أنظف الإبريق", "--mode", "lexical", cwd=tmp_path)
    assert arabic["hits"][0]["source_path"] == "docs/arabic.md"
    again = surefind("ingest", "docs", cwd=tmp_path)
    assert (again.returncode, "nothing changed" in again.stdout) == (1, True)


def test_circular_links_and_special_files(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "good.md").write_text("# Good\n")
    (docs / "deep" / "circle").symlink_to(docs)
    (docs / "self.md").symlink_to(docs / "self.md")
    (docs / "nowhere.md").symlink_to(tmp_path / "nowhere")
    (docs / "folder.md").mkdir()
    (docs / "folder.md" / "inside.md").write_text("# Inside\n")
    os.mkfifo(docs / "pipe.md")
    (docs / "linked.md").symlink_to(docs / "good.md")
    done = surefind("ingest", "docs", cwd=tmp_path)
    assert done.returncode == 1
    assert "pages    3 added, 3 failed" in done.stdout, done.stdout
    for name in ("self", "nowhere", "pipe"):
        assert f"failed   docs/{name}.md: it " in done.stdout


def test_a_file_of_five_gigabytes_is_named_and_never_read(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n")
    with (docs / "huge.md").open("wb") as stream:
        stream.truncate(5 * 2**30)
    done = surefind("ingest", "docs", cwd=tmp_path)
    assert done.returncode == 1
    assert "failed   docs/huge.md: it can't be read: it is larger than 32 MB" in done.stdout


def test_a_file_that_never_holds_still_keeps_what_it_had(tmp_path: Path) -> None:
    docs, page = tmp_path / "docs", tmp_path / "docs" / "busy.md"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n")
    page.write_text("# Busy\n\nthe first words\n")
    assert surefind("ingest", "docs", cwd=tmp_path).returncode == 0
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            page.write_text(f"# Busy\n\nversion {number}\n" + f"line {number}\n" * 20_000)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = surefind("ingest", "docs", "--json", cwd=tmp_path)
    finally:
        stop.set()
        writer.join()
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    shown: Any = surefind_json("search", "busy", "-k", "1000", "--mode", "dense", cwd=tmp_path)
    busy = [hit["text"] for hit in shown["hits"] if hit["source_path"] == "docs/busy.md"]
    lines = {line for text in busy for line in text.splitlines() if line.startswith("line ")}
    # Of one moment: where the writer was half through, the last line may be cut.
    whole = max(lines, key=len, default="")
    assert all(whole.startswith(line) for line in lines), lines
    assert done.returncode == 0 or "the first words" in busy[0]
