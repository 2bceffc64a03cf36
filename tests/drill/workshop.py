"""Builds what every mishap starts from: both editions, and what a fresh build of each answers."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from drill.editions import Asker, Edition, Reference, archived, stored
from drill.scene import Scene
from drill.shim import Shim
from drill.table import Tally
from support import postgres as postgres_service
from support.commands import serving
from support.homes import copy_home
from support.postgres import PostgresService
from support.qdrant import http_server as qdrant_http

_SOMEBODYS = ("QDRANT_URL", "QDRANT_API_KEY", "DATABASE_URL", "COHERE_API_KEY", "PORT")
"""Settings of the person who runs the drill."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A mishap is repeated until either is reached."""

    cycles: int
    ends: float

    @classmethod
    def of(cls, cycles: int, seconds: float) -> "Limits":
        return cls(cycles, time.monotonic() + seconds)

    def allow(self, tally: Tally) -> bool:
        """A slow machine runs one cycle of each."""
        in_time = tally.cycles == 0 or time.monotonic() < self.ends
        return tally.cycles < self.cycles and in_time


class Mishap(Protocol):
    """`share` weighs it against others when time is shared out."""

    @property
    def name(self) -> str: ...

    @property
    def share(self) -> float: ...

    def run(self, shop: "Workshop", chance: random.Random, limits: Limits) -> Tally: ...


@dataclass
class Workshop:
    """`home` has the old edition as its first generation, which readers see, and the new one."""

    folder: Path
    shim: Shim
    references: dict[Edition, Reference]
    running: ExitStack

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @cached_property
    def postgres(self) -> PostgresService:
        """Started when it is first asked for."""
        return self.running.enter_context(postgres_service.running())

    def fresh(self, edition: Edition) -> Path:
        """A home that holds that edition alone."""
        return self.folder / f"fresh-{edition}"

    @contextmanager
    def scene(
        self, tally: Tally, *, in_servers: bool = False, home: Path | None = None
    ) -> Iterator[Scene]:
        """A copy of the home, with readers in the data folder or in servers."""
        with ExitStack() as parts, tempfile.TemporaryDirectory(dir=self.folder) as place:
            environment = parts.enter_context(self._servers()) if in_servers else {}
            scene = Scene(Path(place), self.shim, self.references, environment, tally)
            scene.generations = {Edition.OLD: 1, Edition.NEW: 2}
            copy_home((home or self.home) / "data", scene.data)
            Edition.OLD.write(scene.docs)
            scene.archive.parent.mkdir()
            for edition in Edition:
                name = f"{edition}.surefind"
                (scene.folder / name).symlink_to(self.home / name)
            scene.archive.write_bytes((self.home / "old.surefind").read_bytes())
            if in_servers:
                done = scene.run("promote", "--to", "qdrant", **environment)
                assert done.code == 0, done
            yield scene

    @contextmanager
    def _servers(self) -> Iterator[dict[str, str]]:
        with self.postgres.schema() as schema, qdrant_http.serve() as qdrant:
            yield {
                "DATABASE_URL": self.postgres.url,
                "SUREFIND_DATABASE_SCHEMA": schema,
                "QDRANT_URL": qdrant.url,
            }


@contextmanager
def opened() -> Iterator[Workshop]:
    for name in _SOMEBODYS:
        os.environ.pop(name, None)
    # Links to unpublished pages name the server that was asked, so answers would always differ.
    os.environ["SUREFIND_BASE_URL"] = "https://docs.example.com/"
    with tempfile.TemporaryDirectory(prefix="surefind-drill-") as place, ExitStack() as running:
        folder = Path(place).resolve()
        shop = Workshop(folder, Shim.compiled(folder), {}, running)
        for edition in Edition:
            shop.references[edition] = _fresh(shop, edition)
        _build(shop, shop.home, *Edition)
        for edition in Edition:
            found = archived(shop.home / f"{edition}.surefind")
            assert shop.references[edition].content.same(found)
        yield shop


def _fresh(shop: Workshop, edition: Edition) -> Reference:
    """Made from nothing, without even a cache of vectors."""
    home = shop.fresh(edition)
    data = _build(shop, home, edition)
    with serving("--data-dir", data, cwd=home) as (address, _):
        return Reference(stored(data), Asker(address).all())


def _build(shop: Workshop, home: Path, *editions: Edition) -> Path:
    home.mkdir()
    scene = Scene(home, shop.shim, {}, {}, Tally("setting up"))
    for edition in editions:
        edition.write(scene.docs)
        for arguments in (("ingest", scene.docs), ("export", home / f"{edition}.surefind")):
            done = scene.run(*arguments)
            assert done.code == 0, done
    done = scene.run("generations", "rollback", "--to", "1")
    assert done.code == 0, done
    return scene.data
