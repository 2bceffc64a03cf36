"""Collections as vector stores of OpenAI's API, read-only."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse

from surefind.bootstrap import Application
from surefind.errors import InputError, UnknownCollection, UnknownDocument
from surefind.interfaces.http.middleware.access import count_searches
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.openapi import OPENAI_ERRORS
from surefind.interfaces.http.routes.retrieval import PassagesResponse
from surefind.interfaces.http.routes.vector_store_requests import (
    FILE_ID,
    MAX_FILE_ID,
    FileRange,
    ListRange,
    VectorStoreSearch,
)
from surefind.interfaces.json_output.vector_stores import (
    content_json,
    file_json,
    list_json,
    results_json,
    source_path_of,
    store_json,
)
from surefind.interfaces.links import absolute_url, with_links
from surefind.model import CollectionSummary, Hit
from surefind.model.strings import COLLECTION_NAME
from surefind.text.chunking import without_overlap

_TAGS: list[Any] = ["openai"]
StoreId = Annotated[
    str,
    Path(
        max_length=63,
        description="A collection's name",
        json_schema_extra={"pattern": COLLECTION_NAME},
    ),
]
FileId = Annotated[
    str, Path(max_length=MAX_FILE_ID, pattern=FILE_ID, description="The ID of a listed file")
]


def add_vector_stores(app: FastAPI, application: Application) -> None:
    _add_stores(app, application)
    _add_search(app, application)
    _add_files(app, application)


def _add_stores(app: FastAPI, application: Application) -> None:

    @app.get("/v1/vector_stores", responses=OPENAI_ERRORS, tags=_TAGS)
    async def vector_stores(page: Annotated[ListRange, Query()]) -> JSONResponse:
        """The collections."""
        everything = await application.searching.collections()
        listed = [one for one in everything if page.after is None or one.name > page.after]
        shown = [store_json(one) for one in listed[: page.limit]]
        return JSONResponse(list_json(shown, has_more=len(listed) > len(shown)))

    @app.get("/v1/vector_stores/{vector_store_id}", responses=OPENAI_ERRORS, tags=_TAGS)
    async def vector_store(vector_store_id: StoreId) -> JSONResponse:
        """A collection."""
        async with application.parts.readers.of(vector_store_id).lease() as generation:
            manifest = generation.manifest
        summary = CollectionSummary(
            vector_store_id,
            served=vector_store_id == application.settings.collection,
            generation=manifest.number,
            documents=manifest.counted_documents,
            chunks=manifest.chunks,
            created_at=manifest.created_at,
        )
        return JSONResponse(store_json(summary))


def _add_search(app: FastAPI, application: Application) -> None:
    @app.post("/v1/vector_stores/{vector_store_id}/search", responses=OPENAI_ERRORS, tags=_TAGS)
    async def search(
        http: Request, vector_store_id: StoreId, request: VectorStoreSearch
    ) -> PassagesResponse:
        """Search a collection. Of several queries, a passage has the best score."""
        count_searches(http, len(request.query))
        try:
            queries = request.to_queries(vector_store_id)
            results = await application.searching.search_many(queries)
        except UnknownCollection:
            raise
        except InputError as error:
            raise InputError(_in_their_words(str(error))) from error
        address = address_of(http)
        hits = _merged(hit for result in results for hit in with_links(result, address).hits)
        shown = request.best_of(hits)
        return PassagesResponse(results_json(request.query, shown))


def _add_files(app: FastAPI, application: Application) -> None:
    readers = application.parts.readers

    @app.get("/v1/vector_stores/{vector_store_id}/files", responses=OPENAI_ERRORS, tags=_TAGS)
    async def files(
        http: Request, vector_store_id: StoreId, page: Annotated[FileRange, Query()]
    ) -> JSONResponse:
        """The documents of a collection, sorted by path."""
        after = None if page.after is None else source_path_of(page.after)
        async with readers.of(vector_store_id).lease() as generation:
            records = await generation.require_catalog().documents(after, page.limit + 1)
        if page.filter != "completed":
            records = []
        address, manifest = address_of(http), generation.manifest
        listed = [
            file_json(one, manifest, absolute_url(one.url, address))
            for one in records[: page.limit]
        ]
        return JSONResponse(list_json(listed, has_more=len(records) > page.limit))

    @app.get(
        "/v1/vector_stores/{vector_store_id}/files/{file_id}", responses=OPENAI_ERRORS, tags=_TAGS
    )
    async def file(http: Request, vector_store_id: StoreId, file_id: FileId) -> JSONResponse:
        """A document."""
        path = source_path_of(file_id)
        async with readers.of(vector_store_id).lease() as generation:
            document = await generation.require_catalog().document(path)
        if document is None:
            raise UnknownDocument(f"vector store {vector_store_id!r} has no file {file_id!r}")
        url = absolute_url(document.url, address_of(http))
        return JSONResponse(file_json(document, generation.manifest, url))

    @app.get(
        "/v1/vector_stores/{vector_store_id}/files/{file_id}/content",
        responses=OPENAI_ERRORS,
        tags=_TAGS,
    )
    async def content(vector_store_id: StoreId, file_id: FileId) -> JSONResponse:
        """The text of a document, in chunks."""
        passages = application.searching.passages_in(vector_store_id)
        records = await passages.document(source_path_of(file_id))
        return JSONResponse(content_json(without_overlap(record.chunk for record in records)))


def _merged(hits: Iterable[Hit]) -> Sequence[Hit]:
    """Best first; a passage that several queries find counts once."""
    best: dict[str, Hit] = {}
    for hit in hits:
        known = best.get(hit.record.chunk.id)
        if known is None or hit.score > known.score:
            best[hit.record.chunk.id] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)


def _in_their_words(message: str) -> str:
    """The message with the parameter's name in OpenAI's API."""
    for ours, theirs in (("where", "filters"), ("top_k", "max_num_results")):
        if message.startswith(ours):
            return theirs + message.removeprefix(ours)
    return message
