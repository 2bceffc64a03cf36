"""Running the real command, as a user does."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

COMMAND = str(Path(sys.executable).parent / "surefind")
TIME_LIMIT_S = 120


def surefind(
    *arguments: str | Path, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
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


def start(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=_environment(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(*arguments: str | Path, cwd: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """(address, process) of a server on a free port; ended by its own process id."""
    process = start("serve", "--port", "0", *arguments, cwd=cwd)
    try:
        yield _address(process), process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def _address(process: subprocess.Popen[str]) -> str:
    lines: Queue[str] = Queue()
    assert process.stderr is not None
    stream = process.stderr

    def read() -> None:
        for line in stream:
            lines.put(line)
            if "http://" in line:
                return

    threading.Thread(target=read, daemon=True).start()
    seen: list[str] = []
    deadline = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < deadline:
        try:
            line = lines.get(timeout=0.2)
        except Empty:
            assert process.poll() is None, f"the server ended: {''.join(seen)}"
            continue
        seen.append(line)
        if "http://" in line:
            return line.strip().rstrip("/")
    raise AssertionError(f"the server did not say its address: {''.join(seen)}")


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **more}
