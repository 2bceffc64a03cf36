"""Who embeds groups of questions: threads of this process, and other processes for thousands.

A search holds the interpreter's lock, and a thread that embeds needs it between two questions: on
two cores a fifth of the time is lost so. A process of its own never waits for it. It takes a second
to start and 130 MB, so it must be worth it, and goes when there is nothing more to do. One core is
left to this process, for its searches and for a thread that embeds beside them; more than eight
cores embed faster than one can search.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from surefind.adapters.embedders.bge_small_worker import LENGTH, ROW_BYTES, group, read_rows
from surefind.ports import EmbeddedQuery

WORTH = 1000
"""So many questions are worth a process."""
_MOST = 7
_IDLE_S = 5.0
_LAST_MOMENTS_S = 2.0

EmbedInProcess = Callable[[Sequence[str]], Awaitable[list[EmbeddedQuery]]]


class WorkerLost(Exception):  # noqa: N818 - no error of ours: somebody else takes over
    """A process has ended, or never began."""


class Worker:
    """One process that embeds, from this side. It takes groups while it still has one to do."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._asks, self._tells = process.stdin, process.stdout
        self._turn = asyncio.Lock()
        self.lost = False

    @classmethod
    async def started(cls, folder: Path) -> "Worker":
        # -P: a folder of our name, where the user happens to be, is not us.
        command = (
            sys.executable,
            "-P",
            "-m",
            "surefind.adapters.embedders.bge_small_worker",
            str(folder),
        )
        pipe, silence = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=silence
            )
        except Exception as error:  # of a system or a loop that has no processes, too
            raise WorkerLost from error
        worker = cls(process)
        try:
            await worker._exchange(b"")
        except BaseException:
            worker._end()  # it would load its model first
            await worker.close()
            raise
        return worker

    async def embed(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        """WorkerLost where it has ended."""
        return await self._exchange(group(queries))

    async def _exchange(self, asked: bytes) -> list[EmbeddedQuery]:
        """Who asked first is answered first, as nobody waits between asking and taking a turn.

        Who gives up ends it: the answer would be taken for the next one's.
        """
        try:
            self._asks.write(asked)
            async with self._turn:
                await self._asks.drain()
                (rows,) = LENGTH.unpack(await self._tells.readexactly(LENGTH.size))
                return read_rows(await self._tells.readexactly(rows * ROW_BYTES))
        except Exception as error:  # each event loop has its own for a pipe that is closed
            self._end()
            raise WorkerLost from error
        except asyncio.CancelledError:
            self._end()
            raise

    def _end(self) -> None:
        self.lost = True
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        self._asks.close()
        try:
            await asyncio.wait_for(self._process.wait(), _LAST_MOMENTS_S)
        except TimeoutError:
            self._end()
            await self._process.wait()


class WorkerPool:
    def __init__(self, folder: Path, here: EmbedInProcess, threads: int, cores: int) -> None:
        """`here` embeds a group in a thread of this process, of which there are so many."""
        self._folder = folder
        self._here = here
        self._threads = threads
        self._cores = cores
        self._workers: list[Worker] = []
        self._leaving: set[asyncio.Task[None]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._at_work = 0
        self._begin()

    def _begin(self) -> None:
        """With threads alone; None stands for one of them."""
        self._hiring: asyncio.Task[None] | None = None
        self._free: asyncio.Queue[Worker | None] = asyncio.Queue()
        self._surplus = 0
        for _ in range(self._threads):
            self._free.put_nowait(None)

    async def embed(self, queries: Sequence[str], to_come: int) -> list[EmbeddedQuery]:
        worth = min(self._cores - 1, _MOST, (len(queries) + to_come) // WORTH)
        if worth > 0 and self._hiring is None and _can_start():
            self._hiring = asyncio.ensure_future(self._hire(worth))
        if self._idle is not None:
            self._idle.cancel()
        self._at_work += 1
        try:
            return await self._embed(queries)
        finally:
            self._at_work -= 1
            if self._hiring is not None and not self._at_work:
                self._idle = asyncio.get_running_loop().call_later(_IDLE_S, self._dismiss)

    async def _embed(self, queries: Sequence[str]) -> list[EmbeddedQuery]:
        free = self._free
        while (worker := await free.get()) is None and self._surplus:
            self._surplus -= 1
        try:
            if worker is not None:
                with suppress(WorkerLost):  # then a thread does its work
                    return await worker.embed(queries)
            return await self._here(queries)
        finally:
            free.put_nowait(None if worker is not None and worker.lost else worker)

    async def _hire(self, count: int) -> None:
        """Each takes a thread's place, the first also those of the threads that are more than there
        are cores. Who can't be had leaves them where they are.
        """

        async def one() -> None:
            with suppress(WorkerLost):
                worker = await Worker.started(self._folder)
                self._surplus += 1 if self._workers else 1 + self._threads - self._cores
                self._workers.append(worker)
                # Twice, so that it has the next group when it is done: we may be in a search then.
                self._free.put_nowait(worker)
                self._free.put_nowait(worker)

        # Also when this is cancelled, it ends after all of them have.
        await asyncio.gather(*(one() for _ in range(count)), return_exceptions=True)

    def _dismiss(self) -> None:
        leaving = asyncio.ensure_future(self._without_workers())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        await self._without_workers()
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _without_workers(self) -> None:
        """The next thousands get new ones."""
        if self._idle is not None:
            self._idle.cancel()
        if self._hiring is not None:
            self._hiring.cancel()
            await asyncio.wait([self._hiring])
        workers, self._workers = self._workers, []
        self._begin()
        await asyncio.gather(*(worker.close() for worker in workers))


def _can_start() -> bool:
    """Not where this program is something else with a Python inside."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)
