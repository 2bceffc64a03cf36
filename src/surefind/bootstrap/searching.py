"""Searches, explains misses, and reads passages."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.bootstrap.parts import Parts
    from surefind.model import CollectionSummary, Query, SearchResult
    from surefind.services.generations.readers import CollectionReader
    from surefind.services.reading.page_reader import PageReader
    from surefind.services.search.facets import Facets
    from surefind.services.search.passages import PassageReader
    from surefind.services.search.vector_search import VectorSearcher
    from surefind.services.search.why_not import WhyNot

_log = logging.getLogger(__name__)


class Searching:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def search(self, query: Query) -> SearchResult:
        return await (await self._parts.searcher()).search(query)

    async def search_many(self, queries: Sequence[Query]) -> list[SearchResult]:
        return await (await self._parts.searcher()).search_many(queries)

    async def why_not(self, query: Query, expected: str) -> WhyNot:
        from surefind.services.search.why_not import Explainer

        explainer = Explainer(self._parts.readers, await self._parts.searcher())
        return await explainer.why_not(query, expected)

    @cached_property
    def passages(self) -> PassageReader:
        from surefind.services.search.passages import PassageReader

        return PassageReader(self._parts.reader)

    def passages_in(self, collection: str | None = None) -> PassageReader:
        """Reads passages of a collection, by default the configured one."""
        from surefind.services.search.passages import PassageReader

        if collection is None:
            return self.passages
        return PassageReader(self.reader_of(collection))

    def pages_in(self, collection: str) -> PageReader:
        from surefind.services.reading.page_reader import PageReader

        return PageReader(self.reader_of(collection))

    async def collections(self) -> list[CollectionSummary]:
        """The collections that were published, by name."""
        names = sorted(await self._parts.catalogs.collections())
        return [one for name in names if (one := await self._summary(name)) is not None]

    async def _summary(self, name: str) -> CollectionSummary | None:
        from surefind.errors import SurefindError
        from surefind.model import CollectionSummary, GenerationRef

        catalogs, settings = self._parts.catalogs, self._parts.settings
        number = await catalogs.current(name)
        if number is None:
            return None
        served = name == settings.collection
        try:
            manifest = await catalogs.manifest(GenerationRef(name, number))
        except SurefindError as error:
            # If another team's store is unavailable, still list our own collections.
            if served or not any(one.name == name for one in settings.connected):
                raise
            _log.warning("can't read the connected collection %s: %s", name, error)
            return CollectionSummary(name, served, number)
        return CollectionSummary(
            name,
            served,
            number,
            manifest.counted_documents,
            manifest.chunks,
            manifest.created_at,
        )

    def reader_of(self, collection: str) -> CollectionReader:
        from surefind.model.strings import check_string

        return self._parts.readers.of(check_string("collection", collection))

    @cached_property
    def facets(self) -> Facets:
        from surefind.services.search.facets import Facets

        return Facets(self._parts.readers)

    @cached_property
    def vectors(self) -> VectorSearcher:
        from surefind.services.search.vector_search import VectorSearcher

        return VectorSearcher(self._parts.reader)
