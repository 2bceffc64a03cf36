"""Routes for collections: list generations, show their changes, and roll back."""

import logging
from typing import Annotated

from fastapi import FastAPI, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from surefind.bootstrap import Application
from surefind.contracts.request import StrictRequest
from surefind.errors import SurefindError
from surefind.interfaces.http.examples import CHANGES, COLLECTIONS, GENERATION, GENERATIONS
from surefind.interfaces.http.middleware.access import AdminOnly
from surefind.interfaces.http.openapi import FORBIDDEN, TAGS, answers
from surefind.interfaces.json_output import Json
from surefind.interfaces.json_output.generations import changes_json, document_count, manifest_json
from surefind.model import GenerationRef
from surefind.model.strings import COLLECTION_NAME

_log = logging.getLogger(__name__)

MAX_NUMBER = 10**9

Number = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="A generation's number")]


CollectionName = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": COLLECTION_NAME})]


class CollectionChoice(BaseModel):
    """The collection to read, by default the one that is served."""

    model_config = ConfigDict(extra="forbid")

    collection: CollectionName | None = Field(None, description="A collection's name")


class RollbackRequest(StrictRequest):
    """The generation to return to, by default the previous one of the served collection."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"to": 3}, {}]})

    collection: CollectionName | None = Field(default=None, description="A collection's name")
    to: int | None = Field(default=None, ge=1, le=MAX_NUMBER, description="A generation's number")


def add_collections(app: FastAPI, application: Application) -> None:
    @app.get("/collections", responses=answers(COLLECTIONS), tags=TAGS)
    async def collections() -> JSONResponse:
        """Every collection of the installation, with its current generation."""
        names = await application.parts.catalogs.collections()
        described = [await _collection(application, name) for name in sorted(names)]
        return JSONResponse({"collections": [one for one in described if one is not None]})

    @app.get("/generations", responses=answers(GENERATIONS), tags=TAGS)
    async def generations(choice: Annotated[CollectionChoice, Query()]) -> JSONResponse:
        """The stored generations of a collection, oldest first."""
        builds = application.parts.generations(choice.collection)
        current = await builds.current()
        manifests = await builds.list()
        return JSONResponse(
            {
                "generations": [
                    manifest_json(manifest, current=manifest.number == current)
                    for manifest in manifests
                ]
            }
        )

    @app.get("/generations/{number}/changes", responses=answers(CHANGES), tags=TAGS)
    async def changes(number: Number, choice: Annotated[CollectionChoice, Query()]) -> JSONResponse:
        """The pages that a generation added, changed and removed."""
        return JSONResponse(
            changes_json(await application.parts.generations(choice.collection).changes(number))
        )

    @app.post("/generations/rollback", responses={**answers(GENERATION), **FORBIDDEN}, tags=TAGS)
    async def rollback(request: RollbackRequest, _admin: AdminOnly) -> JSONResponse:
        """Make another generation the current one. Nothing is deleted. Requires an admin key."""
        manifest = await application.parts.generations(request.collection).rollback(request.to)
        return JSONResponse(manifest_json(manifest, current=True))


async def _collection(application: Application, name: str) -> Json | None:
    """None for a collection that was never published."""
    number = await application.parts.catalogs.current(name)
    if number is None:
        return None
    served = name == application.settings.collection
    facts: Json = {"name": name, "served": served, "generation": number}
    try:
        manifest = await application.parts.catalogs.manifest(GenerationRef(name, number))
    except SurefindError as error:
        # If another team's store is unavailable, still list our own collections.
        if served or not any(one.name == name for one in application.settings.connected):
            raise
        _log.warning("can't read the connected collection %s: %s", name, error)
        return {**facts, "documents": None, "chunks": None, "created_at": None}
    return {
        **facts,
        "documents": document_count(manifest),
        "chunks": manifest.chunks,
        "created_at": manifest.created_at.isoformat(),
    }
