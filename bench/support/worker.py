"""One system in a process of its own: takes orders as lines of JSON, answers with lines of JSON.

Started by bench/support/workers.py as `python -m bench.support.worker NAME`, with the Python of the
system's environment.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.support import measuring
from bench.support.dataset import TOP, Dataset
from bench.systems import BY_NAME, DENSE, AsyncVectorSystem, PageSystem, VectorSystem

Order = dict[str, Any]
Answer = dict[str, Any]


class Worker:
    def __init__(self, system: object) -> None:
        self._system = system
        self._dataset: Dataset | None = None
        self._asked = 0

    async def do(self, order: Order) -> Answer:
        what: Callable[[Order], Awaitable[Answer]] = getattr(self, f"do_{order['do']}")
        return await what(order)

    async def do_build(self, order: Order) -> Answer:
        dataset, store = Dataset(Path(order["dataset"])), Path(order["store"])
        _ = dataset.texts, dataset.vectors  # reading them is not measured
        began = time.perf_counter()
        assert isinstance(self._system, VectorSystem | AsyncVectorSystem)
        await asyncio.to_thread(self._system.build, dataset, store)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "disk_mb": measuring.disk_mb(store), **measuring.memory_mb()}

    async def do_open(self, order: Order) -> Answer:
        self._dataset, store = Dataset(Path(order["dataset"])), Path(order["store"])
        before = measuring.memory_mb()
        began = time.perf_counter()
        if isinstance(self._system, AsyncVectorSystem):
            await self._system.open_soon(self._dataset, store)
        else:
            assert isinstance(self._system, VectorSystem)
            self._system.open(self._dataset, store)
        return {"seconds": time.perf_counter() - began, "before": before}

    async def do_recall(self, order: Order) -> Answer:
        """Also a warm-up, for a minimum number of questions and of seconds."""
        assert self._dataset is not None
        exact, found = self._dataset.exact, list[list[int]]()
        until = time.perf_counter() + order["seconds"]
        for question in range(len(exact)):
            if len(found) >= measuring.FEWEST and time.perf_counter() >= until:
                break
            found.append(await self._search(question, order["mode"]))
        value = measuring.recall(found, exact) if order["mode"] == DENSE else None
        return {"recall": value, "questions": len(found), "hits": min(map(len, found))}

    async def _search(self, question: int, mode: str) -> list[int]:
        if isinstance(self._system, AsyncVectorSystem):
            return await self._system.search_soon(question, mode)
        assert isinstance(self._system, VectorSystem)
        return self._system.search(question, mode)

    async def do_measure(self, order: Order) -> Answer:
        assert self._dataset is not None
        questions, mode, callers = len(self._dataset.questions), order["mode"], order["callers"]
        turns = measuring.Turns(questions, order["seconds"], self._asked)
        system = self._system
        if isinstance(system, AsyncVectorSystem):
            spent = await measuring.by_tasks(
                lambda question: system.search_soon(question, mode), turns, callers
            )
        else:
            assert isinstance(system, VectorSystem)
            spent = measuring.by_threads(
                lambda question: system.search(question, mode), turns, callers
            )
        self._asked += int(spent["answers"])
        return {**spent, **measuring.memory_mb()}

    async def do_ingest(self, order: Order) -> Answer:
        assert isinstance(self._system, PageSystem)
        store = Path(order["store"])
        began, worked = time.perf_counter(), time.process_time()
        done = await asyncio.to_thread(self._system.ingest, Path(order["pages"]), store)
        return {
            "seconds": time.perf_counter() - began,
            "processor_seconds": time.process_time() - worked,
            "disk_mb": measuring.disk_mb(store),
            **done,
            **measuring.memory_mb(),
        }

    async def do_find(self, order: Order) -> Answer:
        assert isinstance(self._system, PageSystem)
        store, questions = Path(order["store"]), order["questions"]
        found = await asyncio.to_thread(self._system.find, store, questions, order["mode"])
        return {"found": found}


async def serve(name: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of a system is not a response
    worker = Worker(BY_NAME[name].make())
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = await worker.do(order)
        except Exception as error:  # noqa: BLE001 - the caller decides what a failure means
            import traceback

            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    assert TOP == 10
    asyncio.run(serve(sys.argv[1]))
    os._exit(0)  # some systems leave threads running
