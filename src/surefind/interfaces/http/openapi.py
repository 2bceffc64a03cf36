"""The OpenAPI document, without FastAPI's own error shape: surefind answers 400, never 422."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi


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
