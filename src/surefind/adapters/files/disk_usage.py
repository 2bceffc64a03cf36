"""What takes up space in a data folder."""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from surefind.adapters.files.data_folder import DataFolder
from surefind.errors import StoreFull

_MB = 2**20


def require_free(folder: DataFolder, free_bytes: int, needed_bytes: int) -> None:
    """Asked before what writes through memory maps, which a full disk would kill."""
    if free_bytes < needed_bytes:
        held = usage(folder)
        raise StoreFull(
            f"{folder.root}: the disk has {free_bytes // _MB} MB free and this needs about "
            f"{needed_bytes // _MB} MB. Nothing was changed. Free some space and run it again"
            + (f". The folder holds {'; '.join(held)}" if held else "")
        )


def usage(folder: DataFolder) -> list[str]:
    """Everything that takes a megabyte or more, with what removes it."""
    seen: set[tuple[int, int]] = set()
    current, old = 0, defaultdict[str, dict[int, int]](dict)
    for ref in folder.generations():
        place = folder.generation(ref)
        size = _size(place, seen)
        if _pointer(folder, ref.collection) == ref.number:
            current += size
        elif (place / "manifest.json").exists() or not (place / "catalog.sqlite").exists():
            old[ref.collection][ref.number] = size  # the other ones are being built
    cache, views = folder.root / "cache", folder.root / "views"
    held = [
        (
            sum(sizes.values()),
            (
                f"old generations of {name} ({', '.join(map(str, sorted(sizes)))}), which "
                f"`surefind generations prune --keep 1 --collection {name}` removes"
            ),
        )
        for name, sizes in old.items()
    ]
    held += [
        (_size(cache, seen), f"the embedding cache ({cache}), which may go if you can embed again"),
        (_size(views, seen), "removed generations that a running server still reads; restart it"),
        (current, "what readers see"),
    ]
    return [f"{size / _MB:.0f} MB of {what}" for size, what in held if size >= _MB]


def _pointer(folder: DataFolder, collection: str) -> int | None:
    try:
        return int((folder.collection(collection) / "CURRENT").read_bytes().split()[0])
    except (OSError, ValueError, IndexError):  # damaged: `doctor` says so
        return None


def _size(folder: Path, seen: set[tuple[int, int]]) -> int:
    """On the disk, so holes do not count, and a file with several names counts once."""
    total = 0
    for path in _files(folder):
        try:
            told = path.lstat()
        except OSError:  # it was removed meanwhile
            continue
        if (told.st_dev, told.st_ino) not in seen:
            seen.add((told.st_dev, told.st_ino))
            total += told.st_blocks * 512
    return total


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield Path(place) / name
