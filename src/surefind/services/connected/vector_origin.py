"""Which stored vectors were made from their stored text by our embedder, and which were not.

A cosine alone can't tell: a vector made from a title and the text may have .8 with the vector of
the text, and in a narrow collection a vector of quite another text may have .8 too. So each vector
is compared with its own text *and* with the other texts. A vector that fits many other texts
better than its own was not made from it, nor was one that fits its own as badly as those do.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from surefind.evaluation.statistics.significance import wilson_interval
from surefind.ports import Embedder, Matrix, Vector

SAME = 0.97
"""Rounding, int8 models and padding in a batch leave more than this."""

MIN_CHARACTERS = 20
_AT_ONCE = 16
_FIT_BETTER = 0.02  # this share of other texts must fit better than the own one,
_FIT_BETTER_LOOSE = 0.05  # and this one where most vectors have read more than the text
_BY_CHANCE = 0.2  # where so few vectors know their text, it may be chance
_COPY = 0.98  # texts that are nearly the own one say nothing
_UNRELATED = 0.9  # the quantile of the cosines with other texts that is still unremarkable
_MOST_LOOSE = 0.1  # with more loose vectors than that, the vectors have read more than the text
_FEWEST_STRANGERS, _LIKE_STRANGERS = 3, 0.9  # what fits as badly as they do, is one by quantile
_FEWEST = 4  # texts below which there is nothing to compare with
_UNRELATED_ALONE = 0.5
_EXAMPLES = 5
REFERENCE = 512
"""A sample of this many texts shows what is normal."""


class Origin(StrEnum):
    """`SAME`: our embedder made the vector from the text. `LOOSE`: it fits its text best, but not
    closely: a title, a prefix or a cut. `STRANGER`: it fits other texts as well as its own.
    """

    SAME = "same"
    LOOSE = "loose"
    STRANGER = "stranger"


CountProgress = Callable[[int, int], None]
"""How many texts are embedded, and how many there are."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, the vector that is stored with it, and the name of their point."""

    label: str
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class ForeignVector:
    label: str
    cosine: float


def is_comparable(text: str, vector: Vector | None) -> bool:
    if vector is None or len(text.strip()) < MIN_CHARACTERS:
        return False
    return bool(np.isfinite(vector).all() and vector.any())


@dataclass(frozen=True, slots=True)
class OriginCounts:
    """`complete` says that every comparable vector of the collection was compared."""

    compared: int
    loose: int
    strangers: int
    lowest: float
    median: float
    highest: float
    lowest_loose: float
    examples: tuple[ForeignVector, ...] = ()
    complete: bool = False
    conclusive: bool = True
    """False where so few strangers among many loose vectors may be loose ones as well."""

    @property
    def share(self) -> float:
        return self.strangers / self.compared if self.compared else 0.0

    @property
    def same(self) -> int:
        return self.compared - self.loose - self.strangers

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds of the collection's share of strangers, after Wilson."""
        if self.complete:
            return self.share, self.share
        return wilson_interval(self.strangers, self.compared, confidence)


def sample_size(share: float, certainty: float) -> int:
    """So many vectors hold at least one stranger with that certainty, if so many are strangers.

    >>> sample_size(0.02, 0.95)
    149
    """
    return max(1, math.ceil(math.log(1 - certainty) / math.log(1 - share)))


class OriginJudge:
    """Learns from a sample what vectors of this collection have with texts that aren't theirs."""

    def __init__(self, ours: Matrix, theirs: Matrix) -> None:
        """`ours` are the embedded texts, `theirs` the stored vectors in the same order."""
        self._texts = ours
        self._ceiling = self._typical = math.inf
        self._floor = -math.inf
        self._fit_better = _FIT_BETTER
        stored = _units(theirs)
        self._shared = stored.mean(axis=0)
        loose = sum(origin is Origin.LOOSE for _, origin in self.judge(ours, theirs))
        if loose > _MOST_LOOSE * len(ours):
            self._fit_better = _FIT_BETTER_LOOSE
            self._learn_from_others(ours, stored)
        strangers = [cos for cos, origin in self.judge(ours, theirs) if origin is Origin.STRANGER]
        if len(strangers) >= _FEWEST_STRANGERS:
            self._floor = float(np.quantile(strangers, _LIKE_STRANGERS))

    def _learn_from_others(self, ours: Matrix, stored: Matrix) -> None:
        """What vectors that do know their text have with other texts."""
        better, others, similar = self._compared(ours, stored)
        knows_its_text = better <= self._fit_better * others.sum(axis=1)
        pool = similar[knows_its_text][others[knows_its_text]]
        if pool.size and knows_its_text.mean() > _BY_CHANCE:
            self._typical, self._ceiling = map(float, np.quantile(pool, (0.5, _UNRELATED)))

    def is_conclusive(self, strangers: int, lowest: float) -> bool:
        """Among loose vectors a misfit or two may be chance, unless most other texts fit better."""
        return strangers >= _FEWEST_STRANGERS or lowest < self._typical

    def judge(self, ours: Matrix, theirs: Matrix) -> list[tuple[float, Origin]]:
        stored = _units(theirs)
        cosines = _cosines(ours, stored)
        if len(self._texts) < _FEWEST:
            strange = cosines < _UNRELATED_ALONE
        else:
            better, others, _ = self._compared(ours, stored)
            many = np.maximum(1, self._fit_better * others.sum(axis=1))
            strange = (better > many) & (cosines < self._ceiling)
            strange |= cosines <= self._floor
        return [
            (float(cosine), _origin(float(cosine), strange=bool(odd)))
            for cosine, odd in zip(cosines, strange, strict=True)
        ]

    def _compared(
        self, ours: Matrix, stored: Matrix
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], Matrix]:
        """(how many other texts fit each vector better, which texts are others, their cosines)."""
        others = ours @ self._texts.T < _COPY
        # What all vectors share, a prefix for one, draws all of them to the same few texts.
        rest = stored - self._shared
        better = ((rest @ self._texts.T >= _cosines(ours, rest)[:, None]) & others).sum(axis=1)
        similar: Matrix = stored @ self._texts.T
        return better, others, similar


