"""The retrieval API's table `documents`, both ways: its SELECT on ours, and ours from its table."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import RawCursor

from support.catalog_building import ONE, TWO, build, manifest
from support.fakes import MemoryCatalogStore, document, record
from support.postgres import PostgresService
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.documents_table import (
    DocumentsTable,
    DocumentsTableCatalogs,
    quoted,
)
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.errors import InputError, StoreError, UnknownDocument
from surefind.model import GenerationRef
from surefind.ports import Catalog

# To the letter of the contract.
TABLE = """
CREATE TABLE documents (
    chunk_id      VARCHAR(50)   PRIMARY KEY,
    source_path   TEXT          NOT NULL,
    slug          VARCHAR(100)  NOT NULL,
    title         VARCHAR(255),
    order_index   INTEGER       NOT NULL,
    snippet       TEXT          NOT NULL,
    created_at    TIMESTAMP     DEFAULT NOW()
);
"""
SELECT = """
SELECT chunk_id, source_path, slug, title
FROM documents
WHERE chunk_id = ANY($1)
"""
COLUMNS = """
    SELECT column_name, data_type, character_maximum_length FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = 'documents' ORDER BY ordinal_position
"""


class Outsider:
    """Somebody else's program: it knows the contract, and has our schema on its search path."""

    def __init__(self, postgres: PostgresService, schema: str, collection: str = "") -> None:
        options = f"-csearch_path={schema}"
        if collection:
            options += f" -csurefind.collection={collection}"
        self._url = postgres.with_options(options=options)

    def execute(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            cursor = RawCursor(connection).execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []


# --- its SELECT on what we ingested -----------------------------------------------------------


@pytest.fixture
async def store(postgres: PostgresService, schema: str) -> AsyncIterator[PostgresCatalogStore]:
    store = PostgresCatalogStore(Database(postgres.url, schema))
    await build(store)
    await store.seal(manifest(ONE))
    await store.point_to(ONE)
    yield store
    await store.close()


async def test_its_select_runs_unchanged_on_what_was_ingested(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    rows = Outsider(postgres, schema).execute(SELECT, ["chunk-0", "chunk-7", "chunk-unknown"])
    assert sorted(rows) == [
        ("chunk-0", "docs/page.md", "page", "Page"),
        ("chunk-7", "docs/a.md", "page", "Page"),
    ]


async def test_the_columns_are_those_of_its_table(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    ours = Outsider(postgres, schema).execute(COLUMNS)
    with postgres.schema() as theirs:
        postgres.execute(f"CREATE SCHEMA {theirs}")
        other = Outsider(postgres, theirs)
        other.execute(TABLE)
        assert ours == other.execute(COLUMNS)


async def test_a_row_says_what_its_contract_says(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    [row] = Outsider(postgres, schema).execute(
        "SELECT order_index, snippet, created_at FROM documents WHERE chunk_id = 'chunk-0'"
    )
    first = record(0, "eins zwei")
    assert row == (1, first.chunk.text, first.created_at.astimezone(UTC).replace(tzinfo=None))


async def test_titles_that_are_missing_are_null_and_long_ones_fit(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    writer = await store.create(TWO, None)
    await writer.put(replace(document("docs/none.md"), title=""), [record(1, "x", "docs/none.md")])
    page = replace(document("docs/long.md"), title="t" * 300, slug="s" * 300)
    await writer.put(page, [record(2, "x", "docs/long.md")])
    await writer.finish()
    await store.seal(manifest(TWO))
    await store.point_to(TWO)
    rows = Outsider(postgres, schema).execute(SELECT, ["chunk-1", "chunk-2"])
    assert sorted(rows) == [
        ("chunk-1", "docs/none.md", "page", None),
        ("chunk-2", "docs/long.md", "s" * 100, "t" * 255),
    ]


async def test_it_shows_what_readers_see_and_nothing_else(
    store: PostgresCatalogStore, postgres: PostgresService, schema: str
) -> None:
    other = GenerationRef("handbook", 1)
    writer = await store.create(other, None)
    await writer.put(document("hand/book.md"), [record(0, "other", "hand/book.md")])
    await writer.finish()
    count = "SELECT count(*) FROM documents"
    assert Outsider(postgres, schema, "handbook").execute(count) == [(0,)]
    await store.seal(manifest(other))
    await store.point_to(other)
    assert Outsider(postgres, schema).execute(count) == [(5,)]
    assert Outsider(postgres, schema, "handbook").execute(SELECT, ["chunk-0"]) == [
        ("chunk-0", "hand/book.md", "page", "Page")
    ]


# --- our search on its table ------------------------------------------------------------------


def joined(
    index: MemoryCatalogStore, collection: str, postgres: PostgresService, schema: str
) -> DocumentsTableCatalogs:
    database = Database(postgres.url, schema)
    return DocumentsTableCatalogs(
        index, collection, lambda: DocumentsTable(database, f"{schema}.documents")
    )


@pytest.fixture
async def catalog(postgres: PostgresService, schema: str) -> AsyncIterator[Catalog]:
    """An index that knows points, and a table that knows where its chunks belong."""
    postgres.execute(f"CREATE SCHEMA {schema}")
    outsider = Outsider(postgres, schema)
    outsider.execute(TABLE)
    outsider.execute(
        "INSERT INTO documents (chunk_id, source_path, slug, title, order_index, snippet)"
        " VALUES"
        " ('chunk-0', 'docs/chapter-1/index.md', 'chapter-1-index', 'Physical AI', 1, 'one'),"
        " ('chunk-1', 'docs/chapter-1/index.md', 'chapter-1-index', NULL, 2, 'two'),"
        " ('chunk-9', 'docs/a.md', 'a', 'A', 1, '```code```')"
    )
    outsider.execute("UPDATE documents SET created_at = NULL WHERE chunk_id = 'chunk-9'")
    outsider.execute(
        "UPDATE documents SET created_at = '2025-12-14 10:00' WHERE chunk_id = 'chunk-0'"
    )
    index = MemoryCatalogStore()
    await build(index)
    catalogs = joined(index, "docs", postgres, schema)
    catalog = await catalogs.open(ONE)
    yield catalog
    await catalog.close()


async def test_what_a_hit_says_of_its_place_comes_from_the_table(catalog: Catalog) -> None:
    points = [record(number).chunk.point_id for number in (0, 1, 2)]
    found = await catalog.by_point(points)
    assert found.keys() == set(points[:2])  # the third is not in the table: its payload stands in
    first, second = found[points[0]], found[points[1]]
    assert first.chunk.source_path == "docs/chapter-1/index.md"
    assert (first.slug, first.title, first.chunk.position) == ("chapter-1-index", "Physical AI", 0)
    assert first.created_at == datetime(2025, 12, 14, 10, tzinfo=UTC)
    assert first.chunk.text == "eins zwei"  # the snippet is the index's
    assert (second.title, second.chunk.position) == ("", 1)


async def test_its_pages_are_listed_and_read(catalog: Catalog) -> None:
    """Texts are the index's; a chunk that only the table knows is read from there."""
    assert [(page.source_path, page.chunks) for page in await catalog.documents()] == [
        ("docs/a.md", 1),
        ("docs/chapter-1/index.md", 2),
    ]
    assert [page.source_path for page in await catalog.documents("docs/a.md", 5)] == [
        "docs/chapter-1/index.md"
    ]
    assert await catalog.document("docs/nowhere.md") is None
    text = await catalog.document_text("docs/chapter-1/index.md")
    chunks = await catalog.document_chunks("docs/chapter-1/index.md")
    own = [record(number, "").chunk.id for number in (0, 1)]
    assert [one.chunk.id for one in chunks] == own
    assert [text[one.chunk.start : one.chunk.end] for one in chunks] == [
        one.chunk.text for one in chunks
    ]
    assert chunks[0].chunk.text == "eins zwei"
    [lonely] = await catalog.document_chunks("docs/a.md")
    assert (lonely.chunk.id, lonely.chunk.text) == ("chunk-9", "```code```")
    assert await catalog.count() == 3
    with pytest.raises(UnknownDocument, match="nowhere"):
        await catalog.document_text("docs/nowhere.md")


async def test_every_chunk_is_given_with_its_row_or_without(catalog: Catalog) -> None:
    titles = {one.chunk.id: (one.title, one.slug) async for one in catalog.chunks()}
    assert len(titles) == 5
    assert titles["chunk-0"] == ("Physical AI", "chapter-1-index")
    assert titles["chunk-1"] == ("", "chapter-1-index")
    assert titles["chunk-7"] == ("Page", "page")
    first = await catalog.chunk("chunk-0")
    assert first is not None
    assert (first.title, first.chunk.text) == ("Physical AI", "eins zwei")
    without_row = await catalog.chunk("chunk-7")
    assert without_row is not None
    assert without_row.title == "Page"
    assert await catalog.chunk("chunk-none") is None


async def test_a_table_that_is_missing_or_made_otherwise_is_reported(
    postgres: PostgresService, schema: str
) -> None:
    index = MemoryCatalogStore()
    await build(index)
    postgres.execute(f"CREATE SCHEMA {schema}")
    catalogs = joined(index, "docs", postgres, schema)
    with pytest.raises(StoreError, match=r"there is no table .*documents .*create it"):
        await catalogs.open(ONE)
    theirs = Outsider(postgres, schema)
    theirs.execute("CREATE TABLE documents (id integer)")
    with pytest.raises(StoreError, match=r"no column chunk_id; no column source_path"):
        await catalogs.open(ONE)
    theirs.execute("DROP TABLE documents")
    theirs.execute(TABLE.replace("INTEGER", "TEXT   ").replace("VARCHAR(50)", "UUID"))
    with pytest.raises(
        StoreError, match=r"chunk_id is uuid, not text; order_index is text, not a number"
    ):
        await catalogs.open(ONE)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "DROP TABLE documents",
            r'can\'t be read: relation ".*documents" does not exist; create it again, or correct',
        ),
        (
            "ALTER TABLE documents DROP COLUMN slug",
            r"can't be read: column \"slug\" does not exist; create it again, or correct",
        ),
    ],
)
async def test_a_table_that_its_owner_changes_is_reported_with_the_owners_next_step(
    catalog: Catalog, postgres: PostgresService, schema: str, change: str, told: str
) -> None:
    """Not with that for surefind's own tables: an ingest creates none of these."""
    Outsider(postgres, schema).execute(change)
    readers: list[Callable[[], Awaitable[object]]] = [
        catalog.check,
        lambda: catalog.chunk("chunk-0"),
        catalog.documents,
    ]
    for read in readers:
        with pytest.raises(StoreError, match=told) as raised:
            await read()
        assert "surefind ingest" not in str(raised.value)


@pytest.mark.parametrize("name", ["", "a.b.c", 'x"; DROP TABLE y', "ü", "public."])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="documents_table"):
        quoted(name)


async def test_other_collections_keep_their_own_catalogs(postgres: PostgresService) -> None:
    index = MemoryCatalogStore()
    await build(index)
    catalogs = joined(index, "handbook", postgres, "s")
    catalog = await catalogs.open(ONE)
    assert await catalog.count() == 5
    assert await catalogs.current("docs") is None
    assert await catalogs.token("docs") is None
