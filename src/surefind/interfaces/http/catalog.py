"""What a collection holds, over HTTP: its documents, their chunks, and the builds there are."""

from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from surefind.bootstrap import Application
from surefind.contracts.request import StrictRequest
from surefind.errors import StoreError
from surefind.interfaces.http.access import AdminOnly
from surefind.interfaces.http.examples import (
    CHUNK,
    CHUNKS,
    COLLECTIONS,
    DOCUMENTS,
    GENERATION,
    GENERATIONS,
)
from surefind.interfaces.http.openapi import ERRORS, FORBIDDEN, NOT_FOUND, Responses
from surefind.interfaces.native import Json, chunk_json, manifest_json
from surefind.model import DocumentRecord, GenerationRef
from surefind.services.passages import MAX_AROUND

MAX_PAGE = 500
_FAILURES = {status: answer for status, answer in ERRORS.items() if status != 502}
_TAGS: list[Any] = ["surefind"]

ChunkId = Annotated[str, Path(max_length=200, description="As a search tells it")]
SourcePath = Annotated[str, Path(max_length=4000, description="As a search tells it")]


class Page(BaseModel):
    """Which part of a long list."""

    model_config = ConfigDict(extra="forbid")

    after: str | None = Field(
        None, max_length=4000, description="Only what comes after this path: the last part's next"
    )
    limit: int = Field(100, ge=1, le=MAX_PAGE, description="How many to give at most")


class Around(BaseModel):
    """How many chunks of the same document, before and after one."""

    model_config = ConfigDict(extra="forbid")

    before: int = Field(1, ge=0, le=MAX_AROUND, description="How many before it")
    after: int = Field(1, ge=0, le=MAX_AROUND, description="How many after it")


class RollbackRequest(StrictRequest):
    """Where to go: without a number, to the generation before the current one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"to": 3}, {}]})

    to: int | None = Field(default=None, ge=1, le=10**9, description="A generation's number")


def add_catalog(app: FastAPI, application: Application) -> None:
    add_collections(app, application)

    @app.get("/documents", responses=_answers(DOCUMENTS), tags=_TAGS)
    async def documents(page: Annotated[Page, Query()]) -> JSONResponse:
        """The documents of the collection, in the order of their paths."""
        async with application.reader.lease() as generation:
            if generation.catalog is None:
                raise StoreError("the catalog is away, and only it knows all documents")
            records = await generation.catalog.documents(page.after, page.limit + 1)
        shown = records[: page.limit]
        return JSONResponse(
            {
                "total": generation.manifest.documents,
                "limit": page.limit,
                "next": shown[-1].source_path if len(records) > page.limit else None,
                "documents": [_document(record) for record in shown],
            }
        )

    @app.get("/documents/{source_path:path}/chunks", responses=_answers(CHUNKS), tags=_TAGS)
    async def document_chunks(source_path: SourcePath) -> JSONResponse:
        """The chunks of a document, in their order."""
        records = await application.passages.document(source_path)
        return JSONResponse({"chunks": [chunk_json(record) for record in records]})

    @app.get("/chunks/{chunk_id}", responses=_answers(CHUNK), tags=_TAGS)
    async def chunk(chunk_id: ChunkId) -> JSONResponse:
        """One chunk, with everything that is known about it."""
        return JSONResponse(chunk_json(await application.passages.chunk(chunk_id)))

    @app.get("/chunks/{chunk_id}/neighbours", responses=_answers(CHUNKS), tags=_TAGS)
    async def neighbours(chunk_id: ChunkId, around: Annotated[Around, Query()]) -> JSONResponse:
        """A chunk and those around it in its document, in their order."""
        records = await application.passages.neighbours(chunk_id, around.before, around.after)
        return JSONResponse({"chunks": [chunk_json(record) for record in records]})


def add_collections(app: FastAPI, application: Application) -> None:
    @app.get("/collections", responses=_answers(COLLECTIONS), tags=_TAGS)
    async def collections() -> JSONResponse:
        """Every collection of the installation, with what its readers see."""
        names = await application.catalogs.collections()
        described = [await _collection(application, name) for name in sorted(names)]
        return JSONResponse({"collections": [one for one in described if one is not None]})

    @app.get("/generations", responses=_answers(GENERATIONS), tags=_TAGS)
    async def generations() -> JSONResponse:
        """The builds of the collection that are kept, oldest first."""
        current = await application.generations.current()
        manifests = await application.generations.list()
        return JSONResponse(
            {
                "generations": [
                    manifest_json(manifest, current=manifest.number == current)
                    for manifest in manifests
                ]
            }
        )

    @app.post("/generations/rollback", responses={**_answers(GENERATION), **FORBIDDEN}, tags=_TAGS)
    async def rollback(request: RollbackRequest, _admin: AdminOnly) -> JSONResponse:
        """Let readers see another generation. Nothing is deleted; it needs an admin key."""
        manifest = await application.generations.rollback(request.to)
        return JSONResponse(manifest_json(manifest, current=True))


def _answers(example: Json) -> Responses:
    shown = {"description": "Found", "content": {"application/json": {"example": example}}}
    return {200: shown, **_FAILURES, **NOT_FOUND}


async def _collection(application: Application, name: str) -> Json | None:
    """None for one that was begun and never published."""
    number = await application.catalogs.current(name)
    if number is None:
        return None
    manifest = await application.catalogs.manifest(GenerationRef(name, number))
    return {
        "name": name,
        "served": name == application.settings.collection,
        "generation": number,
        "documents": manifest.documents,
        "chunks": manifest.chunks,
        "created_at": manifest.created_at.isoformat(),
    }


def _document(record: DocumentRecord) -> Json:
    return {
        "source_path": record.source_path,
        "url": record.url,
        "slug": record.slug,
        "title": record.title,
        "chunks": record.chunks,
        "content_hash": record.content_hash,
    }
