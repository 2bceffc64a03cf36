"""A terminal with somebody at it."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.commands import COMMAND, TIME_LIMIT_S

READING_S = 0.2
"""People do not answer in the moment that a question appears."""


@contextmanager
def typed(keys: bytes) -> Iterator[int]:
    """The descriptor of a terminal on which that has been typed."""
    screen, side = pty.openpty()
    try:
        os.write(screen, keys)
        yield side
    finally:
        os.close(side)
        os.close(screen)


def at_a_terminal(
    *arguments: str, question: bytes, keys: bytes, cwd: Path, **environment: str
) -> tuple[int, str]:
    """(exit code, what was on the screen) of the command, when that is typed at the question.

    It is typed again if nothing happens, as a person would: a Ctrl-C that comes in the very
    moment between the question and the waiting for an answer is noticed after the next key.
    """
    screen, side = pty.openpty()

    def take() -> None:
        os.setsid()
        fcntl.ioctl(side, termios.TIOCSCTTY, 0)  # so that Ctrl-C means this process

    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdin=side,
        stdout=side,
        stderr=side,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **environment},
        preexec_fn=take,  # noqa: PLW1509 - there are no other threads that hold a lock here
    )
    os.close(side)
    said, typed_already, deadline = b"", False, time.monotonic() + TIME_LIMIT_S
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([screen], [], [], 5.0)
            typed_already = typed_already and bool(ready)
            try:
                read = os.read(screen, 1 << 16) if ready else b""
            except OSError:  # the other side is gone
                break
            said += read
            if question in said and not typed_already:
                time.sleep(READING_S)
                os.write(screen, keys)
                typed_already = True
            if ready and not read:
                break
        return process.wait(timeout=30), said.decode()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=30)
        os.close(screen)
