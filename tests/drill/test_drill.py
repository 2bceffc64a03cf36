"""The short form of `make drill`, with the same mishaps every time: `make check` runs it."""

import random
from collections.abc import Iterator

import pytest

from drill.__main__ import MISHAPS
from drill.damage import Rot
from drill.editions import Edition
from drill.table import Tally
from drill.workshop import Limits, Mishap, Workshop, opened

SEED = 20261118
CYCLES = 2
DAMAGES = 5
LONG_S = 150


@pytest.fixture(scope="session")
def shop() -> Iterator[Workshop]:
    with opened() as built:
        yield built


@pytest.mark.timeout(600)
def test_commands_are_interrupted_where_the_drill_says(shop: Workshop) -> None:
    with shop.scene(Tally("interrupted")) as scene:
        Edition.NEW.write(scene.docs)
        killed = scene.run("ingest", scene.docs, **shop.shim.environment(scene.folder, kill_at=1))
        assert killed.killed
        full = scene.run("ingest", scene.docs, **shop.shim.environment(scene.folder, full_at=1))
        assert (full.code, full.clean) == (4, True)
        done = scene.run("ingest", scene.docs, **shop.shim.environment(scene.folder))
        assert done.code == 0
        assert shop.shim.operations() > 100


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mishap", MISHAPS, ids=lambda mishap: mishap.name)
def test_readers_see_one_whole_state_and_nothing_is_lost(shop: Workshop, mishap: Mishap) -> None:
    cycles = DAMAGES if isinstance(mishap, Rot) else CYCLES
    tally = mishap.run(shop, random.Random(SEED), Limits.of(cycles, LONG_S))
    assert tally.cycles
    assert not tally.findings
