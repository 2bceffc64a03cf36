"""Runs async code for synchronous callers, in an event loop on its own thread."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self, TypeVar

from surefind.errors import InputError

T = TypeVar("T")

SIGNAL_CHECK_S = 0.5


def require_own_process(opened_in: int) -> None:
    """Reject calls in a forked child: without the parent's threads, they would wait forever."""
    if os.getpid() != opened_in:
        raise InputError(
            f"surefind was opened in process {opened_in} and can't be used in process "
            f"{os.getpid()}, which was forked from it. Call surefind.open() or aopen() in this "
            'process, or use the "spawn" start method of multiprocessing'
        )


def new_loop() -> asyncio.AbstractEventLoop:
    """Use uvloop, which is faster under load; not available on Windows."""
    if find_spec("uvloop") is None:  # pragma: no cover - it is always installed on POSIX
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415

    return uvloop.new_event_loop()


class Portal:
    """Thread-safe. A call costs two thread switches."""

    def __init__(self) -> None:
        self._begun: Future[asyncio.AbstractEventLoop] = Future()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="surefind", daemon=True)
        self._process = os.getpid()

    def __enter__(self) -> Self:
        self._thread.start()
        self._begun.result()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        """Cancel all running calls and wait for them to end.

        Does nothing in a forked child.
        """
        if os.getpid() != self._process:
            return
        self._begun.result().call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def call(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """Run `work` and return its result. Ctrl-C cancels the work, then reaches the caller."""
        require_own_process(self._process)
        loop = self._begun.result()
        if loop.is_closed():
            raise RuntimeError("surefind is closed; use it inside its `with` block")
        answer = asyncio.run_coroutine_threadsafe(work(*arguments), loop)
        try:
            return _wait_for(answer)
        except KeyboardInterrupt:
            answer.cancel()
            asyncio.run_coroutine_threadsafe(_cancelled(), loop).result()
            raise

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


def _wait_for(answer: Future[T]) -> T:
    """Wait in short intervals, so that Ctrl-C is never lost.

    A signal that arrives just before Python blocks on a lock does not wake it; the handler would
    run only after the work has ended.
    """
    while True:
        try:
            return answer.result(timeout=SIGNAL_CHECK_S)
        except TimeoutError:
            if answer.done():  # the work raised TimeoutError itself, or has just ended
                return answer.result()


async def _cancelled() -> None:
    """Wait until all cancelled tasks have ended."""
    leaving = [task for task in asyncio.all_tasks() if task.cancelling()]
    if leaving:
        await asyncio.wait(leaving)
