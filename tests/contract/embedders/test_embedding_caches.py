"""What every embedding cache promises."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.fakes import MemoryCache
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.errors import StoreError
from surefind.model import EmbedderFingerprint
from surefind.ports import EmbeddingCache, Vector

MODEL = EmbedderFingerprint("fake", "words", 3, "w1", "")


def unit(direction: int) -> Vector:
    vector = np.array([1, direction, 0], dtype=np.float32)
    normed: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return normed


class EmbeddingCacheContract:
    @pytest.fixture
    def cache(self) -> EmbeddingCache:
        raise NotImplementedError

    async def test_what_was_written_is_read(self, cache: EmbeddingCache) -> None:
        vectors = {f"passage {n}": np.array([n, 0.5, -1], dtype=np.float32) for n in range(1200)}
        await cache.write(MODEL, "passage", vectors)
        read = await cache.read(MODEL, "passage", [*vectors, "never seen"])
        assert read.keys() == vectors.keys()
        assert all(np.array_equal(read[text], vectors[text]) for text in vectors)

    async def test_nothing_is_shared_between_models_or_input_types(
        self, cache: EmbeddingCache
    ) -> None:
        await cache.write(MODEL, "passage", {"text": np.ones(3, dtype=np.float32)})
        assert not await cache.read(MODEL, "query", ["text"])
        assert not await cache.read(replace(MODEL, weights="w2"), "passage", ["text"])
        assert not await cache.read(replace(MODEL, input_types="q=x"), "passage", ["text"])

    async def test_writing_again_replaces(self, cache: EmbeddingCache) -> None:
        await cache.write(MODEL, "passage", {"text": np.ones(3, dtype=np.float32)})
        await cache.write(MODEL, "passage", {"text": np.zeros(3, dtype=np.float32)})
        assert not (await cache.read(MODEL, "passage", ["text"]))["text"].any()

    async def test_reading_nothing_gives_nothing(self, cache: EmbeddingCache) -> None:
        assert not await cache.read(MODEL, "passage", [])

    async def test_what_was_written_is_whole(self, cache: EmbeddingCache) -> None:
        vectors = {f"passage {n}": np.array([n, 0.5, -1], dtype=np.float32) for n in range(1200)}
        await cache.write(MODEL, "passage", vectors)
        assert await cache.check(repair=False) == (1200, 0)


class TestMemoryCache(EmbeddingCacheContract):
    @pytest.fixture
    def cache(self) -> EmbeddingCache:
        return MemoryCache()


class TestSqliteCache(EmbeddingCacheContract):
    @pytest.fixture
    async def cache(self, tmp_path: Path) -> AsyncIterator[EmbeddingCache]:
        cache = SqliteEmbeddingCache(tmp_path / "cache" / "embeddings.sqlite", print)
        yield cache
        await cache.close()

    async def test_it_outlives_the_process_that_wrote_it(self, tmp_path: Path) -> None:
        path = tmp_path / "embeddings.sqlite"
        first = SqliteEmbeddingCache(path, print)
        await first.write(MODEL, "passage", {"text": np.ones(3, dtype=np.float32)})
        second = SqliteEmbeddingCache(path, print)  # the first never closed, as after a kill
        assert "text" in await second.read(MODEL, "passage", ["text"])
        await first.close()
        await second.close()

    async def test_a_damaged_vector_counts_as_missing(self, tmp_path: Path) -> None:
        path = tmp_path / "embeddings.sqlite"
        cache = SqliteEmbeddingCache(path, print)
        good = np.ones(3, dtype=np.float32)
        await cache.write(MODEL, "passage", {"short": good, "nan": good, "good": good})
        with sqlite3.connect(path) as other:
            keys = [row[0] for row in other.execute("SELECT key FROM embedding ORDER BY rowid")]
            other.execute("UPDATE embedding SET vector = x'00000000' WHERE key = ?", (keys[0],))
            nan = np.full(3, np.nan, dtype=np.float32).tobytes()
            other.execute("UPDATE embedding SET vector = ? WHERE key = ?", (nan, keys[1]))
        other.close()
        assert list(await cache.read(MODEL, "passage", ["short", "nan", "good"])) == ["good"]
        await cache.close()

    async def test_a_vector_that_changed_or_moved_is_found_and_removed(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "embeddings.sqlite"
        cache = SqliteEmbeddingCache(path, print)
        await cache.write(MODEL, "passage", {t: unit(n) for n, t in enumerate("abcd")})
        with sqlite3.connect(path) as other:
            rows = other.execute("SELECT key, vector FROM embedding ORDER BY rowid").fetchall()
            flipped = bytes([rows[0][1][0] ^ 1, *rows[0][1][1:]])
            other.execute("UPDATE embedding SET vector = ? WHERE key = ?", (flipped, rows[0][0]))
            other.execute("UPDATE embedding SET vector = ? WHERE key = ?", (rows[3][1], rows[1][0]))
        other.close()
        assert list(await cache.read(MODEL, "passage", list("abcd"))) == ["c", "d"]
        assert await cache.check(repair=False) == (4, 2)
        assert await cache.check(repair=True) == (4, 2)
        assert await cache.check(repair=False) == (2, 0)
        await cache.close()

    async def test_vectors_of_an_earlier_surefind_are_kept_if_they_have_length_1(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "embeddings.sqlite"
        cache = SqliteEmbeddingCache(path, print)
        await cache.write(MODEL, "passage", {"good": unit(1), "long": unit(2)})
        with sqlite3.connect(path) as other:
            for key, vector in other.execute("SELECT key, vector FROM embedding").fetchall():
                other.execute("UPDATE embedding SET vector = ? WHERE key = ?", (vector[:-8], key))
        other.close()
        assert np.array_equal((await cache.read(MODEL, "passage", ["good"]))["good"], unit(1))
        with sqlite3.connect(path) as other:
            long = (unit(2) * 2).tobytes()
            other.execute("UPDATE embedding SET vector = ? WHERE rowid = 2", (long,))
        other.close()
        assert list(await cache.read(MODEL, "passage", ["good", "long"])) == ["good"]
        assert await cache.check(repair=False) == (2, 1)
        await cache.close()

    async def test_a_damaged_file_is_put_aside_and_said(self, tmp_path: Path) -> None:
        path = tmp_path / "embeddings.sqlite"
        path.write_bytes(b"this is no database, whatever its name says" * 100)
        said: list[str] = []
        cache = SqliteEmbeddingCache(path, said.append)
        await cache.write(MODEL, "passage", {"text": np.ones(3, dtype=np.float32)})
        assert "text" in await cache.read(MODEL, "passage", ["text"])
        assert "damaged" in said[0]
        assert path.with_suffix(".damaged").exists()
        await cache.close()

    async def test_one_that_is_damaged_in_the_middle_is_put_aside_when_it_is_met(
        self, tmp_path: Path
    ) -> None:
        """It opens: only some of its pages are not what they were."""
        path, said = tmp_path / "embeddings.sqlite", list[str]()
        vectors = {f"text {n}": np.full(3, n, dtype=np.float32) for n in range(2000)}
        first = SqliteEmbeddingCache(path, print)
        await first.write(MODEL, "passage", vectors)
        await first.close()
        content = bytearray(path.read_bytes())
        assert len(content) > 20 * 4096
        content[2 * 4096 :] = b"\xff" * (len(content) - 2 * 4096)
        path.write_bytes(content)
        cache = SqliteEmbeddingCache(path, said.append)
        assert said == []
        assert await cache.read(MODEL, "passage", list(vectors)) == {}
        assert "is damaged" in said[0]
        assert path.with_suffix(".damaged").read_bytes() == content
        await cache.write(MODEL, "passage", vectors)
        assert len(await cache.read(MODEL, "passage", list(vectors))) == 2000
        assert len(said) == 1
        await cache.close()

    def test_one_that_can_not_be_opened_is_left_where_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "embeddings.sqlite").mkdir()
        with pytest.raises(StoreError, match=r"can't be opened .*free some space"):
            SqliteEmbeddingCache(tmp_path / "embeddings.sqlite", print)
        assert (tmp_path / "embeddings.sqlite").is_dir()

    async def test_a_failing_database_is_a_store_error(self, tmp_path: Path) -> None:
        cache = SqliteEmbeddingCache(tmp_path / "embeddings.sqlite", print)
        with sqlite3.connect(tmp_path / "embeddings.sqlite") as other:
            other.execute("DROP TABLE embedding")
        other.close()
        with pytest.raises(StoreError, match="embedding cache"):
            await cache.read(MODEL, "passage", ["text"])
        await cache.close()


async def test_checking_a_cache_does_not_create_it(tmp_path: Path) -> None:
    path = tmp_path / "embeddings.sqlite"
    with pytest.raises(StoreError):
        SqliteEmbeddingCache(path, print, read_only=True)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"")
    with pytest.raises(StoreError):
        SqliteEmbeddingCache(path, print, read_only=True)
