"""The one door from code that waits to code that awaits: an event loop in a thread of its own."""

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
    """A forked child has no threads of its parent, so a call there would wait for ever."""
    if os.getpid() != opened_in:
        raise InputError(
            f"surefind was opened in process {opened_in}, and this is process {os.getpid()}, "
            "forked from it: what is open does not survive a fork. Call surefind.open() or "
            "aopen() in this process, or start it with the spawn method of multiprocessing"
        )


def new_loop() -> asyncio.AbstractEventLoop:
    """Uvloop where there is one: measured faster under load; Windows has none."""
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
        self._begun.result()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        """What still runs is cancelled, and has ended when this returns.

        A forked child leaves what is its parent's alone.
        """
        if os.getpid() != self._process:
            return
        self._begun.result().call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def call(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """What the work returns or raises. Ctrl-C stops the work before it stops the caller."""
        require_own_process(self._process)
        loop = self._begun.result()
        if loop.is_closed():
            raise RuntimeError("surefind is closed here: use it inside of its `with` block")
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
    """Waits in short turns, so that Ctrl-C is never lost.

    A signal that arrives just before Python blocks on a lock does not wake it: its handler would
    run only after the work has ended.
    """
    while True:
        try:
            return answer.result(timeout=SIGNAL_CHECK_S)
        except TimeoutError:
            if answer.done():  # the work itself raised it, or ended in this moment
                return answer.result()


async def _cancelled() -> None:
    """Whoever is to be cancelled has been."""
    leaving = [task for task in asyncio.all_tasks() if task.cancelling()]
    if leaving:
        await asyncio.wait(leaving)
