"""Coroutines run for synchronous callers."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

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


def test_work_may_take_longer_than_the_interval_between_signal_checks() -> None:
    async def slow() -> str:
        await asyncio.sleep(0.1)
        return "done"

    async def times_out() -> None:
        raise TimeoutError("the store did not answer")

    with Portal(signal_check_s=0.01) as portal:
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


async def test_a_running_loop_does_not_matter() -> None:
    with Portal() as portal:
        assert portal.call(double, 3) == 6


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Also where a shell has started the tests in the background: they would ignore it there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_interrupts")
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
        begun.wait()
        receiver = threading.main_thread().ident if thread == "the caller" else None
        signal.pthread_kill(receiver or threading.get_ident(), signal.SIGINT)

    with Portal() as portal:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            portal.call(endless)
        assert tidied.is_set()
        assert portal.call(double, 4) == 8


@contextmanager
def interrupted_at(instruction: int) -> Iterator[list[int]]:
    """Ctrl-C before that instruction of the portal, where this thread calls it; the ones it ran."""
    ran: list[int] = []

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            ran.append(frame.f_lineno)
            if len(ran) == instruction:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield ran
    finally:
        sys.settrace(before)


def test_ctrl_c_leaves_nothing_running_wherever_it_comes() -> None:
    """Neither work that goes on alone, nor a lock that the loop would wait for."""
    instruction, come_to_its_end = 0, False
    with Portal() as portal:
        while not come_to_its_end:
            instruction += 1
            running = threading.Event()

            async def work(running: threading.Event = running) -> None:
                running.set()
                try:
                    await asyncio.sleep(0.001)
                finally:
                    running.clear()

            with interrupted_at(instruction) as ran, suppress(KeyboardInterrupt):
                portal.call(work)
                come_to_its_end = True
            assert not running.is_set(), f"interrupted in line {ran[-1]}"
            with ThreadPoolExecutor(1) as threads:
                assert threads.submit(portal.call, double, 4).result(10) == 8
    assert instruction > 50


def test_a_caller_is_not_left_waiting_when_another_thread_closes_it() -> None:
    begun = threading.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as threads:
        with Portal() as portal:
            waiting = threads.submit(portal.call, endless)
            assert begun.wait(10)
        with pytest.raises(CancelledError):
            waiting.result(10)


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


def test_a_program_that_never_closes_it_still_ends() -> None:
    program = "import surefind; opened = surefind.open(); docs = opened.__enter__()"
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 0


def test_a_failure_to_create_the_loop_is_raised() -> None:
    def refuse() -> asyncio.AbstractEventLoop:
        raise OSError("too many open files")

    with pytest.raises(OSError, match="too many open files"), Portal(refuse):
        pass
