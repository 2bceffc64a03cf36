"""The disk is full from the n-th operation on: nothing is published, and nothing is lost."""

import random
import re
from dataclasses import dataclass

from drill.editions import MODES, QUESTIONS
from drill.interrupting import Attempt, begin, cycle
from drill.operations import Operation
from drill.scene import Ended, Scene, watched
from drill.table import Harm, Tally
from drill.workshop import Limits, Workshop

_REASON = re.compile("disk is full|check the free disk space")


@dataclass(frozen=True, slots=True)
class FullDisk:
    operation: Operation

    @property
    def name(self) -> str:
        return f"full disk: {self.operation.name}"

    @property
    def share(self) -> float:
        return 2 if self.operation.in_servers else 1

    def run(self, shop: Workshop, chance: random.Random, limits: Limits) -> Tally:
        tally = Tally(self.name)
        in_servers = self.operation.in_servers
        with shop.scene(tally, in_servers=in_servers) as scene, watched(scene) as asker:
            attempt = begin(scene, self.operation, chance)
            while limits.allow(tally):
                attempt = cycle(attempt, _without_room, asker)
        return tally


def _without_room(attempt: Attempt) -> Ended:
    scene = attempt.scene
    at = attempt.chance.randint(1, attempt.usual)
    ended = attempt.run(**scene.shim.environment(scene.folder, full_at=at))
    if ended.code == 4 and not _REASON.search(ended.errors):
        scene.tally.report(Harm.UNCLEAN, f"it does not say that the disk is full: {ended}")
    _search_without_room(scene, attempt.chance)
    return ended


def _search_without_room(scene: Scene, chance: random.Random) -> None:
    """It answers rightly, or says that there is no room."""
    mode, question = chance.choice(MODES), chance.choice(QUESTIONS)
    ended = scene.search(mode, question, **scene.shim.environment(scene.folder, full_at=1))
    if ended.code == 0:
        scene.check_answer(ended, mode, question)
    elif not ended.clean:
        scene.tally.report(Harm.UNCLEAN, str(ended))
