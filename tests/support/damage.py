"""Damages the files of a store, one at a time: flipped bits, and files cut short, emptied, lost,
replaced by a folder, or exchanged for one another.

    for damage in damages(store, seed=1, per_file=3):
        damage.apply()
        ...  # what does a reader see, does `doctor` find it, does `ingest` heal it?
        damage.undo()

The same folder and seed give the same damages. Bits are flipped in place and leave the modification
time alone, as a failing disk does. Holes of sparse files are not touched: nothing is stored there.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

TRANSIENT = ("views/*", "*.lock", "*.holder")
"""Belong to running processes, and are made again by the next one."""


class Damage(Protocol):
    @property
    def path(self) -> Path:
        """The file that is damaged; of two that are exchanged, the first."""
        ...

    def apply(self) -> None: ...

    def undo(self) -> None:
        """Put back exactly what was there. Without effect before `apply`."""
        ...

    def describe(self) -> str: ...


@dataclass
class FlippedBit:
    path: Path
    offset: int
    bit: int
    _applied: bool = field(default=False, repr=False)

    def apply(self) -> None:
        self._flip()
        self._applied = True

    def undo(self) -> None:
        if self._applied:
            self._flip()
        self._applied = False

    def describe(self) -> str:
        return f"bit {self.bit} of byte {self.offset} of {self.path} is flipped"

    def _flip(self) -> None:
        found = self.path.stat()
        with self.path.open("r+b") as stream:
            stream.seek(self.offset)
            [byte] = stream.read(1)
            stream.seek(self.offset)
            stream.write(bytes([byte ^ 1 << self.bit]))
        os.utime(self.path, ns=(found.st_atime_ns, found.st_mtime_ns))


@dataclass
class LostFile:
    """`leave` replaces a file with its damaged copy, given its path and the file with its bytes."""

    path: Path
    what: str
    leave: Callable[[Path, Path], None]
    _applied: bool = field(default=False, repr=False)

    @property
    def _aside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.set-aside")

    def apply(self) -> None:
        self.path.rename(self._aside)
        self._applied = True
        self.leave(self.path, self._aside)

    def undo(self) -> None:
        if not self._applied:
            return
        if self.path.is_dir():
            shutil.rmtree(self.path)
        self.path.unlink(missing_ok=True)
        self._aside.rename(self.path)
        self._applied = False

    def describe(self) -> str:
        return f"{self.path} is {self.what}"


@dataclass
class ExchangedFiles:
    path: Path
    other: Path
    _applied: bool = field(default=False, repr=False)

    def apply(self) -> None:
        self._exchange()
        self._applied = True

    def undo(self) -> None:
        if self._applied:
            self._exchange()
        self._applied = False

    def describe(self) -> str:
        return f"{self.path} and {self.other} are exchanged"

    def _exchange(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.set-aside")
        self.path.rename(aside)
        self.other.rename(self.path)
        aside.rename(self.other)


def damages(
    folder: Path, seed: int, per_file: int = 3, *, but: Collection[str] = TRANSIENT
) -> Iterator[FlippedBit]:
    """`per_file` flipped bits in each file below `folder`, spread over it.

    `but` holds patterns of files, relative to `folder`, that are skipped.
    """
    for path in files_of(folder, but=but):
        chosen = random.Random(f"{seed} {path.relative_to(folder).as_posix()}")
        for offset in _offsets(path, per_file, chosen):
            yield FlippedBit(path, offset, chosen.randrange(8))


def losses(folder: Path, *, but: Collection[str] = TRANSIENT) -> Iterator[LostFile]:
    """Each file below `folder`: missing, empty, cut to its half, and a folder of its name."""
    for path in files_of(folder, but=but):
        yield LostFile(path, "missing", lambda _path, _aside: None)
        yield LostFile(path, "empty", lambda path, _aside: path.touch())
        yield LostFile(path, "cut to its half", _leave_half)
        yield LostFile(path, "a folder", lambda path, _aside: path.mkdir())


def exchanges(
    one: Path, other: Path, *, but: Collection[str] = TRANSIENT
) -> Iterator[ExchangedFiles]:
    """Files that both folders have under the same relative name, and that differ."""
    for path in files_of(one, but=but):
        partner = other / path.relative_to(one)
        if partner.is_file() and partner.read_bytes() != path.read_bytes():
            yield ExchangedFiles(path, partner)


def files_of(folder: Path, *, but: Collection[str] = TRANSIENT) -> list[Path]:
    """In the order of their names; those without content are left out."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.stat().st_size
        and not any(fnmatch(path.relative_to(folder).as_posix(), pattern) for pattern in but)
    ]


def _leave_half(path: Path, aside: Path) -> None:
    with path.open("wb") as target, aside.open("rb") as source:
        target.write(source.read(aside.stat().st_size // 2))


def _offsets(path: Path, count: int, chosen: random.Random) -> list[int]:
    """Mostly of bytes that are not zero: large files hold more room than data."""
    parts = _stored(path)
    if not parts:
        return []
    full = _full(path, parts, chosen)
    offsets = dict.fromkeys(chosen.sample(full, min(count, len(full))))
    while len(offsets) < min(count, sum(end - start for start, end in parts)):
        start, end = chosen.choice(parts)
        offsets[chosen.randrange(start, end)] = None
    return list(offsets)


def _full(
    path: Path, parts: list[tuple[int, int]], chosen: random.Random, tries: int = 256
) -> list[int]:
    """Some offsets of bytes that are not zero."""
    found: dict[int, None] = {}
    with path.open("rb") as stream:
        for _ in range(tries):
            start, end = chosen.choice(parts)
            offset = chosen.randrange(start, end)
            stream.seek(offset)
            if stream.read(1) != b"\0":
                found[offset] = None
    return list(found)


def _stored(path: Path) -> list[tuple[int, int]]:
    """Where the file has bytes, from and to: all but its holes."""
    parts = []
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        end = 0
        while end < size:
            start = -1
            with suppress(OSError):  # nothing but a hole is left
                start = os.lseek(stream.fileno(), end, os.SEEK_DATA)
            if start < 0:
                break
            end = os.lseek(stream.fileno(), start, os.SEEK_HOLE)
            parts.append((start, end))
    return parts
