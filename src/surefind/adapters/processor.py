"""The processor of this machine."""

import os


def cores() -> int:
    """The number of cores that this process may use; containers can restrict it."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
