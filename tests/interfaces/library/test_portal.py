"""The door between code that waits and code that awaits."""

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from surefind.interfaces.library import portal as module
from surefind.interfaces.library.portal import Portal


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def where() -> str:
    return threading.current_thread().name


def test_what_the_work_returns_comes_back() -> None:
    with Portal() as portal:
        assert portal.call(double, 21) == 42
        assert portal.call(where) == "surefind" != threading.current_thread().name


def test_work_may_take_longer_than_one_look_for_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> str:
        await asyncio.sleep(0.1)
        return "done"

    async def times_out() -> None:
        raise TimeoutError("the store did not answer")

    monkeypatch.setattr(module, "SIGNAL_CHECK_S", 0.01)
    with Portal() as portal:
        assert portal.call(slow) == "done"
        with pytest.raises(TimeoutError, match="the store did not answer"):
            portal.call(times_out)


def test_what_the_work_raises_comes_back() -> None:
    async def fails() -> None:
        raise KeyError("gone")

    with Portal() as portal:
        with pytest.raises(KeyError, match="gone"):
            portal.call(fails)
        assert portal.call(double, 1) == 2


def test_many_threads_call_at_once() -> None:
    both = threading.Barrier(2)

    async def meet() -> bool:
        await asyncio.to_thread(both.wait, 10)
        return True

    with Portal() as portal, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: portal.call(meet), range(2))) == [True, True]
        assert list(threads.map(lambda n: portal.call(double, n), range(50))) == [
            2 * n for n in range(50)
        ]


async def test_a_running_loop_is_no_hindrance() -> None:
    with Portal() as portal:
        assert portal.call(double, 3) == 6


@pytest.mark.parametrize("thread", ["the caller", "another"])
def test_ctrl_c_stops_the_work_before_it_stops_the_caller(thread: str) -> None:
    """A signal that another thread receives does not wake a caller that waits on a lock."""
    begun, tidied = threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            tidied.set()

    def press() -> None:
        begun.wait(10)
        receiver = threading.main_thread().ident if thread == "the caller" else None
        signal.pthread_kill(receiver or threading.get_ident(), signal.SIGINT)

    with Portal() as portal:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            portal.call(endless)
        assert tidied.is_set()
        assert portal.call(double, 4) == 8


def test_what_still_runs_is_cancelled_at_the_end() -> None:
    ended = threading.Event()
    kept: list[asyncio.Task[None]] = []

    async def begin() -> None:
        async def endless() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        kept.append(asyncio.create_task(endless()))
        await asyncio.sleep(0)

    with Portal() as portal:
        portal.call(begin)
    assert ended.is_set()
    assert not portal._thread.is_alive()


def test_a_closed_one_says_so() -> None:
    with Portal() as portal:
        pass
    with pytest.raises(RuntimeError, match="surefind is closed"):
        portal.call(double, 1)


def test_a_loop_that_can_not_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError("too many open files")

    monkeypatch.setattr(module, "new_loop", refuse)
    with pytest.raises(OSError, match="too many open files"), Portal():
        pass
