"""The files of a finished index, in their real size.

The engine creates files of fixed sizes, up to 32 MB, that consist mostly of holes. They take little
space on disk, but `tar`, `cp` and `COPY` of Docker would store every zero. Finished files are never
written to, so their ends can go; before a copy is changed, they come back.
"""

import json
from pathlib import Path

_SIZES = "sizes.json"
"""In the folder of the index: the full sizes of the trimmed files."""
_SPARSE = ("page_*.dat", "chunk_*.mmap")
_SLACK = 2**18
"""More zeros than a vector or a payload ends with."""
_BLOCK = 2**20


def trim(index: Path, vector_bytes: int) -> None:
    """Cut the zeros off the ends of files; those of vectors keep a whole number of them."""
    sizes = {}
    for path in (found for pattern in _SPARSE for found in index.rglob(pattern)):
        size, kept = path.stat().st_size, _end_of_data(path) + _SLACK
        kept += -kept % (vector_bytes if path.suffix == ".mmap" else _SLACK)
        if kept < size:
            sizes[path.relative_to(index).as_posix()] = size
            _resize(path, kept)
    (index / _SIZES).write_text(json.dumps(sizes))


def extend(index: Path) -> None:
    """Give trimmed files the sizes back that the engine created them with."""
    record = index / _SIZES
    if record.exists():  # indexes of earlier versions are not trimmed
        for name, size in json.loads(record.read_bytes()).items():
            _resize(index / name, size)
        record.unlink()


def _end_of_data(path: Path) -> int:
    with path.open("rb") as stream:
        end = path.stat().st_size
        while end:
            start = max(0, end - _BLOCK)
            stream.seek(start)
            if data := stream.read(end - start).rstrip(b"\0"):
                return start + len(data)
            end = start
    return 0


def _resize(path: Path, size: int) -> None:
    with path.open("r+b") as stream:
        stream.truncate(size)
