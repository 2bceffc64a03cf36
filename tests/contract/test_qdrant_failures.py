"""What is told when a Qdrant server fails, and what is done about it. Always on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certificates import certificate
from contract.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from fakes import WordEmbedder, record
from qdrant_service import BROKEN, CUT, SILENT, Service, Trouble, serve
from surefind.adapters.qdrant_server import QdrantIndexStore
from surefind.adapters.qdrant_server_calls import FEATURES, OLDEST, Place, QdrantServer
from surefind.adapters.qdrant_server_writer import AT_ONCE, POINTS_PER_PART
from surefind.adapters.retrying import Conduct, Patience
from surefind.errors import (
    InputError,
    StoreChanged,
    StoreError,
    StoreRefused,
    StoreUnreachable,
)
from surefind.ports import DenseProbe, IndexWriter, TermProbe

KEY, READING_KEY = "the-key-that-nobody-may-see", "a-key-for-reading"
HASTY = Patience(
    tries=3, first_pause_s=0.001, longest_pause_s=0.01, longest_wait_s=0.5, concurrency=4
)
PROBE = DenseProbe(WordEmbedder(DIMENSIONS)._embed(TEXTS[0]), 3)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Service]:
    """Its answers to failures repeat the key to whoever sent it: as rude as can be."""
    with serve(KEY, READING_KEY) as service:
        yield service


@pytest.fixture
def service(guarded: Service) -> Iterator[Service]:
    yield guarded
    guarded.troubles.clear()
    guarded.always = None
    guarded.version = "1.18.0"
    for name in list(guarded.collections):
        guarded.delete(name)
    guarded.requests.clear()


class Opened:
    def __init__(self, url: str, **options: Any) -> None:
        self.told: list[str] = []
        self.place = Place(url, options.pop("key", KEY), timeout_s=options.pop("timeout_s", 5.0))
        self.conduct = Conduct(self.told.append, ingesting=HASTY, searching=HASTY)
        self.options = options

    async def owner(self) -> str:
        return "c" * 32

    @asynccontextmanager
    async def store(self) -> AsyncIterator[QdrantIndexStore]:
        store = QdrantIndexStore(self.place, self.conduct, self.owner, **self.options)
        try:
            yield store
        finally:
            await store.close()


async def fails_with(
    kind: type[StoreError], match: str, opened: Opened, *, secret: str = KEY
) -> None:
    async with opened.store() as store:
        with pytest.raises(kind, match=match) as raised:
            await store.require_room(0, 0)
    said = f"{raised.value}{raised.value.__cause__}"
    assert secret not in said
    assert type(raised.value) is kind


# --- being there ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["a-wrong-key-of-somebody", None])
async def test_a_wrong_key(service: Service, key: str | None) -> None:
    opened = Opened(service.url, key=key)
    secret = key or KEY
    await fails_with(
        StoreRefused, r"refuses the key \(401\): check QDRANT_API_KEY", opened, secret=secret
    )
    assert service.asked("GET /aliases") == 1, "no second try can help"


async def test_a_key_that_may_only_read(service: Service) -> None:
    async with Opened(service.url).store() as writing:
        await build(writing, ONE, entries(TEXTS))
    async with Opened(service.url, key=READING_KEY).store() as store:
        index = await store.open(ONE)
        assert len((await index.probe([PROBE]))[0].points) == 3
        with pytest.raises(StoreRefused, match=r"\(403\).*one that may write"):
            await store.create(TWO, DIMENSIONS, None)


async def test_nobody_at_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    opened = Opened(f"http://127.0.0.1:{port}")
    await fails_with(
        StoreUnreachable, rf"server at 127.0.0.1:{port} failed 3 times.*check QDRANT_URL", opened
    )


async def test_a_host_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown, raising=False)
    monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", unknown)
    opened = Opened("https://nowhere.example:6333")
    await fails_with(StoreUnreachable, r"no host nowhere\.example; check QDRANT_URL", opened)


async def test_an_encrypted_connection_that_fails(service: Service) -> None:
    opened = Opened(service.url.replace("http://", "https://"))
    await fails_with(StoreUnreachable, "encrypted connection failed.*QDRANT_URL says https", opened)


async def test_a_certificate_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One's own authority is named in the environment, as for other programs."""
    path = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with serve(KEY, certificate=path) as service:
        opened = Opened(service.url)
        async with opened.store() as store:
            await build(store, ONE, entries(TEXTS))
            assert (await store.facts()).version == "Qdrant 1.18.0"
        assert opened.told == []


