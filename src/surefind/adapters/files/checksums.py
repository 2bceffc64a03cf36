"""Checksums of immutable files, to detect damage when they are read.

A checksum list is stored with the files. It protects itself like every JSON file here: its last
key, `checksum`, covers all bytes before it. Earlier surefind versions wrote no checksums.

CRC-32 is enough because it has to detect accidents, not attacks; it runs at 1.7 GB/s. Blocks of
zeros are skipped, so filling the holes of a sparse file does not change its checksum.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from surefind.adapters.files.data_folder import MANIFEST, write_atomically
from surefind.errors import StoreChanged
from surefind.model import Chunk
from surefind.ports import ReadBytes, VerifiedFiles

CHECKED_ON_OPEN_BYTES = 32 * 2**20
"""How much a reader verifies on open: about 20 ms, and all data of most generations."""

_BLOCK = 2**16
_ZEROS = bytes(_BLOCK)
_ZEROS_PER_BYTE = 8
_MARK = b',\n  "checksum": "'
_HEAL = (
    "`surefind ingest` rebuilds it from the sources, `surefind generations rollback` returns "
    "to an earlier generation"
)
HEAL_INDEX = f"`surefind doctor --repair` rebuilds it from the catalog, or {_HEAL}"
_REBUILD = (
    "`surefind ingest --rebuild` rebuilds it, `surefind generations rollback` returns to an "
    "earlier generation"
)


def damaged(what: object, why: str, heal: str = _HEAL) -> StoreChanged:
    return StoreChanged(f"{what} is damaged ({why}); {heal}")


def check_text(chunk: Chunk, where: str) -> None:
    """Raise StoreChanged if the chunk's text does not match its hash."""
    if hashlib.sha256(chunk.text.encode()).hexdigest() != chunk.content_hash:
        raise damaged(f"{where}: chunk {chunk.id}", "its text does not match its hash", _REBUILD)


def with_checksum(json_object: str) -> str:
    """The JSON object with a final key that holds the checksum of the preceding bytes."""
    before = json_object.rstrip().removesuffix("}").rstrip()
    mark = _MARK.decode()
    return f'{before}{mark}{zlib.crc32(before.encode()):08x}"\n}}\n'


def has_checksum(content: bytes, what: object, heal: str = _HEAL) -> bool:
    """Whether there is a checksum; StoreChanged if it does not match."""
    before, mark, found = content.rpartition(_MARK)
    if mark and found != f'{zlib.crc32(before):08x}"\n}}\n'.encode():
        raise damaged(what, "its checksum does not match", heal)
    return bool(mark)


