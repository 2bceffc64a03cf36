"""A reader's own door into the files of a generation.

A view is a folder of hard links: it costs no time and no room, and its bytes live on when the
generation is removed. Where there can be no links (a data folder that may only be read, another
file system, a disk without room) it is a copy in the temporary folder.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from surefind.adapters.layout import copy_tree, link_tree, storing
from surefind.errors import StoreError

FreeBytes = Callable[[Path], int]

ROOM_BYTES = 72 * 2**20
"""The engine gives each reader a log of 64 MB: all holes, but not every file system knows holes."""


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


class View:
    """`path` is the folder to open. The lock beside it says that its owner lives."""

    def __init__(self, source: Path, views: Path, *, without: str, free: FreeBytes) -> None:
        self._temporary: Path | None = None
        if not _usable(views, free):
            self._temporary = views = _temporary_folder(source, free)
        with storing(views):
            self.path, self._lock = _claim(views)
            try:
                link_tree(source, self.path, without=without)
            except OSError:
                shutil.rmtree(self.path, ignore_errors=True)
                copy_tree(source, self.path)

    def close(self) -> None:
        _clear(self.path, self._lock)
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _usable(views: Path, free: FreeBytes) -> bool:
    try:
        views.mkdir(exist_ok=True)
        _sweep(views)
        return os.access(views, os.W_OK) and free(views) >= ROOM_BYTES
    except OSError:
        return False


def _temporary_folder(source: Path, free: FreeBytes) -> Path:
    size = sum(path.stat().st_blocks * 512 for path in source.rglob("*"))
    place = Path(tempfile.gettempdir())
    if free(place) < ROOM_BYTES + size:
        raise StoreError(
            f"the disk is full: searching needs {(ROOM_BYTES + size) // 2**20} MB for a moment, "
            f"and neither the data folder nor {place} has them; free some space"
        )
    return Path(tempfile.mkdtemp(prefix="surefind-view-"))


def _claim(views: Path) -> tuple[Path, FileLock]:
    """The lock is taken before the folder exists: no sweep can mistake it for a dead one."""
    while True:
        name = uuid4().hex
        lock = FileLock(views / f"{name}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:  # a sweep came between making and taking it
            continue
        return views / name, lock


def _clear(door: Path, lock: FileLock) -> None:
    shutil.rmtree(door, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def _sweep(views: Path) -> None:
    """Remove the views of readers that died: their locks are free."""
    for path in views.glob("*.lock"):
        lock = FileLock(path, timeout=0, thread_local=False)
        try:
            lock.acquire()
        except (Timeout, OSError):
            continue
        _clear(path.with_suffix(""), lock)
