"""Which point a number is, of as many as are remembered."""

from pathlib import Path

import pytest

from support.fakes import record
from surefind.adapters.qdrant.point_numbers import KnownPoints, number_of
from surefind.errors import StoreChanged

CHUNKS = [record(number).chunk for number in range(5)]
CHUNK_IDS = {number_of(chunk.point_id): chunk.id for chunk in CHUNKS}


def test_points_beyond_the_limit_are_learned_again() -> None:
    known = KnownPoints(Path("index"), max_known=3)
    numbers = list(CHUNK_IDS)
    asked = []
    for chosen in (slice(0, 2), slice(1, 3), slice(1, 4), slice(0, 5), slice(4, 5)):
        unknown = known.unknown(numbers[chosen])
        asked.append([numbers.index(number) for number in unknown])
        known.learn((number, CHUNK_IDS[number]) for number in unknown)
        assert known.of(numbers[chosen]) == [chunk.point_id for chunk in CHUNKS[chosen]]
    assert asked == [[0, 1], [2], [1, 2, 3], [0, 1, 2, 3, 4], [4]]


def test_a_payload_of_another_point_is_not_believed() -> None:
    known = KnownPoints(Path("index"))
    number = next(iter(CHUNK_IDS))
    known.learn([(number, "chunk-4")])
    with pytest.raises(StoreChanged, match=f"which chunk its point {number} is"):
        known.of([number])
