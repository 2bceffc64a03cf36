"""Measures on real judgements, against trec_eval."""

import json
import random
from pathlib import Path

import pytest

from surefind.evaluation.measures.ranking import Measure, measure_run
from unit.evaluation.trec_oracle import trec_eval

MEASURES = [
    Measure.parse(name)
    for name in ("nDCG@10", "nDCG-exp@10", "P@5", "R@100", "MRR", "MRR@10", "MAP", "hit@5")
]


def judgements(folder: Path) -> dict[str, dict[str, int]]:
    known: dict[str, dict[str, int]] = {}
    for row in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = row.split("\t")
        known.setdefault(query, {})[document] = int(grade)
    return known


@pytest.mark.parametrize("corpus", ["cranfield", "squad-dev-even"])
def test_a_run_over_a_whole_corpus_measures_as_trec_eval_does(data: Path, corpus: str) -> None:
    """Rankings that mix the relevant with the others at random, some too short, some empty."""
    known = judgements(data / corpus)
    with (data / corpus / "corpus.jsonl").open() as lines:
        documents = [json.loads(line)["_id"] for line in lines]
    chance = random.Random(1)
    run: dict[str, list[str]] = {}
    for query, judged in known.items():
        mixed = list(dict.fromkeys([*judged, *chance.sample(documents, 100)]))
        chance.shuffle(mixed)
        run[query] = mixed[: chance.choice([0, 3, 20, 100])]
    ours = measure_run(run, known, MEASURES)
    assert len(ours.queries) == len(known) > 200
    for measure in MEASURES:
        theirs = trec_eval(measure, run, known)
        assert len(theirs) > len(known) / 2
        for query, values in ours.queries.items():
            assert values[measure] == pytest.approx(theirs.get(query, 0.0), abs=1e-12)
