"""A command that makes millions of objects looks for cycles rarely, and still does."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from surefind.interfaces.cli.garbage import collect_rarely


class Knot:
    """Refers to itself, so that only a look for cycles finds it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def usual_rate() -> Iterator[tuple[int, int, int]]:
    usual = gc.get_threshold()
    yield usual
    gc.unfreeze()
    gc.set_threshold(*usual)


def test_looks_are_rarer_and_what_is_no_longer_used_still_goes(
    usual_rate: tuple[int, int, int],
) -> None:
    collect_rarely()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] > 10 * usual_rate[0]
    gone = weakref.ref(Knot())
    kept = [[number] for number in range(2 * gc.get_threshold()[0])]
    assert kept
    assert gone() is None
