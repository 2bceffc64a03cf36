"""`surefind validate` as a user runs it: reports, files and exit codes."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support.commands import COMMAND, start, surefind, surefind_json
from surefind.evaluation.golden.golden_set import read_golden_yaml
from surefind.evaluation.measures.ranking import Measure
from unit.evaluation.trec_oracle import trec_eval

DOCS = Path(__file__).parents[3] / "docs"
DECIMAL = re.compile(r"\d+\.\d+")
GOLDEN = """\
top_k: 3
tests:
  - test_id: power
    query_text: Which voltage does it need?
    expected_results: [{source_path: docs/guide/install.md, heading: Power}]
    test_category: factual
  - test_id: lid
    query_text: What does E42 mean?
    expected_results: [{text: the lid is open, grade: 2}, {source_path: docs/reference/errors.md}]
    test_category: factual
  - test_id: opera
    query_text: Who sings at the opera tonight?
    expect: none
    success_criteria: {min_similarity_score: 0.75}
"""


def validate(home: Path, *arguments: str | Path, code: int = 0) -> Any:
    done = surefind("validate", *arguments, "--json", cwd=home)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def remarks(stderr: str) -> list[str]:
    """What was said beside the result. How far it is, is said too where it takes its time."""
    how_far = re.compile(r"surefind: [a-z ]+: \d+( of \d+)?")
    return [line for line in stderr.splitlines() if not how_far.fullmatch(line)]


@pytest.fixture
def golden(home: Path) -> Path:
    path = home / "golden.yaml"
    path.write_text(GOLDEN)
    return path


def is_alike(line: str, other: str) -> bool:
    """The model computes with 8-bit numbers, which not all processors do alike: .438 for .444."""
    if DECIMAL.sub("", line) != DECIMAL.sub("", other):
        return False
    pairs = zip(DECIMAL.findall(line), DECIMAL.findall(other), strict=True)
    return all(abs(float(one) - float(two)) < 0.01 for one, two in pairs)


def test_the_documented_example_gives_the_documented_report(tmp_path: Path) -> None:
    """The pages are the tutorial's, the tests those of Validation, the report that of validate."""
    tutorial = (DOCS / "tutorial.md").read_text("utf-8")
    pages = dict(re.findall(r"cat > (\S+) <<'END'\n(.*?)\nEND\n", tutorial, re.DOTALL))
    for path, text in pages.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert surefind("ingest", "handbook", cwd=tmp_path).returncode == 0
    golden, *others = re.findall(
        r"```yaml\n(.*?)```", (DOCS / "validation.md").read_text("utf-8"), re.DOTALL
    )
    assert all(read_golden_yaml("gated", one.encode()).gates for one in others)
    (tmp_path / "golden.yaml").write_text(golden)
    done = surefind("validate", "golden.yaml", cwd=tmp_path)
    page = (DOCS / "commands" / "validate.md").read_text("utf-8")
    shown = page[page.index(" measure   mean") : page.index("\n```\n\nThe report begins")]
    expected = [line for line in shown.splitlines() if not line.startswith("latency: ")]
    assert (done.returncode, remarks(done.stderr)) == (1, [])
    printed = done.stdout.splitlines()
    missing = [line for line in expected if not any(is_alike(line, one) for one in printed)]
    assert missing == []


def test_golden_tests_that_pass(home: Path, golden: Path) -> None:
    report = validate(home, golden)
    assert report["schema"] == "surefind.validation/1"
    assert (report["verdict"], report["totals"]["passed"]) == ("pass", 3)
    assert report["subject"]["top_k"] == 3
    assert report["negatives"] == {"total": 1, "accepted": 0, "false_accept_rate": 0.0}
    assert list(report["means"]["values"]) == ["nDCG@3", "R@3", "P@3", "hit@3", "MRR", "MAP"]
    assert report["categories"][0]["name"] == "factual"


def test_the_terminal_shows_the_published_summary_and_more(home: Path, golden: Path) -> None:
    golden.write_text(GOLDEN.replace("heading: Power", "heading: Cleaning the lid"))
    done = surefind("validate", golden, "--top-k", "1", cwd=home)
    lines = done.stdout.splitlines()
    assert lines[0] == "INCONCLUSIVE: 2 of 3 passed (golden.yaml)"
    assert lines[2:5] == ["=" * 60, "RAG Retrieval Validation Report", "=" * 60]
    assert "Total Queries: 3" in lines
    assert "Vector Dimensions: 384" in lines
    # One hit meets both expectations of a test; in the measures it takes two places.
    factual = next(line.split() for line in lines if line.startswith(" factual"))
    assert factual == ["factual", "1/2", "1.000", "0.500", "1.000", "1.000", "1.000", "1.000"]
    assert "negatives: 0 of 1 were wrongly answered" in lines
    assert any(line.startswith("latency: p50 ") for line in lines)
    assert "INCONCLUSIVE: 2 of 3 passed (golden.yaml)" in lines
    assert "  1 test expects results that no longer exist" in lines
    assert (done.returncode, remarks(done.stderr)) == (3, [])


