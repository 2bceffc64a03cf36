"""Finding candidates: what each leg has to say to a question, in each collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from surefind.model import Condition, Mode, Terms
from surefind.ports import DenseProbe, TermProbe, Vector, VectorIndex
from surefind.services.fusion import Found, Pool, dense_pool, fuse, lexical_pool


class Question(NamedTuple):
    """A question as the legs read it; a leg that is not asked has None."""

    vector: Vector | None
    terms: Terms | None

    @property
    def mode(self) -> Mode:
        if self.vector is None:
            return Mode.LEXICAL
        return Mode.DENSE if self.terms is None else Mode.HYBRID


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: one collection's index, and what a passage there must meet."""

    collection: str
    index: VectorIndex
    where: tuple[Condition, ...] = ()


async def find(question: Question, places: Sequence[Place], depth: int) -> Pool:
    """The candidates of all places in one order."""
    found = [await _look(question, place, depth) for place in places]
    if question.mode is Mode.HYBRID:
        return fuse(found)
    return dense_pool(found) if question.mode is Mode.DENSE else lexical_pool(found)


async def _look(question: Question, place: Place, depth: int) -> Found:
    index, where = place.index, place.where
    probes: list[DenseProbe | TermProbe] = []
    if question.vector is not None:
        probes.append(DenseProbe(question.vector, depth, where=where))
    if question.terms is not None:
        probes.append(TermProbe(question.terms, depth, where=where))
    rankings = await index.probe(probes)
    if question.vector is None:
        return Found(place.collection, None, rankings[0])
    if question.terms is None:
        return Found(place.collection, rankings[0], None)
    dense, lexical = rankings
    by_dense, by_lexical = frozenset(dense.points), frozenset(lexical.points)
    only_lexical = by_lexical - by_dense
    second: list[DenseProbe | TermProbe] = [
        DenseProbe(question.vector, len(only_lexical), only_lexical)
    ]
    # Fewer than it was asked for are all that share a word with the question: no other has a score.
    if len(lexical.points) >= depth:
        only_dense = by_dense - by_lexical
        second.append(TermProbe(question.terms, len(only_dense), only_dense))
    other_dense, *other_lexical = await index.probe(second)
    return Found(place.collection, dense, lexical, other_dense, *other_lexical)