def _origin(cosine: float, *, strange: bool) -> Origin:
    if cosine >= SAME:
        return Origin.SAME
    return Origin.STRANGER if strange else Origin.LOOSE


class OriginTally:
    """Counts comparisons; what it keeps does not grow with their number, but for the cosines."""

    def __init__(self, judge: OriginJudge) -> None:
        self._judge = judge
        self._cosines: list[Vector] = []
        self._counts = dict.fromkeys(Origin, 0)
        self._examples: list[ForeignVector] = []
        self._lowest_loose = 1.0

    def add(self, pairs: Sequence[Pair], ours: Matrix) -> None:
        judged = self._judge.judge(ours, _rows(pairs))
        self._cosines.append(np.array([cosine for cosine, _ in judged], dtype=np.float32))
        for pair, (cosine, origin) in zip(pairs, judged, strict=True):
            self._counts[origin] += 1
            if origin is Origin.STRANGER:
                self._examples.append(ForeignVector(pair.label, cosine))
            elif origin is Origin.LOOSE:
                self._lowest_loose = min(self._lowest_loose, cosine)
        self._examples = sorted(self._examples, key=lambda one: (one.cosine, one.label))
        del self._examples[_EXAMPLES:]

    def counts(self, *, complete: bool) -> OriginCounts:
        cosines = np.concatenate(self._cosines)
        strangers = self._counts[Origin.STRANGER]
        return OriginCounts(
            compared=len(cosines),
            loose=self._counts[Origin.LOOSE],
            strangers=strangers,
            lowest=float(cosines.min()),
            median=float(np.median(cosines)),
            highest=float(cosines.max()),
            lowest_loose=self._lowest_loose,
            examples=tuple(self._examples),
            complete=complete,
            conclusive=self._judge.is_conclusive(strangers, float(cosines.min())),
        )


async def compare(
    pairs: Sequence[Pair],
    embedder: Embedder,
    *,
    complete: bool = False,
    progress: CountProgress | None = None,
) -> OriginCounts:
    """Embeds the texts of a sample in random order, at least one, and judges their vectors."""

    def report(done: int) -> None:
        if progress is not None:
            progress(done, len(pairs))

    first = pairs[:REFERENCE]
    ours = []
    for start in range(0, len(first), _AT_ONCE):
        ours.append(await _embedded(first[start : start + _AT_ONCE], embedder))
        report(min(start + _AT_ONCE, len(first)))
    tally = OriginTally(OriginJudge(np.concatenate(ours), _rows(first)))
    tally.add(first, np.concatenate(ours))
    for start in range(REFERENCE, len(pairs), _AT_ONCE):
        part = pairs[start : start + _AT_ONCE]
        tally.add(part, await _embedded(part, embedder))
        report(start + len(part))
    return tally.counts(complete=complete)


async def compare_all(
    sample: Sequence[Pair],
    pages: AsyncIterator[Sequence[Pair]],
    embedder: Embedder,
    progress: Callable[[int], None],
) -> OriginCounts:
    """Every vector of the collection, judged by what a sample of it teaches."""
    first = sample[:REFERENCE]
    judge = OriginJudge(await _embedded(first, embedder), _rows(first))
    tally = OriginTally(judge)
    done = 0
    async for page in pages:
        for start in range(0, len(page), _AT_ONCE):
            part = page[start : start + _AT_ONCE]
            tally.add(part, await _embedded(part, embedder))
            done += len(part)
            progress(done)
    return tally.counts(complete=True)


async def _embedded(pairs: Sequence[Pair], embedder: Embedder) -> Matrix:
    return await embedder.embed_passages([pair.text for pair in pairs])


def _rows(pairs: Sequence[Pair]) -> Matrix:
    return np.stack([pair.vector for pair in pairs])


def _cosines(ours: Matrix, stored: Matrix) -> Vector:
    cosines: Vector = np.einsum("ij,ij->i", ours, stored)
    return cosines


def _units(rows: Matrix) -> Matrix:
    """By way of 64 bits: an element may be large enough to overflow when it is squared."""
    wide = rows.astype(np.float64)
    units: Matrix = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    return units
