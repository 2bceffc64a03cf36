"""Starts the workers that share a port, replaces the ones that end, and stops them together.

The workers are new processes, not forks: the supervisor itself opens no model and no index. They
accept connections from one socket, so a worker that is busy leaves new connections to the others.
"""

import asyncio
import contextlib
import json
import logging
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from surefind import errors
from surefind.errors import StoreError, SurefindError
from surefind.interfaces.http.server.worker_process import Task
from surefind.services.serving.worker import Worker
from surefind.settings import Settings

LONG_LIFE_S = 60.0
"""A worker that ends after less than this time is replaced after a pause, which doubles."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
_GRACE_S = 5.0  # for closing the stores after the last request
_START = "from surefind.interfaces.http.server.worker_process import main; main()"
_FIXED = ("host", "port", "data_dir", "workers", "allow_open")

_log = logging.getLogger(__name__)


async def serve_with_workers(
    settings: Settings,
    listener: socket.socket,
    ready: Callable[[str], None],
    reload: Callable[[], Settings],
) -> None:
    """Serve until SIGINT or SIGTERM. SIGHUP replaces the workers, with the settings of `reload`."""
    with tempfile.TemporaryDirectory(prefix="surefind-workers-") as shared:
        supervisor = _Supervisor(settings, listener, Path(shared))
        async with supervisor.signals(reload), supervisor.stopping_all():
            await supervisor.start(ready)
            await supervisor.watch()


class _Process:
    """A running worker."""

    def __init__(self, worker: Worker, process: asyncio.subprocess.Process) -> None:
        self.worker = worker
        self.started = time.monotonic()
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def serving(self) -> str:
        """What it serves, as soon as it is ready; or else the reason why it can't be."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            raise StoreError(
                f"worker {self.worker.number} ended while it started ({_ending(code)}); the lines "
                "before this one say why"
            )
        news = json.loads(line)
        if "error" in news:
            await self._process.wait()
            raise getattr(errors, news["error"])(news["message"])
        return str(news["serving"])

    async def ended(self) -> str:
        return _ending(await self._process.wait())

    async def stop(self, timeout_s: float) -> None:
        """Let it finish its requests, up to a limit."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(timeout_s):
                await self._process.wait()
        except TimeoutError:
            _log.warning("worker %d did not stop in time", self.worker.number)
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)


class _Supervisor:
    def __init__(self, settings: Settings, listener: socket.socket, shared: Path) -> None:
        self._settings = settings
        self._listener = listener
        self._shared = shared
        self._running: dict[int, _Process] = {}
        self._stop = asyncio.Event()
        self._reloading: asyncio.Task[None] | None = None
        self._watching = False

    async def start(self, ready: Callable[[str], None]) -> None:
        """Start all workers. If one can't start, none serves."""
        numbers = range(1, self._settings.worker_count + 1)
        served = await self._unless_stopped(asyncio.gather(*map(self._start, numbers)))
        if served is not None:
            ready(served[0])

    async def watch(self) -> None:
        """Replace workers that end, until a signal stops all."""
        self._watching = True
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(self._keep(number)) for number in list(self._running)]
            await self._stop.wait()
            for keeper in keepers:
                keeper.cancel()
            if self._reloading is not None:
                self._reloading.cancel()

    @contextlib.asynccontextmanager
    async def stopping_all(self) -> AsyncIterator[None]:
        """Stop all workers at the end, however it comes."""
        try:
            yield
        finally:
            timeout_s = self._settings.shutdown_timeout_s + _GRACE_S
            await asyncio.gather(*(one.stop(timeout_s) for one in self._running.values()))

    @contextlib.asynccontextmanager
    async def signals(self, reload: Callable[[], Settings]) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def renew() -> None:
            if self._watching and (self._reloading is None or self._reloading.done()):
                self._reloading = loop.create_task(self._reload(reload))

        loop.add_signal_handler(signal.SIGINT, self._stop.set)
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, renew)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    async def _start(self, number: int) -> str:
        """Start a worker and wait until it is ready."""
        process = await self._spawn(number, self._settings)
        self._running[number] = process
        return await process.serving()

    async def _spawn(self, number: int, settings: Settings) -> _Process:
        worker = Worker(number, settings.worker_count, self._shared)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", _START),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(self._listener.fileno(),),
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(self._shared)},
        )
        task = Task(worker, settings.for_worker(), self._listener.fileno())
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(task))
        return _Process(worker, process)

    async def _keep(self, number: int) -> None:
        """Replace the worker whenever it ends, soon after a long life and later after a short."""
        pause_s = FIRST_PAUSE_S
        while True:
            process = self._running[number]
            how = await process.ended()
            mark_process_dead(process.pid, str(self._shared))  # type: ignore[no-untyped-call]
            if process is not self._running[number]:  # replaced by another one
                continue
            if time.monotonic() - process.started > LONG_LIFE_S:
                pause_s = FIRST_PAUSE_S
            _log.warning("worker %d ended (%s); another starts in %g s", number, how, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            try:
                await self._start(number)
            except SurefindError as error:
                _log.warning("worker %d can't start: %s", number, error)

    async def _reload(self, reload: Callable[[], Settings]) -> None:
        """Replace the workers one by one, so that some always answer."""
        try:
            settings = _applicable(reload(), self._settings)
            for number, old in list(self._running.items()):
                new = await self._spawn(number, settings)
                try:
                    await new.serving()
                except BaseException:
                    await new.stop(_GRACE_S)
                    raise
                self._running[number] = new
                await old.stop(settings.shutdown_timeout_s + _GRACE_S)
        except SurefindError as error:
            _log.warning("the workers keep their settings: %s", error)
        else:
            self._settings = settings
            _log.warning("all workers have the new settings")

    async def _unless_stopped(self, work: "asyncio.Future[list[str]]") -> list[str] | None:
        stopped = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            return await work if work.done() else None
        finally:
            stopped.cancel()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)


def _applicable(new: Settings, old: Settings) -> Settings:
    """The new settings, but what only a restart can change stays as it is."""
    changed = [name for name in _FIXED if getattr(new, name) != getattr(old, name)]
    if changed:
        _log.warning("restart the server to change %s", ", ".join(changed))
    return new.model_copy(update={name: getattr(old, name) for name in _FIXED})


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
