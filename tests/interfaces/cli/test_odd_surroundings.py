"""The command line where streams are closed, letters are few and paths are strange."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.commands import COMMAND, surefind, surefind_json

pytestmark = pytest.mark.thorough

LONG = "x" * 5_000


def shell(line: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/sh", "-c", line.replace("surefind", COMMAND, 1)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("odd")
    (home / "docs").mkdir()
    (home / "docs" / "page.md").write_text("# Tëa\n\nPour hot wäter or water.\n")
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    return home


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("ingest", ""), 2, "a source is empty"),
        (("ingest", "docs", "--data-dir", ""), 2, "the setting data_dir: it is empty"),
        (("search", "x", "--data-dir", ""), 2, "the setting data_dir: it is empty"),
        (("ingest", LONG), 2, "can't be read: File name too long"),
        (("inspect", LONG), 2, "can't be read: File name too long"),
        (("search", "x", "--data-dir", LONG), 2, "can't be read: File name too long"),
        (("ingest", "docs/\udcff"), 2, "does not exist"),
        (("search", "\udcff tea"), 2, "query: it contains a lone surrogate"),
        (("search", "x", "--collection", "\udcff"), 2, "collections: it contains a lone surrogate"),
    ],
)
def test_paths_and_words_that_can_not_be_are_reported(
    home: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = surefind(*arguments, cwd=home)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 1_000


def test_a_terminal_of_few_letters_shows_the_others_spelled_out(home: Path) -> None:
    few = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    shown = shell("surefind search tea", home, **few)
    assert shown.returncode == 0
    assert b"Pour hot w\\xe4ter or water." in shown.stdout
    answer = shell("surefind search tea --json", home, **few)
    assert json.loads(answer.stdout)["hits"][0]["text"] == "# Tëa\n\nPour hot wäter or water."
    wrong = shell("surefind ingest 'Tëa'", home, **few)
    assert (wrong.returncode, b"does not exist" in wrong.stderr) == (2, True)
    assert b"Traceback" not in wrong.stderr


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("surefind search tea >&-", 0),
        ("surefind search tea 2>&-", 0),
        ("surefind search tea <&- >&- 2>&-", 0),
        ("surefind ingest docs 2>&-", 0),
        ("surefind search tea --collection none 2>&-", 2),
        ("surefind ingest docs --json >&-", 0),
    ],
)
def test_closed_streams_change_no_exit_code(home: Path, line: str, code: int) -> None:
    done = shell(line, home)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    if "2>&-" in line and ">&- 2>&-" not in line and code:
        assert done.stdout == b"", "what is for stderr never lands on stdout"
    assert surefind_json("chunks", "count", cwd=home)["catalog"] == 1


def test_a_reader_that_has_seen_enough_is_not_an_error(home: Path) -> None:
    line = "{ surefind search tea; echo $? >code; } | head -c 1"
    done = shell(line, home)
    assert (done.stdout, (home / "code").read_text().strip()) == (b" ", "0")
    assert b"Traceback" not in done.stderr
    assert b"Broken pipe" not in done.stderr


def test_a_full_disk_behind_stdout_is_reported(home: Path) -> None:
    done = shell("surefind search tea --json >/dev/full", home)
    assert done.returncode == 4
    assert b"error: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_files_whose_names_are_not_text_are_each_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for raw in (b"\xff.md", b"\xfe.md", b"a\nb.md", b"\\xff.md", b"good.md"):
        (tmp_path / "docs" / os.fsdecode(raw)).write_text("# Words\n")
    done = surefind("ingest", "docs", cwd=tmp_path)
    assert done.returncode == 1
    assert "pages    2 added, 3 failed" in done.stdout
    for name in ("\\xff.md", "\\xfe.md", "a\\nb.md"):
        assert f"failed   docs/{name}: its name is not valid text" in done.stdout


def test_a_port_of_the_platform_breaks_only_servers(home: Path) -> None:
    assert surefind("search", "tea", cwd=home, PORT="abc").returncode == 0
    assert surefind("settings", cwd=home, PORT="abc").returncode == 0
    served = surefind("serve", cwd=home, PORT="abc")
    assert (served.returncode, "PORT must be 0 to 65535" in served.stderr) == (2, True)
    named = {
        "SUREFIND_PORT": "tcp://10.0.0.11:8000",
        "SUREFIND_SERVICE_HOST": "10.0.0.11",
        "SUREFIND_SERVICE_PORT": "8000",
        "SUREFIND_PORT_8000_TCP_ADDR": "10.0.0.11",
    }
    assert surefind("search", "tea", cwd=home, **named).returncode == 0


def test_a_model_is_loaded_only_for_a_question_that_has_to_be_embedded(
    home: Path, tmp_path: Path
) -> None:
    """A folder without the model's files: whoever loads them fails."""
    without = {"SUREFIND_MODEL_DIR": str(tmp_path)}
    found = surefind("search", "water", "--mode", "lexical", cwd=home, **without)
    assert (found.returncode, "Pour hot" in found.stdout) == (0, True)
    nothing = surefind("search", "water", "--collection", "none", cwd=home, **without)
    assert (nothing.returncode, "there is no collection 'none' yet" in nothing.stderr) == (2, True)
    needed = surefind("search", "water", cwd=home, **without)
    assert (needed.returncode, "has no model_quantized.onnx" in needed.stderr) == (2, True)
