"""A command that makes millions of objects looks for cycles rarely, and still does."""

import gc
import weakref

from surefind.interfaces.cli.validation.garbage import rare_collections


class Knot:
    """Refers to itself, so that only a look for cycles finds it."""

    def __init__(self) -> None:
        self.own = self


def test_looks_are_rarer_and_what_is_no_longer_used_still_goes() -> None:
    usual = gc.get_threshold()
    with rare_collections():
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] > 10 * usual[0]
        gone = weakref.ref(Knot())
        kept = [[number] for number in range(2 * gc.get_threshold()[0])]
        assert kept
        assert gone() is None
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0
