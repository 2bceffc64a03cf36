"""`surefind validate --target`: other retrievers, as a user validates them."""

import json
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support import mcp_search_server
from support.commands import serving, start, surefind
from support.search_service import Service, Trouble

GOLDEN = """\
top_k: 2
tests:
  - test_id: power
    query_text: Which socket and cable?
    expected_results: [{url: "https://docs.example.com/guide/power"}]
  - test_id: lid
    query_text: What does E42 mean?
    expected_results: [{url: /reference/errors/, grade: 2}]
  - test_id: table
    query_text: Where do I put it on a stable table?
    expected_results: [{text: far from the edge}]
"""
MCP = shlex.join([sys.executable, mcp_search_server.__file__])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "golden.yaml").write_text(GOLDEN)
    return tmp_path


def validate(folder: Path, target: str, *arguments: str, code: int = 0) -> Any:
    done = surefind("validate", "golden.yaml", "--target", target, *arguments, "--json", cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("shape", ["structured", "json", "prose"])
def test_an_mcp_server_is_validated(folder: Path, shape: str) -> None:
    report = validate(folder, f"mcp:{MCP} {shape}")
    assert report["verdict"] == "pass"
    assert report["subject"]["target"] == f"mcp:{MCP} {shape}"
    assert report["means"]["values"]["hit@2"] == 1.0
    assert [one.name for one in (folder / ".surefind").glob("targets/*")] == ["runs"]


def test_runs_on_a_target_are_in_its_history(folder: Path, service: Service) -> None:
    for _ in range(2):
        validate(folder, service.url)
    (folder / "nothing.py").write_text("def search(question):\n    return ['https://x.org/none']\n")
    validate(folder, "python:nothing:search", code=1)
    validate(folder, service.url, "--no-history")
    told = json.loads(
        surefind("validate", "--history", "--target", service.url, "--json", cwd=folder).stdout
    )
    assert [run["target"] for run in told["runs"]] == [service.url] * 2
    assert [trend["target"] for trend in told["trends"]] == [service.url]
    shown = surefind("validate", "golden.yaml", "--history", "--target", service.url, cwd=folder)
    assert f"{service.url} 2" in shown.stdout
    assert surefind("validate", "--history", cwd=folder).returncode == 2  # no such collection


def test_passwords_are_not_recorded(folder: Path, service: Service) -> None:
    address = service.url.replace("http://", "http://me:secret@")
    surefind("validate", "golden.yaml", "--target", address, cwd=folder)
    for file in (folder / ".surefind").rglob("*.json"):
        assert "secret" not in file.read_text()


def test_a_failing_tool_fails_its_tests_alone(folder: Path) -> None:
    report = validate(folder, f"mcp:{MCP} failing", code=1)
    assert [test["outcome"] for test in report["tests"]] == ["passed", "error", "passed"]
    assert "the tool failed" in report["tests"][1]["message"]


def test_a_tool_with_more_arguments_needs_a_target_file(folder: Path) -> None:
    target = f"mcp:{MCP} library"
    refused = surefind("validate", "golden.yaml", "--target", target, cwd=folder)
    assert refused.returncode == 2
    assert "the tool search_docs needs values for library" in refused.stderr
    (folder / "docs.yaml").write_text(
        f"target: {json.dumps(target)}\nname: teapot docs\n"
        'arguments: {library: teapot, query: "{query}"}\n'
    )
    report = validate(folder, "docs.yaml")
    assert report["subject"]["target"] == "teapot docs"


@pytest.mark.parametrize(
    ("target", "said", "code"),
    [
        (f"mcp:{MCP} structured#find", "there is no tool 'find'; the server has search_docs", 2),
        ("mcp:no-such-command", "the MCP server can't be reached", 4),
        ("mcp+http://127.0.0.1:9/mcp", "the MCP server can't be reached", 4),
        ("mcp:", "needs a command", 2),
        ("http://127.0.0.1:9/search", "the connection failed", 4),
        ("ftp://x", "is not a target; write mcp:", 2),
        ("surefind:docs?depth=3", "unknown or empty option 'depth'", 2),
        ("surefind:docs?generation=x", "generation must be a number", 2),
        ("surefind:nowhere", "nowhere", 2),
        ("qdrant:pages", "no connected collection is called 'pages'", 2),
        ("trec:none.txt", "none.txt can't be read", 2),
        ("missing.yaml", "missing.yaml can't be read", 2),
    ],
)
def test_a_target_that_cannot_be_used_says_why(
    folder: Path, target: str, said: str, code: int
) -> None:
    done = surefind("validate", "golden.yaml", "--target", target, cwd=folder)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_was_inferred_is_shown_and_can_be_saved(folder: Path, service: Service) -> None:
    done = surefind(
        "validate", "golden.yaml", "--target", service.url, "--save-target", "t.yaml", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "results: results, " in done.stderr
    assert "url: url (in all points, addresses, its name matches): https://" in done.stderr
    assert "items: results" in (folder / "t.yaml").read_text()
    asked = len(service.requests)
    again = surefind("validate", "golden.yaml", "--target", "t.yaml", cwd=folder)
    assert again.returncode == 0
    assert "the results are read from" not in again.stderr
    assert len(service.requests) == asked + 3
    taken = surefind(
        "validate", "golden.yaml", "--target", service.url, "--save-target", "t.yaml", cwd=folder
    )
    assert taken.returncode == 2
    assert "t.yaml already exists" in taken.stderr


def test_every_report_says_what_was_validated(folder: Path, service: Service) -> None:
    done = surefind(
        *("validate", "golden.yaml", "--target", service.url, "--markdown", "r.md"),
        *("--html", "r.html", "--junit", "r.xml", "--trec-out", "trec"),
        *("--save-baseline", "base.json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert f"target: {service.url}\nsearch: top 2" in done.stdout
    assert f"| target | {service.url} |" in (folder / "r.md").read_text()
    assert service.url in (folder / "r.html").read_text()
    assert (folder / "r.xml").exists()
    compared = validate(folder, service.url, "--baseline", "base.json")
    assert compared["comparison"]["evidence"] == "no_change"
    from_run = validate(folder, "trec:trec/run.txt", code=1)
    assert [test["test_id"] for test in from_run["tests"]] == ["power", "lid", "table"]


def test_a_shape_that_changes_half_way_fails_the_later_tests(
    folder: Path, service: Service
) -> None:
    service.troubles = [Trouble()] * 4
    service.always = Trouble(body='{"hits": {"items": []}}')
    report = validate(folder, service.url, "--concurrency", "1", code=1)
    assert [test["outcome"] for test in report["tests"]] == ["passed", "error", "error"]
    assert "there is no list at results" in report["tests"][1]["message"]


def test_ctrl_c_leaves_a_partial_report(folder: Path, service: Service) -> None:
    service.troubles = [Trouble()] * 4
    service.always = Trouble(silent_s=20)
    process = start(
        *("validate", "golden.yaml", "--target", service.url, "--concurrency", "1", "--json"),
        cwd=folder,
    )
    deadline = time.monotonic() + 60
    while len(service.requests) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 3, stderr
    report = json.loads(stdout)
    assert report["interrupted"] == "stopped"
    assert report["totals"]["passed"] == 1
    assert report["totals"]["not_run"] == 2


@pytest.mark.parametrize(
    "options",
    [
        ("--mode", "dense"),
        ("--generation", "1"),
        ("--index-recall",),
        ("--duration", "1"),
        ("--calibrate",),
        ("--tests-out", "t.yaml"),
    ],
)
def test_options_that_need_an_index_are_refused(folder: Path, options: tuple[str, ...]) -> None:
    done = surefind("validate", "golden.yaml", "--target", "trec:x", *options, cwd=folder)
    assert done.returncode == 2
    assert f"{options[0]} can't be combined with --target" in done.stderr


def test_save_target_needs_a_target(folder: Path) -> None:
    done = surefind("validate", "golden.yaml", "--save-target", "t.yaml", cwd=folder)
    assert done.returncode == 2
    assert "--save-target needs --target" in done.stderr


OWN = """\
top_k: 3
tests:
  - test_id: power
    query_text: Which voltage does it need?
    expected_results: [{source_path: docs/guide/install.md, heading: Power}]
  - test_id: lid
    query_text: What does E42 mean?
    expected_results: [{text: the lid is open}]
  - test_id: opera
    query_text: Who sings at the opera tonight?
    expect: none
    success_criteria: {min_similarity_score: 0.75}
"""


def test_own_collections_are_targets_however_they_are_reached(home: Path) -> None:
    """The library, the HTTP API, the vector store endpoints and the MCP server find the same."""
    (home / "golden.yaml").write_text(OWN)
    expected = validate(home, "surefind:docs?generation=1")
    found = {
        test["test_id"]: [hit["chunk_id"] for hit in test["found"]] for test in expected["tests"]
    }
    assert expected["verdict"] == "pass"
    with serving(cwd=home) as (address, _):
        for target in (f"{address}/retrieve", f"mcp+{address}/mcp"):
            report = validate(home, target)
            assert report["verdict"] == "pass"
            assert {
                test["test_id"]: [hit["chunk_id"] for hit in test["found"]]
                for test in report["tests"]
            } == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("mode=fuzzy", "mode must be one of hybrid, dense, lexical, not 'fuzzy'"),
        ("collapse=all", "collapse must be one of off, same, near"),
        ("group_by=page", "group_by must be one of document, section, none, not 'page'"),
        ("generation=99", "99"),
        ("settings=none.toml", "none.toml can't be read"),
    ],
)
def test_wrong_options_of_an_own_collection_are_refused(
    ingested: Path, options: str, said: str
) -> None:
    done = surefind("validate", "--target", f"surefind:docs?{options}", cwd=ingested)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_own_collection_returns_pages_if_it_is_grouped(home: Path) -> None:
    (home / "golden.yaml").write_text(OWN)
    for options, is_grouped in (("", False), ("?group_by=document", True)):
        report = validate(home, f"surefind:docs{options}")
        [found] = [test["found"] for test in report["tests"] if test["test_id"] == "power"]
        pages = [hit["url"].partition("#")[0] for hit in found]
        assert (len(pages) == len(set(pages))) == is_grouped


def test_a_vector_store_of_openai_is_a_target(home: Path) -> None:
    (home / "golden.yaml").write_text(OWN.partition("  - test_id: opera")[0])
    with serving(cwd=home) as (address, _):
        done = surefind(
            *("validate", "golden.yaml", "--target", "openai:docs", "--json"),
            cwd=home,
            OPENAI_BASE_URL=f"{address}/v1",
            OPENAI_API_KEY="any",
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["totals"]["passed"] == 2


def test_a_vector_store_needs_a_key(folder: Path) -> None:
    done = surefind("validate", "golden.yaml", "--target", "openai:docs", cwd=folder)
    assert done.returncode == 2
    assert "needs the environment variable OPENAI_API_KEY" in done.stderr
