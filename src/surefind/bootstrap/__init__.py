"""The only place where objects are built and wired.

Vendors are imported when they are wanted: help texts and catalogs need no embedding model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from surefind.bootstrap.ingesting import Ingesting
from surefind.bootstrap.models import Notify
from surefind.bootstrap.stores import postgres_store

if TYPE_CHECKING:
    from surefind.adapters.postgres.migrations import Migration
    from surefind.model import Query, SearchResult
    from surefind.services.search.facets import Facets
    from surefind.services.search.passages import PassageReader
    from surefind.services.search.vector_search import VectorSearcher
    from surefind.services.search.why_not import WhyNot
    from surefind.settings import Settings


class Application(Ingesting):
    """One installation, and everything that can be done with it."""

    async def search(self, query: Query) -> SearchResult:
        return await (await self.searcher()).search(query)

    async def search_many(self, queries: Sequence[Query]) -> list[SearchResult]:
        from surefind.services.search.batch import search_all

        return await search_all(queries, await self.searcher())

    async def why_not(self, query: Query, wanted: str) -> WhyNot:
        from surefind.services.search.why_not import Explainer

        return await Explainer(self.readers, await self.searcher()).why_not(query, wanted)

    async def migrate_catalog(self, *, dry_run: bool) -> Sequence[Migration]:
        """The steps that the tables in PostgreSQL lacked, now taken, or shown to be possible."""
        store = postgres_store(self.settings)
        try:
            return await store.migrate(dry_run=dry_run)
        finally:
            await store.close()

    @cached_property
    def passages(self) -> PassageReader:
        from surefind.services.search.passages import PassageReader

        return PassageReader(self.reader)

    @cached_property
    def facets(self) -> Facets:
        from surefind.services.search.facets import Facets

        return Facets(self.reader)

    @cached_property
    def vectors(self) -> VectorSearcher:
        from surefind.services.search.vector_search import VectorSearcher

        return VectorSearcher(self.reader)


def fetch_model(settings: Settings, notify: Notify) -> Path:
    from surefind.adapters.embedders.model_files import locate

    return locate(settings.model_dir, settings.cache_dir, notify)
