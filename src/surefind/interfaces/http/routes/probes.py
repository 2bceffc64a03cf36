"""Liveness, readiness and metrics. None of them embeds anything."""

from typing import Literal

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from surefind.bootstrap import Application
from surefind.errors import NothingIngested, UnknownCollection
from surefind.interfaces.http.metrics import CONTENT_TYPE, Metrics
from surefind.interfaces.http.openapi import ERRORS, Responses

_NOT_READY: Responses = {status: ERRORS[status] for status in (500, 503)}


class Live(BaseModel):
    status: Literal["live"] = "live"


class Ready(BaseModel):
    status: Literal["ready"] = "ready"


def add_probes(app: FastAPI, application: Application, metrics: Metrics) -> None:
    @app.head("/live", include_in_schema=False)
    @app.get("/live", tags=["operation"])
    async def live() -> Live:
        """The process is running. Does not check the stores."""
        return Live()

    @app.head("/ready", include_in_schema=False)
    @app.get("/ready", responses=_NOT_READY, tags=["operation"])
    async def ready() -> Ready:
        """Whether the collection can be searched."""
        try:
            async with application.parts.reader.lease() as generation:
                await generation.index.count()
        except UnknownCollection as error:
            raise NothingIngested(str(error)) from error
        return Ready()

    @app.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={500: ERRORS[500]},
        tags=["operation"],
    )
    async def scrape() -> PlainTextResponse:
        """The server's metrics, in Prometheus text format."""
        return PlainTextResponse(await metrics.render(), media_type=CONTENT_TYPE)
