"""What is told when a Qdrant server fails, and what is done about it. Always on loopback."""

import asyncio
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from contract.embedders.rude_server import KEY, PROBE, READING_KEY, Opened, fails_with
from contract.indexes.index_contents import DIMENSIONS, ONE, TEXTS, TWO, build, entries
from support.fakes import record
from support.qdrant.http_server import serve
from support.qdrant.service import BROKEN, CUT, SILENT, Service, Trouble
from support.website.certificates import certificate
from surefind.adapters.qdrant.server.calls import FEATURES, OLDEST, QdrantServer, ServerAddress
from surefind.adapters.remote_calls import CallPolicy
from surefind.errors import (
    InputError,
    StoreRefused,
    StoreUnreachable,
)

# --- being there ------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["a-wrong-key-of-somebody", None])
async def test_a_wrong_key(service: Service, key: str | None) -> None:
    opened = Opened(service.url, key=key)
    secret = key or KEY
    await fails_with(
        StoreRefused, r"rejected the API key \(401\); check QDRANT_API_KEY", opened, secret=secret
    )
    assert service.asked("GET /aliases") == 1, "no second try can help"


async def test_a_key_that_may_only_read(service: Service) -> None:
    async with Opened(service.url).store() as writing:
        await build(writing, ONE, entries(TEXTS))
    async with Opened(service.url, key=READING_KEY).store() as store:
        index = await store.open(ONE)
        assert len((await index.search([PROBE]))[0].points) == 3
        with pytest.raises(StoreRefused, match=r"\(403\).*needs write access"):
            await store.create(TWO, DIMENSIONS, None)


LOCKED = "Storage locked: maintenance until noon"


@pytest.mark.parametrize("message", [LOCKED, "Write operations are forbidden"])
async def test_a_server_that_is_locked_against_writes(service: Service, message: str) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        body = json.dumps({"status": {"error": message}})
        service.always = Trouble(403, on=r"^PUT|^POST .*/aliases", body=body)
        with pytest.raises(StoreRefused, match="is locked against writes") as raised:
            await store.create(TWO, DIMENSIONS, None)
        assert message in str(raised.value)
        assert "QDRANT_API_KEY" not in str(raised.value), "it has nothing to do with the key"
        assert service.asked(r"^PUT /collections/docs--0002$") == 1, "no second try can help"
        assert len((await index.search([PROBE]))[0].points) == 3


async def test_a_name_with_a_lock_in_it_is_not_a_lock(service: Service) -> None:
    refusal = "Forbidden: Write access to collection locked is required"
    service.always = Trouble(
        403, on="^GET /aliases", body=json.dumps({"status": {"error": refusal}})
    )
    await fails_with(StoreRefused, r"lacks permission on .* \(403\)", Opened(service.url))


async def test_no_server_at_the_address() -> None:
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
    await fails_with(
        StoreUnreachable, r"host nowhere\.example does not exist; check QDRANT_URL", opened
    )


async def test_an_encrypted_connection_that_fails(service: Service) -> None:
    opened = Opened(service.url.replace("http://", "https://"))
    await fails_with(StoreUnreachable, "TLS connection failed.*https in QDRANT_URL", opened)


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
        named = rf"server at 127.0.0.1:\d+: its certificate is not trusted \({told}.*SSL_CERT_FILE"
        await fails_with(StoreUnreachable, named, Opened(service.url))
        assert service.requests == [], "the key has not been sent to anybody"


async def test_http_where_the_server_speaks_https(tmp_path: Path) -> None:
    with serve(KEY, certificate=certificate(tmp_path)) as service:
        opened = Opened(service.url.replace("https:", "http:"))
        await fails_with(StoreUnreachable, r"the connection broke .*check QDRANT_URL", opened)


@pytest.mark.parametrize(
    "url", ["localhost:6333", "ftp://host", "http://", "qdrant", "http://[::1"]
)
def test_an_invalid_address(url: str) -> None:
    with pytest.raises(InputError, match="QDRANT_URL must be a URL"):
        QdrantServer(ServerAddress(url), CallPolicy(print))


async def test_credentials_in_the_address_are_shown_to_no_one() -> None:
    opened = Opened("http://user:secret-password@127.0.0.1:1")
    await fails_with(StoreUnreachable, "127.0.0.1:1 failed", opened, secret="secret-password")


async def test_a_key_that_travels_in_the_open_is_mentioned() -> None:
    told: list[str] = []
    server = QdrantServer(ServerAddress("http://qdrant.example:6333", KEY), CallPolicy(told.append))
    server._opened()
    await server.close()
    assert told == ["QDRANT_API_KEY is sent unencrypted to qdrant.example; use https"]


async def test_a_server_that_never_answers(service: Service) -> None:
    service.always = SILENT
    opened = Opened(service.url, timeout_s=0.03)
    await fails_with(StoreUnreachable, r"3 times; .* no answer within 0\.03 s", opened)


@pytest.mark.parametrize(
    ("version", "match"),
    [("1.14.1", r"version 1\.14\.1, but surefind needs 1\.15 or newer"), ("dev", "does not say")],
)
async def test_a_server_of_another_time(service: Service, version: str, match: str) -> None:
    service.version = version
    await fails_with(StoreRefused, match, Opened(service.url))


@pytest.mark.parametrize("body", ["<html>welcome</html>", "{}", '{"version": 5}', ""])
async def test_another_server_is_not_taken_for_qdrant(service: Service, body: str) -> None:
    service.always = Trouble(body=body)
    await fails_with(
        StoreUnreachable, "answer can't be parsed; check QDRANT_URL", Opened(service.url)
    )


def test_features_of_newer_servers_are_only_used_on_request() -> None:
    assert {name for name, version in FEATURES.items() if version > OLDEST} == {
        "collection metadata"
    }


# --- failures that pass -----------------------------------------------------------------------

PASSING = {
    "408": Trouble(408),
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
        [found] = await index.search([PROBE])
        points = await index.point_ids(found.points)
        assert points[0] == record(0).chunk.point_id
        assert len(await index.vectors(points)) == 3
        await store.published(ONE)
        assert service.aliases == {"docs": "docs--0001"}
        assert service.troubles == [], "all of them were met"
        service.troubles = [replace(trouble, on="DELETE ")]
        await store.drop(ONE)
    assert service.collections == {}


async def test_a_very_long_retry_after_is_an_error_at_once(service: Service) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.requests.clear()
        service.always = Trouble(429, {"Retry-After": "60"})
        with pytest.raises(StoreUnreachable, match="too many requests"):
            await index.search([PROBE])
        assert len(service.requests) == 1


async def test_a_failure_that_stays_is_reported_with_the_reason_and_not_the_key(
    service: Service,
) -> None:
    async with Opened(service.url).store() as store:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        service.always = BROKEN
        with pytest.raises(
            StoreUnreachable, match="3 times; the last error was: 500 Service"
        ) as raised:
            await index.search([PROBE])
    assert KEY not in f"{raised.value}{raised.value.__cause__}"
