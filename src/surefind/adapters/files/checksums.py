"""Checksums of files that never change once they are written, so that reading finds damage.

A list of checksums lies beside the files, and guards itself as every JSON file here does: its last
key, `checksum`, is that of all bytes before it. Files and lists of an earlier surefind have none.

Damage is an accident here, not an attack: CRC-32 finds it, at 1.7 GB/s. Blocks of zeros are left
out, so a copy that has filled the holes of a sparse file has the same checksum.
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
"""A reader reads that much again when it opens a generation: some 20 ms, and all of most."""

_BLOCK = 2**16
_ZEROS = bytes(_BLOCK)
_ZEROS_PER_BYTE = 8
_MARK = b',\n  "checksum": "'
_HEAL = (
    "`surefind ingest` builds it again from the sources, `surefind generations rollback` returns "
    "to an earlier generation"
)
HEAL_INDEX = f"`surefind doctor --repair` builds it again from the catalog, or {_HEAL}"
_REBUILD = (
    "`surefind ingest --rebuild` builds it again, `surefind generations rollback` returns to an "
    "earlier generation"
)


def damaged(what: object, why: str, heal: str = _HEAL) -> StoreChanged:
    return StoreChanged(f"{what} is damaged ({why}); {heal}")


def check_text(chunk: Chunk, where: str) -> None:
    """StoreChanged where the chunk's text is not the one that its hash was made of."""
    if hashlib.sha256(chunk.text.encode()).hexdigest() != chunk.content_hash:
        raise damaged(f"{where}: chunk {chunk.id}", "its text does not match its hash", _REBUILD)


def with_checksum(json_object: str) -> str:
    """The same JSON object with one more key at its end, the checksum of what is before it."""
    before = json_object.rstrip().removesuffix("}").rstrip()
    mark = _MARK.decode()
    return f'{before}{mark}{zlib.crc32(before.encode()):08x}"\n}}\n'


def has_checksum(content: bytes, what: object, heal: str = _HEAL) -> bool:
    """Whether it carries one. StoreChanged where it is not that of the content."""
    before, mark, found = content.rpartition(_MARK)
    if mark and found != f'{zlib.crc32(before):08x}"\n}}\n'.encode():
        raise damaged(what, "its checksum does not match", heal)
    return bool(mark)


class Checksums:
    """Those of every file below a folder, or of a single file."""

    def __init__(self, root: Path, listed: Path, heal: str = _HEAL) -> None:
        """`listed` is the list of the checksums; the folder or file `root` does not hold it.

        A manifest beside it says whether there has to be one. `heal` ends each error message: it
        names the commands that repair the damage.
        """
        self._root = root
        self._listed = listed
        self._heal = heal

    def write(self) -> None:
        """Take the files as they are now for what they should be."""
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
        """StoreChanged where a file is not as it was written; None where no list was written.

        The sizes of all are compared, then what is in them, the smallest first: those say where
        everything is, and an engine that is misled by one may take the process with it. It ends
        after `limit_bytes`; room that is all zeros counts as an eighth.
        """
        told = read or _unheard
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
                found = _content(path, told, left)
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
                raise self._damaged(path, "it has no checksum of its own")
            held = json.loads(content)["files"]
            return {name: (int(size), str(crc)) for name, (size, crc) in held.items()}
        except FileNotFoundError as error:
            if path.name in _lists_named_in(path.with_name(MANIFEST)):
                raise self._damaged(path, "it is missing") from error
            return None
        except OSError as error:
            raise self._damaged(path, f"it can't be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(path, "it is no list of checksums") from error

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
        """How many bytes there are to read, which in a sparse file are few."""
        path = self._path(name)
        try:
            found = path.stat()
        except OSError as error:
            raise self._damaged(path, error.strerror or str(error)) from error
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            raise self._damaged(path, f"it should be a file of {size} bytes")
        return min(size, found.st_blocks * 512)


def lists_beside(manifest: Path) -> tuple[str, ...]:
    """The lists of checksums in a generation's folder, for its manifest to name."""
    return tuple(sorted(path.name for path in manifest.parent.glob("*.checksums")))


def _lists_named_in(manifest: Path) -> Collection[str]:
    """None where there is no manifest, or a damaged one: reading it reports that."""
    try:
        return frozenset(json.loads(manifest.read_bytes()).get("checksums", ()))
    except (OSError, ValueError, TypeError, AttributeError):
        return ()


class _Content(NamedTuple):
    """`cost` is how many bytes it took to read, those in blocks of zeros counted as an eighth."""

    crc: int
    cost: float


def _unheard(_bytes: int) -> None:
    pass


def _content(path: Path, read: ReadBytes = _unheard, limit_bytes: float = math.inf) -> _Content:
    """The checksum is that of what was read before the cost exceeded the limit."""
    with path.open("rb", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        crc, offset, cost = zlib.crc32(b"%d" % size), 0, 0.0
        while (offset := _next_data(stream.fileno(), offset)) < size and cost <= limit_bytes:
            block = stream.read(_BLOCK)
            while len(block) < _BLOCK and (more := stream.read(_BLOCK - len(block))):
                block += more
            if not block:
                raise OSError(errno.EIO, "it was cut while it was read")
            if block == _ZEROS[: len(block)]:
                cost += len(block) / _ZEROS_PER_BYTE
            else:
                crc = zlib.crc32(block, zlib.crc32(b"%d" % offset, crc))
                cost += len(block)
            offset += len(block)
            read(len(block))
        return _Content(crc, cost)


def _next_data(descriptor: int, offset: int) -> int:
    """The beginning of the next block that is not a hole, and there the file is read on."""
    try:
        found = os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole is left
            return os.lseek(descriptor, 0, os.SEEK_END)
        raise
    return os.lseek(descriptor, found - found % _BLOCK, os.SEEK_SET)
