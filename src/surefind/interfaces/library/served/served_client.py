"""The methods of the library, each one a request to a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Never, TypeVar, Unpack
from urllib.parse import quote

from surefind.contracts.validation import RetrievalQuery, RetrievalResult, results_of
from surefind.errors import InputError, UnknownChunk
from surefind.interfaces.library.async_client import AsyncSurefind
from surefind.interfaces.library.portal import require_own_process
from surefind.interfaces.library.served.request_bodies import search_body
from surefind.interfaces.library.served.server_calls import ServerCalls
from surefind.interfaces.search_options import SearchOptions, one_of, query_of
from surefind.model import (
    DEFAULT_COLLECTION,
    ChunkRecord,
    CollectionSummary,
    Manifest,
    Mode,
    Query,
    SearchResult,
)
from surefind.model.strings import check_string
from surefind.services.generations.generations import GenerationChanges, check_number
from surefind.services.search.query_checks import MAX_BATCH, check_query
from surefind.services.search.why_not import WhyNot

if TYPE_CHECKING:
    from surefind.settings import Settings

T = TypeVar("T")

BATCH_SIZE = 100
"""The largest batch that a server accepts."""


class AsyncServedSurefind(AsyncSurefind):
    """A connection to a server, made by `surefind.aconnect_to()`."""

    def __init__(self, calls: ServerCalls, collection: str | None) -> None:
        self._calls = calls
        self._collection = collection
        self._opened_in = os.getpid()
        self._models: dict[tuple[str, int], str] = {}

    @property
    def settings(self) -> Settings:
        raise InputError("a client has no settings; the server reads its own surefind.toml")

    # --- searching ----------------------------------------------------------------------------

    async def search(
        self, text: str, *, collection: str | None = None, **options: Unpack[SearchOptions]
    ) -> SearchResult:
        query, body = self._request(text, collection, options)
        result = await self._server.search(SearchResult, "/retrieve", {"query": query.text, **body})
        return _of(query, result)

    async def search_many(
        self,
        texts: Sequence[str],
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResult]:
        """Batches of more than 100 questions take several requests."""
        requests = [self._request(text, collection, options) for text in texts]
        if len(requests) > MAX_BATCH:
            raise InputError(f"at most {MAX_BATCH} queries, not {len(requests)}; send fewer")
        results: list[SearchResult] = []
        for start in range(0, len(requests), BATCH_SIZE):
            part = requests[start : start + BATCH_SIZE]
            queries = [query for query, _ in part]
            body = {"queries": [query.text for query in queries], **part[0][1]}
            answers = await self._server.search(list[SearchResult], "/retrieve/batch", body)
            results += map(_of, queries, answers)
        return results

    async def why_not(
        self,
        text: str,
        wanted: str,
        *,
        collection: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> WhyNot:
        query, body = self._request(text, collection, options)
        check_string("why_not", wanted, blank=False)
        body |= {"query": query.text, "wanted": wanted}
        return await self._server.search(WhyNot, "/retrieve/why-not", body)

    # --- reading ------------------------------------------------------------------------------

    async def chunk(self, chunk_id: str, *, collection: str | None = None) -> ChunkRecord:
        return await self._read(ChunkRecord, _chunk_path(chunk_id), collection)

    async def neighbours(
        self, chunk_id: str, before: int = 1, after: int = 1, *, collection: str | None = None
    ) -> list[ChunkRecord]:
        return await self._server.get(
            list[ChunkRecord],
            f"{_chunk_path(chunk_id)}/neighbours",
            before=before,
            after=after,
            collection=self._named(collection),
        )

    async def section(self, chunk_id: str, *, collection: str | None = None) -> list[ChunkRecord]:
        return await self._read(list[ChunkRecord], f"{_chunk_path(chunk_id)}/section", collection)

    async def document(
        self, source_path: str, *, collection: str | None = None
    ) -> list[ChunkRecord]:
        path = f"/documents/{quote(check_string('source_path', source_path))}/chunks"
        return await self._read(list[ChunkRecord], path, collection)

    async def collections(self) -> list[CollectionSummary]:
        return await self._server.get(list[CollectionSummary], "/collections")

    # --- ingesting and generations ------------------------------------------------------------

    async def ingest(self, *_paths: object, **_options: object) -> Never:
        raise InputError(
            "a client can't ingest; run `surefind ingest` on the server's machine, or open its "
            "data folder with surefind.open()"
        )

    async def generations(self) -> list[Manifest]:
        return await self._read(list[Manifest], "/generations", None)

    async def changes(self, generation: int) -> GenerationChanges:
        path = f"/generations/{check_number(generation)}/changes"
        return await self._read(GenerationChanges, path, None)

    async def rollback(self, to: int | None = None) -> Manifest:
        """Requires a key of scope `admin`."""
        number = None if to is None else check_number(to)
        body = {"to": number, "collection": self._collection}
        return await self._server.change(Manifest, "/generations/rollback", body)

    # --- validating ---------------------------------------------------------------------------

    async def validate(self, *_golden: object, **_options: object) -> Never:
        raise InputError(
            "a client can't validate; run `surefind validate` on the server's machine, or open its "
            "data folder with surefind.open()"
        )

    async def compare(self, *_targets: object, **_options: object) -> Never:
        raise InputError(
            "a client can't compare; run `surefind compare`, or open a data folder with "
            "surefind.open()"
        )

    # --- published contracts ------------------------------------------------------------------

    async def retrieve(
        self, query: RetrievalQuery, *, mode: Mode | str = Mode.DENSE
    ) -> list[RetrievalResult]:
        asked = query.to_query(self._collection or DEFAULT_COLLECTION, one_of("mode", Mode, mode))
        check_query(asked)
        body = {"query": asked.text, **search_body(asked, self._collection)}
        result = await self._server.search(SearchResult, "/retrieve", body)
        return results_of(result, query.query_id, await self._model_of(result))

    async def generate_query_embedding(self, query: str) -> Never:
        raise InputError(
            "a client can't embed; use search(), or open the data folder with surefind.open()"
        )

    async def retrieve_content_chunks(self, query_embedding: object, limit: int = 5) -> Never:
        raise InputError(
            "a client can't search by a vector; use search(), or open the data folder with "
            "surefind.open()"
        )

    # --- shared by the methods ----------------------------------------------------------------

    @property
    def _server(self) -> ServerCalls:
        require_own_process(self._opened_in)
        return self._calls

    def _request(
        self, text: str, collection: str | None, options: SearchOptions
    ) -> tuple[Query, dict[str, object]]:
        """The checked query, and the body of its request without the text."""
        if collection is not None and options.get("collections"):
            raise InputError("pass either collection or collections, not both")
        named = self._named(collection)
        query = query_of(text, named or DEFAULT_COLLECTION, options)
        check_query(query)
        chosen = query.collection if options.get("collections") else named
        return query, search_body(query, chosen)

    def _named(self, collection: str | None) -> str | None:
        return self._collection if collection is None else check_string("collection", collection)

    async def _read(self, kind: type[T], path: str, collection: str | None) -> T:
        return await self._server.get(kind, path, collection=self._named(collection))

    async def _model_of(self, result: SearchResult) -> str:
        """The embedding model of the generation that answered."""
        place = (result.query.collection, result.generation)
        if place not in self._models:
            manifests = await self._read(list[Manifest], "/generations", place[0])
            self._models |= {(one.collection, one.number): one.embedder.model for one in manifests}
        return self._models.get(place, "")


def _of(query: Query, result: SearchResult) -> SearchResult:
    """With the caller's own query, whose conditions may be written differently."""
    return replace(result, query=replace(query, collection=result.query.collection))


def _chunk_path(chunk_id: str) -> str:
    if "/" in chunk_id:  # the server would take it for another path
        raise UnknownChunk(f"there is no chunk {chunk_id!r}; search results have chunk IDs")
    return f"/chunks/{quote(check_string('chunk_id', chunk_id), safe='')}"
