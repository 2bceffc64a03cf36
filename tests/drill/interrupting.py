"""One cycle: a command is interrupted, readers are looked after, and it is run again."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from drill.editions import MODES, QUESTIONS, Asker, Content, Edition
from drill.operations import Operation
from drill.scene import Ended, Scene
from drill.table import Harm
from surefind.errors import SurefindError

Mishap = Callable[["Attempt"], Ended]
"""Runs the attempt's command and interferes with it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """`usual` is how many operations on files the command took when nothing interfered."""

    scene: Scene
    operation: Operation
    target: Edition
    usual: int
    chance: random.Random

    @property
    def command(self) -> tuple[str, ...]:
        return tuple(map(str, self.operation.arguments(self.scene, self.target)))

    def run(self, **more: str) -> Ended:
        return self.scene.run(*self.command, **self.scene.environment, **more)

    def then(self, usual: int) -> "Attempt":
        return replace(self, target=self.target.other, usual=max(1, usual))

    def counted(self) -> int:
        """Done without interference; how many operations that took."""
        environment = self.scene.shim.environment(self.scene.folder)
        ended = self.run(**environment)
        if ended.code != 0:
            self.scene.tally.report(Harm.LOST, f"run again: {ended}")
        if not ended.clean:
            self.scene.tally.report(Harm.UNCLEAN, f"run again: {ended}")
        return self.scene.shim.operations()


def begin(scene: Scene, operation: Operation, chance: random.Random) -> Attempt:
    """Once without interference, to know how many operations there are."""
    attempt = Attempt(scene, operation, Edition.NEW, 0, chance)
    operation.prepare(scene, attempt.target)
    return attempt.then(attempt.counted())


def cycle(attempt: Attempt, mishap: Mishap, asker: Asker) -> Attempt:
    """What comes next: the same, to the other edition."""
    scene, operation, target = attempt.scene, attempt.operation, attempt.target
    scene.tally.cycles += 1
    operation.prepare(scene, target)
    ended = mishap(attempt)
    scene.tally.interrupted += ended.code != 0
    _check_ending(attempt, ended)
    scene.check_search(attempt.chance.choice(MODES), attempt.chance.choice(QUESTIONS))
    usual = attempt.counted()
    content = _content(attempt)
    if content is not None:
        scene.compare(target, content, asker)
    scene.check_leftovers()
    scene.check_doctor()
    return attempt.then(usual)


def _check_ending(attempt: Attempt, ended: Ended) -> None:
    """Whoever was refused or killed has the old state; or, killed at the end, the new one."""
    tally, target = attempt.scene.tally, attempt.target
    if not (ended.killed or ended.clean):
        tally.report(Harm.UNCLEAN, str(ended))
    content = _content(attempt)
    if content is None:
        return
    seen = attempt.scene.edition_of(content)
    if seen is None:
        tally.report(Harm.HALF, f"neither old nor new is what is stored: {ended}")
    elif ended.code == 0 and seen is not target:
        tally.report(Harm.LOST, f"it was done, and is not there: {ended}")
    elif ended.code and not ended.killed and seen is target:
        tally.report(Harm.UNCLEAN, f"it was refused, and is there: {ended}")


def _content(attempt: Attempt) -> Content | None:
    try:
        return attempt.operation.content(attempt.scene)
    except (SurefindError, AssertionError) as error:
        attempt.scene.tally.report(Harm.HALF, f"what readers see can't be read: {error!r}")
        return None
