"""The command line, run as a user runs it."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from support.commands import COMMAND, serving, start, surefind, surefind_json


def test_search_prints_the_right_passage_first(ingested: Path) -> None:
    done = surefind("search", "which voltage does the socket need", cwd=ingested)
    assert done.returncode == 0
    first = done.stdout.split("\n\n")[0]
    assert "Installing > Power" in first
    line = (ingested / "docs/guide/install.md").read_text().splitlines().index("## Power") + 1
    assert f"\n     docs/guide/install.md:{line}\n" in first
    assert "http" not in done.stdout
    assert re.search(r"score 1\.000, similarity 0\.\d+, chunk install-power-", first)
    assert "230 volts" in done.stdout
    assert re.search(r"5 passages in \d+ ms \(generation 1 of docs, 6 chunks\)", done.stderr)


def test_json_is_json_and_nothing_else(ingested: Path) -> None:
    found = surefind_json("search", "lid is open", "--mode", "dense", "-k", "2", cwd=ingested)
    assert found["mode"] == "dense"
    assert found["status"] == "success"
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    hit = found["hits"][0]
    assert hit["section"] == "E42"
    assert hit["score"] == hit["similarity"] == found["best_similarity"]
    leg = {"rank": 1, "score": hit["score"], "share": hit["score"]}
    assert hit["legs"] == {"dense": leg, "lexical": None}
    assert hit["has_code"]
    stages = ["received", "embedded", "searched", "filtered", "formatted", "returned", "total"]
    assert list(found["timings_ms"]) == stages


def test_nothing_above_the_threshold_says_the_best(ingested: Path) -> None:
    done = surefind("search", "tea", "--threshold", "1.0", cwd=ingested)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.search(
        r"no passage reaches the threshold of 1.0; the best similarity is 0\.\d+", done.stderr
    )


def test_an_audit_of_pages_without_a_public_url_finds_no_problem(ingested: Path) -> None:
    done = surefind("audit", "--certainty", "0", cwd=ingested)
    assert (done.returncode, "URL" in done.stdout) == (0, False), done.stdout


def test_words_that_occur_nowhere(ingested: Path) -> None:
    done = surefind("search", "xylophone", "--mode", "lexical", cwd=ingested)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no passage contains any of the query's words" in done.stderr


def test_pages_without_text_make_no_collection(home: Path) -> None:
    (home / "void.md").write_text("---\ntitle: nothing else\n---\n")
    done = surefind("ingest", "void.md", "--collection", "void", cwd=home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no page has text that can be searched" in done.stderr
    assert surefind("search", "tea", "--collection", "void", cwd=home).returncode == 2


def test_long_passages_are_shortened_and_one_is_one(home: Path) -> None:
    (home / "docs" / "long.md").write_text(
        "# Long\n\n" + "\n".join(f"zebra line {n}" for n in range(20))
    )
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    done = surefind("search", "zebra", "-k", "1", cwd=home)
    assert "     zebra line 3\n     …\n" in done.stdout
    assert "1 passage in" in done.stderr


def test_ingest_says_what_changed(home: Path) -> None:
    (home / "docs" / "guide" / "cleaning.md").unlink()
    (home / "docs" / "index.md").write_text("# Teapot\n\nnew words")
    (home / "docs" / "empty.md").write_text("")
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0
    assert "docs: generation 2 published in" in done.stdout
    assert "pages    1 added, 1 changed, 1 removed, 2 unchanged" in done.stdout
    assert "chunks   5 in the catalog, 5 in the index" in done.stdout
    assert "vectors  1 embedded, " in done.stdout
    assert "empty    docs/empty.md: contains no text" in done.stdout
    again = surefind("ingest", "docs", cwd=home)
    assert "docs: nothing changed, generation 2 stays" in again.stdout
    assert "vectors  0 embedded, 0 from the cache" in again.stdout


def test_a_page_that_fails_is_named_and_sets_the_exit_code(home: Path) -> None:
    (home / "docs" / "picture.md").write_bytes(b"\x89PNG\x00")
    done = surefind("ingest", "docs", "--json", cwd=home)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["failures"][0]["source_path"] == "docs/picture.md"
    assert (
        "failed   docs/picture.md: it is a binary file"
        in surefind("ingest", "docs", cwd=home).stdout
    )


def test_generations_are_listed_and_rolled_back(home: Path) -> None:
    printed = ""
    for number in range(6):
        (home / "docs" / "index.md").write_text(f"# Teapot\n\nversion {number}")
        printed = surefind("ingest", "docs", cwd=home, SUREFIND_KEEP_GENERATIONS="3").stdout
    assert "removed  old generations 4" in printed
    done = surefind("generations", "list", cwd=home)
    assert re.search(r"^\* +7 .* 4 +6  docs$", done.stdout, re.MULTILINE)
    rolled = surefind("generations", "rollback", cwd=home)
    assert rolled.stdout == "docs: generation 6 is current again\n"
    listed = surefind_json("generations", "list", cwd=home)
    assert [(g["generation"], g["current"]) for g in listed] == [(5, False), (6, True), (7, False)]
    assert listed[0]["embedder"].startswith("onnx/BAAI/bge-small-en-v1.5-int8 (384 dimensions")
    wrong = surefind("generations", "rollback", "--to", "99", cwd=home)
    assert (wrong.returncode, "no generation 99" in wrong.stderr) == (2, True)


def test_chunks_are_counted_and_shown(ingested: Path) -> None:
    counted = surefind("chunks", "count", cwd=ingested)
    assert counted.stdout == "6 chunks in the catalog, 6 in the index (generation 1)\n"
    assert surefind_json("chunks", "count", cwd=ingested)["index"] == 6
    name = surefind_json("search", "vinegar", cwd=ingested)["hits"][0]["chunk_id"]
    shown = surefind("chunks", "show", name, cwd=ingested)
    assert re.search(r"^source_path +docs/guide/cleaning.md$", shown.stdout, re.MULTILINE)
    assert shown.stdout.endswith("\n\n# Cleaning\n\nDescale the teapot with vinegar every month.\n")
    assert surefind_json("chunks", "show", name, cwd=ingested)["chunk_id"] == name
    wrong = surefind("chunks", "show", "nothing", cwd=ingested)
    assert (wrong.returncode, "no chunk 'nothing'" in wrong.stderr) == (2, True)


def test_a_lost_catalog_is_reported_where_it_matters(home: Path) -> None:
    (home / ".surefind/collections/docs/0001/catalog.sqlite").write_bytes(b"lost" * 500)
    assert surefind_json("search", "vinegar", cwd=home)["status"] == "partial"
    counted = surefind("chunks", "count", cwd=home)
    assert (counted.returncode, counted.stdout) == (4, "6 chunks in the index (generation 1)\n")
    assert "surefind: the catalog is unavailable" in counted.stderr
    done = surefind("chunks", "show", "x", cwd=home)
    assert (done.returncode, "the catalog is unavailable" in done.stderr) == (4, True)


def test_settings_are_listed_and_secrets_are_not(home: Path) -> None:
    done = surefind("settings", cwd=home, COHERE_API_KEY="very-secret", SUREFIND_MAX_TOKENS="300")
    assert re.search(r"^SUREFIND_MAX_TOKENS +300$", done.stdout, re.MULTILINE)
    assert "very-secret" not in done.stdout + done.stderr
    assert surefind_json("settings", cwd=home)["SUREFIND_PORT"] == "8000"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("ingest", "nowhere"), 2, "nowhere does not exist"),
        (("ingest", "void"), 2, "there is no page to read in void"),
        (("ingest", "docs", "--collection", "../x"), 2, "invalid collection name"),
        (("ingest", "docs", "--base-url", "docs.example.com"), 2, "must begin with http"),
        (("search", " "), 2, "query is empty"),
        (("search", "half \udcff"), 2, "query: it contains a lone surrogate"),
        (
            ("search", "x", "--where", "version=\udcff"),
            2,
            "where: version: it contains a lone surrogate",
        ),
        (("search", "x", "--why-not", "\udcff"), 2, "why_not: it contains a lone surrogate"),
        (("search", "x", "--top-k", "0"), 2, "top_k must be a whole number from 1 to 1000, not 0"),
        (("search", "x", "--threshold", "2"), 2, "threshold must be a number from 0.0 to 1.0"),
        (("search", "x", "--collection", "none"), 2, "there is no collection 'none' yet"),
        (("chunks", "count", "--collection", "none"), 2, "there is no collection 'none' yet"),
        (("generations", "rollback"), 2, "is the oldest one"),
        (("serve", "--host", "no.such.host.invalid"), 2, "can't resolve --host"),
        (("serve", "--host", "192.0.2.1"), 2, "is not an address of this machine"),
        (("search", "x", "--mode", "magic"), 2, "--mode must be hybrid, dense or lexical"),
        (("frobnicate",), 2, "unknown command frobnicate"),
    ],
)
def test_mistakes_get_one_line_and_their_exit_code(
    ingested: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (ingested / "void").mkdir(exist_ok=True)
    done = surefind(*arguments, cwd=ingested)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_model_folder_that_is_not_right_is_refused(home: Path, model_files: Path) -> None:
    folder = home / "model"
    folder.mkdir()
    done = surefind("model", "fetch", cwd=home, SUREFIND_MODEL_DIR=str(folder))
    assert (done.returncode, "has no model_quantized.onnx" in done.stderr) == (2, True)
    (folder / "model_quantized.onnx").write_bytes(
        (model_files / "model_quantized.onnx").read_bytes()[:-1]
    )
    done = surefind("search", "tea", cwd=home, SUREFIND_MODEL_DIR=str(folder))
    assert (done.returncode, "is the wrong file" in done.stderr) == (2, True)


def test_the_model_is_where_it_says(home: Path, model_files: Path) -> None:
    assert surefind("model", "fetch", cwd=home).stdout.strip() == str(model_files)


def test_a_folder_of_a_newer_surefind_is_not_changed(home: Path) -> None:
    (home / ".surefind" / "format.json").write_text('{"format": 99}')
    for arguments in (("search", "tea"), ("ingest", "docs"), ("serve",)):
        done = surefind(*arguments, cwd=home)
        assert done.returncode == 2
        assert (
            "written by a newer surefind version (format 99; this version supports up to 1)"
            in done.stderr
        )
    (home / ".surefind" / "format.json").write_text("{")
    assert surefind("search", "tea", cwd=home).returncode == 4


def test_a_data_folder_that_can_not_be_made_is_reported(home: Path) -> None:
    done = surefind("ingest", "docs", "--data-dir", "docs/index.md/data", cwd=home)
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert "docs/index.md/data" in done.stderr


def test_ctrl_c_publishes_nothing_and_says_so(home: Path) -> None:
    for number in range(60):
        (home / "docs" / f"more{number}.md").write_text(
            f"# More {number}\n\n" + "many words " * 200
        )
    process = start("ingest", "docs", cwd=home, SUREFIND_THREADS="1")
    building = home / ".surefind/collections/docs/0002/index"
    deadline = time.monotonic() + 60
    while not building.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "nothing was published" in err
    assert "Traceback" not in err
    assert surefind_json("chunks", "count", cwd=home)["generation"] == 1
    assert not building.exists()


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.{handler})
from surefind.__main__ import main
sys.argv = ["surefind", "--version"]
main()
"""


