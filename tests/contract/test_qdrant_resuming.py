"""An upload into a Qdrant server that dies is gone on with. Always on loopback: much goes wrong."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contract.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from contract.rude_server import HASTY
from fakes import MemoryCatalogStore, WordEmbedder, record, word_terms
from qdrant_service import CUT, SILENT, Service, Trouble, serve
from surefind.adapters.layout import DataFolder
from surefind.adapters.qdrant_server import QdrantIndexStore
from surefind.adapters.qdrant_server_calls import Place
from surefind.adapters.qdrant_server_schema import CollectionShape
from surefind.adapters.retrying import Conduct
from surefind.bootstrap.stores import index_store
from surefind.errors import EmbeddingError, StoreChanged, StoreError, StoreRefused, StoreUnreachable
from surefind.model import Manifest, Mode
from surefind.ports import Begun, DenseProbe, TermProbe
from surefind.services.building import Progress, both_stores
from surefind.services.moving import Destination, kept_in, pages_of
from surefind.services.reading import Readers
from surefind.settings import load
from unit.installation import Crash, Installation

PAGES = {f"{n:02}.md": f"---\nlevel: {n}\n---\n# Page {n}\n\nall of page {n}" for n in range(40)}
FIRST = "docs--0001"
POINTS = r"PUT .*/points$"
BEGUN = Begun("the same making", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with serve() as service:
        yield service


@pytest.fixture
def service(running: Service) -> Iterator[Service]:
    yield running
    running.forget()


class Home(Installation):
    """With its index in the server; eight chunks travel at a time."""

    def settle(self, service: Service, shape: CollectionShape | None = None) -> "Home":
        self.told: list[str] = []
        self.asks: int | None = None
        self.service = service
        conduct = Conduct(self.told.append, ingesting=HASTY, searching=HASTY)
        self.index = QdrantIndexStore(
            Place(service.url), conduct, self.catalogs.identity, shape, guard=self.require_place
        )
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2
        return self

    async def dies(self, after: int = 24, pages: dict[str, str] | None = None) -> None:
        """Without a word, when so many chunks have been written."""
        with pytest.raises(Crash):
            await self.ingest(pages or PAGES, on_progress=at(after, _crash))
        await self.is_gone()

    async def is_gone(self) -> None:
        """As a process that died: its lines are closed, and what it had sent has arrived."""
        await self.index.close()
        rested = 0
        while rested < 3:
            rested = 0 if self.service.lines else rested + 1
            await asyncio.sleep(0.02)
        self.settle(self.service)

    async def require_place(self) -> None:
        """`asks` are answered, then the place is lost; None for never."""
        if self.asks is not None:
            self.asks -= 1
            if self.asks < 0:
                raise StoreError("the one writer's place was lost")

    async def close(self) -> None:
        await super().close()
        await self.index.close()


def at(done: int, act: Any) -> Any:
    def report(progress: Progress) -> None:
        if progress.stage in {"embedding", "moving"} and progress.done >= done:
            act()

    return report


def _crash() -> None:
    raise Crash


def written(service: Service) -> int:
    """Points that have travelled since the last time this was asked."""
    sent = [one.body for one in service.requests if re.search(POINTS, one.line)]
    service.requests.clear()
    return sum(len(body["points"]) for body in sent if body)


@pytest.fixture
async def home(tmp_path: Path, service: Service) -> AsyncIterator[Home]:
    made = Home(tmp_path / "data").settle(service)
    yield made
    await made.close()


async def test_only_what_is_missing_is_sent_again(home: Home, service: Service) -> None:
    await home.dies(after=24)
    held = (await home.index.begun(ONE), service.collections[FIRST].count({})["count"])
    assert held[0] is not None
    assert 8 <= held[1] <= 24
    written(service)
    report = await home.ingest(PAGES)
    assert (report.published, report.generation, report.index_points) == (True, 1, 40)
    assert written(service) == 40 - held[1]
    assert f"going on with {FIRST}, which an earlier run has left with" in home.told[0]
    assert service.collections[FIRST].config["hnsw_config"]["m"] == 16
    assert service.asked("DELETE ") == 0
    assert len(await home.texts()) == 40
    assert "front_matter" in str(service.collections[FIRST].info()["payload_schema"])


async def test_what_was_gone_on_with_answers_as_if_it_had_been_written_at_once(
    home: Home, service: Service, tmp_path: Path
) -> None:
    await home.dies()
    await home.ingest(PAGES)
    other = Home(tmp_path / "other")
    await other.ingest(PAGES)
    for mode in Mode:
        one = await home.search("page 17", mode=mode)
        two = await other.search("page 17", mode=mode)
        assert [hit.record.chunk for hit in one.hits] == [hit.record.chunk for hit in two.hits]
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in two.hits])
    await other.readers.close()


@pytest.mark.parametrize("trouble", [CUT, Trouble(503), SILENT], ids=["cut", "away", "silent"])
async def test_a_connection_that_breaks_is_gone_on_with_when_it_is_back(
    home: Home, service: Service, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks() -> None:
        service.always = replace(trouble, on=POINTS)
        if trouble.silent:
            monkeypatch.setattr("surefind.adapters.qdrant_server_calls.WRITE_TIMEOUT_S", 0.05)

    with pytest.raises(StoreUnreachable):
        await home.ingest(PAGES, on_progress=at(24, breaks))
    service.always = None
    monkeypatch.undo()
    await home.is_gone()
    held = service.collections[FIRST].count({})["count"]
    assert 0 < held <= 40, "what was cut off is an answer: its points are there"
    written(service)
    report = await home.ingest(PAGES)
    assert (report.published, report.index_points) == (True, 40)
    assert written(service) == 40 - held
    assert list(service.collections) == [FIRST]


async def test_an_embedder_that_fails_leaves_what_was_written(home: Home, service: Service) -> None:
    home.embedder.fail_at = 10
    with pytest.raises(EmbeddingError):
        await home.ingest(PAGES)
    await home.is_gone()
    held = service.collections[FIRST].count({})["count"]
    assert held > 0
    home.embedder.fail_at = None
    written(service)
    assert (await home.ingest(PAGES)).published
    assert written(service) == 40 - held


async def test_pages_that_changed_meanwhile_are_written_and_what_is_gone_goes(
    home: Home, service: Service
) -> None:
    await home.dies(after=40)
    held = service.collections[FIRST].count({})["count"]
    written(service)
    pages = {name: text for name, text in PAGES.items() if name != "01.md"}
    pages["00.md"] = "# Page 0\n\nanother text of page zero"
    report = await home.ingest(pages)
    assert (report.index_points, report.generation) == (39, 1)
    assert written(service) == 1 + 40 - held
    assert (await home.texts())["docs/00.md"] == ["# Page 0\n\nanother text of page zero"]
    assert "docs/01.md" not in await home.texts()


async def test_a_changed_generation_is_gone_on_with_as_well(home: Home, service: Service) -> None:
    """Copied points included: the next generation is made from the one before."""
    await home.ingest(PAGES)
    changed = {**PAGES, **{f"{n:02}.md": f"# Page {n}\n\nnew {n} page" for n in range(36)}}
    await home.dies(after=36, pages=changed)
    held = service.collections["docs--0002"].count({})["count"]
    assert held > 0
    written(service)
    report = await home.ingest(changed)
    assert (report.generation, report.index_points) == (2, 40)
    assert written(service) == 40 - held
    assert (await home.texts())["docs/03.md"] == ["# Page 3\n\nnew 3 page"]


@pytest.mark.parametrize("other", ["weights", "dimensions", "shape", "version"])
async def test_what_another_making_has_left_is_dropped(
    home: Home, service: Service, other: str
) -> None:
    if other == "version":
        service.version = "1.15.4"  # it keeps no mark that would say by what points were made
    await home.dies()
    written(service)
    if other == "weights":
        home.embedder = WordEmbedder(weights="words-2")
    elif other == "dimensions":
        home.embedder = WordEmbedder(dimensions=48)
    elif other == "shape":
        await home.index.close()
        home.settle(service, CollectionShape(quantization="scalar"))
    report = await home.ingest(PAGES)
    assert (report.published, report.index_points) == (True, 40)
    assert written(service) == 40
    assert list(service.collections) == [FIRST]
    assert home.told == []


async def test_what_somebody_else_has_put_there_meanwhile_is_corrected(
    home: Home, service: Service
) -> None:
    """Only in a collection of our own that nobody reads yet."""
    await home.dies(after=40)
    left = service.collections[FIRST]
    tampered = left.scroll({"limit": 1})["points"][0]["id"]
    left.set_payload({"points": [tampered], "payload": {"position": "first"}})
    stranger = entries(["a stranger's text"])[0]
    left.upsert(
        {
            "points": [
                {
                    "id": str(record(77).chunk.point_id),
                    "vector": {"dense": stranger.vector.tolist()},
                    "payload": {},
                }
            ]
        }
    )
    report = await home.ingest(PAGES)
    assert (report.published, report.index_points) == (True, 40)
    assert len(await home.texts()) == 40


async def test_a_half_that_others_read_by_now_is_neither_changed_nor_dropped(
    home: Home, service: Service
) -> None:
    await home.dies()
    held = service.collections[FIRST].count({})
    service.aliases["theirs"] = FIRST
    assert await home.index.begun(ONE) is None
    with pytest.raises(StoreRefused, match="others read the collection"):
        await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    assert service.collections[FIRST].count({}) == held


async def test_a_collection_that_the_server_could_not_index_is_not_gone_on_with(
    home: Home, service: Service
) -> None:
    await home.dies()
    service.collections[FIRST].status = "red"
    assert await home.index.begun(ONE) is None


class Moving:
    """Out of a data folder into the server, eight chunks at a time; an import is the same."""

    def __init__(self, source: Installation, home: Home) -> None:
        self.source = source
        self._home = home

    async def dies(self, after: int) -> None:
        with pytest.raises(Crash):
            await self.receive(1, at(after, _crash))
        await self._home.is_gone()

    async def receive(self, number: int, report: Any = lambda _: None) -> Manifest:
        ref, source, home = replace(ONE, number=number), self.source, self._home
        target = Destination(home.index, home.catalogs, home.terms, "test")
        manifest = await source.catalogs.manifest(ref)
        async with both_stores(ref, source.index, source.catalogs) as (index, catalog):
            return await target.receive(
                "docs", manifest, lambda: pages_of(catalog, kept_in(index)), report
            )


@pytest.fixture
async def moving(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Moving]:
    monkeypatch.setattr("surefind.services.moving._POINTS_AT_ONCE", 8)
    source = Installation(tmp_path / "embedded")
    await source.ingest(PAGES)
    yield Moving(source, home)
    await source.close()


async def test_promoting_is_gone_on_with(home: Home, service: Service, moving: Moving) -> None:
    await moving.dies(after=24)
    held = service.collections[FIRST].count({})["count"]
    assert 0 < held < 40
    written(service)
    moved = await moving.receive(1)
    assert (moved.number, moved.chunks) == (1, 40)
    assert written(service) == 40 - held
    assert await home.texts() == await moving.source.texts()


async def test_a_generation_of_another_content_is_not_gone_on_with_when_moving(
    service: Service, moving: Moving
) -> None:
    await moving.dies(after=32)
    await moving.source.ingest({**PAGES, "00.md": "# Page 0\n\nnew"})
    written(service)
    assert (await moving.receive(2)).chunks == 40
    assert written(service) == 40
    assert list(service.collections) == [FIRST]


async def test_an_ingest_does_not_keep_what_a_move_has_left(
    home: Home, service: Service, moving: Moving
) -> None:
    """The other way round as well: the one knows the whole content beforehand, the other not."""
    await moving.dies(after=24)
    written(service)
    assert (await home.ingest(PAGES)).index_points == 40
    assert written(service) == 40


# --- the writer -------------------------------------------------------------------------------


async def test_a_writer_that_goes_on_deletes_replaces_and_removes(
    home: Home, service: Service
) -> None:
    store = home.index
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    await asyncio.sleep(0)
    await writer._settle()  # type: ignore[attr-defined]
    assert writer.resumable
    await writer.abandon()
    written(service)
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:3]))
    await writer.upsert(entries(["another text"], first=1))
    await writer.delete([record(0).chunk.point_id])
    assert await writer.finish() == 2
    assert written(service) == 1
    index = await store.open(ONE)
    ids = [record(number).chunk.point_id for number in range(5)]
    assert {one.chunk.text for one in (await index.payloads(ids)).values()} == {
        "another text",
        TEXTS[2],
    }


async def test_words_weigh_the_same_after_an_upload_in_two_parts(home: Home) -> None:
    store = home.index
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:2]))
    await writer._settle()  # type: ignore[attr-defined]
    await writer.abandon()
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    assert await writer.finish() == 5
    await build(store, TWO, entries(TEXTS))
    probes: list[DenseProbe | TermProbe] = [TermProbe(word_terms("install the cats"), 5)]
    [resumed] = await (await store.open(ONE)).probe(probes)
    [at_once] = await (await store.open(TWO)).probe(probes)
    assert (resumed.points, resumed.scores) == (at_once.points, at_once.scores)


async def test_indexes_that_were_not_made_in_time_are_made(home: Home, service: Service) -> None:
    """A run may die between the collection and its last index."""
    await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.collections[FIRST].delete_index("url")
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS))
    await writer.finish()
    assert "url" in service.collections[FIRST].info()["payload_schema"]


async def test_a_copy_keeps_the_indexes_of_the_front_matter(home: Home, service: Service) -> None:
    """Of pages that did not change as well: strict servers refuse to filter without."""
    [entry] = entries(TEXTS[:1])
    levelled = replace(entry, record=replace(entry.record, attributes={"level": 3}))
    await build(home.index, ONE, [levelled])
    await build(home.index, TWO, entries(TEXTS[1:2], first=1), ONE)
    before, after = (
        {key for key in service.collections[name].info()["payload_schema"] if "level" in key}
        for name in (FIRST, "docs--0002")
    )
    assert before == after != set()


async def test_a_collection_that_is_deleted_meanwhile_is_told(home: Home, service: Service) -> None:
    await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.delete(FIRST)
    with pytest.raises(StoreChanged, match=f"has no collection {FIRST}"):
        await writer.upsert(entries(TEXTS))
    await writer.abandon()


# --- who has lost the place for writing -------------------------------------------------------


async def test_what_is_copied_stops_when_the_place_is_lost(
    home: Home, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying takes minutes; another run may have published it all meanwhile."""
    monkeypatch.setattr("surefind.adapters.qdrant_server_writer._PAGE", 1)
    await build(home.index, ONE, entries(TEXTS))
    writer = await home.index.create(TWO, DIMENSIONS, ONE, BEGUN)
    home.asks = 2
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await writer.abandon()
    await home.is_gone()
    copied = service.collections["docs--0002"].count({})["count"]
    assert copied <= 2 < len(TEXTS), "those that were under way may have been given up"


