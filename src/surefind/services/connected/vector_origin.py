"""Finds stored vectors that our embedder did not make from the text stored with them.

A fixed threshold does not work: a vector made from a title and its text may have a cosine of 0.8
with the text alone, and in a narrow collection so may the vector of another text. Each vector is
therefore compared with its own text *and* with other texts. It is foreign if many other texts fit
it better than its own, or if it fits its own text as badly as known foreign vectors fit theirs, or
worse than any two texts of the sample fit each other, while many others match exactly.
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
"""Rounding, int8 models and padding in batches lower the cosine no further than this."""

MIN_CHARACTERS = 20
_AT_ONCE = 16
_FIT_BETTER = 0.02  # this share of other texts fits a foreign vector better than its own text,
_FIT_BETTER_LOOSE = 0.05  # or this share, where most vectors were made from more than the text
_BY_CHANCE = 0.2  # if fewer vectors than this share fit their text best, it may be chance
_ENOUGH_SAME = 0.25  # with more exact matches, our embedder adds nothing that makes texts alike
_COPY = 0.98  # near copies of the own text are not compared
_UNRELATED = 0.9  # the quantile of cosines with other texts that a vector must exceed
_MOST_LOOSE = 0.1  # with more loose vectors, they were probably made from more than the text
_FEWEST_FOREIGN = 3
_LIKE_FOREIGN = 0.9  # the quantile of foreign vectors' cosines, given enough of them
_FEWEST = 4  # fewer texts are too few to compare with
_UNRELATED_ALONE = 0.5
_EXAMPLES = 5
REFERENCE = 512
"""How many texts a judge uses to learn which cosines are normal in this collection."""


class Origin(StrEnum):
    """`SAME`: our embedder made the vector from exactly this text.

    `LOOSE`: it fits its text best, but not closely, for example because a title was prepended or
    the text was cut. `FOREIGN`: it fits other texts as well as its own.
    """

    SAME = "same"
    LOOSE = "loose"
    FOREIGN = "foreign"


CountProgress = Callable[[int, int], None]
"""Called with the number of texts embedded so far, and their total."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, the vector stored with it, and the label of their point."""

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
    """`complete` is true if every comparable vector of the collection was compared."""

    compared: int
    loose: int
    foreign: int
    lowest: float
    median: float
    highest: float
    lowest_loose: float
    examples: tuple[ForeignVector, ...] = ()
    complete: bool = False
    conclusive: bool = True
    """False if the few foreign vectors among many loose ones may be loose as well."""

    @property
    def share(self) -> float:
        return self.foreign / self.compared if self.compared else 0.0

    @property
    def same(self) -> int:
        return self.compared - self.loose - self.foreign

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The Wilson interval of the collection's share of foreign vectors."""
        if self.complete:
            return self.share, self.share
        return wilson_interval(self.foreign, self.compared, confidence)


def sample_size(share: float, certainty: float) -> int:
    """How many vectors to sample to find a foreign one, given their share and a certainty.

    >>> sample_size(0.02, 0.95)
    149
    """
    return max(1, math.ceil(math.log(1 - certainty) / math.log(1 - share)))


class OriginJudge:
    """Learns from a sample which cosines vectors have with texts that are not their own."""

    def __init__(self, ours: Matrix, theirs: Matrix) -> None:
        """`ours` are the embedded texts, `theirs` the stored vectors in the same order."""
        self._texts = ours
        self._ceiling = self._typical = math.inf
        self._floor = self._least_alike = -math.inf
        self._fit_better = _FIT_BETTER
        stored = _units(theirs)
        if (_cosines(ours, stored) >= SAME).sum() > _ENOUGH_SAME * len(ours):
            self._least_alike = float((ours @ ours.T).min())
        self._shared = stored.mean(axis=0)
        loose = sum(origin is Origin.LOOSE for _, origin in self.judge(ours, theirs))
        if loose > _MOST_LOOSE * len(ours):
            self._fit_better = _FIT_BETTER_LOOSE
            self._learn_from_others(ours, stored)
        foreign = [cos for cos, origin in self.judge(ours, theirs) if origin is Origin.FOREIGN]
        if len(foreign) >= _FEWEST_FOREIGN:
            self._floor = float(np.quantile(foreign, _LIKE_FOREIGN))

    def _learn_from_others(self, ours: Matrix, stored: Matrix) -> None:
        """Set the thresholds from the vectors that fit their own text."""
        better, others, similar = self._compared(ours, stored)
        fits_own_text = better <= self._fit_better * others.sum(axis=1)
        pool = similar[fits_own_text][others[fits_own_text]]
        if pool.size and fits_own_text.mean() > _BY_CHANCE:
            self._typical, self._ceiling = map(float, np.quantile(pool, (0.5, _UNRELATED)))

    def is_conclusive(self, foreign: int, lowest: float) -> bool:
        """One or two foreign vectors may be chance, unless most other texts fit them better."""
        return foreign >= _FEWEST_FOREIGN or lowest < self._typical

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
            strange |= cosines < self._least_alike
        return [
            (float(cosine), _origin(float(cosine), strange=bool(odd)))
            for cosine, odd in zip(cosines, strange, strict=True)
        ]

    def _compared(
        self, ours: Matrix, stored: Matrix
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], Matrix]:
        """(how many other texts fit each vector better, which texts are others, their cosines)."""
        others = ours @ self._texts.T < _COPY
        # A common part, such as a prefix, would draw all vectors to the same few texts.
        rest = stored - self._shared
        better = ((rest @ self._texts.T >= _cosines(ours, rest)[:, None]) & others).sum(axis=1)
        similar: Matrix = stored @ self._texts.T
        return better, others, similar


def _origin(cosine: float, *, strange: bool) -> Origin:
    if cosine >= SAME:
        return Origin.SAME
    return Origin.FOREIGN if strange else Origin.LOOSE


class OriginTally:
    """Counts verdicts. Of each pair it keeps only the cosine, so memory hardly grows."""

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
            if origin is Origin.FOREIGN:
                self._examples.append(ForeignVector(pair.label, cosine))
            elif origin is Origin.LOOSE:
                self._lowest_loose = min(self._lowest_loose, cosine)
        self._examples = sorted(self._examples, key=lambda one: (one.cosine, one.label))
        del self._examples[_EXAMPLES:]

    def counts(self, *, complete: bool) -> OriginCounts:
        cosines = np.concatenate(self._cosines)
        foreign = self._counts[Origin.FOREIGN]
        return OriginCounts(
            compared=len(cosines),
            loose=self._counts[Origin.LOOSE],
            foreign=foreign,
            lowest=float(cosines.min()),
            median=float(np.median(cosines)),
            highest=float(cosines.max()),
            lowest_loose=self._lowest_loose,
            examples=tuple(self._examples),
            complete=complete,
            conclusive=self._judge.is_conclusive(foreign, float(cosines.min())),
        )


async def compare(
    pairs: Sequence[Pair],
    embedder: Embedder,
    *,
    complete: bool = False,
    progress: CountProgress | None = None,
) -> OriginCounts:
    """Embed the texts of a random sample, which must not be empty, and judge their vectors."""

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
    """Judge every vector of the collection, after learning from a sample of it."""
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
    """Computed in 64 bits, because squaring a large element may overflow 32 bits."""
    wide = rows.astype(np.float64)
    units: Matrix = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    return units
