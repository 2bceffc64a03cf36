"""Views: each reader's private folder with the files of a generation.

A view consists of hard links: it takes no time and no space, and its data outlives the generation.
If hard links are not possible (a read-only data folder, another file system, a full disk), it is a
copy in a private folder of the user in the temporary folder.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from surefind.adapters.files.data_folder import copy_tree, link_tree, storing
from surefind.errors import StoreFull

FreeBytes = Callable[[Path], int]

ROOM_BYTES = 72 * 2**20
"""The engine creates a sparse log of 64 MB per reader; not every file system supports holes."""


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


class EdgeView:
    """`path` is the folder to open. The lock file next to it shows that its owner is alive."""

    def __init__(self, source: Path, views: Path, *, without: str, free: FreeBytes) -> None:
        if not _usable(views, free):
            views = _temporary_room(source, free)
        with storing(views):
            self.path, self._lock = _claim(views)
            try:
                link_tree(source, self.path, without=without)
            except OSError:
                shutil.rmtree(self.path, ignore_errors=True)
                copy_tree(source, self.path)

    def close(self) -> None:
        _clear(self.path, self._lock)


def _usable(views: Path, free: FreeBytes) -> bool:
    try:
        views.mkdir(exist_ok=True)
        sweep(views)
        return os.access(views, os.W_OK) and free(views) >= ROOM_BYTES
    except OSError:
        return False


def _temporary_room(source: Path, free: FreeBytes) -> Path:
    """One folder for all readers of a user, so that leftovers of killed ones are removed."""
    place = Path(tempfile.gettempdir())
    room = place / f"surefind-views-{os.getuid()}"
    with suppress(OSError):
        room.mkdir(mode=0o700, exist_ok=True)
    ours = _is_ours(room)
    if ours:
        sweep(room)
    size = sum(path.stat().st_blocks * 512 for path in source.rglob("*"))
    if free(place) < ROOM_BYTES + size:
        raise StoreFull(
            f"the disk is full: a search needs {(ROOM_BYTES + size) // 2**20} MB of temporary "
            f"space in the data folder or in {place}; free some space"
        )
    return room if ours else Path(tempfile.mkdtemp(prefix="surefind-views-"))


def _is_ours(room: Path) -> bool:
    """Other users can create folders there; use only one that is private to this user."""
    try:
        found = room.lstat()
    except OSError:
        return False
    private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700
    return private and found.st_uid == os.getuid()


def _claim(views: Path) -> tuple[Path, FileLock]:
    """Take the lock before creating the folder, so that no sweep removes it."""
    while True:
        name = uuid4().hex
        lock = FileLock(views / f"{name}.lock", timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:  # a sweep locked it first
            continue
        return views / name, lock


def _clear(view: Path, lock: FileLock) -> None:
    shutil.rmtree(view, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def sweep(views: Path) -> None:
    """Remove the views of dead readers, whose locks are free."""
    for path in views.glob("*.lock"):
        lock = FileLock(path, timeout=0, thread_local=False)
        try:
            lock.acquire()
        except (Timeout, OSError):
            continue
        _clear(path.with_suffix(""), lock)
