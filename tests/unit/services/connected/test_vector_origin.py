"""Vectors of another model are found, and honest vectors of every kind are not accused.

Collections are simulated: passages of documents on a few subjects, as vectors. `pytest -s` prints
how often each kind of honest collection is called mixed, and each kind of stranger is missed.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pytest

from support.fakes import WordEmbedder
from support.payload_shapes import book
from surefind.ports import Matrix
from surefind.services.connected.model_identity import COMPARED, ModelVerdict, verdict_on
from surefind.services.connected.sampling import RandomSample
from surefind.services.connected.vector_origin import (
    SAME,
    OriginCounts,
    OriginJudge,
    OriginTally,
    Pair,
    compare,
    compare_all,
    sample_size,
)

pytestmark = [pytest.mark.thorough, pytest.mark.anyio]
SIZE = 128
Rng = np.random.Generator
Making = Callable[[Rng, Matrix], Matrix]


def show(line: str) -> None:
    print(line)  # noqa: T201 - the rates are worth reading: pytest -s


def units(rows: Matrix) -> Matrix:
    made: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return made


def noise(rng: Rng, rows: int) -> Matrix:
    return units(rng.standard_normal((rows, SIZE)).astype(np.float32))


def texts(rng: Rng, rows: int) -> Matrix:
    """Passages share something with all others, more with their subject, most in a document."""
    subjects, documents = noise(rng, 5), noise(rng, max(2, rows // 12))
    shared = noise(rng, 1) * rng.uniform(0.3, 0.9)
    return units(
        shared
        + 0.4 * subjects[rng.integers(0, len(subjects), rows)]
        + 0.4 * documents[rng.integers(0, len(documents), rows)]
        + 0.6 * noise(rng, rows)
    )


def towards(rng: Rng, rows: Matrix, low: float, high: float = 1.0) -> Matrix:
    """Each vector turned away from its text, to a cosine between the two."""
    cosines = rng.uniform(low, high, (len(rows), 1)).astype(np.float32)
    away = noise(rng, len(rows))
    away = units(away - (away * rows).sum(axis=1, keepdims=True) * rows)
    made: Matrix = (cosines * rows + np.sqrt(1 - cosines**2) * away).astype(np.float32)
    return made


def in_int8(rows: Matrix) -> Matrix:
    scale = np.abs(rows).max(axis=1, keepdims=True) / 127
    made: Matrix = np.round(rows / scale) * scale
    return made


def some(rng: Rng, rows: Matrix, others: Matrix) -> Matrix:
    return np.where(rng.random((len(rows), 1)) < 0.5, rows, others)


HONEST: dict[str, Making] = {
    "exact": lambda _, rows: rows,
    "padded batches": lambda rng, rows: towards(rng, rows, 0.995),
    "rounded to int8": lambda _, rows: in_int8(rows),
    "any length": lambda rng, rows: rows * rng.uniform(0.1, 90, (len(rows), 1)).astype(np.float32),
    "a prefix": lambda rng, rows: units(rows + 0.3 * noise(rng, 1)),
    "a title": lambda rng, rows: towards(rng, rows, 0.75, 0.97),
    "half with a title": lambda rng, rows: some(rng, rows, towards(rng, rows, 0.75, 0.97)),
    "long ones cut": lambda rng, rows: some(rng, rows, towards(rng, rows, 0.85)),
}


def rotated(_: Rng, rows: Matrix) -> Matrix:
    rotation = np.linalg.qr(np.random.default_rng(5).standard_normal((SIZE, SIZE)))[0]
    made: Matrix = (rows @ rotation).astype(np.float32)
    return made


STRANGERS: dict[str, Making] = {
    "permuted": lambda _, rows: np.roll(rows, 11, axis=1),
    "rotated": rotated,
    "of other texts": lambda rng, rows: rows[rng.permutation(len(rows))],
    "one constant vector": lambda rng, rows: np.repeat(noise(rng, 1), len(rows), axis=0),
}


def judged(ours: Matrix, theirs: Matrix) -> OriginCounts:
    tally = OriginTally(OriginJudge(ours, theirs))
    tally.add([Pair(str(at), "", row) for at, row in enumerate(theirs)], ours)
    return tally.counts(complete=False)


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_collection_is_not_called_mixed(kind: str) -> None:
    verdicts = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        ours = texts(rng, (12, 40, COMPARED)[seed % 3])
        verdicts.append(verdict_on(judged(ours, HONEST[kind](rng, ours))))
    alarms = sum(verdict in {ModelVerdict.MIXED, ModelVerdict.OTHER} for verdict in verdicts)
    show(f"{kind}: {alarms} false alarms in {len(verdicts)} collections")
    assert alarms == 0
    if kind in {"exact", "padded batches", "rounded to int8", "any length"}:
        assert set(verdicts) == {ModelVerdict.SAME}
    if "title" in kind:
        assert ModelVerdict.SAME not in verdicts


@dataclass
class Misses:
    """Of collections that hold a stranger in the sample at all."""

    missed: int = 0
    held: int = 0
    planted: int = 0
    found: int = 0
    covered: int = 0


def missed(kind: str, share: float, honest: str) -> Misses:
    total = Misses()
    for seed in range(10):
        rng = np.random.default_rng(1000 + seed)
        ours = texts(rng, COMPARED)
        theirs = HONEST[honest](rng, ours)
        strange = rng.random(len(ours)) < share
        theirs = np.where(strange[:, None], STRANGERS[kind](rng, ours), theirs)
        counts = judged(ours, theirs)
        if strange.any():
            low, high = counts.interval()
            total.held += 1
            total.missed += verdict_on(counts) is not ModelVerdict.MIXED
            total.planted += int(strange.sum())
            total.found += counts.foreign
            total.covered += low <= share <= high
    show(
        f"{honest}, {share:.0%} {kind}: missed {total.missed} of {total.held} collections, "
        f"found {total.found} of {total.planted} strangers, interval right {total.covered} times"
    )
    return total


@pytest.mark.parametrize("kind", STRANGERS)
@pytest.mark.parametrize("honest", ["exact", "padded batches", "long ones cut"])
def test_strangers_are_found_and_counted(kind: str, honest: str) -> None:
    for share, most in ((0.02, 2), (0.1, 0), (0.5, 0)):
        seen = missed(kind, share, honest)
        assert seen.missed <= most
        assert 0.8 * seen.planted <= seen.found <= seen.planted
        assert seen.covered >= 0.7 * seen.held


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_collection_of_strangers_is_another_models(kind: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        ours = texts(rng, COMPARED)
        assert verdict_on(judged(ours, STRANGERS[kind](rng, ours))) is ModelVerdict.OTHER


@pytest.mark.parametrize(
    ("loose", "foreign", "verdict"),
    [(14, 34, ModelVerdict.OTHER), (0, 34, ModelVerdict.MIXED), (24, 24, ModelVerdict.MIXED)],
)
def test_without_a_single_match_most_being_strangers_is_enough(
    loose: int, foreign: int, verdict: ModelVerdict
) -> None:
    """As measured where texts share their sentences: chance lets a third fit their text best."""
    counts = OriginCounts(48, loose, foreign, -0.04, 0.02, 0.09, 0.03)
    assert verdict_on(counts) is verdict


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_few_texts_are_judged_by_their_cosine(rows: int) -> None:
    rng = np.random.default_rng(3)
    ours = texts(rng, rows)
    assert verdict_on(judged(ours, ours)) is ModelVerdict.SAME
    assert verdict_on(judged(ours, towards(rng, ours, 0.8, 0.9))) is ModelVerdict.DOUBTFUL
    assert verdict_on(judged(ours, np.roll(ours, 11, axis=1))) is ModelVerdict.OTHER


def test_duplicate_texts_do_not_make_a_vector_foreign() -> None:
    rng = np.random.default_rng(4)
    ours = np.concatenate([np.repeat(texts(rng, 1), 30, axis=0), texts(rng, 30)])
    theirs = towards(rng, ours, 0.9, 0.95)
    assert judged(ours, theirs).foreign == 0


def test_vectors_less_like_their_text_than_any_two_texts_are_foreign() -> None:
    """By chance, a few of them fit their own text better than most others."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        ours = units(noise(rng, 1) + texts(rng, 400))
        theirs = np.array(ours)
        theirs[::10] = rotated(rng, ours[::10])
        assert judged(ours, theirs).foreign == 40


