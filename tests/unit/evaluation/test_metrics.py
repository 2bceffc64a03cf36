"""Measures are trec_eval's, whatever the ranking and whatever the judgements."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.evaluation.measures.ranking import (
    MAX_GRADE,
    Judgements,
    Measure,
    MeasureKind,
    measure_query,
    measure_run,
)
from unit.evaluation.trec_oracle import trec_eval

LABELS = [f"d{number}" for number in range(12)]

cutoffs = st.integers(1, 20)
OF_TREC_EVAL = [
    kind
    for kind in MeasureKind
    if kind not in {MeasureKind.JUDGED, MeasureKind.ERR, MeasureKind.RBP}
]
WITHOUT_CUTOFF = [MeasureKind.BPREF, MeasureKind.R_PRECISION]
measures = st.one_of(
    st.builds(
        Measure,
        st.sampled_from([kind for kind in MeasureKind if kind not in WITHOUT_CUTOFF]),
        cutoffs,
    ),
    st.builds(
        Measure,
        st.sampled_from(
            [
                MeasureKind.NDCG,
                MeasureKind.NDCG_EXP,
                MeasureKind.RECIPROCAL_RANK,
                MeasureKind.AVERAGE_PRECISION,
                MeasureKind.ERR,
                MeasureKind.RBP,
                *WITHOUT_CUTOFF,
            ],
        ),
    ),
)
rankings = st.lists(st.sampled_from(LABELS), unique=True)
judgements = st.dictionaries(st.sampled_from(LABELS), st.integers(-1, 5))
queries = st.sampled_from(["q1", "q2", "q3", "q4"])


@given(
    measures.filter(lambda one: one.kind in OF_TREC_EVAL),
    st.dictionaries(queries, rankings),
    st.dictionaries(queries, judgements),
)
def test_every_measure_equals_trec_eval(
    measure: Measure, run: Mapping[str, list[str]], judged: Mapping[str, Judgements]
) -> None:
    ours = measure_run(run, judged, [measure])
    theirs = trec_eval(measure, run, judged)
    assert set(theirs) <= set(ours.queries)
    for query, values in ours.queries.items():
        # trec_eval leaves out what was not answered; with us it is a zero.
        assert values[measure] == pytest.approx(theirs.get(query, 0.0), abs=1e-12)


@given(measures)
def test_a_measure_is_a_value_that_can_be_printed_and_read(measure: Measure) -> None:
    assert Measure.parse(str(measure)) == measure
    assert Measure.parse(f" {str(measure).upper()} ") == measure
    assert len({measure, Measure.parse(str(measure))}) == 1


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("ndcg@10", "nDCG@10"),
        ("nDCG_exp@10", "nDCG-exp@10"),
        ("precision@5", "P@5"),
        ("recall@100", "R@100"),
        ("mrr", "MRR"),
        ("RR@10", "MRR@10"),
        ("ap", "MAP"),
        ("hit_rate@3", "hit@3"),
        ("success@3", "hit@3"),
        ("judged@10", "judged@10"),
        ("Bpref", "bpref"),
        ("r_precision", "Rprec"),
        ("err@20", "ERR@20"),
        ("rbp", "RBP"),
    ],
)
def test_names_are_read_as_people_write_them(name: str, read: str) -> None:
    assert str(Measure.parse(name)) == read


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "unknown measure '.*'; use P, R, nDCG"),
        ("F1@5", "unknown measure"),
        ("nDCG@", "unknown measure"),
        ("nDCG@ten", "unknown measure"),
        ("P", "P needs a cutoff, for example P@10"),
        ("hit", "needs a cutoff"),
        ("P@0", "must be between 1 and 1000"),
        ("P@1001", "must be between 1 and 1000"),
        ("bpref@10", "bpref takes no cutoff; write bpref"),
        ("Rprec@5", "Rprec takes no cutoff"),
    ],
)
def test_unknown_measures_are_rejected(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Measure.parse(name)


KNOWN = {"a": 3, "b": 1, "c": 0, "d": -1}


@pytest.mark.parametrize(
    ("name", "ranking", "value"),
    [
        ("P@5", ["a"], 1 / 5),
        ("R@1", ["a", "b"], 1 / 2),
        ("hit@1", ["x", "a"], 0),
        ("hit@2", ["x", "a"], 1),
        ("MRR", ["x", "y", "b"], 1 / 3),
        ("MRR@2", ["x", "y", "b"], 0),
        ("MAP", ["b", "x", "a"], (1 + 2 / 3) / 2),
        ("judged@10", ["a", "x", "c", "d"], 2 / 4),
        ("judged@2", ["a", "x", "c", "d"], 1 / 2),
        ("judged@2", [], 0),
        ("nDCG@1", ["b"], 1 / 3),
        ("nDCG-exp@1", ["b"], 1 / 7),
        ("bpref", ["c", "x", "a"], 0.0),
        ("bpref", ["b", "c", "a"], 1 / 2),
        ("Rprec", ["x", "b", "a"], 1 / 2),
        ("ERR", ["x", "a"], (2**3 - 1) / 2**4 / 2),
        ("RBP", ["x", "a", "b"], 0.2 * (0.8 + 0.8**2)),
        ("RBP@2", ["x", "a", "b"], 0.2 * 0.8),
    ],
)
def test_known_cases(name: str, ranking: list[str], value: float) -> None:
    assert Measure.parse(name).of(ranking, KNOWN) == pytest.approx(value)


def test_measures_equal_ir_measures_on_runs_with_ties() -> None:
    """The values are those of ir_measures 0.4.3: gdeval for ERR, cwl_eval for RBP, trec_eval for
    the others. These break ties by the name, the last one first; cwl_eval keeps their order.
    """
    compared = 0
    for case in json.loads((Path(__file__).parent / "ir_measures.json").read_text()):
        scores: dict[str, float] = case["scores"]
        assert len(set(scores.values())) < len(scores)
        for name, value in case["values"].items():
            names = list(scores) if name == "RBP" else sorted(scores, reverse=True)
            ranking = sorted(names, key=lambda one: -scores[one])
            found = Measure.parse(name).of(ranking, case["judged"])
            assert found == pytest.approx(value, abs=6e-6), name  # gdeval prints five digits
            compared += 1
    assert compared == 30


def test_failed_queries_count_as_zero_and_are_shown() -> None:
    recall = Measure.parse("R@5")
    judged = {"found": {"a": 1}, "failed": {"a": 1}, "forgotten": {"a": 1}}
    measured = measure_run({"found": ["a"], "failed": None}, judged, [recall])
    assert measured.means == {recall: pytest.approx(1 / 3)}
    assert measured.failed == ("failed", "forgotten")
    assert measured.queries["failed"] == {recall: 0.0}


def test_an_empty_answer_is_not_a_failure() -> None:
    recall = Measure.parse("R@5")
    measured = measure_run({"q": []}, {"q": {"a": 1}}, [recall])
    assert (measured.failed, measured.means) == ((), {recall: 0.0})


def test_queries_without_judgements_are_left_out_visibly() -> None:
    recall = Measure.parse("R@5")
    run = {"judged": ["a"], "empty": ["a"], "unknown": ["a"], "nothing": ["a"]}
    known: dict[str, dict[str, int]] = {"judged": {"a": 1}, "empty": {}, "nothing": {"a": 0}}
    measured = measure_run(run, known, [recall, recall])
    assert measured.unjudged == ("empty", "unknown")
    assert measured.without_relevant == ("nothing",)
    assert measured.means == {recall: 0.5}
    assert measured.measures == (recall,)


def test_no_queries_give_zeros_and_no_crash() -> None:
    recall = Measure.parse("R@5")
    assert measure_run({}, {}, [recall]).means == {recall: 0.0}


def test_what_no_ranking_and_no_judgement_can_be_is_refused() -> None:
    with pytest.raises(InputError, match="'a' twice"):
        measure_query(["a", "b", "a"], {"a": 1}, [Measure(MeasureKind.NDCG)])
    with pytest.raises(InputError, match="above 100"):
        measure_query(["a"], {"a": MAX_GRADE + 1}, [Measure(MeasureKind.NDCG)])
    assert Measure(MeasureKind.NDCG_EXP).of(["a"], {"a": MAX_GRADE}) == 1.0
