"""Chooses where the index and the catalog are kept."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from surefind.adapters.layout import DataFolder
    from surefind.ports import CatalogStore, IndexStore
    from surefind.settings import Settings


def index_store(
    settings: Settings, folder: DataFolder, catalogs: CatalogStore, notify: Callable[[str], None]
) -> IndexStore:
    if settings.qdrant_url is not None:
        return _qdrant_store(settings, settings.qdrant_url, catalogs, notify)
    from surefind.adapters.qdrant_edge import EdgeIndexStore

    return EdgeIndexStore(folder)


def _qdrant_store(
    settings: Settings, url: str, catalogs: CatalogStore, notify: Callable[[str], None]
) -> IndexStore:
    """InputError where the package that comes with the extra is missing."""
    from surefind.errors import InputError

    if find_spec("qdrant_client") is None:
        raise InputError(
            "QDRANT_URL is set, but Qdrant's client is not installed: "
            "pip install 'surefind[qdrant]', or unset it to keep the index in the data folder"
        )
    from surefind.adapters.qdrant_server import QdrantIndexStore
    from surefind.adapters.qdrant_server_calls import Place
    from surefind.adapters.qdrant_server_schema import CollectionShape
    from surefind.adapters.retrying import Conduct

    key = settings.qdrant_api_key
    return QdrantIndexStore(
        Place(
            url,
            key.get_secret_value() if key else None,
            settings.qdrant_grpc_port,
            settings.qdrant_timeout_s,
        ),
        Conduct(notify),
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
    )


def catalog_store(_settings: Settings, folder: DataFolder) -> CatalogStore:
    from surefind.adapters.sqlite import SqliteCatalogStore

    return SqliteCatalogStore(folder)
