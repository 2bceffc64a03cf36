"""Creates and updates the catalog's tables in numbered steps. Released steps never change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from psycopg import Rollback, sql

from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.pool import Connection
from surefind.errors import FormatTooNew, StoreError

_LOCK = "surefind migration of "


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    statements: str


@cache
def known_migrations() -> tuple[Migration, ...]:
    files = [path for path in resources.files(__name__).iterdir() if path.name.endswith(".sql")]
    steps = (
        Migration(int(path.name[:4]), path.name[5:].removesuffix(".sql"), path.read_text())
        for path in files
    )
    return tuple(sorted(steps, key=lambda step: step.number))


async def applied_number(database: Database) -> int | None:
    """The last step applied; None without tables. Changes nothing."""
    [(there,)] = await database.fetch(
        "SELECT to_regclass(%s) IS NOT NULL", [f'"{database.schema}".migration']
    )
    if not there:
        return None
    [(number,)] = await database.fetch("SELECT coalesce(max(number), 0) FROM {s}.migration")
    return int(number)


def check_readable(applied: int, database: Database) -> None:
    """Readers apply no steps themselves."""
    newest = known_migrations()[-1].number
    _check_known(applied, database)
    if applied < newest:
        raise StoreError(
            f"the catalog in PostgreSQL at {database.address.where} has tables of an older "
            f"surefind (step {applied} of {newest}); `surefind catalog migrate` updates them, and "
            "so does the next ingest"
        )


async def migrate(database: Database, *, dry_run: bool = False) -> list[Migration]:
    """Applies the missing steps, all or none, and returns them. A dry run rolls them back."""
    applied: list[Migration] = []
    async with database.transaction() as connection:
        applied += await _apply_missing(database, connection)
        if dry_run:
            raise Rollback
    return applied


async def _apply_missing(database: Database, connection: Connection) -> list[Migration]:
    await database.execute(
        connection,
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
        [_LOCK + database.schema],
    )
    await _check_encoding(database, connection)
    # Not IF NOT EXISTS: that requires the CREATE privilege even if the schema exists.
    if not await database.execute(
        connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", [database.schema]
    ):
        await database.execute(connection, "CREATE SCHEMA {s}")
    [(there,)] = await database.execute(
        connection, "SELECT to_regclass(%s) IS NOT NULL", [f'"{database.schema}".migration']
    )
    if not there:
        await database.execute(
            connection,
            "CREATE TABLE {s}.migration (number integer PRIMARY KEY, name text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now())",
        )
    [(applied,)] = await database.execute(
        connection, "SELECT coalesce(max(number), 0) FROM {s}.migration"
    )
    _check_known(applied, database)
    missing = [step for step in known_migrations() if step.number > applied]
    if missing:
        path = sql.SQL("SET LOCAL search_path TO {}").format(sql.Identifier(database.schema))
        await connection.execute(path, prepare=False)
    for step in missing:
        await connection.execute(step.statements.encode(), prepare=False)
        await database.execute(
            connection,
            "INSERT INTO {s}.migration (number, name) VALUES (%s, %s)",
            [step.number, step.name],
        )
    return missing


async def _check_encoding(database: Database, connection: Connection) -> None:
    [(encoding,)] = await database.execute(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"the catalog in PostgreSQL at {database.address.where}: the database's encoding is "
            f"{encoding}, and surefind needs UTF8; create a database WITH ENCODING 'UTF8'"
        )


def _check_known(applied: int, database: Database) -> None:
    newest = known_migrations()[-1].number
    if applied > newest:
        raise FormatTooNew(
            f"the catalog in PostgreSQL at {database.address.where} was written by a newer surefind"
            f" (step {applied}, this one knows {newest}); upgrade surefind, or use another "
            "database_schema"
        )
