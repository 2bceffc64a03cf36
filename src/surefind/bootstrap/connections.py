"""Opens connected collections alongside surefind's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from surefind.bootstrap.stores import documents_table, with_table

if TYPE_CHECKING:
    from surefind.bootstrap.parts import Parts
    from surefind.model import Connection
    from surefind.ports import (
        CatalogStore,
        Embedder,
        ForeignCollection,
        IndexStore,
        Notify,
        PublishedCatalogs,
    )
    from surefind.services.connected.collection import ConnectedCollection
    from surefind.services.connected.connect import ConnectOptions, Proposal
    from surefind.services.connected.table_join import CandidateTable
    from surefind.services.connected.vector_origin import CountProgress
    from surefind.settings import Settings

DOCUMENTS = "documents"
"""The name of the table in the retrieval API's contract."""


class Connecting:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def propose(self, options: ConnectOptions, progress: CountProgress) -> Proposal:
        """Propose how to read a collection, without saving anything."""
        from surefind.services.connected.connect import propose

        parts = self._parts
        candidate = candidate_table(options, parts.settings)
        foreign = foreign_collection(options.collection, options.url, parts.settings, parts.notify)
        try:
            return await propose(
                foreign, await parts.embedder(), parts.terms, options, candidate, progress
            )
        finally:
            await foreign.close()
            if candidate is not None:
                await candidate.table.close()

    async def is_own(self, collection: str) -> bool:
        """Whether surefind has its own collection of that name."""
        return collection in await self._parts.own_catalogs.collections()


def connected_collections(
    settings: Settings,
    notify: Notify,
    embedder: Callable[[], Awaitable[Embedder]],
    analyzer: Callable[[], str],
) -> Sequence[ConnectedCollection]:
    """The connected collections from the settings. Their stores are contacted on first use."""
    if not settings.connected:
        return ()
    from surefind.services.connected.collection import ConnectedCollection

    return tuple(
        ConnectedCollection(
            connection,
            foreign_collection(connection.collection, connection.url, settings, notify),
            embedder,
            analyzer(),
        )
        for connection in settings.connected
    )


def routed_index(own: IndexStore, connected: Sequence[ConnectedCollection]) -> IndexStore:
    if not connected:
        return own
    from surefind.services.connected.routing import RoutedIndexStore
    from surefind.services.connected.stores import ConnectedIndexes

    return RoutedIndexStore(own, {one.connection.name: ConnectedIndexes(one) for one in connected})


def routed_catalogs(own: CatalogStore, connected: Sequence[ConnectedCollection]) -> CatalogStore:
    if not connected:
        return own
    from surefind.services.connected.routing import RoutedCatalogStore
    from surefind.services.connected.stores import ConnectedCatalogs

    return RoutedCatalogStore(
        own, {one.connection.name: ConnectedCatalogs(one) for one in connected}
    )


def routed_published(
    own: PublishedCatalogs, connected: Sequence[ConnectedCollection], settings: Settings
) -> PublishedCatalogs:
    """The published catalogs, joined with a `documents` table where there is one."""
    if not connected:
        return own
    from surefind.services.connected.routing import RoutedPublishedCatalogs
    from surefind.services.connected.stores import ConnectedCatalogs

    catalogs: dict[str, PublishedCatalogs] = {}
    for one in connected:
        name = one.connection.name
        table = table_of(one.connection, settings)
        catalogs[name] = with_table(ConnectedCatalogs(one), name, table, settings)
    return RoutedPublishedCatalogs(own, catalogs)


def table_of(connection: Connection, settings: Settings) -> str | None:
    """The table to join; the setting applies to the selected collection."""
    if connection.documents_table:
        return connection.documents_table
    return settings.documents_table if connection.name == settings.collection else None


def candidate_table(options: ConnectOptions, settings: Settings) -> CandidateTable | None:
    """The requested table, or the one from the settings, or one named `documents`."""
    from surefind.services.connected.table_join import CandidateTable

    asked = options.documents_table
    if asked is None and options.name == settings.collection:
        asked = settings.documents_table
    if asked == "" or (settings.database_url is None and asked is None):
        return None
    name = asked or settings.documents_table or DOCUMENTS
    return CandidateTable(name, documents_table(name, settings)(), asked is not None)


def foreign_collection(
    name: str, url: str, settings: Settings, notify: Notify
) -> ForeignCollection:
    """The collection at `url`, or else at QDRANT_URL. API keys are sent only to their own host."""
    from surefind.errors import InputError

    address = url or settings.qdrant_url
    if not address:
        raise InputError(
            f"collection {name!r}: no server is set; use --url, or set QDRANT_URL in the "
            "environment or in .env"
        )
    if find_spec("qdrant_client") is None:
        raise InputError(
            f"collection {name!r} is in a Qdrant server, but Qdrant's package is not installed: "
            "pip install 'surefind[qdrant]'"
        )
    from surefind.adapters.qdrant.connected import QdrantForeignCollection
    from surefind.adapters.qdrant.server.calls import QdrantServer, ServerAddress
    from surefind.adapters.remote_calls import CallPolicy
    from surefind.model import is_address

    if not is_address(address):
        raise InputError("--url must be a URL such as https://host:6333")
    key = settings.qdrant_api_key
    if key and settings.qdrant_url and not _same_host(address, settings.qdrant_url):
        notify(f"QDRANT_API_KEY belongs to QDRANT_URL and is not sent to {_host(address)}")
        key = None
    secret = key.get_secret_value() if key else None
    place = ServerAddress(address, secret, timeout_s=settings.qdrant_timeout_s)
    return QdrantForeignCollection(QdrantServer(place, CallPolicy(notify)), name)


def _same_host(one: str, other: str) -> bool:
    return _host(one) == _host(other)


def _host(address: str) -> str:
    return urlsplit(address).netloc.rpartition("@")[2].lower()
