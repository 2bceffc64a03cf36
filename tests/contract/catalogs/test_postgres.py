"""What the catalog in PostgreSQL promises beyond what every catalog does."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from support.catalog_building import ONE, TWO, build, manifest
from support.fakes import document, record
from support.postgres import PostgresService, line_to
from surefind.adapters.postgres.connection import Database, Limits
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.adapters.postgres.migrations import known_migrations
from surefind.adapters.postgres.writer_lock import WriterLock
from surefind.errors import FormatTooNew, InputError, StoreBusy, StoreError

Opener = Callable[..., PostgresCatalogStore]


@pytest.fixture
async def opened(postgres: PostgresService, schema: str) -> AsyncIterator[Opener]:
    """Opens stores on one schema, as programs on several machines do."""
    databases: list[Database] = []

    def opener(
        url: str | None = None,
        limits: Limits | None = None,
        lock_url: str | None = None,
        **options: float,
    ) -> PostgresCatalogStore:
        """The lock may have a way to the server of its own."""
        database = Database(url or postgres.url, schema, limits)
        locking = Database(lock_url, schema, limits) if lock_url else database
        databases.extend((database, locking))
        lock = WriterLock(locking, ping_s=options.pop("ping_s", 10.0))
        return PostgresCatalogStore(database, lock=lock, **options)

    yield opener
    for database in databases:
        await database.close()


@pytest.fixture
async def store(opened: Opener) -> PostgresCatalogStore:
    return opened()


async def published(store: PostgresCatalogStore) -> None:
    await build(store)
    await store.seal(manifest(ONE))
    await store.point_to(ONE)


# --- one writer -------------------------------------------------------------------------------


async def test_a_second_writer_is_refused_and_learns_who_holds_the_lock(opened: Opener) -> None:
    one, other = opened(), opened()
    async with one.writing("ingest"):
        told = rf"another `surefind ingest` \(process \d+ on {socket.gethostname()}, since .* UTC\)"
        with pytest.raises(StoreBusy, match=told):
            async with other.writing("ingest"):
                pytest.fail("two writers at once")
    async with other.writing("ingest"):
        await published(other)
    assert await one.current("docs") == 1


async def test_a_dead_writers_lock_is_free_and_it_can_no_longer_publish(
    opened: Opener, postgres: PostgresService
) -> None:
    """It may not even know yet that its connection is gone."""
    async with line_to(postgres) as line:
        dead, successor = opened(line.url), opened()
        async with dead.writing("ingest"):
            await build(dead)
            await dead.seal(manifest(ONE))
            line.cut()
            async with asyncio.timeout(5), successor.writing("ingest"):
                with pytest.raises(StoreError, match="lock was lost"):
                    await dead.point_to(ONE)
                assert await successor.current("docs") is None


async def test_the_new_holder_of_the_lock_fences_off_the_old_one(
    opened: Opener, postgres: PostgresService, schema: str
) -> None:
    store = opened()
    async with store.writing("ingest"):
        await build(store)
        await store.seal(manifest(ONE))
        postgres.execute(f"UPDATE {schema}.writer SET fence = fence + 1")
        steps = (store.point_to(ONE), store.drop(ONE), store.create(TWO, ONE))
        for step in (*steps, store.require_writing()):
            with pytest.raises(StoreError, match="another writer holds it"):
                await step
    assert await store.current("docs") is None


async def test_the_lock_survives_a_cancelled_check(
    opened: Opener, postgres: PostgresService
) -> None:
    """Parts of an upload ask, and are stopped with it; what the driver cancels ends the lock."""
    async with line_to(postgres) as line:
        store = opened(lock_url=line.url)
        async with store.writing("ingest"):
            line.fall_silent()
            before = line.asked
            asking = asyncio.create_task(store.require_writing())
            while line.asked == before:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            line.speak()
            await asyncio.gather(*(store.require_writing() for _ in range(4)))


async def test_a_lost_lock_is_noticed_even_if_no_one_took_it(
    opened: Opener, postgres: PostgresService
) -> None:
    async with line_to(postgres) as line:
        store = opened(line.url, ping_s=0.01)
        async with store.writing("ingest"):
            writer = await store.create(ONE, None)
            line.cut()
            await asyncio.sleep(0.05)  # a ping finds out first, and says nothing
            await writer.put(document(), [record(0)])
            with pytest.raises(StoreError, match=r"lock was lost .*nothing was published"):
                await writer.finish()
        assert await store.unfinished("docs") == [ONE]


# --- the tables -------------------------------------------------------------------------------


async def test_a_reader_makes_nothing(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    assert await store.current("docs") is None
    assert await store.token("docs") is None
    assert await store.collections() == []
    assert await store.manifests("docs") == []
    assert await store.complete("docs") == []
    assert postgres.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'") == []


async def test_tables_are_made_in_their_own_schema_only(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    elsewhere = f"""
        SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', '{schema}')
        AND n.nspname NOT LIKE 'test\\_%' ORDER BY 1, 2"""
    before = postgres.execute(elsewhere)
    await published(store)
    assert postgres.execute(elsewhere) == before


async def test_many_first_writers_make_the_tables_once(opened: Opener) -> None:
    stores = [opened() for _ in range(6)]
    taken = await asyncio.gather(*(store.migrate(dry_run=False) for store in stores))
    assert sorted(map(len, taken)) == [0, 0, 0, 0, 0, len(known_migrations())]


async def test_a_rehearsal_takes_every_step_and_leaves_nothing(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    steps = await store.migrate(dry_run=True)
    assert [step.number for step in steps] == [step.number for step in known_migrations()]
    assert postgres.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema}'") == []
    assert await store.migrate(dry_run=False) == steps
    assert await store.migrate(dry_run=True) == []


async def test_tables_of_a_newer_surefind_are_not_changed(
    opened: Opener, postgres: PostgresService, schema: str
) -> None:
    await published(opened())
    postgres.execute(f"INSERT INTO {schema}.migration (number, name) VALUES (9999, 'later')")
    late = opened()
    with pytest.raises(FormatTooNew, match=r"newer surefind \(step 9999"):
        await late.current("docs")
    with pytest.raises(FormatTooNew, match="upgrade surefind"):
        async with late.writing("ingest"):
            pytest.fail("it would write what it does not know")


async def test_tables_of_an_older_surefind_are_not_read_and_the_next_writer_repairs_them(
    opened: Opener, postgres: PostgresService, schema: str
) -> None:
    await opened().migrate(dry_run=False)
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")
    postgres.execute(
        f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.migration (number integer PRIMARY KEY,"
        " name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    store = opened()
    with pytest.raises(StoreError, match="surefind catalog migrate"):
        await store.current("docs")
    await published(store)
    assert await opened().current("docs") == 1


async def test_steps_that_were_numbered_stay_in_order() -> None:
    numbers = [step.number for step in known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


# --- reading ----------------------------------------------------------------------------------


async def test_the_metadata_of_a_search_takes_one_round_trip(
    opened: Opener, postgres: PostgresService
) -> None:
    async with line_to(postgres) as line:
        store = opened(line.url)
        await published(store)
        catalog = await store.open(ONE)
        wanted = [record(number).chunk.point_id for number in range(3)]
        await store.token("docs")
        trips = []
        for _ in range(8):
            before = line.asked
            await store.token("docs")
            assert len(await catalog.by_point(wanted)) == 3
            trips.append(line.asked - before)
        assert sorted(trips) == [1, 1, 1, 1, 1, 1, 1, 2]  # once it is prepared on the way
        await store.close()


async def test_a_pooler_that_forgets_prepared_statements_is_found_out(opened: Opener) -> None:
    store = opened(limits=Limits(pool_size=1))
    await published(store)
    catalog = await store.open(ONE)
    for _ in range(7):
        assert len(await catalog.by_point([record(0).chunk.point_id])) == 1
    forget = "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"
    async with store._database.transaction() as connection:
        await connection.execute(forget)
    assert len(await catalog.by_point([record(0).chunk.point_id])) == 1
    assert not store._database._prepares


async def test_documents_are_listed_in_parts(store: PostgresCatalogStore) -> None:
    writer = await store.create(ONE, None)
    paths = sorted([f"docs/{letter}.md" for letter in "aBcÄz-_ 🙂"])
    for path in paths:
        await writer.put(document(path), [])
    await writer.finish()
    catalog = await store.open(ONE)
    assert [found.source_path for found in await catalog.documents()] == paths
    seen: list[str] = []
    while part := await catalog.documents(after=seen[-1] if seen else None, limit=2):
        assert len(part) <= 2
        seen += [found.source_path for found in part]
    assert seen == paths
    assert await catalog.documents(limit=0) == []


async def test_more_documents_than_fit_into_one_part_are_all_listed(
    store: PostgresCatalogStore,
) -> None:
    writer = await store.create(ONE, None)
    for number in range(2100):
        await writer.put(document(f"docs/{number:04d}.md", ""), [])
    assert len(await writer.documents()) == 2100
    assert len(await writer.documents(limit=1500)) == 1500


async def test_any_text_comes_back_as_it_went_in(store: PostgresCatalogStore) -> None:
    text = 'tab\tnew\nline \\N \\. back\\slash "quotes" {braces} NULL %s 🙂 \u2028 e\u0301 %'
    odd = record(0, text)
    odd = replace(
        odd,
        chunk=replace(odd.chunk, heading_path=("NULL", "", 'a,"b"', "{}"), anchor=text),
        attributes={"text": text, "big": 1e300, "whole": 3.0, "many": ("a", 1, True), "none": ()},
    )
    page = replace(document(text=text), attributes=odd.attributes, front_matter={"x": [text, None]})
    writer = await store.create(ONE, None)
    await writer.put(page, [replace(odd, url=page.url)])
    await writer.finish()
    catalog = await store.open(ONE)
    assert await catalog.chunk("chunk-0") == odd
    assert await catalog.document_text(page.source_path) == text


async def test_a_generation_that_is_removed_while_it_is_read_is_not_taken_for_an_empty_one(
    opened: Opener,
) -> None:
    store = opened()
    await build(store)
    catalog = await store.open(ONE)
    await opened().drop(ONE)
    assert await catalog.by_point([record(0).chunk.point_id]) == {}  # payloads stand in
    for question in (
        catalog.count(),
        catalog.documents(),
        catalog.document("docs/page.md"),
        catalog.document_chunks("docs/page.md"),
        catalog.chunk("chunk-0"),
        anext(catalog.chunks()),
    ):
        with pytest.raises(StoreError, match="was removed from the catalog while it was read"):
            await question


async def test_a_generation_that_is_removed_while_it_is_written_takes_no_rows(
    opened: Opener, postgres: PostgresService, schema: str
) -> None:
    store = opened()
    writer = await store.create(ONE, None)
    await opened().drop(ONE)
    await writer.put(document(), [record(0)])
    with pytest.raises(StoreError, match="removed from the catalog while it was written"):
        await writer.finish()
    assert postgres.execute(f"SELECT count(*) FROM {schema}.chunk") == [(0,)]
    with pytest.raises(StoreError, match="no longer in the catalog"):
        await store.seal(manifest(ONE))


async def test_what_readers_see_cannot_be_dropped(store: PostgresCatalogStore) -> None:
    await published(store)
    with pytest.raises(StoreError, match="is the current one"):
        await store.drop(ONE)
    assert await (await store.open(ONE)).count() == 5


async def test_one_number_is_given_to_one_generation(opened: Opener) -> None:
    await opened().create(ONE, None)
    with pytest.raises(StoreError, match="already exists"):
        await opened().create(ONE, None)


async def test_readers_elsewhere_see_a_new_pointer_within_its_age(opened: Opener) -> None:
    writer, reader = opened(), opened(pointer_age_s=0.0)
    patient = opened(pointer_age_s=600.0)
    await published(writer)
    tokens = [await store.token("docs") for store in (writer, reader, patient)]
    assert len(set(tokens)) == 1
    await writer.point_to(ONE)
    assert await writer.token("docs") == await reader.token("docs") != tokens[0]
    assert await patient.token("docs") == tokens[0]


async def test_pages_are_written_in_parts_and_put_again_before_they_are(
    store: PostgresCatalogStore,
) -> None:
    """A thousand chunks are a part: the second page is the end of the first part."""
    writer = await store.create(ONE, None)
    for text in ("first", "second", "third"):
        await writer.put(document(text=text), [record(n, text) for n in range(600)])
    await writer.put(document("docs/gone.md"), [])
    await writer.remove("docs/gone.md")
    assert await writer.finish() == 600
    assert await (await store.open(ONE)).document_text("docs/page.md") == "third"


@pytest.mark.parametrize("name", ["", "..", "a/b", "UPPER", "a" * 64])
async def test_names_are_the_same_as_everywhere(store: PostgresCatalogStore, name: str) -> None:
    with pytest.raises(InputError, match="invalid collection name"):
        await store.current(name)