def test_one_of_ten_queries_fails_the_run_goes_on_and_the_exit_code_is_1(home: Path) -> None:
    questions = [*(f"How do I clean it {number}?" for number in range(9)), "x" * 3000]
    (home / "questions.txt").write_text("\n".join(questions))
    report = validate(home, "questions.txt", code=1)
    assert (report["totals"]["passed"], report["totals"]["error"]) == (9, 1)
    assert "3000 characters" in report["tests"][9]["message"]
    done = surefind("validate", "questions.txt", cwd=home)
    assert "Successful: 9\nFailed: 1\nSuccess Rate: 90.0%" in done.stdout
    assert "1 query could not be answered" in done.stdout


@pytest.mark.parametrize("name", ["empty.txt", "empty.yaml", "empty.jsonl"])
def test_an_empty_file_is_a_mistake_whatever_its_form(home: Path, name: str) -> None:
    (home / name).write_text("")
    done = surefind("validate", name, cwd=home)
    assert (done.returncode, f"{name} is empty" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "text"), [("none.txt", "# nothing\n"), ("none.yaml", "tests: []")]
)
def test_zero_queries_are_a_report_and_exit_3(home: Path, name: str, text: str) -> None:
    (home / name).write_text(text)
    report = validate(home, name, code=3)
    assert report["reasons"] == ["there were no queries"]
    assert "Total Queries: 0" in surefind("validate", name, cwd=home).stdout


