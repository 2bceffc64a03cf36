"""The command with its imports done: every call that comes in gets a process forked from here.

A command spends most of its second on importing; a suite that runs hundreds of them does it once.
Nothing but importing happens here, so that a forked process holds what a new one would: no thread,
no model, no connection. It ends when its standard input does, with the process that started it.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

import surefind
from surefind.interfaces.cli import main

INTEGRATIONS = "surefind.interfaces.integrations."
"""No command uses them, and their frameworks may not be installed."""


@dataclass(frozen=True, slots=True)
class Call:
    """The environment in which a command runs."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


def import_everything() -> None:
    for module in pkgutil.walk_packages(surefind.__path__, "surefind."):
        if not module.name.startswith(INTEGRATIONS):
            importlib.import_module(module.name)


class Parent:
    """Forks for each connection, and sends it the process ID and later the exit code."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._running: dict[int, socket.socket] = {}
        self._events = selectors.DefaultSelector()
        self._ended, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, _noted)
        for source in (listener, sys.stdin, self._ended):
            self._events.register(source, selectors.EVENT_READ)

    def next_call(self) -> Call | None:
        """In a forked process the call to answer; None in the parent, when its work is over."""
        while True:
            for key, _ in self._events.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is self._listener:
                    call = self._fork()
                    if call is not None:
                        return call
                elif key.fileobj == self._ended:
                    os.read(self._ended, 1_024)
                    self._report()
                else:  # the caller was killed, and so is what it called
                    os.kill(key.data, signal.SIGKILL)
                    self._events.unregister(key.fileobj)

    def _fork(self) -> Call | None:
        connection, _ = self._listener.accept()
        call = _received(connection)
        if call is None:
            connection.close()
            return None
        process = os.fork()
        if process == 0:
            self._forget(connection)
            return call
        for stream in call.streams:
            os.close(stream)
        self._running[process] = connection
        self._events.register(connection, selectors.EVENT_READ, data=process)
        with suppress(ConnectionError):  # the caller was killed; its end is read below
            connection.sendall(b"%d\n" % process)
        return None

    def _report(self) -> None:
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            with self._running.pop(process) as connection:
                if connection in self._events.get_map():
                    self._events.unregister(connection)
                    with suppress(ConnectionError):
                        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _forget(self, connection: socket.socket) -> None:
        """A forked process has nothing of its parent's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._events.close()
        for other in (self._listener, connection, *self._running.values()):
            other.close()


def _noted(number: int, frame: FrameType | None) -> None:
    """Only the wake-up by the signal is needed."""


def _received(connection: socket.socket) -> Call | None:
    """None where the caller was killed before it had said all."""
    parts: list[bytes] = []
    streams: list[int] = []
    while not parts or not parts[-1].endswith(b"\n"):
        part = b""
        with suppress(ConnectionError):
            part, descriptors, *_ = socket.recv_fds(connection, 65_536, 3)
            streams += descriptors
        if not part:
            for stream in streams:
                os.close(stream)
            return None
        parts.append(part)
    arguments, folder, environment = json.loads(b"".join(parts))
    return Call(arguments, folder, environment, streams)


def become(call: Call) -> None:
    """From here on this process is as one that was started for the call."""
    for number, stream in enumerate(call.streams):
        os.dup2(stream, number)
        os.close(stream)
    # Opened again: they may be files although the parent's were pipes.
    sys.stdin = open(0, encoding=sys.stdin.encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace", closefd=False
    )
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update(call.environment)
    sys.argv[:] = ["surefind", *call.arguments]
    # Tests that run behind a shell's `&` are deaf to Ctrl-C; a command that is sent one is not.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def serve(address: str) -> None:
    import_everything()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        call = Parent(listener).next_call()
    if call is None:
        return
    become(call)
    end(outcome())


def outcome() -> int:
    """The exit code of the command, read as the interpreter reads it."""
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")
        return 1
    except BaseException:  # noqa: BLE001 - whatever it is, the interpreter would say it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end(code: int) -> NoReturn:
    """What an interpreter does at its end, but for freeing what all forked processes share.

    That alone takes longer than most commands.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # it waits for the threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
