"""Sends questions to a server over a number of connections, and says how it went, as JSON.

A process of its own, so that it competes with the server as a client does and not for its lock.
Every connection has one request at a time, and sends the next one after the response.
"""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

WAIT_S = 60.0
DIFFERENT = 20_000


@dataclass
class Tally:
    """What was asked, and what came back. Answers count from `began` on.

    That is when each of the connections has had one, since a busy server leaves a new connection
    waiting; or, where that takes longer than what is to be measured, without the last of them.
    """

    new_connections: int
    began: float | None = None
    asked: int = 0
    times_ms: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    all_taken_up: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, outcome: str, seconds: float) -> None:
        if outcome != "200":
            self.failures[outcome] += 1
        elif self.began is not None:
            self.times_ms.append(seconds * 1000)

    def take_up(self) -> None:
        self.new_connections -= 1
        if not self.new_connections:
            self.all_taken_up.set()

    def report(self) -> dict[str, object]:
        assert self.began is not None
        times = self.times_ms or [float("nan")]
        return {
            "asked": self.asked,
            "answered": len(self.times_ms),
            "failures": dict(self.failures),
            "rate": len(self.times_ms) / (time.perf_counter() - self.began),
            "p50_ms": float(np.percentile(times, 50)),
            "p99_ms": float(np.percentile(times, 99)),
            "max_ms": max(times),
        }


def requests(options: argparse.Namespace) -> Iterator[bytes]:
    """Without end: the questions of the file, over and over, from the one that is named.

    `--few` repeats this number of questions, each time with another threshold far below any score:
    the results stay the same, but none is cached.
    """
    body = json.loads(options.body)
    host, path = options.address, options.path
    texts = json.loads(options.questions.read_text())
    if options.few:
        texts = texts[: options.few] * (DIFFERENT // options.few)
    made = []
    for number, text in enumerate(texts, start=1):
        if options.few:
            body["threshold"] = number * 1e-9
        content = json.dumps({**body, options.field: [text] if options.list else text}).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        made.append(head.encode() + content)
    first = options.first % len(made)
    return itertools.cycle(made[first:] + made[:first])


async def answer(reader: asyncio.StreamReader) -> int:
    """The status, once the whole answer has been read."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = int(head.split(b" ", 2)[1])
    if b"transfer-encoding: chunked" in head:
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    else:
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    return status


async def connection(
    host: str, port: int, waiting: Iterator[bytes], seconds: float, tally: Tally
) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    is_new = True
    while tally.began is None or time.perf_counter() < tally.began + seconds:
        sent = time.perf_counter()
        writer.write(next(waiting))
        tally.asked += 1
        try:
            async with asyncio.timeout(WAIT_S):
                outcome = str(await answer(reader))
        except (OSError, EOFError, TimeoutError) as error:
            outcome = type(error).__name__
            writer.close()
            reader, writer = await asyncio.open_connection(host, port)
        tally.hear(outcome, time.perf_counter() - sent)
        if is_new:
            is_new = False
            tally.take_up()
    writer.close()


async def load(options: argparse.Namespace) -> dict[str, object]:
    host, _, port = options.address.rpartition(":")
    waiting, tally, seconds = requests(options), Tally(options.connections), options.seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(options.connections):
            group.create_task(connection(host, int(port), waiting, seconds, tally))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await tally.all_taken_up.wait()
        tally.began = time.perf_counter()
    return tally.report()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True, help="HOST:PORT, on this machine")
    parser.add_argument("--path", default="/retrieve")
    parser.add_argument("--field", default="query", help="the body's key for the question")
    parser.add_argument("--list", action="store_true", help="the key takes a list of questions")
    parser.add_argument("--body", default="{}", help="the rest of the body, as JSON")
    parser.add_argument("--questions", type=Path, required=True, help="a JSON list of texts")
    parser.add_argument("--few", type=int, default=0, help="repeat this number of questions")
    parser.add_argument("--first", type=int, default=0, help="the first question to send")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if options.address.rpartition(":")[0] not in {"127.0.0.1", "localhost"}:
        sys.exit("load is sent to this machine only")
    print(json.dumps(asyncio.run(load(options))))


if __name__ == "__main__":
    main()