@pytest.mark.parametrize("module", ["typer", "surefind.errors", "surefind.interfaces.cli.usage"])
def test_ctrl_c_during_the_imports_ends_the_command_silently(module: str) -> None:
    program = INTERRUPTED_IMPORT.format(module=module, handler="default_int_handler")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "")


def test_a_command_that_ignores_ctrl_c_goes_on_doing_so() -> None:
    """A shell starts commands in the background like this."""
    program = INTERRUPTED_IMPORT.format(module="typer", handler="SIG_IGN")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("surefind ")


def test_an_export_refuses_a_catalog_that_lost_rows(home: Path) -> None:
    """A store of an earlier surefind has no checksums, but the manifest has the numbers."""
    generation = home / ".surefind/collections/docs/0001"
    for file in generation.glob("*.checksums"):
        file.unlink()
    manifest = json.loads((generation / "manifest.json").read_text())
    (generation / "manifest.json").write_text(json.dumps({**manifest, "checksums": []}))
    with closing(sqlite3.connect(generation / "catalog.sqlite")) as catalog, catalog:
        catalog.execute("DELETE FROM chunk WHERE rowid = (SELECT max(rowid) FROM chunk)")
    done = surefind("export", "docs.surefind", cwd=home)
    assert done.returncode == 4
    assert "but its manifest says" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / "docs.surefind").exists()


