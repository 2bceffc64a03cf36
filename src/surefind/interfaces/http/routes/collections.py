"""Routes for collections: list generations, show their changes, roll back, and list gaps."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from surefind.bootstrap import Application
from surefind.contracts.request import StrictRequest
from surefind.interfaces.http.examples import (
    CHANGES,
    COLLECTIONS,
    GAPS,
    GENERATION,
    GENERATIONS,
)
from surefind.interfaces.http.middleware.access import AdminOnly
from surefind.interfaces.http.openapi import ERRORS, FORBIDDEN, TAGS, answers
from surefind.interfaces.http.typed_responses import response_of
from surefind.interfaces.json_output.gaps import gaps_json
from surefind.interfaces.json_output.generations import (
    changes_json,
    collection_json,
    manifest_json,
)
from surefind.model import CollectionSummary, Manifest
from surefind.model.strings import COLLECTION_NAME
from surefind.services.demand.gaps import GapOptions
from surefind.services.generations.generations import MAX_NUMBER, GenerationChanges

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


class GapPeriod(BaseModel):
    """Which searches of the served collection to read, and which gaps to list."""

    model_config = ConfigDict(extra="forbid")

    days: int = Field(30, ge=1, le=3650, description="Read the log of this many days")
    at_least: int = Field(1, ge=1, le=1_000_000, description="Leave out gaps with fewer searches")
    below: float = Field(0.5, ge=0, le=1, description="The confidence below which evidence is thin")
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of gaps to list")


def add_collections(app: FastAPI, application: Application) -> None:
    @app.get("/collections", responses=answers(COLLECTIONS), tags=TAGS)
    async def collections(http: Request) -> Response:
        """Every collection of the installation, with its current generation."""
        found = await application.searching.collections()
        return response_of(
            http,
            found,
            list[CollectionSummary],
            lambda: {"collections": [collection_json(one) for one in found]},
        )

    @app.get("/generations", responses=answers(GENERATIONS), tags=TAGS)
    async def generations(http: Request, choice: Annotated[CollectionChoice, Query()]) -> Response:
        """The stored generations of a collection, oldest first."""
        builds = application.parts.generations(choice.collection)
        current = await builds.current()
        manifests = await builds.list()
        return response_of(
            http,
            manifests,
            list[Manifest],
            lambda: {
                "generations": [
                    manifest_json(manifest, current=manifest.number == current)
                    for manifest in manifests
                ]
            },
        )

    @app.get("/generations/{number}/changes", responses=answers(CHANGES), tags=TAGS)
    async def changes(
        http: Request, number: Number, choice: Annotated[CollectionChoice, Query()]
    ) -> Response:
        """The pages that a generation added, changed and removed."""
        found = await application.parts.generations(choice.collection).changes(number)
        return response_of(http, found, GenerationChanges, lambda: changes_json(found))

    @app.post("/generations/rollback", responses={**answers(GENERATION), **FORBIDDEN}, tags=TAGS)
    async def rollback(http: Request, request: RollbackRequest, _admin: AdminOnly) -> Response:
        """Make another generation the current one. Nothing is deleted. Requires an admin key."""
        manifest = await application.parts.generations(request.collection).rollback(request.to)
        return response_of(http, manifest, Manifest, lambda: manifest_json(manifest, current=True))

    @app.get("/gaps", responses={**ERRORS, **answers(GAPS), **FORBIDDEN}, tags=TAGS)
    async def gaps(period: Annotated[GapPeriod, Query()], _admin: AdminOnly) -> Response:
        """What users ask and the served collection hardly answers. Requires an admin key."""
        now = datetime.now(UTC)
        since = now - timedelta(days=period.days)
        options = GapOptions(since, now, period.below, period.at_least)
        report = await application.maintenance.gaps(options)
        is_logging = {"query_log": application.settings.query_log}
        return JSONResponse(is_logging | gaps_json(report, period.limit))
