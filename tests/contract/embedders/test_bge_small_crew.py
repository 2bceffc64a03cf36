"""Thousands of questions are embedded by processes as well, and nobody notices how."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import uvloop

from surefind.adapters.embedders import bge_small_workers as bge_small_crew
from surefind.adapters.embedders.bge_small_model import BgeSmallModel
from surefind.adapters.embedders.bge_small_workers import WORTH, Worker, WorkerLost, WorkerPool
from surefind.ports import EmbeddedQuery

QUERIES = ["how do I undo a bad ingest?", "日本", "", "word " * 600]


class Here:
    """A thread of this process, which counts what it is asked for."""

    def __init__(self, model: BgeSmallModel) -> None:
        self.asked = 0
        self._model = model

    async def __call__(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        self.asked += len(queries)
        return await asyncio.to_thread(self._model.embed_each, queries)


@pytest.fixture(scope="module")
def model(model_files: Path) -> BgeSmallModel:
    return BgeSmallModel(model_files)


@pytest.fixture
def here(model: BgeSmallModel) -> Here:
    return Here(model)


@pytest.fixture
async def pool(model_files: Path, here: Here) -> AsyncIterator[WorkerPool]:
    """On two cores, with the usual thread more."""
    pool = WorkerPool(model_files, here, threads=3, cores=2)
    yield pool
    await pool.close()


async def hired(pool: WorkerPool) -> Worker:
    """The one process of two cores, at work."""
    await pool.embed(["the first"], WORTH - 1)
    assert pool._hiring is not None
    await pool._hiring
    [worker] = pool._workers
    return worker


def is_alive(worker: Worker) -> bool:
    return worker._process.returncode is None


async def test_a_process_gives_the_very_vectors_of_this_one(
    model_files: Path, model: BgeSmallModel
) -> None:
    worker = await Worker.started(model_files)
    for _ in range(2):
        told = await worker.embed(QUERIES)
        assert all(one.took_ms > 0 for one in told)
        for one, query in zip(told, QUERIES, strict=True):
            assert np.array_equal(one.vector, model.embed(query))
    await worker.close()
    assert worker._process.returncode == 0


async def test_few_questions_are_not_worth_a_process(pool: WorkerPool, here: Here) -> None:
    for _ in range(5):
        await pool.embed(["one", "two"], WORTH - 3)
    assert (pool._hiring, pool._workers, here.asked) == (None, [], 10)


async def test_one_core_is_left_alone(model_files: Path, here: Here) -> None:
    pool = WorkerPool(model_files, here, threads=2, cores=1)
    await pool.embed(["one"], 10 * WORTH)
    assert pool._hiring is None
    await pool.close()


async def test_thousands_are_shared_between_threads_and_processes(
    pool: WorkerPool, here: Here
) -> None:
    worker = await hired(pool)
    before = here.asked
    groups = [[f"question {one} of {group}" for one in range(8)] for group in range(12)]
    told = await asyncio.gather(*(pool.embed(group, WORTH) for group in groups))
    assert 0 < here.asked - before < 12 * 8
    assert [len(group) for group in told] == [8] * 12
    assert is_alive(worker)
    assert pool._surplus == 0  # of three threads one is left


async def test_a_process_that_is_killed_loses_no_question(
    pool: WorkerPool, model: BgeSmallModel
) -> None:
    worker = await hired(pool)
    groups = [[f"question {one} of {group}" for one in range(16)] for group in range(8)]
    asked = [asyncio.ensure_future(pool.embed(group, 0)) for group in groups]
    await asyncio.sleep(0.05)
    os.kill(worker._process.pid, signal.SIGKILL)
    for group, told in zip(groups, await asyncio.gather(*asked), strict=True):
        assert np.array_equal(told[0].vector, model.embed(group[0]))
    assert worker.lost
    await pool.embed(["and it goes on"], 0)


async def test_who_gives_up_does_not_leave_an_answer_to_the_next(
    pool: WorkerPool, model: BgeSmallModel
) -> None:
    worker = await hired(pool)
    asked = [asyncio.ensure_future(pool.embed(["word " * 300] * 8, 0)) for _ in range(4)]
    await asyncio.sleep(0.05)
    for one in asked:
        one.cancel()
    await asyncio.wait(asked)
    [told] = await pool.embed(["the next"], 0)
    assert np.array_equal(told.vector, model.embed("the next"))
    assert worker.lost


async def test_processes_go_when_there_is_nothing_to_do(
    pool: WorkerPool, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = await hired(pool)
    monkeypatch.setattr(bge_small_crew, "_IDLE_S", 0.01)
    await pool.embed(["once more"], 0)
    await asyncio.wait_for(worker._process.wait(), 10)
    assert worker._process.returncode == 0
    assert pool._workers == []
    before = here.asked
    await pool.embed(["by a thread again"], 0)
    assert here.asked == before + 1
    monkeypatch.undo()
    assert await hired(pool) is not worker


async def test_a_process_that_can_not_be_started_is_done_without(
    pool: WorkerPool, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    await pool.embed(["one"], WORTH)
    assert pool._hiring is not None
    await pool._hiring
    await asyncio.gather(*(pool.embed(["two"], 0) for _ in range(6)))
    assert (pool._workers, here.asked) == ([], 7)


async def test_a_process_without_a_model_is_lost(tmp_path: Path) -> None:
    with pytest.raises(WorkerLost):
        await Worker.started(tmp_path)


async def test_a_process_ends_when_its_starter_is_killed(model_files: Path) -> None:
    starter = f"""
