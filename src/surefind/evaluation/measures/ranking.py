"""Ranking measures, by the conventions of trec_eval.

Grades of 1 or more are relevant, 0 is judged as not relevant, and negative grades count as not
judged. P@k divides by k, R@k by the number of relevant documents, and the ideal ranking uses all
judgements. The engine's order is used as is, including its order of ties.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from surefind.errors import InputError

Judgements = Mapping[str, int]
"""The judgements of one query: label -> grade."""

MAX_GRADE = 100
MAX_CUTOFF = 1000
_RELEVANT = 1
ERR_MAX_GRADE = 4
"""The highest grade of the scale, as in gdeval; higher grades count like it."""
RBP_PERSISTENCE = 0.8
_FORM = re.compile(r"([A-Za-z_-]+)(?:@([0-9]{1,9}))?")


class MeasureKind(StrEnum):
    """The kinds of measures. nDCG with exponential gain, 2^grade - 1, is a separate kind."""

    PRECISION = "P"
    RECALL = "R"
    NDCG = "nDCG"
    NDCG_EXP = "nDCG-exp"
    RECIPROCAL_RANK = "MRR"
    AVERAGE_PRECISION = "MAP"
    HIT = "hit"
    JUDGED = "judged"
    BPREF = "bpref"
    R_PRECISION = "Rprec"
    ERR = "ERR"
    RBP = "RBP"


_NEEDS_CUTOFF = frozenset(
    {MeasureKind.PRECISION, MeasureKind.RECALL, MeasureKind.HIT, MeasureKind.JUDGED}
)
_WITHOUT_CUTOFF = frozenset({MeasureKind.BPREF, MeasureKind.R_PRECISION})
_KINDS = {kind.value.casefold(): kind for kind in MeasureKind} | {
    "precision": MeasureKind.PRECISION,
    "recall": MeasureKind.RECALL,
    "success": MeasureKind.HIT,
    "hit-rate": MeasureKind.HIT,
    "rr": MeasureKind.RECIPROCAL_RANK,
    "ap": MeasureKind.AVERAGE_PRECISION,
    "r-precision": MeasureKind.R_PRECISION,
}


@dataclass(frozen=True, slots=True)
class Measure:
    """`str(Measure.parse("ndcg@10")) == "nDCG@10"`. Without a cutoff, the full ranking counts."""

    kind: MeasureKind
    cutoff: int | None = None

    def __post_init__(self) -> None:
        if self.cutoff is None and self.kind in _NEEDS_CUTOFF:
            raise InputError(f"{self.kind.value} needs a cutoff, for example {self.kind.value}@10")
        if self.cutoff is not None and self.kind in _WITHOUT_CUTOFF:
            raise InputError(f"{self.kind.value} takes no cutoff; write {self.kind.value}")
        if self.cutoff is not None and not 1 <= self.cutoff <= MAX_CUTOFF:
            raise InputError(
                f"the cutoff of {self.kind.value}@{self.cutoff} must be between 1 and {MAX_CUTOFF}"
            )

    @classmethod
    def parse(cls, name: str) -> Measure:
        match = _FORM.fullmatch(name.strip())
        kind = _KINDS.get(match.group(1).casefold().replace("_", "-")) if match else None
        if match is None or kind is None:
            known = ", ".join(kind.value for kind in MeasureKind)
            raise InputError(f"unknown measure {name!r}; use {known}, as in nDCG@10")
        return cls(kind, int(match.group(2)) if match.group(2) else None)

    def __str__(self) -> str:
        return self.kind.value if self.cutoff is None else f"{self.kind.value}@{self.cutoff}"

    def of(self, ranking: Sequence[str], judgements: Judgements) -> float:
        """The value for one query, in 0..1; 0 if nothing is relevant."""
        return self._of(_Judged.of(ranking, judgements))

    def _of(self, judged: _Judged) -> float:
        return _CALCULATIONS[self.kind](judged, self.cutoff)


# --- one query --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judged:
    """A ranking as grades (None: not judged), and the ideal ranking.

    `judged_wrong` is the number of documents that are judged as not relevant.
    """

    grades: tuple[int | None, ...]
    ideal: tuple[int, ...]
    relevant: list[bool]
    judged_wrong: int

    @classmethod
    def of(cls, ranking: Sequence[str], judgements: Judgements) -> _Judged:
        if len(set(ranking)) < len(ranking):
            twice = next(label for at, label in enumerate(ranking) if label in ranking[:at])
            raise InputError(f"the ranking contains {twice!r} twice")
        known = {label: grade for label, grade in judgements.items() if grade >= 0}
        if any(grade > MAX_GRADE for grade in known.values()):
            raise InputError(f"a judgement is above {MAX_GRADE}, the highest grade")
        grades = tuple(known.get(label) for label in ranking)
        ideal = tuple(sorted((grade for grade in known.values() if grade), reverse=True))
        relevant = [(grade or 0) >= _RELEVANT for grade in grades]
        return cls(grades, ideal, relevant, sum(not grade for grade in known.values()))


def _precision(judged: _Judged, cutoff: int | None) -> float:
    return sum(judged.relevant[:cutoff]) / (cutoff or 1)


def _recall(judged: _Judged, cutoff: int | None) -> float:
    return sum(judged.relevant[:cutoff]) / len(judged.ideal) if judged.ideal else 0.0


def _reciprocal_rank(judged: _Judged, cutoff: int | None) -> float:
    hits = judged.relevant[:cutoff]
    return 1 / (hits.index(True) + 1) if any(hits) else 0.0


def _average_precision(judged: _Judged, cutoff: int | None) -> float:
    if not judged.ideal:
        return 0.0
    hits = judged.relevant[:cutoff]
    found = accumulate(hits)
    precisions = (so_far / rank for rank, so_far in enumerate(found, start=1) if hits[rank - 1])
    return sum(precisions) / len(judged.ideal)


def _hit(judged: _Judged, cutoff: int | None) -> float:
    return float(any(judged.relevant[:cutoff]))


def _judged(judged: _Judged, cutoff: int | None) -> float:
    """The fraction of judged documents in the first k, or in all if there are fewer."""
    top = judged.grades[:cutoff]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0


def _ndcg(judged: _Judged, cutoff: int | None) -> float:
    return _gained(judged, cutoff, float)


def _ndcg_exp(judged: _Judged, cutoff: int | None) -> float:
    return _gained(judged, cutoff, lambda grade: 2.0**grade - 1)


def _gained(judged: _Judged, cutoff: int | None, gain: Callable[[int], float]) -> float:
    def discounted(grades: Iterable[int | None]) -> float:
        return sum(
            gain(grade) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1) if grade
        )

    best = discounted(judged.ideal[:cutoff])
    return discounted(judged.grades[:cutoff]) / best if best else 0.0


def _bpref(judged: _Judged, _cutoff: int | None) -> float:
    """How often a relevant document is ahead of those judged as not relevant."""
    count = len(judged.ideal)
    ahead, total = 0, 0.0
    for grade in judged.grades:
        if grade is None:
            continue
        if not grade:
            ahead += 1
        elif ahead:
            total += 1 - min(ahead, count) / min(judged.judged_wrong, count)
        else:
            total += 1
    return total / count if count else 0.0


def _r_precision(judged: _Judged, _cutoff: int | None) -> float:
    """Precision after as many documents as there are relevant ones."""
    count = len(judged.ideal)
    return sum(judged.relevant[:count]) / count if count else 0.0


def _err(judged: _Judged, cutoff: int | None) -> float:
    """Expected reciprocal rank: a reader goes on until a document satisfies them."""
    total, still_reading = 0.0, 1.0
    for rank, grade in enumerate(judged.grades[:cutoff], start=1):
        satisfied = (2.0 ** min(grade or 0, ERR_MAX_GRADE) - 1) / 2.0**ERR_MAX_GRADE
        total += still_reading * satisfied / rank
        still_reading *= 1 - satisfied
    return total


def _rbp(judged: _Judged, cutoff: int | None) -> float:
    """Rank-biased precision: a reader goes on to the next document with a fixed probability."""
    weights = (RBP_PERSISTENCE**rank for rank, hit in enumerate(judged.relevant[:cutoff]) if hit)
    return (1 - RBP_PERSISTENCE) * sum(weights)


_CALCULATIONS: Mapping[MeasureKind, Callable[[_Judged, int | None], float]] = {
    MeasureKind.PRECISION: _precision,
    MeasureKind.RECALL: _recall,
    MeasureKind.NDCG: _ndcg,
    MeasureKind.NDCG_EXP: _ndcg_exp,
    MeasureKind.RECIPROCAL_RANK: _reciprocal_rank,
    MeasureKind.AVERAGE_PRECISION: _average_precision,
    MeasureKind.HIT: _hit,
    MeasureKind.JUDGED: _judged,
    MeasureKind.BPREF: _bpref,
    MeasureKind.R_PRECISION: _r_precision,
    MeasureKind.ERR: _err,
    MeasureKind.RBP: _rbp,
}


def measure_query(
    ranking: Sequence[str], judgements: Judgements, measures: Sequence[Measure]
) -> dict[Measure, float]:
    judged = _Judged.of(ranking, judgements)
    return {measure: measure._of(judged) for measure in measures}  # noqa: SLF001 - one module


# --- many queries -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measurement:
    """The values of every judged query, and their means.

    `failed` queries have no ranking, because they failed or did not run; they count as zero.
    `unjudged` queries have no judgements; they do not count. `without_relevant` queries have
    judgements but no relevant document; they count as zero.
    """

    measures: tuple[Measure, ...]
    queries: Mapping[str, Mapping[Measure, float]]
    failed: tuple[str, ...]
    unjudged: tuple[str, ...]
    without_relevant: tuple[str, ...]

    @property
    def means(self) -> dict[Measure, float]:
        """The means; zero if no query was judged."""
        count = len(self.queries)
        return {
            measure: math.fsum(values[measure] for values in self.queries.values()) / count
            if count
            else 0.0
            for measure in self.measures
        }


def measure_run(
    rankings: Mapping[str, Sequence[str] | None],
    judgements: Mapping[str, Judgements],
    measures: Sequence[Measure],
) -> Measurement:
    """Measure a run. `rankings` holds None for a query that failed."""
    chosen = tuple(dict.fromkeys(measures))
    judged = {query: known for query, known in judgements.items() if known}
    return Measurement(
        measures=chosen,
        queries={
            query: measure_query(rankings.get(query) or (), known, chosen)
            for query, known in judged.items()
        },
        failed=tuple(query for query in judged if rankings.get(query) is None),
        unjudged=tuple(query for query in rankings if query not in judged),
        without_relevant=tuple(
            query for query, known in judged.items() if max(known.values()) < _RELEVANT
        ),
    )
