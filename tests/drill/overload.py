"""Far more ask at once than there is room for: a right answer, or a clean refusal, and soon."""

import asyncio
import json
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from drill.editions import MANY, QUESTIONS, Asker, Edition, answer_of, same_answer
from drill.scene import Scene
from drill.table import Harm, Tally
from drill.workshop import Limits, Workshop
from support.commands import serving

CONNECTIONS = 150
PLACES, WAITING = 2, 6
_LIMITS = {"SUREFIND_MAX_CONCURRENCY": str(PLACES), "SUREFIND_MAX_QUEUE": str(WAITING)}
_HANGS_S = 60.0
_SLACK = 10
"""How many times as long as alone a search may take, for each that is before it."""
_ANY_S = 2.0  # of a busy machine


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    head: str
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Overload:
    """A cycle is a burst: as many as there are connections ask in the same moment."""

    mode: str
    share: float = 0.5

    @property
    def name(self) -> str:
        return f"overload: {self.mode}"

    def run(self, shop: Workshop, chance: random.Random, limits: Limits) -> Tally:
        tally, mode = Tally(self.name), self.mode
        with shop.scene(tally) as scene, _crowded(scene, shop) as address:
            alone_s = statistics.median(_one(address, mode, chance).seconds for _ in range(20))
            while limits.allow(tally):
                tally.cycles += 1
                asked = [_request(address, mode, chance) for _ in range(CONNECTIONS)]
                replies = asyncio.run(_burst(address, [request for _, request in asked]))
                _check(scene, mode, [question for question, _ in asked], replies, alone_s)
            _check_after(scene, Asker(address))
        return tally


@contextmanager
def _crowded(scene: Scene, shop: Workshop) -> Iterator[str]:
    """The address of a server with few places."""
    arguments = ("--data-dir", shop.home / "data")
    with serving(*arguments, cwd=scene.folder, **_LIMITS) as (address, process):
        yield address
        if process.poll() is not None or any("Traceback" in line for line in process.said):
            scene.tally.report(Harm.UNCLEAN, "".join(process.said)[-1000:])


def _request(address: str, mode: str, chance: random.Random) -> tuple[str, bytes]:
    """Each with another threshold, far below any score: no answer is remembered."""
    question = chance.choice(QUESTIONS)
    body = {"query": question, "mode": mode, "top_k": MANY, "collapse": "off"}
    if mode != "lexical":
        body["threshold"] = chance.random() * 1e-6
    else:
        body["max_tokens"] = chance.randint(10**6, 10**7)
    content = json.dumps(body).encode()
    head = (
        f"POST /retrieve HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return question, head.encode() + content


def _one(address: str, mode: str, chance: random.Random) -> Reply:
    [reply] = asyncio.run(_burst(address, [_request(address, mode, chance)[1]]))
    assert isinstance(reply, Reply), reply
    return reply


async def _burst(address: str, requests: list[bytes]) -> list[Reply | BaseException]:
    place = urlsplit(address)
    lines = [await asyncio.open_connection(place.hostname, place.port) for _ in requests]

    async def send(number: int) -> Reply:
        reader, writer = lines[number]
        began = time.perf_counter()
        writer.write(requests[number])
        async with asyncio.timeout(_HANGS_S):
            answer = await reader.read()
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        text = head.decode().lower()
        return Reply(int(text.split(" ", 2)[1]), text, body, time.perf_counter() - began)

    sent = (send(number) for number in range(len(requests)))
    return await asyncio.gather(*sent, return_exceptions=True)


def _check(
    scene: Scene,
    mode: str,
    questions: list[str],
    replies: list[Reply | BaseException],
    alone_s: float,
) -> None:
    tally, accepted = scene.tally, []
    for question, reply in zip(questions, replies, strict=True):
        if not isinstance(reply, Reply):
            tally.report(Harm.UNCLEAN, f"no answer: {reply!r}")
        elif reply.status == 200:
            accepted.append(reply.seconds)
            wanted = scene.references[Edition.OLD].answers[mode, question]
            if not same_answer(answer_of(json.loads(reply.body)), wanted):
                tally.report(Harm.SILENT, f"{question!r} was answered otherwise")
        elif not _refused_cleanly(reply):
            tally.report(Harm.UNCLEAN, f"{reply.status}: {reply.head} {reply.body[:200]!r}")
    if not accepted:
        tally.report(Harm.LOST, "nobody was answered")
        return
    if len(accepted) == len(replies):
        tally.report(
            Harm.UNCLEAN,
            f"{len(replies)} asked at once, {PLACES + WAITING} have room, and nobody was refused: "
            f"the last one waited {max(accepted):.2f} s",
        )
    allowed_s = alone_s * (PLACES + WAITING) * _SLACK + _ANY_S
    p99_s = statistics.quantiles(accepted, n=100)[-1] if len(accepted) > 1 else accepted[0]
    if p99_s > allowed_s:
        tally.report(Harm.UNCLEAN, f"p99 {p99_s:.2f} s, where one alone takes {alone_s:.3f} s")


def _refused_cleanly(reply: Reply) -> bool:
    if reply.status != 503 or "\r\nretry-after: " not in reply.head:
        return False
    return bool(json.loads(reply.body)["message"])


def _check_after(scene: Scene, asker: Asker) -> None:
    """When the rush is over, all is as before."""
    wanted = scene.references[Edition.OLD].answers
    found = asker.all()
    if not all(same_answer(wanted[asked], found[asked]) for asked in wanted):
        scene.tally.report(Harm.SILENT, "after the rush, answers are others")
