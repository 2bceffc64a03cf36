"""The one door from code that waits to code that awaits: an event loop in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from surefind.errors import InputError

T = TypeVar("T")

SIGNAL_CHECK_S = 0.5
_CLOSED = "surefind is closed here: use it inside of its `with` block"


def require_own_process(opened_in: int) -> None:
    """A forked child has no threads of its parent, so a call there would wait forever."""
    if os.getpid() != opened_in:
        raise InputError(
            f"surefind was opened in process {opened_in}, and this is process {os.getpid()}, "
            "forked from it: what is open does not survive a fork. Call surefind.open() or "
            "aopen() in this process, or start it with the spawn method of multiprocessing"
        )


def new_loop() -> asyncio.AbstractEventLoop:
    """Uvloop if it is installed, since it is faster under load. Windows does not have it."""
    if find_spec("uvloop") is None:  # pragma: no cover - it is always installed on POSIX
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415

    return uvloop.new_event_loop()


class Portal:
    """Any thread may call, several at once too. A call costs two changes of threads, no more."""

    def __init__(self) -> None:
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
        """What still runs is cancelled, and has ended when this returns.

        A forked child leaves what is its parent's alone.
        """
        if os.getpid() != self._process:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        while self._thread.is_alive():
            self._thread.join(SIGNAL_CHECK_S)

    def call(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """What the work returns or raises. Ctrl-C stops the work before it stops the caller."""
        require_own_process(self._process)
        if self._loop.is_closed():
            raise RuntimeError(_CLOSED)
        call = _Call(self._loop, work, arguments)
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
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(self._stay())
        except BaseException as error:
            if self._begun.done():
                raise
            self._begun.set_exception(error)

    async def _stay(self) -> None:
        self._begun.set_result(asyncio.get_running_loop())
        await self._closing.wait()


class _Call(Generic[T]):
    """Work on the loop, for a caller that Ctrl-C may interrupt between any two instructions.

    So the caller shares nothing with the loop but a bare lock and this object. Interrupted inside
    a `Future`, it would leave the future's own lock locked, and the loop would wait for it
    forever.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Callable[..., Coroutine[Any, Any, T]],
        arguments: tuple[object, ...],
    ) -> None:
        self._loop = loop
        self._work = work
        self._arguments = arguments
        self._task: asyncio.Task[T] | None = None
        self._ended = False
        self._waiting = threading.Lock()
        self._waiting.acquire()  # released by the loop, when the work has ended

    def begin(self) -> None:
        """In the loop."""
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        """In the loop. The work may not have begun, if Ctrl-C came before it could."""
        if self._task is None:
            self._end(None)
        else:
            self._task.cancel()

    def wait(self) -> None:
        """In short turns, so that Ctrl-C is never lost.

        A signal that arrives just before Python blocks on a lock does not wake it: its handler
        would run only after the work has ended.
        """
        while not self._ended:
            closed = self._loop.is_closed()
            if not self._waiting.acquire(timeout=SIGNAL_CHECK_S) and closed:
                raise RuntimeError(_CLOSED)

    def result(self) -> T:
        assert self._task is not None, "it has begun, since it was not cancelled"
        try:
            return self._task.result()
        except asyncio.CancelledError:
            # Of asyncio's own kind, it would cancel the task of a caller inside a running loop.
            raise CancelledError from None

    async def _run(self) -> T:
        return await self._work(*self._arguments)

    def _end(self, task: asyncio.Task[T] | None) -> None:
        if task is not None and not task.cancelled():
            task.exception()  # known, even if the caller has been interrupted
        self._ended = True
        self._waiting.release()
