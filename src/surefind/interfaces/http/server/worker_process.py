"""A worker's process, started by the supervisor.

Its standard input has its task, and stays open while the supervisor lives. Its standard output has
one line: that it is ready, or why it can't be.
"""

import asyncio
import json
import os
import pickle
import signal
import socket
import sys
from dataclasses import dataclass

from surefind.bootstrap import Application
from surefind.errors import SurefindError
from surefind.interfaces.http.logs import log_as_json
from surefind.interfaces.http.server.listener import is_public
from surefind.interfaces.http.server.uvicorn_server import answer_requests
from surefind.interfaces.library.portal import new_loop
from surefind.services.serving.worker import Worker
from surefind.settings import Settings

FAILED = 70
"""The exit code after an error that it has reported to the supervisor."""


@dataclass(frozen=True, slots=True)
class Task:
    worker: Worker
    settings: Settings
    listener: int
    """The file descriptor of the socket that all workers share."""


def main() -> None:
    task: Task = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the supervisor
    log_as_json(task.worker.number)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_work(task))


async def _work(task: Task) -> None:
    # Ctrl-C reaches all processes of a terminal; the supervisor decides when a worker ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _end_with_supervisor)
    application = Application(task.settings)
    try:
        with socket.socket(fileno=task.listener) as listener:
            public = is_public(listener)
            if public and not task.settings.allow_open:
                application.serving.keyring.always_require_key()
            await answer_requests(application, listener, _ready, task.worker, public=public)
    except SurefindError as error:
        _report({"error": type(error).__name__, "message": str(error)})
        sys.exit(FAILED)
    finally:
        await application.close()


def _end_with_supervisor() -> None:
    asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    os.kill(os.getpid(), signal.SIGTERM)


def _ready(served: str) -> None:
    _report({"serving": served})


def _report(news: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(news) + "\n")
    sys.stdout.flush()
