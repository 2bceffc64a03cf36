"""A judged collection validated from end to end, beside trec_eval."""

import json
from pathlib import Path

import pytest

from support.commands import surefind
from surefind.evaluation.measures.ranking import Measure
from unit.evaluation.trec_oracle import trec_eval

DOCUMENTS = 120


@pytest.fixture(scope="module")
def squad(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of it: its pages ingested, its queries and judgements as a BEIR folder."""
    home = tmp_path_factory.mktemp("squad")
    source = data / "squad-dev-even"
    (home / "docs").mkdir()
    (home / "beir").mkdir()
    lines = (source / "corpus.jsonl").read_text("utf-8").splitlines()[:DOCUMENTS]
    pages = {page["_id"]: page for page in map(json.loads, lines)}
    for name, page in pages.items():
        (home / "docs" / f"{name}.md").write_text(f"# {page['title']}\n\n{page['text']}\n")
    head, *rows = (source / "qrels.tsv").read_text("utf-8").splitlines()
    kept = [row for row in rows if row.split("\t")[1] in pages]
    (home / "beir" / "qrels.tsv").write_text("\n".join([head, *kept]))
    wanted = {row.split("\t")[0] for row in kept}
    queries = (source / "queries.jsonl").read_text("utf-8").splitlines()
    chosen = [line for line in queries if json.loads(line)["_id"] in wanted]
    (home / "beir" / "queries.jsonl").write_text("\n".join(chosen))
    done = surefind("ingest", "docs", cwd=home)
    assert done.returncode == 0, done.stderr
    return home


def test_the_report_of_a_judged_collection_is_trec_evals(squad: Path) -> None:
    done = surefind("validate", "beir", "-k", "10", "--json", "--trec-out", "trec", cwd=squad)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["totals"]["stale"] == report["totals"]["error"] == 0
    assert report["means"]["judged"] == report["totals"]["total"] > 400
    run: dict[str, list[str]] = {}
    for line in (squad / "trec" / "run.txt").read_text().splitlines():
        query, _, label, *_ = line.split()
        run.setdefault(query, []).append(label)
    judged: dict[str, dict[str, int]] = {}
    for line in (squad / "trec" / "qrels.txt").read_text().splitlines():
        query, _, label, grade = line.split()
        judged.setdefault(query, {})[label] = int(grade)
    for name, mean in report["means"]["values"].items():
        values = trec_eval(Measure.parse(name), run, judged)
        assert sum(values.values()) / len(judged) == pytest.approx(mean)
    assert report["means"]["values"]["MRR"] > 0.85
    causes = {test["cause"] for test in report["tests"] if test["outcome"] == "failed"}
    assert causes <= {"outranked", "duplicate"}


def test_a_worse_search_differs_from_the_baseline(squad: Path) -> None:
    saved = surefind("validate", "beir", "--save-baseline", "base.json", "--json", cwd=squad)
    assert saved.returncode == 0, saved.stderr
    done = surefind(
        "validate", "beir", "--mode", "dense", "--baseline", "base.json", "--json", cwd=squad
    )
    comparison = json.loads(done.stdout)["comparison"]
    assert (done.returncode, comparison["verdict"]) == (1, "fail")
    assert len(comparison["worse"]) > len(comparison["better"])
