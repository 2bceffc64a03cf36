"""Uploads into a Qdrant server that are interrupted, or have lost the write lock.

Always on loopback: much goes wrong.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contract.embedders.rude_server import HASTY
from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from support.fakes import MemoryCatalogStore, record
from support.qdrant.service import CUT, SILENT, Service, Trouble
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.index_writer import POINTS_PER_PART
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy
from surefind.bootstrap.stores import index_store
from surefind.errors import StoreChanged, StoreError, StoreRefused, StoreUnreachable
from surefind.services.generations.index_building import Progress
from surefind.services.generations.readers import Readers
from surefind.settings import load
from unit.installation import Installation

PAGES = {f"{n:02}.md": f"---\nlevel: {n}\n---\n# Page {n}\n\nall of page {n}" for n in range(40)}
FIRST = "docs--0001"
POINTS = r"PUT .*/points$"


class Home(Installation):
    """With its index in the server; eight chunks travel at a time."""

    def connect(self, service: Service, write_timeout_s: float = 60.0) -> "Home":
        self.checks_left: int | None = None
        self.service = service
        self.index = QdrantIndexStore(
            ServerAddress(service.url, write_timeout_s=write_timeout_s),
            CallPolicy(print, ingesting=HASTY, searching=HASTY),
            self.catalogs.identity,
            guard=self.require_writing,
        )
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2
        return self

    async def disconnect(self, write_timeout_s: float = 60.0) -> None:
        """As a process that was killed: its connections are closed, what it had sent arrives."""
        await self.index.close()
        rested = 0
        while rested < 3:
            rested = 0 if self.service.lines else rested + 1
            await asyncio.sleep(0.02)
        self.connect(self.service, write_timeout_s)

    async def require_writing(self) -> None:
        """The write lock is lost after `checks_left` checks; None for never."""
        if self.checks_left is not None:
            self.checks_left -= 1
            if self.checks_left < 0:
                raise StoreError("the write lock was lost")

    async def close(self) -> None:
        await super().close()
        await self.index.close()


def points_sent(service: Service) -> int:
    """Since the last call."""
    sent = [one.body for one in service.requests if re.search(POINTS, one.line)]
    service.requests.clear()
    return sum(len(body["points"]) for body in sent if body)


@pytest.fixture
def service(keyless: Service) -> Service:
    return keyless


@pytest.fixture
async def home(tmp_path: Path, keyless: Service) -> AsyncIterator[Home]:
    connected = Home(tmp_path / "data").connect(keyless)
    yield connected
    await connected.close()


# --- interrupted ------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [CUT, Trouble(503), SILENT], ids=["cut", "away", "silent"])
async def test_a_broken_upload_is_repeated_and_nothing_is_embedded_twice(
    home: Home, service: Service, trouble: Trouble
) -> None:
    if trouble.silent:
        await home.disconnect(write_timeout_s=2.0)

    def breaks(progress: Progress) -> None:
        if progress.stage == "embedding" and progress.done >= 24:
            service.always = replace(trouble, on=POINTS)

    with pytest.raises(StoreUnreachable):
        await home.ingest(PAGES, on_progress=breaks)
    service.always = None
    await home.disconnect()
    embedded = len(home.embedder.passages)
    assert embedded > 0
    points_sent(service)
    report = await home.ingest(PAGES)
    assert (report.published, report.generation, report.index_points) == (True, 1, 40)
    assert report.embedded == 40 - embedded
    assert points_sent(service) == 40
    assert list(service.collections) == [FIRST]
    assert len(await home.texts()) == 40


async def test_a_leftover_collection_is_replaced(home: Home, service: Service) -> None:
    leftover = await home.index.create(ONE, DIMENSIONS, None)
    await leftover.upsert(entries(TEXTS))
    await leftover.abandon()
    assert await build(home.index, ONE, entries(TEXTS[:2])) == 2
    assert list(service.collections) == [FIRST]


async def test_a_leftover_that_others_read_by_now_is_neither_changed_nor_removed(
    home: Home, service: Service
) -> None:
    leftover = await home.index.create(ONE, DIMENSIONS, None)
    await leftover.upsert(entries(TEXTS))
    await leftover.abandon()
    held = service.collections[FIRST].count({})
    service.aliases["theirs"] = FIRST
    with pytest.raises(StoreRefused, match=r"the alias .* points to the collection"):
        await home.index.create(ONE, DIMENSIONS, None)
    assert service.collections[FIRST].count({}) == held


async def test_a_copy_keeps_the_indexes_of_the_front_matter(home: Home, service: Service) -> None:
    """Also those of unchanged pages: strict servers refuse to filter without."""
    [entry] = entries(TEXTS[:1])
    levelled = replace(entry, record=replace(entry.record, attributes={"level": 3}))
    await build(home.index, ONE, [levelled])
    await build(home.index, TWO, entries(TEXTS[1:2], first=1), ONE)
    before, after = (
        {key for key in service.collections[name].info()["payload_schema"] if "level" in key}
        for name in (FIRST, "docs--0002")
    )
    assert before == after != set()


async def test_a_collection_that_was_deleted_meanwhile_is_reported(
    home: Home, service: Service
) -> None:
    writer = await home.index.create(ONE, DIMENSIONS, None)
    service.delete(FIRST)
    with pytest.raises(StoreChanged, match=f"has no collection {FIRST}"):
        await writer.upsert(entries(TEXTS))
    await writer.abandon()


# --- a lost write lock ------------------------------------------------------------------------


async def test_copying_stops_when_the_write_lock_is_lost(home: Home, service: Service) -> None:
    """Copying takes minutes; another run may have published everything meanwhile."""
    many = entries([f"passage {number}" for number in range(4 * POINTS_PER_PART)])
    await build(home.index, ONE, many)
    writer = await home.index.create(TWO, DIMENSIONS, ONE)
    home.checks_left = 2
    with pytest.raises(StoreError, match="write lock was lost"):
        await writer.finish()
    await writer.abandon()
    await home.disconnect()
    copied = service.collections["docs--0002"].count({})["count"]
    assert copied <= 2 * POINTS_PER_PART, "requests under way may have been given up"


@pytest.mark.parametrize("act", ["finish", "delete", "create"])
async def test_nothing_is_removed_once_the_write_lock_is_lost(
    home: Home, service: Service, act: str
) -> None:
    first = await home.index.create(ONE, DIMENSIONS, None)
    await first.upsert(entries(TEXTS))
    await first.finish()
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "finish": first.finish,
        "delete": lambda: first.delete([record(0).chunk.point_id]),
        "create": lambda: home.index.create(ONE, DIMENSIONS, None),
    }
    home.checks_left = 0
    with pytest.raises(StoreError, match="write lock was lost"):
        await acts[act]()
    assert service.collections[FIRST].count({})["count"] == len(TEXTS)


async def test_every_retry_checks_the_write_lock(home: Home, service: Service) -> None:
    """A server may be unavailable for minutes, and the lock lost meanwhile."""
    writer = await home.index.create(ONE, DIMENSIONS, None)
    service.troubles.append(Trouble(503, on=POINTS))
    home.checks_left = 1
    await writer.upsert(entries(TEXTS))
    with pytest.raises(StoreError, match="write lock was lost"):
        await writer.finish()
    await writer.abandon()
    assert service.collections[FIRST].count({})["count"] == 0


async def test_the_catalog_guards_writes_to_the_server(service: Service, tmp_path: Path) -> None:
    class Lost(MemoryCatalogStore):
        async def require_writing(self) -> None:
            raise StoreError("the write lock was lost")

    settings = load(data_dir=tmp_path, qdrant_url=service.url)
    store = index_store(settings, DataFolder(tmp_path), Lost(), print)
    writer = await store.create(ONE, DIMENSIONS, None)
    with pytest.raises(StoreError, match="write lock was lost"):
        await writer.finish()
    await store.close()
