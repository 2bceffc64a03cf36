"""The layout of a data folder, its locks, and safe writing of its files.

    DATA/format.json                      the layout's version
    DATA/identity                         identifies it to a server that several share
    DATA/ingest.lock, serve.lock          held while the command runs
    DATA/keys.json                        the server's keys, as hashes
    DATA/notices                          the notices that an ingest has shown
    DATA/queries.sqlite                   the query log, if the settings ask for one
    DATA/cache/embeddings.sqlite
    DATA/collections/NAME/CURRENT         the pointer: a generation's number
    DATA/collections/NAME/0001/           a generation: index/, catalog.sqlite, manifest.json
    DATA/collections/NAME/runs/           past validation runs, a file each
    DATA/views/                           the readers' views of generations

A generation without a manifest is unfinished.
"""

import errno
import fcntl
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from filelock import FileLock, Timeout

from surefind.errors import FormatTooNew, InputError, StoreBusy, StoreError, StoreFull
from surefind.model import GenerationRef
from surefind.model.strings import COLLECTION_NAME

FORMAT = 1
MANIFEST = "manifest.json"
FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
FULL = "the disk is full; free some space and run it again. Nothing was published"
_FORMAT_WRITTEN = json.dumps({"format": FORMAT}) + "\n"
_NAME = re.compile(COLLECTION_NAME)


def check_name(collection: str) -> None:
    """Raise InputError if the name is not valid for a collection, in any store."""
    if not _NAME.fullmatch(collection):
        raise InputError(
            f"invalid collection name {collection[:80]!r}; use 1 to 63 of a-z, 0-9, - and _, "
            "starting with a letter or a digit"
        )


class DataFolder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def check_format(self) -> None:
        """Raise FormatTooNew if a newer surefind version wrote it. A missing folder is fine."""
        path = self.root / "format.json"
        try:
            if not path.exists():
                return
        except OSError as error:
            raise InputError(
                f"the data folder {str(self.root)[:200]} can't be read: {error.strerror}; "
                "use another --data-dir"
            ) from error
        try:
            found = int(json.loads(path.read_text())["format"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path} can't be read ({error}); `surefind doctor --repair` restores it"
            ) from error
        if found > FORMAT:
            raise FormatTooNew(
                f"the data folder {self.root} was written by a newer surefind version (format "
                f"{found}; this version supports up to {FORMAT}); upgrade surefind, or use another "
                f"--data-dir. If no newer version wrote there, {path.name} is damaged: remove it"
            )

    def repair_format(self) -> list[str]:
        """Restore the format file and return the repairs. Newer formats remain unchanged."""
        try:
            self.check_format()
        except StoreError:
            path = self.root / "format.json"
            with storing(path):
                if path.is_dir():
                    shutil.rmtree(path)
                write_atomically(path, _FORMAT_WRITTEN)
            return [f"restore {path}"]
        return []

    @property
    def read_only(self) -> bool:
        return self.root.exists() and not os.access(self.root, os.W_OK)

    def prepare(self) -> None:
        """Create the folder and its format file if they are missing."""
        self.check_format()
        if self.read_only:
            raise StoreError(
                f"{self.root} is not writable; change its permissions, or use another --data-dir"
            )
        with storing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            path = self.root / "format.json"
            if not path.exists():
                write_atomically(path, _FORMAT_WRITTEN)

    def first_time(self, notice: str) -> bool:
        """Whether a notice is new to this folder. Remembers it, if the folder can be written."""
        path = self.root / "notices"
        try:
            seen = path.read_text().split() if path.exists() else []
            if notice not in seen:
                write_atomically(path, "".join(f"{name}\n" for name in [*seen, notice]))
        except (OSError, UnicodeDecodeError):
            return True
        return notice not in seen

    def identity(self) -> str:
        """A random id, created on first use; it moves with the folder."""
        path = self.root / "identity"
        try:
            return path.read_text().strip()
        except FileNotFoundError:
            self.prepare()
            with storing(path):
                _write_once(path, f"{uuid4().hex}\n")
            return self.identity()
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} can't be read ({error}); restore it") from error

    def collection(self, name: str) -> Path:
        check_name(name)
        return self.root / "collections" / name

    def generations(self) -> list[GenerationRef]:
        """Every folder with a generation's name, complete or not."""
        return [
            GenerationRef(path.parent.name, int(path.name))
            for path in sorted(self.root.glob("collections/*/[0-9]*"))
            if path.name.isdecimal() and _NAME.fullmatch(path.parent.name)
        ]

    def generation(self, ref: GenerationRef) -> Path:
        return self.collection(ref.collection) / f"{ref.number:04d}"

    @contextmanager
    def held(self, purpose: str) -> Iterator[None]:
        """Lock the folder for one purpose; StoreBusy if another process holds the lock."""
        self.prepare()
        path, holder = self.root / f"{purpose}.lock", self.root / f"{purpose}.holder"
        lock = FileLock(path, timeout=0, thread_local=False)
        with storing(path):
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreBusy(
                    f"another `surefind {purpose}` ({_read(holder)}) is using {self.root}; "
                    "wait for it, stop it, or use another --data-dir"
                ) from error
        try:
            with suppress(OSError):  # informational: a full disk must not stop a server
                holder.write_text(f"process {os.getpid()}, since {datetime.now(UTC):%H:%M:%S} UTC")
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def _read(holder: Path) -> str:
    try:
        return holder.read_text() or "starting"
    except OSError:
        return "starting"