@pytest.mark.parametrize(
    ("host", "days", "trusted", "told"),
    [
        ("127.0.0.1", 2, False, "self-signed certificate"),
        ("127.0.0.1", -1, True, "certificate has expired"),
        ("127.0.0.2", 2, True, "IP address mismatch"),
    ],
    ids=["untrusted", "expired", "another host's"],
)
async def test_a_certificate_that_can_not_be_trusted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    days: int,
    told: str,
    *,
    trusted: bool,
) -> None:
    path = certificate(tmp_path, host=host, days=days)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with serve(KEY, certificate=path) as service:
        named = (
            rf"server at 127.0.0.1:\d+: its certificate can't be trusted \({told}.*SSL_CERT_FILE"
        )
        await fails_with(StoreUnreachable, named, Opened(service.url))
        assert service.requests == [], "the key has not been sent to anybody"


async def test_http_where_the_server_speaks_https(tmp_path: Path) -> None:
    with serve(KEY, certificate=certificate(tmp_path)) as service:
        opened = Opened(service.url.replace("https:", "http:"))
        await fails_with(StoreUnreachable, r"the connection broke .*check QDRANT_URL", opened)


@pytest.mark.parametrize("url", ["localhost:6333", "ftp://host", "http://", "qdrant"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="QDRANT_URL: it must be an address"):
        QdrantServer(Place(url), Conduct(print))


async def test_credentials_in_the_address_are_told_to_nobody() -> None:
    opened = Opened("http://user:secret-password@127.0.0.1:1")
    await fails_with(StoreUnreachable, "127.0.0.1:1 failed", opened, secret="secret-password")


async def test_a_key_that_travels_in_the_open_is_mentioned() -> None:
    told: list[str] = []
    server = QdrantServer(Place("http://qdrant.example:6333", KEY), Conduct(told.append))
    server._opened()
    await server.close()
    assert told == ["QDRANT_API_KEY goes unencrypted to qdrant.example: use https"]


async def test_a_server_that_never_answers(service: Service) -> None:
    service.always = SILENT
    opened = Opened(service.url, timeout_s=0.03)
    await fails_with(StoreUnreachable, r"3 times, .* no answer within 0\.03 s", opened)


@pytest.mark.parametrize(
    ("version", "match"),
    [("1.14.1", r"version 1\.14\.1, surefind needs 1\.15 or newer"), ("dev", "does not say")],
)
async def test_a_server_of_another_time(service: Service, version: str, match: str) -> None:
    service.version = version
    await fails_with(StoreRefused, match, Opened(service.url))


@pytest.mark.parametrize("body", ["<html>welcome</html>", "{}", '{"version": 5}', ""])
async def test_something_that_is_no_qdrant_server(service: Service, body: str) -> None:
    service.always = Trouble(body=body)
    await fails_with(
        StoreUnreachable, "answer can't be read; check QDRANT_URL", Opened(service.url)
    )


def test_what_needs_a_newer_server_than_the_oldest_is_asked_for() -> None:
    assert {name for name, version in FEATURES.items() if version > OLDEST} == {
        "collection metadata"
    }


# --- failures that pass -----------------------------------------------------------------------

PASSING = {
    "500": BROKEN,
    "503": Trouble(503),
    "cut": CUT,
    "too many": Trouble(429, {"Retry-After": "0"}),
    "too many, by a date": Trouble(429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "too many, no word of when": Trouble(429),
    "done, and the answer lost": Trouble(500, late=True),
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
async def test_a_failure_that_passes_is_outlasted(service: Service, trouble: Trouble) -> None:
    """In every request that an index is made, read and removed with."""
    async with Opened(service.url).store() as store:
        lines = [
            r"GET /$",
            r"PUT /collections/[^/]+$",
            r"PUT .*/index",
            r"PUT .*/points",
            r"PATCH ",
            r"POST .*/count",
            r"GET /collections/[^/]+$",
            r"POST .*/query/batch",
            r"POST .*/points$",
            r"POST /collections/aliases",
        ]
        service.troubles = [replace(trouble, on=line) for line in lines]
        assert await build(store, ONE, entries(TEXTS)) == 5
        index = await store.open(ONE)
        [found] = await index.probe([PROBE])
        assert found.points[0] == record(0).chunk.point_id
        assert len(await index.vectors(found.points)) == 3
        await store.published(ONE)
        assert service.aliases == {"docs": "docs--0001"}
        assert service.troubles == [], "all of them were met"
        service.troubles = [replace(trouble, on="DELETE ")]
        await store.drop(ONE)
    assert service.collections == {}


async def test_a_wait_that_is_longer_than_anybody_has_is_not_waited_for(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.requests.clear()
        service.always = Trouble(429, {"Retry-After": "60"})
        with pytest.raises(StoreUnreachable, match="asked too often"):
            await index.probe([PROBE])
        assert len(service.requests) == 1


async def test_a_failure_that_stays_is_told_with_the_reason_and_not_the_key(
    service: Service,
) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.always = BROKEN
        with pytest.raises(
            StoreUnreachable, match="3 times, the last time with: 500 Service"
        ) as raised:
            await index.probe([PROBE])
    assert KEY not in f"{raised.value}{raised.value.__cause__}"


# --- building ---------------------------------------------------------------------------------


async def test_an_upload_that_fails_is_told_at_the_latest_when_it_ends(service: Service) -> None:
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
        with pytest.raises(StoreChanged, match="has no collection docs--0001; `surefind ingest`"):
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


async def test_points_travel_in_bounded_parts_several_at_a_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    many, long = entries([f"passage {n}" for n in range(600)]), entries(["word " * 3000] * 3)
    async with Opened(service.url).store() as store:
        writer = await store.create(ONE, DIMENSIONS, None)
        service.requests.clear()
        service.most_at_once = 0
        service.always = Trouble(delay_s=0.05, on="PUT .*/points")
        await writer.upsert(many)
        monkeypatch.setattr("surefind.adapters.qdrant_server_writer.BYTES_PER_PART", 40_000)
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
        answers = await index.probe([PROBE, TermProbe(words, 3), DenseProbe(PROBE.vector, 0)])
        assert [len(answer.points) for answer in answers] == [3, 3, 0]
        assert [request.line for request in service.requests] == [
            "POST /collections/docs--0001/points/query/batch"
        ]


async def test_fewer_answers_than_questions_are_no_answer(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.troubles = [Trouble(body='{"result": [], "status": "ok", "time": 0}')]
        with pytest.raises(StoreError, match="answered 0 of 1 queries"):
            await index.probe([PROBE])


async def test_a_payload_that_somebody_changed_is_no_chunk_of_ours(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        ids = [record(0).chunk.point_id]
        service.collections["docs--0001"].set_payload(
            {"points": [str(ids[0])], "payload": {"position": "first"}}
        )
        index = await store.open(ONE)
        with pytest.raises(StoreError, match="not one that surefind wrote"):
            await index.payloads(ids)


async def test_an_alias_that_can_not_be_moved_is_told_and_nothing_else(service: Service) -> None:
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
        other.owner = _somebody_else  # type: ignore[method-assign]
        async with other.store() as foreign:
            with pytest.raises(StoreRefused, match="not made by this installation"):
                await foreign.open(ONE)
        await store.drop(ONE)
    assert service.collections == {}


async def _somebody_else() -> str:
    return "d" * 32