def test_two_misfits_among_loose_vectors_do_not_prove_another_model() -> None:
    """As measured on HTML texts with shared sentences, whose vectors were made without the tags."""
    rng = np.random.default_rng(7)
    ours = texts(rng, 40)
    theirs = towards(rng, ours, 0.8, 0.95)
    judge = OriginJudge(ours, theirs)
    typical = float(np.median(ours @ theirs.T))
    assert not judge.is_conclusive(2, lowest=typical + 0.1)
    assert judge.is_conclusive(2, lowest=typical - 0.1)
    assert judge.is_conclusive(3, lowest=typical + 0.1)


# --- with an embedder -------------------------------------------------------------------------


async def pairs_of(every: int, texts: int = 300) -> list[Pair]:
    """Every so many-th vector is that of another model."""
    embedder, other = WordEmbedder(SIZE), WordEmbedder(SIZE, "words-2")
    words = [f"{one.text} Number {one.number} of {one.title}." for one in book(texts)]
    ours = await embedder.embed_passages(words)
    strange = np.roll(await other.embed_passages(words), 31, axis=1)
    return [
        Pair(str(at), text, strange[at] if at % every == 0 else ours[at])
        for at, text in enumerate(words)
    ]


@pytest.mark.parametrize("every", [2, 10, 50])
async def test_foreign_vectors_at_regular_intervals_are_found(every: int) -> None:
    seen: list[tuple[int, int]] = []
    pairs = await pairs_of(every)
    counts = await compare(
        pairs, WordEmbedder(SIZE), progress=lambda done, total: seen.append((done, total))
    )
    assert verdict_on(counts) is ModelVerdict.MIXED
    low, high = counts.interval()
    assert low <= 1 / every <= high + 0.02
    assert {int(one.label) % every for one in counts.examples} == {0}
    assert all(one.cosine < SAME for one in counts.examples)
    assert seen[-1] == (300, 300)


