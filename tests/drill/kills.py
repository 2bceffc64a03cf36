"""`kill -9` at the n-th operation on files, or at a random moment."""

import random
import time
from dataclasses import dataclass

from drill.interrupting import Attempt, begin, cycle
from drill.operations import Operation
from drill.scene import Ended, watched
from drill.table import Tally
from drill.workshop import Limits, Workshop

_LAST = 60  # publishing, and cleaning up after it


@dataclass(frozen=True, slots=True)
class Kill:
    operation: Operation

    @property
    def name(self) -> str:
        return f"kill: {self.operation.name}"

    @property
    def share(self) -> float:
        return 2 if self.operation.in_servers else 1

    def run(self, shop: Workshop, chance: random.Random, limits: Limits) -> Tally:
        tally = Tally(self.name)
        in_servers = self.operation.in_servers
        with shop.scene(tally, in_servers=in_servers) as scene, watched(scene) as asker:
            attempt = begin(scene, self.operation, chance)
            while limits.allow(tally):
                attempt = cycle(attempt, _killed, asker)
        return tally


def _killed(attempt: Attempt) -> Ended:
    chance = attempt.chance
    if chance.random() < 0.2:
        return _killed_at_a_moment(attempt)
    last = chance.random() < 0.4
    at = chance.randint(max(1, attempt.usual - _LAST) if last else 1, attempt.usual)
    return attempt.run(**attempt.scene.shim.environment(attempt.scene.folder, kill_at=at))


def _killed_at_a_moment(attempt: Attempt) -> Ended:
    scene = attempt.scene
    process = scene.start(*attempt.command, **scene.environment)
    time.sleep(attempt.chance.uniform(0.02, 0.8))
    process.kill()
    return scene.end_of(process, *attempt.command)
