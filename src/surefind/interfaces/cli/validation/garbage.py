"""How often a command that makes millions of objects looks for cycles among them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS, _YOUNG, _OLD = 50_000, 20, 100


@contextmanager
def rare_collections() -> Iterator[None]:
    """What is there stays, and looks are rare: at the usual rate they take 7 % of a validation.

    For who owns the process: other code may have its reasons for the usual rate.
    """
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
