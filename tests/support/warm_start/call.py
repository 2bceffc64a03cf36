"""One call of the command: its process is forked by the parent, and this one represents it.

Streams, folder and environment are handed over, signals are passed on, and the exit code or the
signal that ended it is this process's own. `python -I -S` runs it within ten milliseconds.
"""

import json
import os
import signal
import socket
import sys

PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def call(address: str, arguments: list[str]) -> int:
    """The exit code, or minus the signal's number, as subprocess has it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until it is known to whom
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        folder = os.getcwd()  # noqa: PTH109 - pathlib would take as long as all the rest
        order = json.dumps([arguments, folder, dict(os.environ)]).encode() + b"\n"
        sent = socket.send_fds(connection, [order], [0, 1, 2])
        connection.sendall(order[sent:])
        with connection.makefile() as answers:
            process = int(answers.readline())
            for number in PASSED_ON:
                signal.signal(number, lambda passed, _: os.kill(process, passed))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
            return int(answers.readline())


if __name__ == "__main__":
    code = call(sys.argv[1], sys.argv[2:])
    if code < 0:
        if -code != signal.SIGKILL:  # it can't be handled
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
