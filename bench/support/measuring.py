"""How fast a system answers, how much of the exact answer it finds, and how much disk it takes.

It runs inside the system's own process, in the system's own environment.
"""

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np

FEWEST = 3  # answers that a measurement waits for, however long they take
_SIZE = re.compile(r"^(\w+):\s+(\d+) kB", re.MULTILINE)
Search = Callable[[int], list[int]]
AsyncSearch = Callable[[int], Awaitable[list[int]]]


class Turns:
    """Hands out questions, one after the other, until the time is over."""

    def __init__(self, questions: int, seconds: float, first: int) -> None:
        self._numbers = count(first)
        self._questions = questions
        self._fewest = first + FEWEST
        self._until = time.perf_counter() + seconds

    def __iter__(self) -> Iterator[int]:
        for number in self._numbers:  # one counter for all callers: `next` on it is atomic
            if number >= self._fewest and time.perf_counter() >= self._until:
                return
            yield number % self._questions


def by_threads(search: Search, turns: Turns, callers: int) -> dict[str, float]:
    spent: list[float] = []
    failures: list[BaseException] = []

    def caller() -> None:
        try:
            for question in turns:
                began = time.perf_counter()
                search(question)
                spent.append(time.perf_counter() - began)
        except BaseException as error:  # noqa: BLE001 - raised again where the caller can hear it
            failures.append(error)

    clock = Clock()
    if callers == 1:
        caller()
    else:
        threads = [threading.Thread(target=caller) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return clock.summary(spent)


async def by_tasks(search: AsyncSearch, turns: Turns, callers: int) -> dict[str, float]:
    spent: list[float] = []

    async def caller() -> None:
        for question in turns:
            began = time.perf_counter()
            await search(question)
            spent.append(time.perf_counter() - began)

    clock = Clock()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return clock.summary(spent)


class Clock:
    """Wall time, and the processor time of all threads, which other programs change far less."""

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def summary(self, spent: Sequence[float]) -> dict[str, float]:
        elapsed, worked = time.perf_counter() - self._began, time.process_time() - self._worked
        middle, slow = np.percentile(spent, (50, 99))
        return {
            "answers": len(spent),
            "qps": len(spent) / elapsed,
            "p50_ms": float(middle) * 1000,
            "p99_ms": float(slow) * 1000,
            "cpu_ms": worked / len(spent) * 1000,
        }


def recall(found: Sequence[Sequence[int]], exact: Sequence[set[int]]) -> float:
    """Of the exact nearest, how many are among as many found."""
    shares = [
        len(wanted.intersection(numbers[: len(wanted)])) / len(wanted)
        for numbers, wanted in zip(found, exact, strict=False)
    ]
    return float(np.mean(shares))


def memory_mb() -> dict[str, float]:
    """Now: what is resident, and of it what is this process's own; and the peak so far."""
    sizes = dict(_SIZE.findall(Path("/proc/self/status").read_text()))
    return {
        "rss_mb": int(sizes["VmRSS"]) / 1024,
        "own_mb": int(sizes["RssAnon"]) / 1024,
        "peak_mb": int(sizes["VmHWM"]) / 1024,
    }


def disk_mb(folder: Path) -> float:
    """What the files take on the disk: files with holes count for what they hold."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20
