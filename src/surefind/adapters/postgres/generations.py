"""Generations in PostgreSQL: rows under one id, sealed by a manifest; the pointer is a row."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import psycopg

from surefind.adapters.catalog_rows import MANIFESTS, manifest_of
from surefind.adapters.files.data_folder import check_name
from surefind.adapters.postgres.catalog import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    PostgresCatalog,
    PostgresCatalogWriter,
)
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.migrations import Migration, applied_number, check_readable, migrate
from surefind.adapters.postgres.pool import Connection
from surefind.adapters.postgres.writer_lock import WriterLock
from surefind.errors import StoreError, UnknownGeneration
from surefind.model import GenerationRef, Manifest
from surefind.ports import ReadBytes, StoreFacts

_POINTER_AGE_S = 1.0
"""Searches read the pointer at most this often."""

_MISSING = (
    "collection {collection!r} has no generation {number}; `surefind generations list` lists the "
    "existing ones"
)


class PostgresCatalogStore:
    def __init__(
        self,
        database: Database,
        pointer_age_s: float = _POINTER_AGE_S,
        lock: WriterLock | None = None,
    ) -> None:
        self._database = database
        self._lock = lock or WriterLock(database)
        self._pointer_age_s = pointer_age_s
        self._seen: dict[str, tuple[float, object]] = {}
        self._readable = False

    async def facts(self) -> StoreFacts:
        """Checks privileges too, so that `doctor` reports what an ingest would run into."""
        [(version, now, recovering, may_create)] = await self._database.fetch(
            "SELECT current_setting('server_version'), clock_timestamp(), pg_is_in_recovery(),"
            " has_database_privilege(current_database(), 'CREATE')"
        )
        applied = await applied_number(self._database)
        warnings = []
        if recovering:
            warnings.append("it is a replica: searches work, ingests do not")
        if applied is None and not may_create:
            warnings.append(
                "there are no tables yet, and the role may not create them: grant it CREATE on the "
                "database, or run `surefind catalog migrate` as another role"
            )
        if applied is not None:
            check_readable(applied, self._database)
            warnings += await self._missing_rights() if not recovering else []
        tables = "no tables yet" if applied is None else f"tables at step {applied}"
        return StoreFacts(
            f"PostgreSQL at {self._database.address.where}, schema {self._database.schema}",
            f"PostgreSQL {version}, {tables}",
            tuple(warnings),
            (now - datetime.now(UTC)).total_seconds(),
        )

    async def _missing_rights(self) -> list[str]:
        rows = await self._database.fetch(
            "SELECT t, r FROM unnest(%s::text[]) t CROSS JOIN unnest(%s::text[]) r"
            " WHERE NOT has_table_privilege(format('%%I.%%I', %s::text, t), r)",
            [
                ["pointer", "generation", "document", "chunk", "writer"],
                ["SELECT", "INSERT", "UPDATE", "DELETE"],
                self._database.schema,
            ],
        )
        lacking = sorted({right for _, right in rows})
        if not lacking:
            return []
        return [f"the role lacks {', '.join(lacking)} on some tables: it can't ingest"]

    async def identity(self) -> str:
        if not await self._has_tables():
            await self._prepare()
        [(identity,)] = await self._database.fetch("SELECT identity FROM {s}.writer")
        return str(identity.hex)

    async def collections(self) -> list[str]:
        if not await self._has_tables():
            return []
        rows = await self._database.fetch("SELECT collection FROM {s}.pointer")
        return sorted(collection for (collection,) in rows)

    async def current(self, collection: str) -> int | None:
        check_name(collection)
        if not await self._has_tables():
            return None
        rows = await self._database.fetch(
            "SELECT g.number FROM {s}.pointer p JOIN {s}.generation g ON g.id = p.generation_id"
            " WHERE p.collection = %s",
            [collection],
        )
        return int(rows[0][0]) if rows else None

    async def token(self, collection: str) -> object:
        """Queried once a second at most, so that a search needs one round trip."""
        check_name(collection)
        seen_at, token = self._seen.get(collection, (0.0, None))
        if token is not None and time.monotonic() - seen_at < self._pointer_age_s:
            return token
        token = await self._pointer(collection)
        if token is None:
            self._seen.pop(collection, None)
        else:
            self._seen[collection] = (time.monotonic(), token)
        return token

    async def manifest(self, ref: GenerationRef) -> Manifest:
        _, stored = await self._generation(ref)
        if stored is None:
            raise UnknownGeneration(_MISSING.format(collection=ref.collection, number=ref.number))
        return manifest_of(stored, f"the manifest of {ref}")

    async def manifests(self, collection: str) -> list[Manifest]:
        check_name(collection)
        if not await self._has_tables():
            return []
        rows = await self._database.fetch(
            "SELECT number, manifest::text FROM {s}.generation"
            " WHERE collection = %s AND manifest IS NOT NULL ORDER BY number",
            [collection],
        )
        return [
            manifest_of(stored, f"the manifest of {collection}--{number:04d}")
            for number, stored in rows
        ]

    async def complete(self, collection: str) -> list[GenerationRef]:
        return await self._refs(collection, sealed=True)

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return await self._refs(collection, sealed=False)

    async def next_ref(self, collection: str) -> GenerationRef:
        check_name(collection)
        if not await self._has_tables():
            return GenerationRef(collection, 1)
        [(last,)] = await self._database.fetch(
            "SELECT coalesce(max(number), 0) FROM {s}.generation WHERE collection = %s",
            [collection],
        )
        return GenerationRef(collection, last + 1)

    async def create(
        self, ref: GenerationRef, copy_of: GenerationRef | None
    ) -> PostgresCatalogWriter:
        check_name(ref.collection)
        await self._prepare()
        original = None if copy_of is None else (await self._generation(copy_of))[0]
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)
            generation_id = await self._begin(connection, ref)
            if original is not None:
                await self._copy(connection, original, generation_id)
        return PostgresCatalogWriter(self._database, ref, generation_id, self._lock.require_held)

    async def open(self, ref: GenerationRef) -> PostgresCatalog:
        generation_id, _ = await self._generation(ref)
        return PostgresCatalog(self._database, ref, generation_id)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> None:
        """Nothing to verify: the server checks its own storage."""

    async def seal(self, manifest: Manifest) -> None:
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)
            sealed = await self._database.execute(
                connection,
                "UPDATE {s}.generation SET manifest = %s WHERE collection = %s AND number = %s"
                " RETURNING id",
                [MANIFESTS.dump_json(manifest).decode(), manifest.collection, manifest.number],
            )
            if not sealed:
                raise _removed(manifest.ref)

    async def point_to(self, ref: GenerationRef) -> None:
        await self.manifest(ref)
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)
            moved = await self._database.execute(
                connection,
                "INSERT INTO {s}.pointer (collection, generation_id, revision, moved_at)"
                " SELECT collection, id, gen_random_uuid(), now() FROM {s}.generation"
                " WHERE collection = %s AND number = %s AND manifest IS NOT NULL"
                " ON CONFLICT (collection) DO UPDATE SET generation_id = excluded.generation_id,"
                " revision = excluded.revision, moved_at = excluded.moved_at RETURNING revision",
                [ref.collection, ref.number],
            )
            if not moved:
                raise _removed(ref)
        self._seen.pop(ref.collection, None)

    async def unpublish(self, collection: str) -> None:
        check_name(collection)
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)
            await self._database.execute(
                connection,
                "DELETE FROM {s}.pointer WHERE collection = %s RETURNING collection",
                [collection],
            )
        self._seen.pop(collection, None)

    async def drop(self, ref: GenerationRef) -> None:
        """In one transaction. A foreign key of the pointer protects the current generation."""
        check_name(ref.collection)
        if not await self._has_tables():
            return
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)
            try:
                removed = await self._database.execute(
                    connection,
                    "DELETE FROM {s}.generation WHERE collection = %s AND number = %s RETURNING id",
                    [ref.collection, ref.number],
                )
            except psycopg.errors.ForeignKeyViolation as error:
                raise StoreError(
                    f"generation {ref} is the current one and can't be removed; roll back first"
                ) from error
            for (generation_id,) in removed:
                for table in ("chunk", "document"):
                    await self._database.execute(
                        connection,
                        f"DELETE FROM {{s}}.{table} WHERE generation_id = %s",  # noqa: S608
                        [generation_id],
                    )

    @asynccontextmanager
    async def writing(self, purpose: str) -> AsyncIterator[None]:
        await self._prepare()
        async with self._lock.held(purpose):
            yield

    async def require_writing(self) -> None:
        async with self._database.transaction() as connection:
            await self._lock.require_held(connection)

    async def migrate(self, *, dry_run: bool) -> list[Migration]:
        return await migrate(self._database, dry_run=dry_run)

    async def close(self) -> None:
        await self._database.close()

    async def _prepare(self) -> None:
        """The first write creates the tables, or brings them up to date."""
        if not self._readable:
            await migrate(self._database)
            self._readable = True

    async def _has_tables(self) -> bool:
        """Whether the tables exist. Creates nothing: readers may lack the privilege."""
        if not self._readable:
            applied = await applied_number(self._database)
            if applied is None:
                return False
            check_readable(applied, self._database)
            self._readable = True
        return True

    async def _pointer(self, collection: str) -> object:
        if not await self._has_tables():
            return None
        rows = await self._database.fetch(
            "SELECT revision FROM {s}.pointer WHERE collection = %s", [collection]
        )
        return rows[0][0] if rows else None

    async def _generation(self, ref: GenerationRef) -> tuple[int, str | None]:
        check_name(ref.collection)
        has_tables = await self._has_tables()
        rows = has_tables and await self._database.fetch(
            "SELECT id, manifest::text FROM {s}.generation WHERE collection = %s AND number = %s",
            [ref.collection, ref.number],
        )
        if not rows:
            raise UnknownGeneration(_MISSING.format(collection=ref.collection, number=ref.number))
        return int(rows[0][0]), rows[0][1]

    async def _refs(self, collection: str, *, sealed: bool) -> list[GenerationRef]:
        check_name(collection)
        if not await self._has_tables():
            return []
        rows = await self._database.fetch(
            "SELECT number FROM {s}.generation"
            " WHERE collection = %s AND (manifest IS NOT NULL) = %s ORDER BY number",
            [collection, sealed],
        )
        return [GenerationRef(collection, number) for (number,) in rows]

    async def _begin(self, connection: Connection, ref: GenerationRef) -> int:
        try:
            [(generation_id,)] = await self._database.execute(
                connection,
                "INSERT INTO {s}.generation (collection, number) VALUES (%s, %s) RETURNING id",
                [ref.collection, ref.number],
            )
        except psycopg.errors.UniqueViolation as error:
            raise StoreError(
                f"generation {ref} already exists: another run has begun it; run it again"
            ) from error
        return int(generation_id)

    async def _copy(self, connection: Connection, original: int, copy: int) -> None:
        for table, columns in (("document", DOCUMENT_COLUMNS), ("chunk", CHUNK_COLUMNS)):
            await self._database.execute(
                connection,
                f"INSERT INTO {{s}}.{table} (generation_id, {columns})"  # noqa: S608
                f" SELECT %s, {columns} FROM {{s}}.{table} WHERE generation_id = %s",
                [copy, original],
            )


def _removed(ref: GenerationRef) -> StoreError:
    return StoreError(
        f"generation {ref} is no longer in the catalog; run it again. Nothing was published"
    )
