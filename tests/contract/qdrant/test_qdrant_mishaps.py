"""What a Qdrant server does to a generation while it is built or read, and what becomes of it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from contract.embedders.rude_server import PROBE, Opened
from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, build, entries
from support.fakes import record
from support.qdrant.service import BROKEN, SILENT, Service, Trouble
from surefind.adapters.qdrant.server.index_writer import AT_ONCE, BYTES_PER_PART, POINTS_PER_PART
from surefind.errors import (
    StoreChanged,
    StoreError,
    StoreRefused,
    StoreUnreachable,
)
from surefind.ports import DenseQuery, IndexWriter, SparseQuery

# --- building ---------------------------------------------------------------------------------


async def test_an_upload_that_fails_is_reported_at_the_latest_when_it_ends(
    service: Service,
) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.always = replace(BROKEN, on="PUT .*/points")
        await writer.upsert(entries(TEXTS))
        with pytest.raises(StoreUnreachable, match="500"):
            await writer.finish()
        await writer.abandon()
        service.always = None
        await store.drop(ONE)
    assert service.collections == {}


async def build_on(writer: IndexWriter) -> int:
    await writer.upsert(entries(TEXTS))
    return await writer.finish()


async def test_a_collection_that_is_deleted_while_it_is_built(service: Service) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.delete("docs--0001")
        with pytest.raises(
            StoreChanged, match="has no collection docs--0001; run `surefind ingest`"
        ):
            await build_on(writer)
        await writer.abandon()


async def test_what_was_begun_can_be_let_go_of_at_any_moment(service: Service) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.always = replace(SILENT, on="PUT .*/points")
        await writer.upsert(entries(TEXTS))
        await asyncio.sleep(0.01)
        await writer.abandon()
        await store.drop(ONE)
    assert service.collections == {}


async def test_points_travel_in_bounded_parts_several_at_a_time(service: Service) -> None:
    large = "x" * (BYTES_PER_PART // 2 + 1)
    many, long = entries([f"passage {n}" for n in range(600)]), entries([large] * 3)
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.requests.clear()
        service.most_at_once = 0
        service.always = Trouble(delay_s=0.05, on="PUT .*/points")
        await writer.upsert(many)
        await writer.upsert(long)
        await writer.finish()
    sizes = [len(r.body["points"]) for r in service.requests if r.line.endswith("/points")]
    assert sorted(sizes) == [1, 1, 1, 600 - 2 * POINTS_PER_PART, POINTS_PER_PART, POINTS_PER_PART]
    assert 1 < service.most_at_once <= AT_ONCE


async def test_the_server_is_given_time_to_index_and_no_more_than_that(service: Service) -> None:
    opened = Opened(service.url, indexing_timeout_s=0.05)
    async with opened.store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.collections["docs--0001"].status = "yellow"
        with pytest.raises(StoreUnreachable, match=r"still indexing docs--0001 after 0\.05 s"):
            await writer.finish()


async def test_a_server_that_can_not_index_says_so(service: Service) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.collections["docs--0001"].status = "red"
        with pytest.raises(StoreError, match="could not index docs--0001"):
            await writer.finish()


async def test_a_server_that_waits_for_a_word_to_begin_is_given_it(service: Service) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        held = service.collections["docs--0001"]
        change: Callable[[Any], None] = held.change

        def begin(wanted: Any) -> None:
            held.status = "grey" if "hnsw_config" in wanted else None
            change(wanted)

        held.change = begin  # type: ignore[method-assign]
        assert await writer.finish() == 0


async def test_the_graph_is_put_off_until_all_points_are_there(service: Service) -> None:
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        assert service.collections["docs--0001"].config["hnsw_config"]["m"] == 0
        await writer.upsert(entries(TEXTS))
        await writer.finish()
        assert service.collections["docs--0001"].config["hnsw_config"]["m"] == 16


# --- reading ----------------------------------------------------------------------------------


async def test_the_probes_of_a_search_are_one_round_trip(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.requests.clear()
        words = entries(TEXTS)[0].terms
        answers = await index.search([PROBE, SparseQuery(words, 3), DenseQuery(PROBE.vector, 0)])
        assert [len(answer.points) for answer in answers] == [3, 3, 0]
        assert [request.line for request in service.requests] == [
            "POST /collections/docs--0001/points/query/batch"
        ]


async def test_fewer_answers_than_questions_are_an_error(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.troubles = [Trouble(body='{"result": [], "status": "ok", "time": 0}')]
        with pytest.raises(StoreError, match="answered 0 of 1 queries"):
            await index.search([PROBE])


async def test_a_payload_that_somebody_changed_is_not_a_chunk_of_ours(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        ids = [record(0).chunk.point_id]
        service.collections["docs--0001"].set_payload(
            {"points": [str(ids[0])], "payload": {"position": "first"}}
        )
        index = await store.open(ONE)
        with pytest.raises(StoreError, match="surefind did not write the payload"):
            await index.payloads(ids)


async def test_an_alias_that_can_not_be_moved_is_reported_and_nothing_else(
    service: Service,
) -> None:
    opened = Opened(service.url)
    async with opened.store() as store:
        await build(store, ONE, entries(TEXTS))
        service.always = replace(BROKEN, on="POST /collections/aliases")
        await store.published(ONE)
    assert len(opened.told) == 1
    assert "the alias docs was not moved to docs--0001" in opened.told[0]


async def test_before_1_16_the_mark_is_an_index(service: Service) -> None:
    service.version = "1.15.4"
    async with Opened(service.url).store() as store:
        assert await build(store, ONE, entries(TEXTS)) == 5
        assert "metadata" not in service.collections["docs--0001"].config
        index = await store.open(ONE)
        assert await index.count() == 5
        other = Opened(service.url)
        other.owner = _someone_else  # type: ignore[method-assign]
        async with other.store() as foreign:
            with pytest.raises(StoreRefused, match="another installation or program created"):
                await foreign.open(ONE)
        await store.drop(ONE)
    assert service.collections == {}


async def _someone_else() -> str:
    return "d" * 32
