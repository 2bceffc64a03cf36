"""The OpenAPI document, without FastAPI's own error shape: surefind answers 400, never 422."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from surefind.contracts.api import ErrorResponse

Responses = dict[int | str, dict[str, Any]]


def _error(description: str, name: str, message: str) -> dict[str, Any]:
    example = {"error": name, "message": message}
    return {
        "model": ErrorResponse,
        "description": description,
        "content": {"application/json": {"example": example}},
    }


ERRORS: Responses = {
    400: _error(
        "Invalid request parameters",
        "validation_error",
        "top_k: Input should be greater than or equal to 1",
    ),
    500: _error(
        "Unexpected server error", "internal_error", "Something went wrong; the log says more"
    ),
    502: _error(
        "Embedding service failure",
        "upstream_error",
        "the embedding service failed; the log says more, try again later",
    ),
    503: _error(
        "Database or vector store unreachable",
        "service_unavailable",
        "there is no collection 'docs' yet; `surefind ingest FOLDER` makes it from your "
        "documentation",
    ),
}
NOT_FOUND: Responses = {
    404: _error(
        "No such collection",
        "not_found",
        "there is no collection 'docs' yet; `surefind ingest FOLDER` makes it from your "
        "documentation",
    )
}


def openapi_of(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