def test_a_terminal_sees_bars(home: Path) -> None:
    """On a pseudo terminal, progress is drawn; the result is the same."""
    (home / "docs" / "more.md").write_text("# More\n\n" + "many words " * 900)
    terminal, other_end = pty.openpty()
    with os.fdopen(terminal, "rb", buffering=0) as screen, tempfile.TemporaryFile("w+") as result:
        process = subprocess.Popen(
            [COMMAND, "ingest", "docs"], cwd=home, stdout=result, stderr=other_end
        )
        os.close(other_end)
        drawn = b""
        while True:
            try:
                drawn += screen.read(4096)
            except OSError:  # the other end was closed
                break
        assert process.wait(timeout=60) == 0
        result.seek(0)
        assert "1 added" in result.read()
    text = drawn.decode()
    assert "embedding" in text
    assert "reading" in text
    assert re.search(r"\d+/\d+", text)


def test_a_second_ingest_and_a_second_server_name_the_first_one(home: Path) -> None:
    with serving(cwd=home, command=[COMMAND]) as (address, process):
        second = surefind("serve", "--port", "0", cwd=home)
        assert second.returncode == 4
        assert f"another `surefind serve` (process {process.pid}" in second.stderr
        port = address.rsplit(":", 1)[1]
        elsewhere = surefind("serve", "--port", port, "--data-dir", "other", cwd=home)
        assert elsewhere.returncode == 2
        assert (
            f"port {port} on 127.0.0.1 is not available (Address already in use)"
            in elsewhere.stderr
        )
        assert surefind("search", "tea", cwd=home).returncode == 0
    for number in range(40):
        (home / "docs" / f"more{number}.md").write_text(f"# More {number}\n\n" + "many words " * 20)
    first = start("ingest", "docs", cwd=home, command=[COMMAND])
    lock = home / ".surefind" / "ingest.holder"
    deadline = time.monotonic() + 60
    while not (lock.exists() and lock.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)  # so that it is there for as long as it takes to ask
    second = surefind("ingest", "docs", cwd=home)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 4
    assert f"another `surefind ingest` (process {first.pid}" in second.stderr
    out, err = first.communicate(timeout=100)
    assert first.returncode == 0, err
    assert "generation 2 published" in out


