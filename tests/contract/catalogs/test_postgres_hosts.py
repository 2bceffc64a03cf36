"""Several hosts of PostgreSQL in one address, and who waits while they are dialled."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from psycopg.conninfo import conninfo_to_dict

from support.catalog_building import ONE, build, manifest
from support.postgres import Line, PostgresService, line_to
from surefind.adapters.postgres.connection import Database, Limits
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.errors import StoreError

Opener = Callable[..., Database]
QUICK = Limits(pool_size=2, connect_timeout_s=20.0, timeout_s=0.3)
NOBODY = "1"  # a port where nothing listens
ASKED = "SELECT 1"


@pytest.fixture
async def opened(schema: str) -> AsyncIterator[Opener]:
    databases: list[Database] = []

    def opener(url: str, limits: Limits = QUICK) -> Database:
        databases.append(Database(url, schema, limits))
        return databases[-1]

    yield opener
    for database in databases:
        await database.close()


@pytest.fixture
async def line(postgres: PostgresService) -> AsyncIterator[Line]:
    async with line_to(postgres) as carried:
        yield carried


def port_of(line: Line) -> str:
    return str(conninfo_to_dict(line.url)["port"])


def address(postgres: PostgresService, *ports: str, **options: str) -> str:
    hosts = ",".join(["127.0.0.1"] * len(ports))
    return postgres.with_options(host=hosts, port=",".join(ports), **options)


async def test_one_of_several_hosts_may_be_unavailable(
    postgres: PostgresService, opened: Opener, line: Line
) -> None:
    """The one that is there is found, to read and to write; if it goes, the next one is."""
    async with line_to(postgres) as other:
        ports = NOBODY, port_of(line), port_of(other)
        patient = replace(QUICK, timeout_s=5.0)  # enough to try all hosts on a busy machine
        wanted = address(postgres, *ports, target_session_attrs="read-write")
        database = opened(wanted, patient)
        store = PostgresCatalogStore(database, 0.0)
        await build(store)
        await store.seal(manifest(ONE))
        await store.point_to(ONE)
        line.away = True
        line.cut()
        assert await store.current("docs") == 1
        other.away = True
        other.cut()
        named = r"at 127\.0\.0\.1:1,127\.0\.0\.1:\d+,.*check that it is up"
        with pytest.raises(StoreError, match=named):
            await store.current("docs")
        await store.close()  # nobody dials on when the lines are taken down


@pytest.mark.parametrize("order", [1, -1], ids=["answering first", "answering last"])
@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("read-write", r"none of its hosts accepts writes now; .*\(session is read-only\)"),
        ("standby", "none of its hosts is a replica now"),
    ],
)
async def test_what_the_host_that_answers_lacks_is_reported_in_any_order(
    postgres: PostgresService, opened: Opener, line: Line, order: int, wanted: str, told: str
) -> None:
    """The other one is away; that nothing listens there is not what has to be mended."""
    ports = [port_of(line), NOBODY][::order]
    reading = {"options": "-c default_transaction_read_only=on"}
    database = opened(address(postgres, *ports, target_session_attrs=wanted, **reading))
    with pytest.raises(StoreError, match=told):
        await database.fetch(ASKED)


@pytest.mark.parametrize("order", [1, -1], ids=["answering first", "answering last"])
async def test_a_refused_password_is_reported_in_any_order(
    postgres: PostgresService, opened: Opener, line: Line, order: int
) -> None:
    database = opened(address(postgres, *[port_of(line), NOBODY][::order], password="guessed"))
    with pytest.raises(StoreError, match="wrong password"):
        await database.fetch(ASKED)


async def test_a_host_that_swallows_everything_leaves_the_next_one_its_time(
    postgres: PostgresService, opened: Opener, line: Line
) -> None:
    """Two seconds are the least that psycopg gives a host: more than one may wait for a place."""
    line.fall_silent()
    async with line_to(postgres) as other:
        url = address(postgres, port_of(line), port_of(other))
        database = opened(url, Limits(connect_timeout_s=1.0, timeout_s=1.0))
        assert await database.fetch(ASKED) == [(1,)]


async def test_the_wait_for_a_place_begins_when_somebody_is_connected(
    opened: Opener, line: Line
) -> None:
    line.fall_silent()
    database = opened(line.url)
    asking = [asyncio.create_task(database.fetch(ASKED)) for _ in range(3)]
    await asyncio.sleep(0.2)
    asking.append(asyncio.create_task(database.fetch(ASKED)))
    await asyncio.sleep(0.2)
    line.speak()
    assert await asyncio.gather(*asking) == [[(1,)]] * 4


async def test_a_slow_connect_is_not_reported_as_a_full_pool(opened: Opener, line: Line) -> None:
    line.fall_silent()
    database = opened(line.url, Limits(connect_timeout_s=0.2, timeout_s=0.1))
    advice = r"connecting took more than 0.2 s; check that it is up, .*database_connect_timeout_s"
    with pytest.raises(StoreError, match=advice):
        await database.fetch(ASKED)
    with pytest.raises(StoreError, match=advice):
        await database.connect()


async def test_a_failed_connect_is_reported_after_waiting_for_others(
    opened: Opener, line: Line
) -> None:
    database = opened(line.url)
    async with database.transaction():
        line.away = True
        with pytest.raises(StoreError, match=r"the connection failed .*check that it is up"):
            await database.fetch(ASKED)


async def test_a_failed_connect_in_place_of_a_lost_connection_is_reported(
    opened: Opener, line: Line
) -> None:
    """The pool is full with the one it lost until a worker of it has tried to connect."""
    database = opened(line.url, replace(QUICK, pool_size=1))
    assert await database.fetch(ASKED) == [(1,)]
    line.away = True
    line.cut()
    with pytest.raises(StoreError, match=r"the connection failed .*check that it is up"):
        await database.fetch(ASKED)


async def test_a_wait_can_be_cancelled_after_a_failed_connect(opened: Opener, line: Line) -> None:
    database = opened(line.url, Limits(timeout_s=20.0))
    async with database.transaction():
        line.away = True
        asking = asyncio.create_task(database.fetch(ASKED))
        await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
