"""Routes that read a collection: documents, chunks and filter fields."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from pydantic.config import JsonDict

from surefind.bootstrap import Application
from surefind.interfaces.http.examples import CHUNK, CHUNKS, DOCUMENTS, FIELDS
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.openapi import TAGS, answers
from surefind.interfaces.http.routes.collections import CollectionChoice
from surefind.interfaces.http.typed_responses import response_of
from surefind.interfaces.json_output import Json
from surefind.interfaces.json_output.search import chunk_json, fields_json
from surefind.interfaces.links import absolute_url, linked_record
from surefind.model import ChunkRecord, DocumentRecord
from surefind.model.strings import MAX_STRING, NO_NUL
from surefind.services.search.passages import MAX_AROUND

MAX_PAGE = 500

_NO_NUL: JsonDict = {"pattern": NO_NUL}
ChunkId = Annotated[
    str,
    Path(
        max_length=200,
        description="The chunk ID from a search result",
        json_schema_extra=_NO_NUL,
    ),
]
SourcePath = Annotated[
    str,
    Path(
        max_length=MAX_STRING,
        description="The source path from a search result",
        json_schema_extra=_NO_NUL,
    ),
]


class PageRange(CollectionChoice):
    """Which part of a long list."""

    after: Annotated[str, Field(max_length=MAX_STRING, json_schema_extra=_NO_NUL)] | None = Field(
        None, description="Start after this path: the `next` of the previous page"
    )
    limit: int = Field(100, ge=1, le=MAX_PAGE, description="Maximum number of items")


class NeighbourRange(CollectionChoice):
    """How many chunks to include before and after a chunk."""

    before: int = Field(1, ge=0, le=MAX_AROUND, description="Number of chunks before it")
    after: int = Field(1, ge=0, le=MAX_AROUND, description="Number of chunks after it")


Choice = Annotated[CollectionChoice, Query()]


def add_catalog(app: FastAPI, application: Application) -> None:
    served = application.settings.collection
    readers, passages_in = application.parts.readers, application.searching.passages_in

    @app.get("/fields", responses=answers(FIELDS), tags=TAGS)
    async def fields(choice: Choice) -> JSONResponse:
        """The fields to filter by, with their kinds, and their values if there are few."""
        facets = application.searching.facets
        return JSONResponse(fields_json(await facets.read(choice.collection or served)))

    @app.get("/documents", responses=answers(DOCUMENTS), tags=TAGS)
    async def documents(http: Request, page: Annotated[PageRange, Query()]) -> JSONResponse:
        """The documents of the collection, sorted by path."""
        async with readers.of(page.collection or served).lease() as generation:
            catalog = generation.require_catalog()
            records = await catalog.documents(page.after, page.limit + 1)
        shown = records[: page.limit]
        return JSONResponse(
            {
                "total": generation.manifest.counted_documents,
                "limit": page.limit,
                "next": shown[-1].source_path if len(records) > page.limit else None,
                "documents": [_document(record, address_of(http)) for record in shown],
            }
        )

    @app.get("/documents/{source_path:path}/chunks", responses=answers(CHUNKS), tags=TAGS)
    async def document_chunks(http: Request, source_path: SourcePath, choice: Choice) -> Response:
        """The chunks of a document, in order."""
        return _chunks(await passages_in(choice.collection).document(source_path), http)

    @app.get("/chunks/{chunk_id}", responses=answers(CHUNK), tags=TAGS)
    async def chunk(http: Request, chunk_id: ChunkId, choice: Choice) -> Response:
        """A chunk with its text and metadata."""
        record = await passages_in(choice.collection).chunk(chunk_id)
        linked = linked_record(record, address_of(http))
        return response_of(http, linked, ChunkRecord, lambda: chunk_json(linked))

    @app.get("/chunks/{chunk_id}/neighbours", responses=answers(CHUNKS), tags=TAGS)
    async def neighbours(
        http: Request, chunk_id: ChunkId, around: Annotated[NeighbourRange, Query()]
    ) -> Response:
        """A chunk and its neighbours in the document, in order."""
        passages = passages_in(around.collection)
        return _chunks(await passages.neighbours(chunk_id, around.before, around.after), http)

    @app.get("/chunks/{chunk_id}/section", responses=answers(CHUNKS), tags=TAGS)
    async def section(http: Request, chunk_id: ChunkId, choice: Choice) -> Response:
        """All chunks of the section that a chunk is in, subsections included, in order."""
        return _chunks(await passages_in(choice.collection).section(chunk_id), http)


def _chunks(records: Sequence[ChunkRecord], http: Request) -> Response:
    address = address_of(http)
    linked = [linked_record(record, address) for record in records]
    return response_of(
        http, linked, list[ChunkRecord], lambda: {"chunks": list(map(chunk_json, linked))}
    )


def _document(record: DocumentRecord, address: str) -> Json:
    return {
        "source_path": record.source_path,
        "url": absolute_url(record.url, address),
        "slug": record.slug,
        "title": record.title,
        "chunks": record.chunks,
        "content_hash": record.content_hash,
    }