def test_output_that_no_one_reads_to_its_end_is_not_an_error(ingested: Path) -> None:
    piped = subprocess.run(
        f"{COMMAND} search tea --json | head -c 5",
        shell=True,
        cwd=ingested,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert piped.stdout == '{\n  "'
    assert "Traceback" not in piped.stderr


def test_the_version_is_printed(ingested: Path) -> None:
    assert re.fullmatch(r"surefind \d+\.\d+\.\d+\n", surefind("--version", cwd=ingested).stdout)


def test_the_doctor_repairs_only_when_asked_to(home: Path) -> None:
    sound = surefind_json("doctor", cwd=home)
    assert sound["sound"] is True
    assert sound["generations"][0]["current"] is True
    (home / ".surefind" / "collections" / "docs" / "0044" / "index").mkdir(parents=True)
    asked = surefind("doctor", "--repair", cwd=home)
    assert (asked.returncode, "nothing was changed" in asked.stderr) == (0, True)
    assert "docs--0044" in asked.stdout
    done = surefind("doctor", "--repair", "--yes", cwd=home)
    assert (done.returncode, "done: remove" in done.stderr) == (0, True)
    assert "0044" not in surefind("doctor", cwd=home).stdout


def test_old_generations_are_pruned_when_wanted(home: Path) -> None:
    assert surefind("generations", "prune", cwd=home).stdout == "nothing to remove\n"
    (home / "docs" / "new.md").write_text("# New\n\nabout nothing else")
    assert surefind_json("ingest", "docs", cwd=home)["generation"] == 2
    done = surefind("generations", "prune", "--keep", "1", cwd=home)
    assert (done.returncode, done.stdout) == (0, "removed 1: generation 1\n")
    assert [one["generation"] for one in surefind_json("generations", "list", cwd=home)] == [2]
    assert surefind_json("generations", "prune", "--keep", "1", cwd=home) == {"removed": []}


def test_a_damaged_archive_is_refused_in_one_line(ingested: Path, tmp_path: Path) -> None:
    archive = tmp_path / "x.surefind"
    surefind_json("export", archive, cwd=ingested)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 16
    archive.write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("x.surefind", "is damaged"), ("pipe", "not a regular file")):
        done = surefind("import", tmp_path / name, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert re.fullmatch(rf"surefind: error: .*{name} .*{reason}.*\n", done.stderr)
    assert not (tmp_path / ".surefind").exists()


def test_a_collection_goes_through_a_file(ingested: Path, tmp_path: Path) -> None:
    facts = surefind_json("export", tmp_path / "x.surefind", cwd=ingested)
    again = surefind("export", tmp_path / "x.surefind", cwd=ingested)
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    assert surefind("export", tmp_path, cwd=ingested).returncode == 2
    brought = surefind_json("import", tmp_path / "x.surefind", "-c", "copy", cwd=tmp_path)
    assert (brought["collection"], brought["chunks"]) == ("copy", facts["chunks"])
    moved = surefind("promote", "--to", "qdrant", cwd=tmp_path)
    assert (moved.returncode, "QDRANT_URL" in moved.stderr) == (2, True)