@pytest.mark.parametrize("act", ["finish", "delete", "create"])
async def test_nothing_is_removed_once_the_place_is_lost(
    home: Home, service: Service, act: str
) -> None:
    first = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await first.upsert(entries(TEXTS))
    await first.finish()
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    await writer.upsert(entries(TEXTS[:3]))
    acts: dict[str, Callable[[], Awaitable[object]]] = {
        "finish": writer.finish,
        "delete": lambda: writer.delete([record(0).chunk.point_id]),
        "create": lambda: home.index.create(
            ONE, DIMENSIONS, None, replace(BEGUN, making="another")
        ),
    }
    home.asks = 0
    with pytest.raises(StoreError, match="place was lost"):
        await acts[act]()
    await writer.abandon()
    assert service.collections[FIRST].count({})["count"] == len(TEXTS)


async def test_what_is_tried_again_asks_again(home: Home, service: Service) -> None:
    """A server may be away for minutes, and the place with it."""
    writer = await home.index.create(ONE, DIMENSIONS, None, BEGUN)
    service.troubles.append(Trouble(503, on=POINTS))
    home.asks = 1
    await writer.upsert(entries(TEXTS))
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await writer.abandon()
    assert service.collections[FIRST].count({})["count"] == 0


async def test_the_server_is_guarded_by_the_catalog_beside_it(
    service: Service, tmp_path: Path
) -> None:
    class Lost(MemoryCatalogStore):
        async def require_writing(self) -> None:
            raise StoreError("the one writer's place was lost")

    settings = load(data_dir=tmp_path, qdrant_url=service.url)
    store = index_store(settings, DataFolder(tmp_path), Lost(), print)
    writer = await store.create(ONE, DIMENSIONS, None, BEGUN)
    with pytest.raises(StoreError, match="place was lost"):
        await writer.finish()
    await store.close()
