"""Chooses where the index and the catalog are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.adapters.layout import DataFolder
    from surefind.ports import CatalogStore, IndexStore
    from surefind.settings import Settings


def index_store(_settings: Settings, folder: DataFolder) -> IndexStore:
    from surefind.adapters.qdrant_edge import EdgeIndexStore

    return EdgeIndexStore(folder)


def catalog_store(_settings: Settings, folder: DataFolder) -> CatalogStore:
    from surefind.adapters.sqlite import SqliteCatalogStore

    return SqliteCatalogStore(folder)
