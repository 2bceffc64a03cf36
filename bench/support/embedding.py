"""surefind's own embedder for everybody: the same session code, so that vectors are equal.

A passage and a question are embedded the same way; passages by as many threads as surefind uses.
With BENCH_VECTORS, vectors are kept in that file: for measurements that do not measure time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from surefind.adapters.embedders.bge_small import BgeSmallModel
from surefind.adapters.processor import cores
from surefind.ports import Matrix, Vector


class SameEmbedder:
    def __init__(self) -> None:
        self._bge = BgeSmallModel(Path(os.environ["BENCH_MODEL"]))
        self._pool = ThreadPoolExecutor(cores() + 1)
        self._kept = _Kept(os.environ.get("BENCH_VECTORS"))
        self.embedded = 0

    def passages(self, passages: Sequence[str]) -> Matrix:
        self.embedded += len(passages)
        return np.stack(list(self._pool.map(self.query, passages)))

    def query(self, text: str) -> Vector:
        vector = self._kept.read(text)
        if vector is None:
            vector = self._bge.embed(text)
            self._kept.write(text, vector)
        return vector

    def lists(self, passages: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = self.passages(passages).tolist()
        return rows


class _Kept:
    def __init__(self, path: str | None) -> None:
        self._lock = threading.Lock()
        self._connection = None
        if path is not None:
            self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = off")
            self._connection.execute(
                "create table if not exists vectors (text blob primary key, vector blob)"
            )

    def read(self, text: str) -> Vector | None:
        if self._connection is None:
            return None
        with self._lock:
            row = self._connection.execute(
                "select vector from vectors where text = ?", (_key(text),)
            ).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def write(self, text: str, vector: Vector) -> None:
        if self._connection is None:
            return
        with self._lock, self._connection:
            self._connection.execute(
                "insert or ignore into vectors values (?, ?)", (_key(text), vector.tobytes())
            )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
