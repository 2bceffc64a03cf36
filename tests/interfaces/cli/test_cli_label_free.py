"""Tests without labels, at the command line."""

import json
from pathlib import Path

import yaml

from support.commands import serving, surefind, surefind_json

LINKED = (
    "# Care\n\nThe pot lasts for years. Remember [how to remove limestone](guide/cleaning.md) "
    "and read [Power](guide/install.md#power), or click [here](guide/install.md) for the rest."
)


def linked(home: Path) -> Path:
    (home / "docs" / "care.md").write_text(LINKED)
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


def test_validate_makes_tests_of_links_and_shows_their_validity(home: Path) -> None:
    report = surefind_json(
        "validate", "--label-free", "--kinds", "links", "--no-history", cwd=linked(home)
    )
    [test] = report["tests"]
    assert test["query_text"] == "how to remove limestone"
    assert report["golden"].startswith("tests without labels: links (validity 0.")
    validity = report["label_free"]["kinds"]["links"]
    assert validity["interval"][0] < validity["tau"] < validity["interval"][1]
    shown = surefind("validate", "--label-free", "--kinds", "links", cwd=home).stdout
    assert "unbroken only" in shown
    assert f"{validity['tau']:.2f}" in shown


def test_the_page_with_the_link_is_left_out(home: Path) -> None:
    done = surefind("golden", "init", "--from", "links", cwd=linked(home))
    assert done.returncode == 0, done.stderr
    [test] = yaml.safe_load((home / "golden.yaml").read_text())["tests"]
    assert test["expected_results"] == [{"source_path": "docs/guide/cleaning.md"}]
    assert test["where"] == ["source_path!=docs/care.md"]
    assert test["test_category"] == "links"


def test_golden_init_takes_questions_from_the_query_log(home: Path) -> None:
    import httpx2

    with serving(cwd=home, SUREFIND_QUERY_LOG="true") as (address, _):
        for text in ("Descale the teapot with vinegar", "descale the teapot with vinegar?", "E42"):
            answer = httpx2.post(f"{address}/retrieve", json={"query": text}, timeout=60)
            assert answer.status_code == 200
    done = surefind("golden", "init", "--from", "logs", cwd=home)
    assert done.returncode == 0, done.stderr
    tests = yaml.safe_load((home / "golden.yaml").read_text())["tests"]
    assert tests[0]["query_text"] == "descale the teapot with vinegar?"
    assert "cleaning" in json.dumps(tests[0]["expected_results"])
    assert surefind("validate", "golden.yaml", cwd=home).returncode == 0


def test_wrong_options_are_explained(home: Path) -> None:
    for options, said in (
        (("validate", "--label-free", "--kinds", "liks"), "unknown kind of tests liks; use some"),
        (("validate", "--label-free", "--kinds", ","), "unknown kind of tests ','"),
        (("validate", "--kinds", "faq"), "--kinds needs --label-free"),
        (("validate", "golden.yaml", "--label-free"), "--label-free makes its own tests"),
        (("validate", "--label-free", "--kinds", "faq"), "the collection has no faq"),
        (("golden", "init", "--from", "logs"), "the query log has no answered questions"),
        (("golden", "init", "--from", "logs,x"), "unknown kind of tests x"),
    ):
        done = surefind(*options, cwd=home)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (home / "golden.yaml").exists()
