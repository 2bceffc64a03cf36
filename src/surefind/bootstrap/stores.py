"""Opens the index and the catalog in the configured stores."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from surefind.adapters.files.data_folder import DataFolder
    from surefind.adapters.postgres.connection import Database
    from surefind.adapters.postgres.documents_table import DocumentsTable
    from surefind.adapters.postgres.generations import PostgresCatalogStore
    from surefind.ports import CatalogStore, IndexStore, PublishedCatalogs
    from surefind.settings import Settings


def index_store(
    settings: Settings,
    folder: DataFolder,
    catalogs: CatalogStore,
    notify: Callable[[str], None],
    free: Callable[[Path], int] | None = None,
) -> IndexStore:
    if settings.index_url is not None:
        return _qdrant_store(settings, settings.index_url, catalogs, notify)
    from surefind.adapters.qdrant.edge import EdgeIndexStore
    from surefind.adapters.qdrant.edge_views import free_bytes

    return EdgeIndexStore(local_folder(settings, folder), free or free_bytes)


def _qdrant_store(
    settings: Settings, url: str, catalogs: CatalogStore, notify: Callable[[str], None]
) -> IndexStore:
    """Raises InputError if the optional package is missing."""
    from surefind.errors import InputError

    if find_spec("qdrant_client") is None:
        raise InputError(
            "QDRANT_URL is set, but Qdrant's client is not installed; run "
            "pip install 'surefind[qdrant]', or set SUREFIND_STORES=embedded to use the data folder"
        )
    from surefind.adapters.qdrant.server.calls import ServerAddress
    from surefind.adapters.qdrant.server.replicas import ReplicaCheck
    from surefind.adapters.qdrant.server.schema import CollectionShape
    from surefind.adapters.qdrant.server.store import QdrantIndexStore
    from surefind.adapters.remote_calls import CallPolicy

    key = settings.qdrant_api_key
    return QdrantIndexStore(
        ServerAddress(
            url,
            key.get_secret_value() if key else None,
            settings.qdrant_grpc_port,
            settings.qdrant_timeout_s,
        ),
        CallPolicy(notify),
        catalogs.identity,
        CollectionShape(
            shards=settings.qdrant_shards,
            replicas=settings.qdrant_replicas,
            write_consistency=settings.qdrant_write_consistency,
            on_disk=settings.qdrant_on_disk,
            quantization=settings.qdrant_quantization,
            oversampling=settings.qdrant_oversampling,
        ),
        prefix=settings.qdrant_prefix,
        indexing_timeout_s=settings.qdrant_indexing_timeout_s,
        read_consistency=settings.qdrant_read_consistency,
        replica_check=ReplicaCheck(required=settings.qdrant_require_replicas),
        guard=catalogs.require_writing,
    )


def servers_of(settings: Settings) -> list[str]:
    """The servers that have the index and the catalog, and the variables that name them."""
    from surefind.errors import without_passwords

    found = []
    if settings.index_url is not None:
        found.append(f"index: {without_passwords(settings.index_url)}{_set_by('QDRANT_URL')}")
    if settings.catalog_url is not None:
        from surefind.adapters.postgres.address import address_of

        place = address_of(settings.catalog_url.get_secret_value()).where
        found.append(f"catalog: PostgreSQL at {place}{_set_by('DATABASE_URL')}")
    return found


def _set_by(name: str) -> str:
    from surefind.settings import origin_of

    origin = origin_of(name)
    return f" ({origin})" if origin else ""


def catalog_store(settings: Settings, folder: DataFolder) -> CatalogStore:
    if settings.catalog_url is not None:
        return postgres_store(settings)
    from surefind.adapters.sqlite.generations import SqliteCatalogStore

    return SqliteCatalogStore(folder)


def published_catalogs(
    catalogs: CatalogStore, settings: Settings, folder: DataFolder
) -> PublishedCatalogs:
    """The catalogs for readers; a remote one can be unavailable while the index is not."""
    seen: PublishedCatalogs = catalogs
    if settings.catalog_url is not None:
        from surefind.adapters.files.last_seen import LastSeenCatalogs

        seen = LastSeenCatalogs(catalogs, local_folder(settings, folder), folder.root)
    return with_table(seen, settings.collection, settings.documents_table, settings)


def with_table(
    catalogs: PublishedCatalogs, collection: str, table: str | None, settings: Settings
) -> PublishedCatalogs:
    """The catalog, joined with the documents table if one is configured."""
    if not table:
        return catalogs
    open_table = documents_table(table, settings)
    from surefind.adapters.postgres.documents_table import DocumentsTableCatalogs

    return DocumentsTableCatalogs(catalogs, collection, open_table)


def documents_table(name: str, settings: Settings) -> Callable[[], DocumentsTable]:
    """Raises InputError for an invalid name. Does not connect to the database."""
    from surefind.errors import InputError

    if settings.database_url is None:
        raise InputError(
            f"documents_table is {name!r}, but DATABASE_URL is not set; set it to the table's "
            "database, or remove documents_table"
        )
    _require_driver()
    from surefind.adapters.postgres.documents_table import DocumentsTable, quoted

    quoted(name)
    return lambda: DocumentsTable(_database(settings), name)


def local_folder(settings: Settings, folder: DataFolder) -> DataFolder:
    """Each catalog numbers its own generations, so each has its own folder."""
    if settings.catalog_url is None:
        return folder
    from surefind.adapters.files.data_folder import DataFolder

    return DataFolder(folder.root / "postgres" / _database(settings).place_name)


def postgres_store(settings: Settings) -> PostgresCatalogStore:
    """Raises InputError if DATABASE_URL is not set or the driver is missing."""
    from surefind.errors import InputError

    if settings.database_url is None:
        raise InputError("DATABASE_URL is not set, and a SQLite catalog needs no migration")
    database = _database(settings)
    from surefind.adapters.postgres.generations import PostgresCatalogStore

    return PostgresCatalogStore(database)


def _require_driver() -> None:
    from surefind.errors import InputError

    if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
        raise InputError(
            "DATABASE_URL is set, but the PostgreSQL driver is not installed; run "
            "pip install 'surefind[postgres]', or set SUREFIND_STORES=embedded to use the data "
            "folder"
        )


def _database(settings: Settings) -> Database:
    _require_driver()
    from surefind.adapters.postgres.connection import Database, Limits

    url = settings.database_url.get_secret_value() if settings.database_url else ""
    limits = Limits(
        pool_size=settings.database_pool_size,
        connect_timeout_s=settings.database_connect_timeout_s,
        timeout_s=settings.database_timeout_s,
    )
    return Database(url, settings.database_schema, limits)