async def test_all_vectors_are_judged_by_what_a_sample_teaches() -> None:
    pairs = await pairs_of(10)

    async def pages() -> AsyncIterator[Sequence[Pair]]:
        for start in range(0, len(pairs), 70):
            yield pairs[start : start + 70]

    done: list[int] = []
    counts = await compare_all(pairs[::3], pages(), WordEmbedder(SIZE), done.append)
    assert counts.complete
    assert counts.compared == done[-1] == 300
    assert 27 <= counts.foreign <= 30
    assert counts.interval() == (counts.share, counts.share)


def test_the_sample_is_large_enough_for_the_requested_certainty() -> None:
    assert sample_size(0.02, 0.95) == 149
    assert sample_size(0.01, 0.99) == 459
    rng = np.random.default_rng(6)
    held = [(rng.random(sample_size(0.02, 0.95)) < 0.02).any() for _ in range(2000)]
    assert 0.93 < np.mean(held) < 0.97


def test_a_random_sample_takes_every_part_of_a_stream_alike() -> None:
    sample: RandomSample[int] = RandomSample(300)
    for number in range(6000):
        sample.offer(UUID(int=number), number)
    values = sample.values()
    assert len(set(values)) == 300
    assert sample.offered == 6000
    thirds = np.histogram(values, bins=3, range=(0, 6000))[0]
    assert thirds.min() > 70
    few: RandomSample[int] = RandomSample(300)
    few.offer(UUID(int=1), 1)
    assert few.values() == [1]
