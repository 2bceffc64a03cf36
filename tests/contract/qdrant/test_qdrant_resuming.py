"""An upload into a Qdrant server that dies is gone on with. Always on loopback: much goes wrong."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.indexes.index_contents import DIMENSIONS, ONE, entries
from contract.qdrant.dying_uploads import BEGUN, FIRST, PAGES, POINTS, Home, at, crash, written
from support.fakes import WordEmbedder, record
from support.qdrant.service import CUT, SILENT, Service, Trouble
from surefind.adapters.qdrant.server.schema import CollectionShape
from surefind.errors import EmbeddingError, StoreRefused, StoreUnreachable
from surefind.model import Manifest, Mode
from surefind.services.generations.index_building import both_stores
from surefind.services.generations.transfer import TransferTarget, kept_in, pages_of
from unit.installation import Crash, Installation


@pytest.fixture
def service(keyless: Service) -> Service:
    return keyless


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
            monkeypatch.setattr("surefind.adapters.qdrant.server.calls.WRITE_TIMEOUT_S", 0.05)

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
            await self.receive(1, at(after, crash))
        await self._home.is_gone()

    async def receive(self, number: int, report: Any = lambda _: None) -> Manifest:
        ref, source, home = replace(ONE, number=number), self.source, self._home
        target = TransferTarget(home.index, home.catalogs, home.terms, "test")
        manifest = await source.catalogs.manifest(ref)
        async with both_stores(ref, source.index, source.catalogs) as (index, catalog):
            return await target.receive(
                "docs", manifest, lambda: pages_of(catalog, kept_in(index)), report
            )


@pytest.fixture
async def moving(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Moving]:
    monkeypatch.setattr("surefind.services.generations.transfer._POINTS_AT_ONCE", 8)
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
