"""How often a command that makes millions of objects looks for cycles among them."""

import gc

_OBJECTS, _YOUNG, _OLD = 50_000, 20, 100


def collect_rarely() -> None:
    """What is there stays, and looks are rare: at the usual rate they take 7 % of a validation.

    For who owns the process: other code may have its reasons for the usual rate.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