def test_a_failed_test_has_a_cause_and_every_report_shows_it(home: Path, golden: Path) -> None:
    wrong = "{source_path: docs/guide/cleaning.md}"
    golden.write_text(GOLDEN.replace("{source_path: docs/reference/errors.md}", wrong))
    files = ("--markdown", "out/report.md", "--junit", "out/junit.xml", "--trec-out", "out/trec")
    report = validate(home, golden, "--top-k", "1", *files, code=1)
    failed = report["tests"][1]
    assert (failed["outcome"], failed["cause"], failed["accuracy"]) == ("failed", "outranked", 0.5)
    assert failed["sought"][1]["ahead"] == [failed["found"][0]["chunk_id"]]
    assert "| lid | What does E42 mean? | failed | outranked |" in (
        home / "out" / "report.md"
    ).read_text("utf-8")
    suite = ET.parse(home / "out" / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("4", "2")
    assert_trec_agrees(home / "out" / "trec", report)


def assert_trec_agrees(folder: Path, report: Any) -> None:
    """trec_eval itself, over the files, gives the numbers of the report."""
    run: dict[str, list[str]] = {}
    for line in (folder / "run.txt").read_text().splitlines():
        query, _, label, *_ = line.split()
        run.setdefault(query, []).append(label)
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.txt").read_text().splitlines():
        query, _, label, grade = line.split()
        judged.setdefault(query, {})[label] = int(grade)
    for name, mean in report["means"]["values"].items():
        values = trec_eval(Measure.parse(name), run, judged)
        assert sum(values.values()) / len(judged) == pytest.approx(mean)


def test_a_baseline_is_saved_and_compared_with(home: Path, golden: Path) -> None:
    saved = validate(home, golden, "--save-baseline", "base.json")
    assert json.loads((home / "base.json").read_text("utf-8")) == saved
    same = validate(home, golden, "--baseline", "base.json")
    assert same["comparison"]["verdict"] == "pass"
    assert same["comparison"]["same"] == 3
    louder = "".join(
        f"## Voltage {n}\n\nWhich voltage does it need? {n} volts.\n\n" for n in range(5)
    )
    (home / "docs" / "guide" / "voltage.md").write_text(f"# Voltage\n\n{louder}")
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    changed = validate(home, golden, "--top-k", "3", "--baseline", "base.json", code=1)
    assert [change["test_id"] for change in changed["comparison"]["worse"]] == ["power"]
    assert changed["comparison"]["verdict"] == "inconclusive"
    shown = surefind("validate", golden, "--baseline", "base.json", cwd=home).stdout
    assert "compared with the baseline: inconclusive: 0 better, 1 worse, 2 the same" in shown
    assert "at most 86.5 % of similar queries got worse, with 95 % confidence" in shown


def test_one_test_that_changed_does_not_make_a_baseline_unusable(home: Path, golden: Path) -> None:
    validate(home, golden, "--save-baseline", "base.json")
    more = "  - {test_id: new, query_text: What is E42?, expected_results: [{text: lid is open}]}\n"
    edited = GOLDEN.replace("E42 mean", "E42 say").replace("category: factual", "category: easy", 1)
    golden.write_text(edited + more)
    comparison = validate(home, golden, "--baseline", "base.json")["comparison"]
    assert (comparison["evidence"], comparison["same"]) == ("no_change", 2)
    assert (comparison["added"], comparison["changed"]) == (["new"], ["lid"])


def test_what_is_not_comparable_is_refused_before_anything_is_asked(
    home: Path, golden: Path
) -> None:
    validate(home, golden, "--save-baseline", "base.json", "--no-history")
    beside = ("--baseline", "base.json", "--html", "report.html")
    done = surefind("validate", golden, *beside, "--top-k", "4", cwd=home)
    assert (done.returncode, done.stdout) == (3, "")
    assert "the baseline used top_k 3, this run 4; use --top-k 3" in done.stderr
    golden.write_text(GOLDEN.replace("test_id: ", "test_id: other-"))
    done = surefind("validate", golden, *beside, cwd=home)
    assert (done.returncode, done.stdout, "share no tests" in done.stderr) == (3, "", True)
    golden.write_text(GOLDEN.replace("top_k: 3", "top_k: 3\nmeasures: [hit@2]"))
    done = surefind("validate", golden, *beside, cwd=home)
    assert (done.returncode, done.stdout, "baseline's measures" in done.stderr) == (3, "", True)
    assert not (home / "report.html").exists()
    assert surefind_json("validate", "--history", cwd=home)["runs"] == []


def test_what_turns_out_not_to_be_comparable_is_not_a_pass_in_any_report(
    home: Path, golden: Path
) -> None:
    """All that was expected has left: there is nothing to compare by any more."""
    golden.write_text(
        "tests: [{test_id: a, query_text: E42, expected_results: [{text: the lid is open}]}]"
    )
    validate(home, golden, "--save-baseline", "base.json")
    page = home / "docs" / "reference" / "errors.md"
    page.write_text(page.read_text().replace("the lid is open", "the lid is ajar"))
    assert surefind("ingest", "docs", cwd=home).returncode == 0
    files = ("--junit", "junit.xml", "--html", "report.html", "--markdown", "report.md")
    report = validate(home, golden, "--baseline", "base.json", *files, code=3)
    reason = "not compared with the baseline: no test has judged results"
    assert report["verdict"] == "inconclusive"
    assert report["reasons"][-1].startswith(reason)
    for name in ("junit.xml", "report.html", "report.md"):
        assert reason in (home / name).read_text("utf-8")
    runs = surefind_json("validate", "--history", cwd=home)["runs"]
    assert [run["verdict"] for run in runs] == ["pass", "inconclusive"]


def test_a_baseline_of_another_mode_is_compared_with_and_every_report_says_so(
    home: Path, golden: Path
) -> None:
    validate(home, golden, "--save-baseline", "base.json")
    files = ("--junit", "junit.xml", "--html", "report.html", "--markdown", "report.md")
    warning = "the baseline used hybrid mode, this run dense"
    report = validate(home, golden, "--mode", "dense", "--baseline", "base.json", *files)
    assert report["warnings"] == [warning]
    assert report["comparison"]["verdict"] == "pass"
    for name in ("junit.xml", "report.html", "report.md"):
        assert f"warning: {warning}" in (home / name).read_text("utf-8")


def test_without_a_file_the_headings_are_the_questions(home: Path) -> None:
    report = validate(home)
    assert report["golden"] == "the collection's own headings"
    assert report["totals"]["total"] == report["means"]["judged"] == 6
    assert report["means"]["values"]["hit@5"] == 1.0


def test_a_judged_collection_and_topics_are_read(home: Path) -> None:
    beir = home / "beir"
    beir.mkdir()
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "Descale the teapot"}\n')
    (beir / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tcleaning\t1\n1\tindex\t0\n")
    report = validate(home, beir, "--mode", "dense")
    assert report["subject"]["mode"] == "dense"
    assert report["means"]["values"]["MRR"] == 1.0
    (home / "topics.tsv").write_text("1\tDescale the teapot\n")
    (home / "qrels.txt").write_text("1 0 cleaning 1\n1 0 index 0\n")
    again = validate(home, "topics.tsv", "--qrels", "qrels.txt")
    assert again["golden_digest"] == report["golden_digest"]
    (home / "qrels.txt").write_text("1 0 cleaning 0\n1 0 index -1\n")
    nothing = validate(home, "topics.tsv", "--qrels", "qrels.txt", code=3)
    assert nothing["reasons"][0].startswith("nothing is judged relevant to the query")
    assert nothing["means"]["values"] == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.yaml"], "nothing.yaml does not exist; `surefind golden init` writes tests"),
        (["goldne.yaml"], "did you mean golden.yaml? `surefind golden init` writes tests"),
        (["broken.yaml"], "broken.yaml, line 2: unknown key 'querry_text' in a test"),
        (["golden.yaml", "--top-k", "0"], "top_k must be between 1 and 1000, not 0"),
        (["golden.yaml", "--concurrency", "0"], "concurrency must be between 1 and 64, not 0"),
        (["golden.yaml", "--baseline", "golden.yaml"], "golden.yaml is not valid JSON"),
        (["golden.yaml", "--baseline", "nothing.json"], "nothing.json can't be read"),
        (["golden.yaml", "--markdown", "docs"], "docs can't be written"),
        (["--qrels", "qrels.txt"], "--qrels needs a file of topics"),
        (["golden.yaml", "--rate", "5"], "--rate needs --duration"),
        (["golden.yaml", "--force"], "--force needs --calibrate"),
        (["golden.yaml", "--collection", "nothing"], "nothing"),
    ],
)
def test_a_callers_mistake_is_one_line_and_exit_2(
    home: Path, golden: Path, arguments: list[str], message: str
) -> None:
    (home / "broken.yaml").write_text("tests:\n  - {test_id: a, querry_text: b}\n")
    done = surefind("validate", *arguments, cwd=home)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_that_is_unavailable_is_exit_4(home: Path, golden: Path) -> None:
    [generation] = (home / ".surefind").rglob("0001")
    for shard in generation.iterdir():
        if shard.is_dir():
            shutil.rmtree(shard)
    done = surefind("validate", golden, cwd=home)
    assert done.returncode == 4, done.stdout + done.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_keeps_what_was_measured(home: Path, stop: signal.Signals) -> None:
    """Ctrl-C, or a scheduler whose patience has ended."""
    (home / "many.txt").write_text("\n".join(f"question number {n}" for n in range(40_000)))
    files = ("--save-baseline", "base.json", "--html", "report.html")
    process = start("validate", "many.txt", "--json", *files, cwd=home)
    assert process.stderr is not None
    for line in process.stderr:
        if "validated: " in line:
            break
    process.send_signal(stop)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    report = json.loads(out)
    assert report["interrupted"] == "stopped"
    assert report["totals"]["passed"] > 0
    assert report["totals"]["not_run"] > 0
    assert "no baseline was saved, because the run ended early" in err
    assert not (home / "base.json").exists()
    page = (home / "report.html").read_text("utf-8")
    assert "Inconclusive" in page
    assert "the run ended early" in page
    [run] = surefind_json("validate", "--history", cwd=home)["runs"]
    assert (run["verdict"], run["interrupted"]) == ("inconclusive", "stopped")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_before_the_first_question_reports_and_saves_nothing(
    home: Path, golden: Path, stop: signal.Signals
) -> None:
    """It is only recorded: the run waits for its baseline, and goes on when it has come."""
    validate(home, golden, "--save-baseline", "base.json", "--no-history")
    os.mkfifo(home / "slow.json")
    files = ("--baseline", "slow.json", "--save-baseline", "new.json", "--html", "report.html")
    process = start("validate", golden, *files, cwd=home, command=(COMMAND,))
    with (home / "slow.json").open("wb") as slow:  # open once the run has opened it, too
        process.send_signal(stop)
        slow.write((home / "base.json").read_bytes())
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + stop, "")
    assert err == "surefind: stopped before all reports were written\n"
    assert not (home / "new.json").exists()
    assert not (home / "report.html").exists()
    assert surefind_json("validate", "--history", cwd=home)["runs"] == []


def test_a_stop_while_no_one_reads_the_report_ends_the_run(home: Path) -> None:
    """The report does not fit into the pipe, so the run has to wait until it is stopped."""
    (home / "many.txt").write_text("\n".join(f"question number {n}" for n in range(200)))
    files = ("--json", "--save-baseline", "base.json")
    process = start("validate", "many.txt", *files, cwd=home, command=(COMMAND,))
    assert process.stdout is not None
    assert process.stdout.read(1) == "{"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    _, err = process.communicate()
    assert "stopped before all reports were written" in err
    assert not (home / "base.json").exists()