class Checksums:
    """The checksums of every file below a folder, or of a single file."""

    def __init__(self, root: Path, listed: Path, heal: str = _HEAL) -> None:
        """`listed` is the checksum list, which is outside the folder or file `root`.

        The manifest next to it says whether the list must exist. `heal` ends each error message: it
        names the commands that repair the damage.
        """
        self._root = root
        self._listed = listed
        self._heal = heal

    def write(self) -> None:
        """Record the checksums of the current files."""
        files = {
            name: [path.stat().st_size, f"{_content(path).crc:08x}"]
            for name, path in self._present()
        }
        write_atomically(self._listed, with_checksum(json.dumps({"files": files}, indent=1)))

    def drop(self) -> None:
        self._listed.unlink(missing_ok=True)

    def verify(
        self, limit_bytes: int | None = None, read: ReadBytes | None = None
    ) -> VerifiedFiles | None:
        """Raise StoreChanged if a file differs from what was written; None if there is no list.

        All sizes are compared first, then contents, starting with the smallest files: they are the
        metadata, and damaged metadata can crash the engine and the process. It stops after
        `limit_bytes`; blocks of zeros count one eighth.
        """
        report = read or _ignore
        expected = self._expected()
        if expected is None:
            return None
        sizes = {name: self._stored_bytes(name, size) for name, (size, _) in expected.items()}
        files = total = 0
        left: float = math.inf if limit_bytes is None else limit_bytes
        for name in sorted(expected, key=sizes.__getitem__):
            if sizes[name] > _ZEROS_PER_BYTE * left:
                break
            path = self._path(name)
            try:
                found = _content(path, report, left)
            except OSError as error:
                raise self._damaged(path, f"it can't be read: {error.strerror or error}") from error
            if found.cost > left:
                break
            if f"{found.crc:08x}" != expected[name][1]:
                raise self._damaged(path, "its checksum does not match")
            files, total, left = files + 1, total + sizes[name], left - found.cost
        return VerifiedFiles(files, total)

    def _expected(self) -> dict[str, tuple[int, str]] | None:
        path = self._listed
        try:
            content = path.read_bytes()
            if not has_checksum(content, path, self._heal):
                raise self._damaged(path, "it has no checksum")
            held = json.loads(content)["files"]
            return {name: (int(size), str(crc)) for name, (size, crc) in held.items()}
        except FileNotFoundError as error:
            if path.name in _lists_named_in(path.with_name(MANIFEST)):
                raise self._damaged(path, "it is missing") from error
            return None
        except OSError as error:
            raise self._damaged(path, f"it can't be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(path, "it is not a checksum list") from error

    def _damaged(self, path: Path, why: str) -> StoreChanged:
        return damaged(path, why, self._heal)

    def _present(self) -> Iterator[tuple[str, Path]]:
        if self._root.is_file():
            yield "", self._root
            return
        for path in sorted(self._root.rglob("*")):
            if path.is_file():
                yield path.relative_to(self._root).as_posix(), path

    def _path(self, name: str) -> Path:
        return self._root / name if name else self._root

    def _stored_bytes(self, name: str, size: int) -> int:
        """The number of allocated bytes, which is small for a sparse file."""
        path = self._path(name)
        try:
            found = path.stat()
        except OSError as error:
            raise self._damaged(path, error.strerror or str(error)) from error
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            raise self._damaged(path, f"it should be a file of {size} bytes")
        return min(size, found.st_blocks * 512)


def lists_beside(manifest: Path) -> tuple[str, ...]:
    """The checksum lists in a generation's folder, to record in its manifest."""
    return tuple(sorted(path.name for path in manifest.parent.glob("*.checksums")))


def _lists_named_in(manifest: Path) -> Collection[str]:
    """The lists named in the manifest; none if it is missing or damaged."""
    try:
        return frozenset(json.loads(manifest.read_bytes()).get("checksums", ()))
    except (OSError, ValueError, TypeError, AttributeError):
        return ()


class _Content(NamedTuple):
    """`cost` is the number of bytes read, with blocks of zeros counted as one eighth."""

    crc: int
    cost: float


def _ignore(_bytes: int) -> None:
    pass


def _content(path: Path, read: ReadBytes = _ignore, limit_bytes: float = math.inf) -> _Content:
    """The checksum of what was read before the cost exceeded the limit."""
    with path.open("rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        crc, offset, cost = zlib.crc32(b"%d" % size), 0, 0.0
        while (offset := _next_data(stream.fileno(), offset)) < size and cost <= limit_bytes:
            block = stream.read(_BLOCK)
            while len(block) < _BLOCK and (more := stream.read(_BLOCK - len(block))):
                block += more
            if not block:
                raise OSError(errno.EIO, "it was truncated during reading")
            if block == _ZEROS[: len(block)]:
                cost += len(block) / _ZEROS_PER_BYTE
            else:
                crc = zlib.crc32(block, zlib.crc32(b"%d" % offset, crc))
                cost += len(block)
            offset += len(block)
            read(len(block))
        return _Content(crc, cost)


def _next_data(descriptor: int, offset: int) -> int:
    """Seek to the next block that is not a hole, and return its offset."""
    try:
        found = os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # the rest is a hole
            return os.lseek(descriptor, 0, os.SEEK_END)
        raise
    return os.lseek(descriptor, found - found % _BLOCK, os.SEEK_SET)
