"""What is interrupted: each command that changes what readers see, or writes a file for others."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drill.editions import Content, Edition
from drill.scene import Scene

Arguments = tuple[str | Path, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """It takes what it changes from one edition to the other; `content` reads what it changes."""

    name: str
    arguments: Callable[[Scene, Edition], Arguments]
    prepare: Callable[[Scene, Edition], None]
    content: Callable[[Scene], Content] = Scene.stored
    in_servers: bool = False
    fills_disk: bool = True


def _write_pages(scene: Scene, target: Edition) -> None:
    target.write(scene.docs)


def _nothing(scene: Scene, target: Edition) -> None:
    pass


def _show(scene: Scene, target: Edition) -> None:
    """In the data folder, whatever stores the scene is about."""
    ended = scene.run(*_rollback(scene, target))
    assert ended.code == 0, ended


def _rollback(scene: Scene, target: Edition) -> Arguments:
    return ("generations", "rollback", "--to", str(scene.generations[target]))


def _ingest(scene: Scene, target: Edition) -> Arguments:
    return ("ingest", scene.docs)


def _rebuild(scene: Scene, target: Edition) -> Arguments:
    return ("ingest", scene.docs, "--rebuild")


def _import(scene: Scene, target: Edition) -> Arguments:
    return ("import", scene.folder / f"{target}.surefind")


def _export(scene: Scene, target: Edition) -> Arguments:
    return ("export", scene.archive, "--force")


def _promote(scene: Scene, target: Edition) -> Arguments:
    return ("promote", "--to", "qdrant")


OPERATIONS = (
    Operation("ingest", _ingest, _write_pages),
    Operation("rebuild", _rebuild, _write_pages),
    Operation("rollback", _rollback, _nothing),
    Operation("import", _import, _nothing),
    Operation("export", _export, _show, Scene.archived),
    Operation("promote", _promote, _show, in_servers=True),
    Operation("ingest into servers", _ingest, _write_pages, in_servers=True, fills_disk=False),
)
