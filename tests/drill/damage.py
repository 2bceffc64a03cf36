"""Files rot or vanish: readers get the same answers or a clean error, and the store is healed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from drill.editions import MODES, QUESTIONS, Edition
from drill.scene import Ended, Scene
from drill.table import Harm, Tally
from drill.workshop import Limits, Workshop
from support.damage import Damage, damages, losses
from surefind.errors import SurefindError

Damages = Callable[[Path, int], Iterator[Damage]]


def flips(folder: Path, seed: int) -> Iterator[Damage]:
    return iter(damages(folder, seed, per_file=2))


def lost_files(folder: Path, seed: int) -> Iterator[Damage]:
    return iter(losses(folder))


@dataclass(frozen=True, slots=True)
class Rot:
    """Each damage is done to a store of its own."""

    kind: str
    damages: Damages
    share: float

    @property
    def name(self) -> str:
        return f"damage: {self.kind}"

    def run(self, shop: Workshop, chance: random.Random, limits: Limits) -> Tally:
        tally = Tally(self.name)
        seed = chance.randrange(2**32)
        home = shop.fresh(Edition.OLD)
        numbers = list(range(len(list(self.damages(home / "data", seed)))))
        chance.shuffle(numbers)
        while numbers and limits.allow(tally):
            tally.cycles += 1
            with shop.scene(tally, home=home) as scene:
                damage = list(self.damages(scene.data, seed))[numbers.pop()]
                damage.apply()
                what = damage.describe().replace(str(scene.data), "DATA")
                _Patient(scene, what, chance).examine()
        return tally


FLIPPED_BITS = Rot("flipped bits", flips, 4)
LOST_FILES = Rot("lost files", lost_files, 2)


class _Patient:
    def __init__(self, scene: Scene, what: str, chance: random.Random) -> None:
        self._scene = scene
        self._what = what
        self._asked = (chance.choice(MODES), chance.choice(QUESTIONS))

    def examine(self) -> None:
        troubled = not self._reads_well(expected=False)
        found = self._run("doctor")
        if troubled and found.code == 0 and "doctor --repair" not in found.errors:
            self._report(Harm.SILENT, f"readers get errors, and the doctor finds nothing: {found}")
        if not troubled and found.code == 0:
            return
        self._run("doctor", "--repair", "--yes")
        if self._reads_well(expected=False) and self._run("doctor").code == 0:
            return
        self._run("ingest", self._scene.docs)
        self._reads_well(expected=True)
        healed = self._run("doctor")
        if healed.code != 0:
            self._report(Harm.LOST, f"ingest does not heal it: {healed} {healed.output}")

    def _reads_well(self, *, expected: bool) -> bool:
        """Whether a search and an export were done; what they gave must be right."""
        scene, (mode, question) = self._scene, self._asked
        searched = self._checked(scene.search(mode, question))
        if searched.code == 0 and not scene.is_right(searched, mode, question, Edition.OLD):
            self._report(Harm.SILENT, f"`{searched.command}` has not found what is there")
        exported = self._checked(scene.run("export", scene.archive, "--force"))
        if exported.code == 0:
            self._check_archive()
        ended = [one for one in (searched, exported) if one.code != 0]
        if ended and expected:
            self._report(Harm.LOST, f"it was not healed: {ended[0]}")
        return not ended

    def _check_archive(self) -> None:
        try:
            right = self._scene.references[Edition.OLD].content.same(self._scene.archived())
        except SurefindError as error:
            self._report(Harm.SILENT, f"what was exported can't be read: {error}")
        else:
            if not right:
                self._report(Harm.SILENT, "what was exported is not what was ingested")

    def _run(self, *arguments: str | Path) -> Ended:
        return self._checked(self._scene.run(*arguments))

    def _checked(self, ended: Ended) -> Ended:
        finds = ended.command.startswith("doctor") and ended.code in {1, 4}
        if not ended.clean and not (finds and "Traceback" not in ended.errors):
            self._report(Harm.UNCLEAN, str(ended))
        return ended

    def _report(self, harm: Harm, message: str) -> None:
        self._scene.tally.report(harm, f"{self._what}: {message}")
