"""The collections over HTTP: the builds there are, what changed in each, and going back to one."""

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


_CollectionName = Annotated[
    str, Field(min_length=1, json_schema_extra={"pattern": COLLECTION_NAME})
]


class CollectionChoice(BaseModel):
    """Which collection: by default the one that is served."""

    model_config = ConfigDict(extra="forbid")

    collection: _CollectionName | None = Field(None, description="A collection's name")


class RollbackRequest(StrictRequest):
    """Where to go: without a number, to the generation before the current one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"to": 3}, {}]})

    to: int | None = Field(default=None, ge=1, le=MAX_NUMBER, description="A generation's number")


def add_collections(app: FastAPI, application: Application) -> None:
    @app.get("/collections", responses=answers(COLLECTIONS), tags=TAGS)
    async def collections() -> JSONResponse:
        """Every collection of the installation, with what its readers see."""
        names = await application.parts.catalogs.collections()
        described = [await _collection(application, name) for name in sorted(names)]
        return JSONResponse({"collections": [one for one in described if one is not None]})

    @app.get("/generations", responses=answers(GENERATIONS), tags=TAGS)
    async def generations(whose: Annotated[CollectionChoice, Query()]) -> JSONResponse:
        """The builds of a collection that are kept, oldest first."""
        builds = application.parts.generations(whose.collection)
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
    async def changes(number: Number, whose: Annotated[CollectionChoice, Query()]) -> JSONResponse:
        """Which pages a build added, changed and removed, compared with the one before it."""
        return JSONResponse(
            changes_json(await application.parts.generations(whose.collection).changes(number))
        )

    @app.post("/generations/rollback", responses={**answers(GENERATION), **FORBIDDEN}, tags=TAGS)
    async def rollback(request: RollbackRequest, _admin: AdminOnly) -> JSONResponse:
        """Let readers see another generation. Nothing is deleted; it needs an admin key."""
        manifest = await application.generations.rollback(request.to)
        return JSONResponse(manifest_json(manifest, current=True))


async def _collection(application: Application, name: str) -> Json | None:
    """None for one that was begun and never published."""
    number = await application.parts.catalogs.current(name)
    if number is None:
        return None
    served = name == application.settings.collection
    told: Json = {"name": name, "served": served, "generation": number}
    try:
        manifest = await application.parts.catalogs.manifest(GenerationRef(name, number))
    except SurefindError as error:
        # Somebody else's store may be away, and what is ours is there all the same.
        if served or not any(one.name == name for one in application.settings.connected):
            raise
        _log.warning("the connected collection %s can't be looked at: %s", name, error)
        return {**told, "documents": None, "chunks": None, "created_at": None}
    return {
        **told,
        "documents": document_count(manifest),
        "chunks": manifest.chunks,
        "created_at": manifest.created_at.isoformat(),
    }