import asyncio, pathlib
from surefind.adapters.embedders.bge_small_workers import Worker
async def main():
    worker = await Worker.started(pathlib.Path({str(model_files)!r}))
    print(worker._process.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", starter, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    worker = int(await process.stdout.readline())
    process.kill()
    await process.wait()
    for _ in range(100):
        if not _runs(worker):
            break
        await asyncio.sleep(0.1)
    assert not _runs(worker)


def _runs(pid: int) -> bool:
    """Who ended and was not waited for is still in the list of processes, as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_closing_while_processes_start_leaves_none(model_files: Path, here: Here) -> None:
    pool = WorkerPool(model_files, here, threads=4, cores=4)
    before = asyncio.all_tasks()
    await pool.embed(["one"], 3 * WORTH)
    await asyncio.sleep(0.05)
    assert asyncio.all_tasks() > before
    await pool.close()
    assert (pool._workers, asyncio.all_tasks()) == ([], before)
    await pool.embed(["two"], 0)


@pytest.mark.parametrize(
    ("cores", "questions", "hired"), [(64, 10**6, 7), (8, 2 * WORTH, 2), (4, 10**6, 3)]
)
async def test_there_are_no_more_processes_than_are_worth_it(
    here: Here, monkeypatch: pytest.MonkeyPatch, cores: int, questions: int, hired: int
) -> None:
    begun = []

    async def lost(_folder: Path) -> Worker:
        begun.append(1)
        raise WorkerLost

    monkeypatch.setattr(Worker, "started", lost)
    pool = WorkerPool(Path("nowhere"), here, cores + 1, cores)
    await pool.embed(["one"], questions)
    assert pool._hiring is not None
    await pool._hiring
    assert len(begun) == hired
    await pool.close()


async def test_a_program_that_is_no_python_starts_no_process(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    await pool.embed(["one"], WORTH)
    assert pool._hiring is None


def test_a_process_that_died_idle_is_noticed_on_every_event_loop(
    model_files: Path, model: BgeSmallModel
) -> None:
    """uvloop has an error of its own for a pipe that is closed."""

    async def killed_while_idle() -> None:
        here = Here(model)
        pool = WorkerPool(model_files, here, threads=3, cores=2)
        worker = await hired(pool)
        os.kill(worker._process.pid, signal.SIGKILL)
        await asyncio.sleep(0.3)
        told = await asyncio.gather(*(pool.embed([f"question {n}"], 0) for n in range(6)))
        assert np.array_equal(told[5][0].vector, model.embed("question 5"))
        assert worker.lost
        await pool.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(killed_while_idle())
    with asyncio.Runner() as runner:
        runner.run(killed_while_idle())
