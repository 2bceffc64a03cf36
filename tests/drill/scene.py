"""A collection with readers on it, and what must hold for them after each mishap."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from drill.editions import (
    MANY,
    MODES,
    QUESTIONS,
    Answers,
    Asker,
    Content,
    Edition,
    Reference,
    answer_of,
    archived,
    same_answer,
    stored,
)
from drill.shim import Shim
from drill.table import Harm, Tally
from support.commands import serving, start, warm

LIMIT_S = 120
FOLLOWS_S = 15  # a server may look for a new generation in the database once a second
_KILLED = -9
_PAUSE_S = 0.03


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command came to its end; `code` is None where it had to be stopped."""

    command: str
    code: int | None
    output: str
    errors: str

    @property
    def killed(self) -> bool:
        return self.code == _KILLED

    @property
    def clean(self) -> bool:
        """It was done, or refused with a reason and the exit code for it."""
        if self.code == 0:
            return "Traceback" not in self.errors
        return self.code in {2, 4} and bool(
            re.search(r"^surefind: error: \S", self.errors, re.MULTILINE)
        )

    def __str__(self) -> str:
        return f"`surefind {self.command}` ended with {self.code}: {self.errors.strip()[-400:]}"


@dataclass
class Scene:
    """`environment` says which stores readers look at: none for those of the data folder."""

    folder: Path
    shim: Shim
    references: dict[Edition, Reference]
    environment: dict[str, str]
    tally: Tally
    generations: dict[Edition, int] = field(default_factory=dict)

    @property
    def docs(self) -> Path:
        return self.folder / "docs"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def archive(self) -> Path:
        return self.folder / "out" / "docs.surefind"

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        return start(
            *arguments,
            "--data-dir",
            self.data,
            cwd=self.folder,
            command=warm(str(self.shim.library)),
            **environment,
        )

    def run(self, *arguments: str | Path, **environment: str) -> Ended:
        return self.end_of(self.start(*arguments, **environment), *arguments)

    def end_of(
        self, process: subprocess.Popen[str], *arguments: str | Path, limit_s: float = LIMIT_S
    ) -> Ended:
        code: int | None
        try:
            output, errors = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate(timeout=LIMIT_S)
            code = None
        return Ended(" ".join(map(str, arguments)), code, output, errors)

    def stored(self) -> Content:
        names = {"DATABASE_URL": "database_url", "QDRANT_URL": "qdrant_url"}
        settings = {
            names.get(name, name.removeprefix("SUREFIND_").lower()): value
            for name, value in self.environment.items()
        }
        return stored(self.data, **settings)

    def archived(self) -> Content:
        return archived(self.archive)

    def edition_of(self, content: Content) -> Edition | None:
        """None for a mixture."""
        found = [name for name, known in self.references.items() if known.content.same(content)]
        return found[0] if found else None

    def search(self, mode: str, question: str, **environment: str) -> Ended:
        """By a process that has just been started."""
        options = ("--mode", mode, "--top-k", str(MANY), "--collapse", "off", "--json")
        return self.run("search", question, *options, **self.environment, **environment)

    def check_search(self, mode: str, question: str) -> None:
        ended = self.search(mode, question)
        if ended.code == 0:
            self.check_answer(ended, mode, question)
        else:
            self.tally.report(Harm.LOST, str(ended))

    def check_answer(self, ended: Ended, mode: str, question: str) -> None:
        if not self.is_right(ended, mode, question, *Edition):
            self.tally.report(Harm.HALF, f"`{ended.command}` found neither old nor new")

    def is_right(self, ended: Ended, mode: str, question: str, *editions: Edition) -> bool:
        """It found what is in one of the editions, whole."""
        answer = answer_of(json.loads(ended.output))
        known = [self.references[edition].answers[mode, question] for edition in editions]
        return any(same_answer(answer, other) for other in known)

    def compare(self, target: Edition, content: Content, asker: Asker) -> None:
        """All that is stored, and soon all that is answered, is what a fresh build has and says."""
        reference = self.references[target]
        if not reference.content.same(content):
            self.tally.report(Harm.DIFFERENT, f"what is stored is not the {target} edition")
        deadline = time.monotonic() + FOLLOWS_S
        while different := self._answered_otherwise(reference.answers, asker):
            if time.monotonic() > deadline:
                self.tally.report(Harm.DIFFERENT, f"the server answers otherwise: {different}")
                break
            time.sleep(_PAUSE_S)

    def _answered_otherwise(self, wanted: Answers, asker: Asker) -> list[tuple[str, str]]:
        found = asker.all()
        return [asked for asked in wanted if not same_answer(wanted[asked], found[asked])]

    def check_leftovers(self) -> None:
        """After a run that was done, there is nothing of those that were not."""
        parts = [path for path in self.data.glob("collections/*/[0-9]*") if path.is_dir()]
        left = [path for path in parts if not (path / "manifest.json").exists()]
        left += [path for path in self.folder.rglob(".*") if path.is_file()]
        if left:
            names = [str(path.relative_to(self.folder)) for path in left]
            self.tally.report(Harm.HALF, f"left behind: {', '.join(names)}")

    def check_doctor(self) -> None:
        ended = self.run_doctor()
        if ended.code != 0:
            self.tally.report(Harm.DIFFERENT, f"{ended} {ended.output}")

    def run_doctor(self, *options: str) -> Ended:
        return self.run("doctor", *options, **self.environment)


class Watcher(threading.Thread):
    """Asks a server without end; each answer must be one of the editions', whole."""

    def __init__(self, address: str, scene: Scene) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._scene = scene
        self._over = threading.Event()
        self.answers = 0

    def run(self) -> None:
        asker = Asker(self._address)
        asked = [(mode, question) for mode in MODES for question in QUESTIONS]
        while not self._over.wait(_PAUSE_S):
            mode, question = asked[self.answers % len(asked)]
            try:
                self._check(mode, question, *asker.ask(mode, question))
            except Exception as error:  # noqa: BLE001 - whatever it is, readers saw it
                self._scene.tally.report(Harm.UNCLEAN, f"the server did not answer: {error!r}")
            self.answers += 1

    def _check(self, mode: str, question: str, status: int, body: object) -> None:
        scene = self._scene
        if status != 200:
            scene.tally.report(Harm.UNCLEAN, f"the server said {status}: {str(body)[:300]}")
            return
        answer = answer_of(body)
        known = [reference.answers[mode, question] for reference in scene.references.values()]
        if not any(same_answer(answer, other) for other in known):
            scene.tally.report(Harm.HALF, f"{question!r} ({mode}) had neither old nor new answers")

    def stop(self) -> None:
        self._over.set()
        self.join(LIMIT_S)


@contextmanager
def watched(scene: Scene) -> Iterator[Asker]:
    """A server on what the scene's readers see, asked all the time; an asker for more."""
    arguments = ("--data-dir", scene.data)
    with serving(*arguments, cwd=scene.folder, **scene.environment) as (address, process):
        watcher = Watcher(address, scene)
        watcher.start()
        asker = Asker(address)
        try:
            yield asker
        finally:
            watcher.stop()
            if process.poll() is not None:
                scene.tally.report(Harm.UNCLEAN, f"the server ended with {process.returncode}")
            if any("Traceback" in line for line in process.said):
                scene.tally.report(Harm.UNCLEAN, "".join(process.said)[-1000:])