@contextmanager
def storing(where: Path) -> Iterator[None]:
    """Translate OSError into errors that name the next step."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_ERRORS:
            raise StoreFull(f"{where}: {FULL}") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            advice = "it is not writable; change its permissions, or use another --data-dir"
        else:
            reason = error.strerror or str(error)
            advice = f"{reason}; check the disk and this path, or use another --data-dir"
        raise StoreError(f"{where}: {advice}") from error


def write_atomically(path: Path, text: str, mode: int = 0o666) -> None:
    with replacing(path, mode) as stream:
        stream.write(text.encode())
    sync_folder(path.parent)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Replace a file atomically once the new content is on disk.

    Readers see the old file or the new one, even after a power cut.
    """
    with _scratch(path, mode) as (scratch, stream):
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        scratch.replace(path)


def _write_once(path: Path, text: str) -> None:
    """Create the file; if several processes do so at once, the first one wins."""
    with _scratch(path, 0o666) as (scratch, stream):
        stream.write(text.encode())
        stream.flush()
        os.fsync(stream.fileno())
        try:
            os.link(scratch, path)
        except FileExistsError:
            pass
        except OSError:  # no hard links on this file system
            scratch.replace(path)
    sync_folder(path.parent)


@contextmanager
def _scratch(path: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """A locked temporary file; the lock ends with its writer, which shows that it is stale."""
    _sweep_scratches(path)
    while True:
        scratch = path.with_name(f".{path.name}.{uuid4().hex}.part")
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as stream:
            with suppress(OSError):  # without file locks, sweeping is off too
                fcntl.flock(handle, fcntl.LOCK_EX)
            if not os.fstat(handle).st_nlink:  # swept between creating and locking it
                continue
            try:
                yield scratch, stream
            finally:
                scratch.unlink(missing_ok=True)
            return


def _sweep_scratches(path: Path) -> None:
    """Remove temporary files of killed writers."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}\.part")
    for left in path.parent.glob(".*.part"):
        if name.fullmatch(left.name):
            with suppress(OSError), left.open("rb") as stream:  # locked: the writer is alive
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def copy_tree(source: Path, target: Path) -> None:
    """Copy sparse files as sparse: small files of the engine consist mostly of holes."""
    for folder, _, names in os.walk(source):
        made = target / Path(folder).relative_to(source)
        made.mkdir(parents=True, exist_ok=True)
        for name in names:
            copy_sparse(Path(folder) / name, made / name)


def link_tree(source: Path, target: Path, *, without: str) -> None:
    """Hard-link all files: instant, and the data exists until the last link is removed."""
    shutil.copytree(source, target, copy_function=os.link, ignore=shutil.ignore_patterns(without))


def copy_sparse(source: Path, target: Path) -> None:
    """Copy one file and keep its holes."""
    with source.open("rb") as reader, target.open("wb") as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        offset = 0
        while offset < size:
            try:
                offset = os.lseek(reader.fileno(), offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # the rest is a hole
                    return
                raise
            end = os.lseek(reader.fileno(), offset, os.SEEK_HOLE)
            os.lseek(reader.fileno(), offset, os.SEEK_SET)
            os.lseek(writer.fileno(), offset, os.SEEK_SET)
            while offset < end:
                block = os.read(reader.fileno(), min(end - offset, 2**20))
                offset += os.write(writer.fileno(), block)
                os.lseek(reader.fileno(), offset, os.SEEK_SET)


# --- disk usage --------------------------------------------------------------------------------

_MB = 2**20


def require_free(folder: DataFolder, free_bytes: int, needed_bytes: int) -> None:
    """Check before writing through memory maps, which crash on a full disk."""
    if free_bytes < needed_bytes:
        held = _usage(folder)
        raise StoreFull(
            f"{folder.root}: the disk has {free_bytes // _MB} MB free, but about "
            f"{needed_bytes // _MB} MB are needed. Nothing was changed. Free some space and run "
            "it again" + (f". The folder contains {'; '.join(held)}" if held else "")
        )


def _usage(folder: DataFolder) -> list[str]:
    """Everything of a megabyte or more, and how to remove it."""
    seen: set[tuple[int, int]] = set()
    current, old = 0, defaultdict[str, dict[int, int]](dict)
    for ref in folder.generations():
        place = folder.generation(ref)
        size = _size(place, seen)
        if _pointer(folder, ref.collection) == ref.number:
            current += size
        elif (place / "manifest.json").exists() or not (place / "catalog.sqlite").exists():
            old[ref.collection][ref.number] = size  # the others are being built
    cache, views = folder.root / "cache", folder.root / "views"
    held = [
        (
            sum(sizes.values()),
            (
                f"old generations of {name} ({', '.join(map(str, sorted(sizes)))}); "
                f"`surefind generations prune --keep 1 --collection {name}` removes them"
            ),
        )
        for name, sizes in old.items()
    ]
    held += [
        (_size(cache, seen), f"the embedding cache ({cache}), which you can delete and rebuild"),
        (_size(views, seen), "removed generations that a running server still uses; restart it"),
        (current, "current generations"),
    ]
    return [f"{size / _MB:.0f} MB of {what}" for size, what in held if size >= _MB]


def _pointer(folder: DataFolder, collection: str) -> int | None:
    try:
        return int((folder.collection(collection) / "CURRENT").read_bytes().split()[0])
    except (OSError, ValueError, IndexError):  # damaged: `doctor` reports it
        return None


def _size(folder: Path, seen: set[tuple[int, int]]) -> int:
    """Disk usage: holes do not count, and hard-linked files count once."""
    total = 0
    for path in _files(folder):
        try:
            found = path.lstat()
        except OSError:  # removed in the meantime
            continue
        if (found.st_dev, found.st_ino) not in seen:
            seen.add((found.st_dev, found.st_ino))
            total += found.st_blocks * 512
    return total


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield Path(place) / name
