"""`surefind compare` and `surefind golden power`, as a user runs them."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from support.commands import start, surefind
from support.search_service import SITE, Service, Trouble

GOLDEN = "top_k: 2\ntests:\n" + "".join(
    f'  - {{test_id: t{n}, query_text: "{asked}", expected_results: [{{url: "{SITE}{page}"}}]}}\n'
    for n, (asked, page) in enumerate(
        [
            ("Which socket and cable?", "/guide/power"),
            ("Plug in the cable?", "/guide/power"),
            ("230 volts?", "/guide/power"),
            ("What does E42 mean?", "/reference/errors"),
            ("Is the lid open?", "/reference/errors"),
            ("vinegar every month?", "/guide/cleaning"),
            ("Descale with what?", "/guide/cleaning"),
            ("a stable table?", "/guide/install"),
        ]
    )
)
NOTHING = 'def search(question):\n    return ["https://docs.example.com/none"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    (tmp_path / "nothing.py").write_text(NOTHING)
    return tmp_path


def compare(folder: Path, *arguments: str | Path, code: int = 0) -> Any:
    done = surefind("compare", *arguments, "--json", cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_two_targets_are_compared(folder: Path, service: Service) -> None:
    result = compare(
        folder,
        *("python:nothing:search", service.url, "golden.yaml"),
        *("--markdown", "c.md", "--html", "c.html"),
    )
    [pair] = result["pairs"]
    assert pair["first"] == "python:nothing:search"
    assert (len(pair["wins"]), len(pair["losses"])) == (8, 0)
    assert pair["changes"][0]["evidence"] == "better"
    assert pair["overlap"] == 0.0
    assert pair["latency"]["queries"] == 8
    assert "## Retrieval comparison" in (folder / "c.md").read_text()
    assert (folder / "c.html").read_text().startswith("<!doctype html>")


def test_saved_reports_are_compared_over_the_tests_they_share(
    folder: Path, service: Service
) -> None:
    fewer = folder / "fewer.yaml"
    fewer.write_text("\n".join(GOLDEN.splitlines()[:-2]))
    for target, tests, report in (
        (service.url, "golden.yaml", "a.json"),
        ("python:nothing:search", "fewer.yaml", "b.json"),
    ):
        surefind("validate", tests, "--target", target, "--save-baseline", report, cwd=folder)
    result = compare(folder, "a.json", "b.json")
    assert (result["tests"], result["left_out"]) == (6, ["t6", "t7"])
    mixed = compare(folder, "a.json", service.url, "golden.yaml")
    assert mixed["pairs"][0]["changes"][0]["evidence"] == "no_change"

    power = surefind("golden", "power", "a.json", "b.json", "--json", cwd=folder)
    assert power.returncode == 2
    assert "the runs differ equally in all questions" in power.stderr


def test_a_target_that_goes_away_leaves_a_partial_comparison(
    folder: Path, service: Service
) -> None:
    service.troubles = [Trouble()] * 6
    service.always = Trouble(404)
    result = compare(folder, "python:nothing:search", service.url, "golden.yaml", code=4)
    assert result["interrupted"].startswith(f"{service.url}: HTTP status 404")
    assert result["tests"] == 6  # three were answered, and three failed


def test_sigterm_leaves_a_partial_comparison(folder: Path, service: Service) -> None:
    service.troubles = [Trouble()] * 5
    service.always = Trouble(silent_s=20)
    process = start(
        "compare", "python:nothing:search", service.url, "golden.yaml", "--json", cwd=folder
    )
    deadline = time.monotonic() + 60
    while len(service.requests) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 3, stderr
    result = json.loads(stdout)
    assert (result["interrupted"], result["tests"]) == ("stopped", 2)


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("python:nothing:search", "golden.yaml"), "compare needs 2 to 8 targets", 2),
        (("golden.yaml",), "compare needs 2 to 8 targets", 2),
        (("python:nothing:search",) * 9 + ("golden.yaml",), "not 9 targets", 2),
        (("python:nothing:search", "foo", "golden.yaml"), "foo is not a target", 2),
        (("trec:a", "trec:b", "none.yaml"), "none.yaml does not exist", 2),
        (
            (
                "python:nothing:search",
                "python:nothing:search",
                "golden.yaml",
                "--html",
                "golden.yaml",
            ),
            "--html golden.yaml would overwrite the file of tests",
            2,
        ),
    ],
)
def test_wrong_arguments_are_refused(
    folder: Path, arguments: tuple[str, ...], said: str, code: int
) -> None:
    done = surefind("compare", *arguments, cwd=folder)
    assert done.returncode == code
    assert said in done.stderr


def test_power_says_how_many_questions_are_needed(folder: Path) -> None:
    done = surefind("golden", "power", "--file", "golden.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "questions to detect 0.05" in done.stdout
    assert "detectable with 8 tests" in done.stdout
    as_json = surefind("golden", "power", "--difference", "0.1", "--json", cwd=folder)
    rows = json.loads(as_json.stdout)["rows"]
    assert [row["spread"] for row in rows] == [0.1, 0.2, 0.3, 0.4]
    assert [row["questions"] for row in rows] == sorted(row["questions"] for row in rows)
    wrong = surefind("golden", "power", "--difference", "5", cwd=folder)
    assert wrong.returncode == 2
    assert "the difference must be above 0" in wrong.stderr


def test_power_learns_the_spread_from_two_reports(folder: Path, service: Service) -> None:
    (folder / "half.py").write_text(
        "def search(question):\n"
        f"    return ['{SITE}/guide/power'] if 'a' in question else ['{SITE}/none']\n"
    )
    for target, report in ((service.url, "a.json"), ("python:half:search", "b.json")):
        surefind(
            *("validate", "golden.yaml", "--target", target, "--save-baseline", report), cwd=folder
        )
    done = surefind("golden", "power", "a.json", "b.json", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["learned_from"] == 8
    assert 0 < told["rows"][0]["spread"] < 1
    unknown = surefind("golden", "power", "a.json", "b.json", "--measure", "P@9", cwd=folder)
    assert unknown.returncode == 2
    assert "the reports have no measure P@9" in unknown.stderr
