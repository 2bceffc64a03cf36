"""Damage that opening does not read is found in the background, and reported from then on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.damage import Damage, damages
from support.fakes import WordEmbedder
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import EdgeIndexStore
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.errors import StoreChanged
from surefind.model import GenerationRef
from surefind.services.encoding.circuit_breaker import CircuitBreaker
from surefind.services.generations.background_verification import (
    GenerationVerifier,
    VerificationPace,
)
from surefind.services.generations.readers import CollectionReader, Readers
from surefind.services.serving.health import HealthCheck
from unit.installation import PAGES, Installation

AT_ONCE = VerificationPace(delay_s=0)
PATIENCE_S = 60


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    """It compares sizes when it opens a generation, and reads no contents."""
    home = Installation(tmp_path)
    await home.ingest(PAGES)
    keep_open(home, AT_ONCE)
    yield home
    await home.close()


def keep_open(home: Installation, pace: VerificationPace | None) -> None:
    folder = DataFolder(home.root)
    index = EdgeIndexStore(folder, checked_on_open_bytes=0)
    catalogs = SqliteCatalogStore(folder, checked_on_open_bytes=0)
    verifier = pace and GenerationVerifier(index, catalogs, pace)
    home.readers = Readers(index, catalogs, verifier=verifier)


def flipped(home: Installation, name: str) -> Damage:
    generation = home.root / "collections" / "docs" / "0001"
    [damage] = [one for one in damages(generation, seed=1, per_file=1) if one.path.name == name]
    damage.apply()
    return damage


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(100 * PATIENCE_S):
        if holds():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it takes too long")


async def refusal(home: Installation) -> StoreChanged:
    """What searches are told as soon as the damage is found."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await home.search("words")
            except StoreChanged as error:
                return error
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "index", "catalog"),
    [("chunk_0.mmap", False, True), ("catalog.sqlite", False, False)],
)
async def test_damage_that_opening_did_not_read_is_reported_from_the_moment_it_is_found(
    home: Installation, caplog: pytest.LogCaptureFixture, name: str, *, index: bool, catalog: bool
) -> None:
    flipped(home, name)
    assert (await home.search("words")).hits, "opening reads no contents"
    for _ in range(3):
        assert "`surefind ingest` rebuilds it" in str(await refusal(home))
    health = await HealthCheck(home.reader, CircuitBreaker("the embedding service"))()
    assert (health.index, health.catalog) == (index, catalog)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert name in errors[0].message


async def test_a_new_generation_is_read_as_soon_as_it_is_published(home: Installation) -> None:
    flipped(home, "chunk_0.mmap")
    await home.search("words")
    await refusal(home)
    await home.ingest(PAGES)
    check = HealthCheck(home.reader, CircuitBreaker("the embedding service"))
    assert (await check()).index
    assert (await home.search("words")).hits


async def test_a_generation_without_damage_is_read_to_its_end(home: Installation) -> None:
    async with home.reader.lease() as generation:
        verification = generation.verification
        assert verification is not None
        await until(lambda: verification.finished)
        generation.require_sound()


async def test_a_generation_that_was_removed_while_it_was_read_is_not_called_damaged(
    home: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    verifier = GenerationVerifier(home.index, home.catalogs, AT_ONCE)
    reader = CollectionReader("docs", home.index, home.catalogs, verifier=verifier)
    async with reader.lease() as generation, verifier.turn:
        verification = generation.verification
        assert verification is not None
        await home.ingest({**PAGES, "new.md": "# New\n\nmore"})
        await home.generations.prune(keep=1)
    await until(lambda: verification.finished)
    generation.require_sound()
    await reader.close()
    assert not [record for record in caplog.records if record.levelno == logging.ERROR]


def test_closing_ends_the_reading_at_once(tmp_path: Path) -> None:
    """In a loop of its own, since the test waits for all threads of that loop."""

    async def close_while_reading() -> bool:
        home = Installation(tmp_path, WordEmbedder())
        await home.ingest(PAGES)
        keep_open(home, VerificationPace(delay_s=0, share=1e-9, reading_s=0))  # for weeks
        async with home.reader.lease() as generation:
            verification = generation.verification
            assert verification is not None
            await until(lambda: verification.reading)
        async with asyncio.timeout(PATIENCE_S):
            await home.close()
            await asyncio.get_running_loop().shutdown_default_executor()
        return verification.finished

    assert asyncio.run(close_while_reading())


@pytest.mark.parametrize("name", ["chunk_0.mmap", "catalog.sqlite"])
async def test_an_ingest_reads_what_opening_does_not(home: Installation, name: str) -> None:
    folder = DataFolder(home.root)
    home.index = EdgeIndexStore(folder, checked_on_open_bytes=0)
    home.catalogs = SqliteCatalogStore(folder, checked_on_open_bytes=0)
    if name == "catalog.sqlite":  # where an ingest of unchanged pages has no other reason to look
        [path] = home.root.rglob(name)
        path.write_bytes(path.read_bytes().replace(b"run the installer", b"ruN the installer"))
    else:
        flipped(home, name)
    assert (await home.ingest(PAGES)).published, "it is built again, though no page has changed"


@pytest.mark.parametrize("name", ["chunk_0.mmap", "catalog.sqlite"])
async def test_opening_compares_sizes_of_files_that_it_does_not_read(
    home: Installation, name: str
) -> None:
    [path] = (home.root / "collections" / "docs" / "0001").rglob(name)
    with path.open("ab") as stream:
        stream.write(b"\0")
    store = EdgeIndexStore if name == "chunk_0.mmap" else SqliteCatalogStore
    with pytest.raises(StoreChanged, match="it should be a file of"):
        await store(DataFolder(home.root), checked_on_open_bytes=0).open(GenerationRef("docs", 1))
