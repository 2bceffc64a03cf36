"""Token buckets that the workers of a server share: a small memory-mapped file under a lock."""

import fcntl
import mmap
import os
import struct
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Self

from surefind.ports import Bucket

_SETS = 4096
_WAYS = 4
_SLOT = struct.Struct("<16sdd")
_EMPTY = bytes(16)


class SharedBuckets:
    """Remembers up to 16,384 clients.

    A client's digest chooses one of 4,096 sets with four places each; in a full set, the client
    that was not seen for longest is replaced. The kernel releases the lock of a killed process.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.truncate(self._file, _SETS * _WAYS * _SLOT.size)
        self._memory = mmap.mmap(self._file, _SETS * _WAYS * _SLOT.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._memory.close()
        os.close(self._file)

    def update(self, client: str, change: Callable[[Bucket | None], Bucket]) -> None:
        digest = blake2b(client.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        first = int.from_bytes(digest[:4], "little") % _SETS * _WAYS
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            place, bucket = self._find(digest, first)
            _SLOT.pack_into(self._memory, place, digest, *change(bucket))
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _find(self, digest: bytes, first: int) -> tuple[int, Bucket | None]:
        """The client's place and bucket; or else an empty place, or the least recent one."""
        free, free_since = first * _SLOT.size, float("inf")
        for place in range(first * _SLOT.size, (first + _WAYS) * _SLOT.size, _SLOT.size):
            owner, tokens, at = _SLOT.unpack_from(self._memory, place)
            if owner == digest:
                return place, Bucket(tokens, at)
            since = float("-inf") if owner == _EMPTY else at
            if since < free_since:
                free, free_since = place, since
        return free, None
