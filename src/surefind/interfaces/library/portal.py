"""Runs coroutines for synchronous callers, in an event loop in its own thread."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from surefind.errors import InputError

T = TypeVar("T")

SIGNAL_CHECK_S = 0.5
_CLOSED = "surefind is closed; use it inside its `with` block"


def require_own_process(opened_in: int) -> None:
    """Raise InputError in a forked child, where a call would wait forever."""
    if os.getpid() != opened_in:
        raise InputError(
            f"surefind was opened in process {opened_in} and can't be used in process "
            f"{os.getpid()}, which was forked from it; call surefind.open() or aopen() in this "
            "process, or use the spawn start method of multiprocessing"
        )


def new_loop() -> asyncio.AbstractEventLoop:
    """A uvloop, which is faster under load, or asyncio's own loop where uvloop is not installed."""
    if find_spec("uvloop") is None:  # pragma: no cover - it is always installed on POSIX
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415

    return uvloop.new_event_loop()


class Portal:
    """An event loop in its own thread. Thread-safe; a call costs two thread switches."""

    def __init__(
        self,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] = new_loop,
        signal_check_s: float = SIGNAL_CHECK_S,
    ) -> None:
        """A waiting caller checks for signals such as Ctrl-C every `signal_check_s`."""
        self._loop_factory = loop_factory
        self._signal_check_s = signal_check_s
        self._begun: Future[asyncio.AbstractEventLoop] = Future()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="surefind", daemon=True)
        self._process = os.getpid()

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop = self._begun.result()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        """Cancel running calls and wait until they have ended."""
        if not self.is_running:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        while self._thread.is_alive():
            self._thread.join(self._signal_check_s)

    @property
    def is_running(self) -> bool:
        """False in a forked child, and while the interpreter exits: its thread is not there."""
        return os.getpid() == self._process and not sys.is_finalizing()

    def call(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """Run a coroutine and return its result. Ctrl-C cancels it before it reaches the caller."""
        require_own_process(self._process)
        if self._loop.is_closed():
            raise RuntimeError(_CLOSED)
        call = _Call(self._loop, work, arguments, self._signal_check_s)
        try:
            self._loop.call_soon_threadsafe(call.begin)
            call.wait()
        except BaseException:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(call.cancel)
                call.wait()
            raise
        return call.result()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=self._loop_factory) as runner:
                runner.run(self._stay())
        except BaseException as error:
            if self._begun.done():
                raise
            self._begun.set_exception(error)

    async def _stay(self) -> None:
        self._begun.set_result(asyncio.get_running_loop())
        await self._closing.wait()


class _Call(Generic[T]):
    """One call. Ctrl-C may interrupt the caller between any two instructions.

    Caller and loop therefore share only this object and a bare lock. An interrupt inside a `Future`
    could leave the future's internal lock locked, and the loop would wait for it forever.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Callable[..., Coroutine[Any, Any, T]],
        arguments: tuple[object, ...],
        signal_check_s: float,
    ) -> None:
        self._loop = loop
        self._signal_check_s = signal_check_s
        self._work = work
        self._arguments = arguments
        self._task: asyncio.Task[T] | None = None
        self._ended = False
        self._waiting = threading.Lock()
        self._waiting.acquire()  # the loop releases it when the work has ended

    def begin(self) -> None:
        """Runs in the loop."""
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Runs in the loop. Ctrl-C may come before the work has begun."""
        if self._task is None:
            self._end(None)
        else:
            self._task.cancel()

    def wait(self) -> None:
        """Wait in short intervals, so that Ctrl-C is noticed in time.

        If a signal arrives just before Python blocks on a lock, its handler runs only after the
        lock is released.
        """
        while not self._ended:
            closed = self._loop.is_closed()
            if not self._waiting.acquire(timeout=self._signal_check_s) and closed:
                raise RuntimeError(_CLOSED)

    def result(self) -> T:
        assert self._task is not None, "only a cancelled call may not have begun"
        try:
            return self._task.result()
        except asyncio.CancelledError:
            # asyncio's CancelledError would cancel the caller's task if the caller runs in a loop.
            raise CancelledError from None

    async def _run(self) -> T:
        return await self._work(*self._arguments)

    def _end(self, task: asyncio.Task[T] | None) -> None:
        if task is not None and not task.cancelled():
            task.exception()  # mark as retrieved: the caller may have been interrupted
        self._ended = True
        self._waiting.release()
