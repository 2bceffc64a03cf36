"""A PostgreSQL that is wrongly named, away, slow, cut off, read-only or not ours to write."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from support.catalog_building import ONE, TWO, build, manifest
from support.fakes import document, record
from support.postgres import Line, PostgresService, line_to
from surefind.adapters.postgres.connection import Database, Limits
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.errors import InputError, StoreError

Opener = Callable[..., PostgresCatalogStore]
QUICK = Limits(pool_size=2, connect_timeout_s=2.0, timeout_s=0.3)
SECRET = "s3cr3t-w0rd"


@pytest.fixture
async def opened(postgres: PostgresService, schema: str) -> AsyncIterator[Opener]:
    stores: list[PostgresCatalogStore] = []

    def opener(url: str | None = None, limits: Limits = QUICK) -> PostgresCatalogStore:
        stores.append(PostgresCatalogStore(Database(url or postgres.url, schema, limits), 0.0))
        return stores[-1]

    yield opener
    for store in stores:
        await store.close()


@pytest.fixture
async def line(postgres: PostgresService, opened: Opener) -> AsyncIterator[Line]:
    """To a server that has something to read."""
    store = opened(limits=Limits())
    await build(store)
    await store.seal(manifest(ONE))
    await store.point_to(ONE)
    async with line_to(postgres) as carried:
        yield carried


# --- never reached ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"port": "1", "host": "127.0.0.1"}, "nothing listens there; start it"),
        ({"host": "/nowhere"}, "nothing listens there; start it"),
        ({"host": "nowhere.invalid"}, "the host does not exist"),
        ({"password": SECRET}, "wrong password; check DATABASE_URL"),
        ({"user": "nobody_knows"}, "check "),
        ({"dbname": "no_such_database"}, "this database does not exist; create it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
async def test_what_cannot_be_reached_is_named_with_the_next_step_and_no_secret(
    postgres: PostgresService, changed: dict[str, str], told: str
) -> None:
    url = postgres.with_options(**{"password": SECRET, **changed})
    if "dbname" in changed:
        url = postgres.with_options(**changed)
    store = PostgresCatalogStore(Database(url, "surefind"))
    try:
        started = time.monotonic()
        with pytest.raises(StoreError, match=told) as caught:
            await store.current("docs")
        assert time.monotonic() - started < 5  # not after the whole wait for a place in the pool
        assert "the catalog in PostgreSQL at" in str(caught.value)
        assert SECRET not in str(caught.value)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("sslmode=verify-full sslrootcert=system", "it does not support TLS; turn ssl on there"),
        ("target_session_attrs=standby", "none of its hosts is a replica now; .*prefer-standby"),
        ("target_session_attrs=read-only", "none of its hosts is a replica now"),
    ],
)
async def test_a_parameter_of_the_address_that_no_server_offers_is_reported(
    line: Line, opened: Opener, wanted: str, told: str
) -> None:
    with pytest.raises(StoreError, match=f"PostgreSQL at .*: .*{told}"):
        await opened(f"{line.url} {wanted}").current("docs")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "docs",
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}/x@host/db",
        f"postgresql://me:{SECRET}@x@host/db",
        f"postgresql://me:{SECRET}?x@host/db",
        f"postgresql://me:{SECRET}%zz@host/db",
        f"postgresql://me:{SECRET}@host:port/db",
        f"postgresql://me:{SECRET}@host/db?no_such_option=1",
        f"host=h password='{SECRET}",
    ],
)
def test_an_invalid_address_is_the_callers_mistake_and_is_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="DATABASE_URL is not a PostgreSQL address") as caught:
        Database(url, "surefind")
    assert SECRET not in str(caught.value)


async def test_a_server_that_does_not_answer_a_connection_is_given_up(
    line: Line, opened: Opener
) -> None:
    line.fall_silent()
    store = opened(line.url, Limits(connect_timeout_s=0.1, timeout_s=5.0))
    with pytest.raises(StoreError, match=r"took more than 0.1 s; .*database_connect_timeout_s"):
        await store.current("docs")


# --- lost on the way --------------------------------------------------------------------------


async def test_a_statement_without_an_answer_is_given_up_and_the_next_is_answered(
    line: Line, opened: Opener
) -> None:
    store = opened(line.url)
    catalog = await store.open(ONE)
    line.fall_silent()
    with pytest.raises(StoreError, match=r"no answer within 0.3 s.*database_timeout_s"):
        await catalog.by_point([record(0).chunk.point_id])
    line.speak()
    assert len(await catalog.by_point([record(0).chunk.point_id])) == 1


async def test_a_full_pool_is_waited_for_no_longer_than_is_allowed(
    line: Line, opened: Opener
) -> None:
    store = opened(limits=Limits(pool_size=1, timeout_s=0.1))
    catalog = await store.open(ONE)
    async with store._database.transaction():
        with pytest.raises(StoreError, match="raise database_pool_size") as caught:
            await catalog.count()
        assert caught.value.retry_after_s == 1
    assert await catalog.count() == 5


async def test_many_at_once_share_a_small_pool(line: Line, opened: Opener) -> None:
    store = opened(limits=Limits(pool_size=2))
    catalog = await store.open(ONE)
    assert await asyncio.gather(*(catalog.count() for _ in range(50))) == [5] * 50


async def test_cancelled_waits_leave_the_pool_intact(line: Line, opened: Opener) -> None:
    store = opened(limits=Limits(pool_size=1))
    catalog = await store.open(ONE)
    async with store._database.transaction():
        impatient = [asyncio.create_task(catalog.count()) for _ in range(5)]
        await asyncio.sleep(0.01)
        for task in impatient:
            task.cancel()
        await asyncio.gather(*impatient, return_exceptions=True)
    running = [asyncio.create_task(catalog.count()) for _ in range(5)]
    await asyncio.sleep(0)
    running[0].cancel()
    assert await asyncio.gather(*running[1:]) == [5] * 4


async def test_a_restart_between_two_reads_goes_unnoticed(line: Line, opened: Opener) -> None:
    store = opened(line.url, Limits(pool_size=4))
    catalog = await store.open(ONE)
    await asyncio.gather(*(catalog.count() for _ in range(4)))
    await asyncio.sleep(0.3)  # connections that were still being made are there by now
    line.cut()
    assert await asyncio.gather(*(catalog.count() for _ in range(4))) == [5] * 4


async def test_a_connection_cut_in_the_middle_of_a_read_is_replaced(
    line: Line, opened: Opener
) -> None:
    store = opened(line.url, Limits())
    catalog = await store.open(ONE)
    line.fall_silent()
    reading = asyncio.create_task(catalog.count())
    await asyncio.sleep(0.05)
    line.cut()
    line.speak()
    assert await reading == 5


async def test_connections_that_the_server_ends_are_replaced(
    line: Line, opened: Opener, postgres: PostgresService
) -> None:
    url = postgres.with_options(application_name="ended-by-a-test")
    catalog = await opened(url, Limits()).open(ONE)
    assert await catalog.count() == 5
    postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'ended-by-a-test'"
    )
    assert await catalog.count() == 5


async def test_a_server_that_stays_away_is_an_error_and_its_return_is_noticed(
    line: Line, opened: Opener
) -> None:
    store = opened(line.url, Limits())
    catalog = await store.open(ONE)
    line.away = True
    line.cut()
    for _ in range(2):
        with pytest.raises(StoreError, match="the connection failed"):
            await catalog.count()
    line.away = False
    assert await catalog.count() == 5


async def test_a_write_that_is_cut_off_has_not_happened(
    line: Line, opened: Opener, postgres: PostgresService, schema: str
) -> None:
    store = opened(line.url, Limits())
    writer = await store.create(TWO, ONE)
    await writer.put(document(text="new"), [record(number, "new") for number in range(3)])
    line.fall_silent()
    finishing = asyncio.create_task(writer.finish())
    await asyncio.sleep(0.05)
    line.away = True
    line.cut()
    line.speak()
    with pytest.raises(StoreError, match="the connection failed"):
        await finishing
    line.away = False
    texts = postgres.execute(
        f"SELECT DISTINCT c.text FROM {schema}.chunk c JOIN {schema}.generation g"
        " ON g.id = c.generation_id WHERE g.number = 2 AND source_path = 'docs/page.md' ORDER BY 1"
    )
    assert texts == [("eins zwei",), ("some words",)]
    assert await store.unfinished("docs") == [TWO]
    assert await store.current("docs") == 1
    await store.drop(TWO)


async def test_a_write_begins_on_a_living_connection(line: Line, opened: Opener) -> None:
    store = opened(line.url, Limits())
    await store.current("docs")
    line.cut()
    await store.point_to(ONE)
    assert await store.current("docs") == 1


# --- reached, but not to be written -----------------------------------------------------------


async def test_a_replica_is_readable_and_explains_why_it_refuses_writes(
    line: Line, opened: Opener, postgres: PostgresService
) -> None:
    replica = opened(postgres.with_options(options="-c default_transaction_read_only=on"))
    assert await (await replica.open(ONE)).count() == 5
    for writing in (replica.writing("ingest"), replica.writing("ingest")):
        with pytest.raises(StoreError, match=r"read-only \(a replica.*DATABASE_URL to the primary"):
            async with writing:
                pytest.fail("it can't be written")


async def test_an_empty_database_that_may_only_be_read_says_why_no_tables_are_made(
    opened: Opener, postgres: PostgresService
) -> None:
    replica = opened(postgres.with_options(options="-c default_transaction_read_only=on"))
    assert await replica.current("docs") is None
    with pytest.raises(StoreError, match="it is read-only"):
        await replica.create(ONE, None)


async def test_a_right_that_is_missing_is_named(
    line: Line, opened: Opener, postgres: PostgresService, schema: str
) -> None:
    postgres.execute(f"REVOKE ALL ON {schema}.chunk FROM CURRENT_USER")
    catalog = await opened().open(ONE)
    with pytest.raises(StoreError, match=r"your role lacks a privilege.*docs/postgres.md.*chunk"):
        await catalog.count()


async def test_tables_that_are_dropped_under_a_reader_are_reported(
    line: Line, opened: Opener, postgres: PostgresService, schema: str
) -> None:
    store = opened()
    catalog = await store.open(ONE)
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
    with pytest.raises(StoreError, match=r"a table is missing: .*chunk.*surefind ingest"):
        await catalog.by_point([record(0).chunk.point_id])


async def test_tables_that_somebody_altered_are_reported(
    line: Line, opened: Opener, postgres: PostgresService, schema: str
) -> None:
    postgres.execute(f"ALTER TABLE {schema}.chunk RENAME COLUMN anchor TO anker")
    catalog = await opened().open(ONE)
    with pytest.raises(
        StoreError, match=r"differ from what this version of surefind expects: .*anchor"
    ):
        await catalog.by_point([record(0).chunk.point_id])


async def test_a_manifest_that_somebody_damaged_is_reported(
    line: Line, opened: Opener, postgres: PostgresService, schema: str
) -> None:
    postgres.execute(f"""UPDATE {schema}.generation SET manifest = '{{"collection": 5}}'""")
    with pytest.raises(StoreError, match="manifest of docs--0001 is damaged"):
        await opened().manifest(ONE)
