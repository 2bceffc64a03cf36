"""Running the real command, as a user does.

`COMMAND` is the installed one, which takes a second to import what it needs. `surefind`, `start`
and `serving` get their process from a parent that has imported it before: the same `main`, in a
process of its own with its own streams, folder, environment, signals and exit code.
"""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "surefind")
TIME_LIMIT_S = 120
WARM_START = Path(__file__).parent / "warm_start"


@functools.cache
def warm(preload: str = "") -> tuple[str, ...]:
    """The beginning of a command line that replaces `surefind`; the parent ends with the tests.

    `preload` names a library that is loaded before all others, as LD_PRELOAD does.
    """
    folder = Path(tempfile.mkdtemp(prefix="surefind-"))
    address = folder / "parent"
    parent = subprocess.Popen(
        [sys.executable, WARM_START / "parent.py", address],
        cwd=WARM_START,  # a test's own folder would be removed under it
        stdin=subprocess.PIPE,
        env=_environment({"LD_PRELOAD": preload} if preload else {}),
    )

    def end() -> None:
        parent.communicate(timeout=TIME_LIMIT_S)
        shutil.rmtree(folder)

    atexit.register(end)
    deadline = time.monotonic() + TIME_LIMIT_S
    while not address.exists():
        assert parent.poll() is None, "the parent of the commands ended"
        assert time.monotonic() < deadline, "the parent of the commands does not come up"
        time.sleep(0.02)
    return (sys.executable, "-I", "-S", str(WARM_START / "call.py"), str(address))


def surefind(
    *arguments: str | Path, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*warm(), *map(str, arguments)],
        cwd=cwd,
        env=_environment(environment),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


def surefind_json(*arguments: str | Path, cwd: Path) -> Any:
    done = surefind(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start(
    *arguments: str | Path, cwd: Path, command: Sequence[str] = (), **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*(command or warm()), *map(str, arguments)],
        cwd=cwd,
        env=_environment(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Server(subprocess.Popen[str]):
    """A running server; `said` has the lines that it wrote to stderr so far."""

    said: list[str]


@contextmanager
def serving(
    *arguments: str | Path, cwd: Path, command: Sequence[str] = (), **environment: str
) -> Iterator[tuple[str, Server]]:
    """(address, process) of a server on a free port; ended by its own process id."""
    process = Server(
        [*(command or warm()), "serve", "--port", "0", *map(str, arguments)],
        cwd=cwd,
        env=_environment(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.said = []
    assert process.stderr is not None
    reader = threading.Thread(target=_drain, args=(process.stderr, process.said), daemon=True)
    reader.start()
    try:
        yield _address(process), process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=30)
        reader.join(timeout=30)
        process.stderr.close()


def _drain(stream: Iterable[str], said: list[str]) -> None:
    """To the end: a server blocks if its log is not read."""
    for line in stream:
        said.append(line)  # noqa: PERF402 - line by line, while others look


def log_of(process: Server) -> list[dict[str, Any]]:
    """What the server has logged so far."""
    return [json.loads(line) for line in process.said if line.startswith("{")]


def _address(process: Server) -> str:
    deadline = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < deadline:
        for line in list(process.said):
            if line.strip().startswith("http://"):
                return line.strip().rstrip("/")
        assert process.poll() is None, f"the server ended: {''.join(process.said)}"
        time.sleep(0.05)
    raise AssertionError(f"the server did not say its address: {''.join(process.said)}")


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **more}
