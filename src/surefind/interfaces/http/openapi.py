"""The OpenAPI document, without FastAPI's error schema: surefind answers 400, never 422."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from surefind.contracts.api import ErrorResponse
from surefind.interfaces.http.errors import is_openai, openai_error
from surefind.interfaces.http.middleware.access import is_open

Responses = dict[int | str, dict[str, Any]]


class OpenaiProblem(BaseModel):
    message: str
    type: str
    param: str | None = Field(description="The invalid parameter")
    code: str | None


class OpenaiErrorResponse(BaseModel):
    """An error in OpenAI's shape, below `/v1`."""

    error: OpenaiProblem


def operation_id(route: APIRoute) -> str:
    """The name that generated clients give to a route, such as `retrieve` or `search_v1`."""
    if route.path.startswith("/v1/vector_stores") and "vector_store" not in route.name:
        return f"vector_store_{route.name}"
    if route.path.startswith("/api/v1/") and not route.name.endswith("_v1"):
        return f"{route.name}_v1"
    return route.name


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
        "top_k: it must be at least 1",
    ),
    500: _error(
        "Unexpected server error", "internal_error", "Something went wrong; see the server log"
    ),
    502: _error(
        "Embedding service failure",
        "upstream_error",
        "the embedding service failed; see the server log, or try again later",
    ),
    503: _error(
        "Database or vector store unreachable",
        "service_unavailable",
        "there is no collection 'docs' yet; create it with `surefind ingest FOLDER`",
    ),
}
NOT_FOUND: Responses = {
    404: _error(
        "No such collection",
        "not_found",
        "there is no collection 'docs' yet; create it with `surefind ingest FOLDER`",
    )
}


FORBIDDEN: Responses = {
    403: _error(
        "The key lacks the required scope",
        "forbidden",
        "this requires a key with the admin scope",
    )
}
TAGS: list[Any] = ["surefind"]


def answers(example: dict[str, Any]) -> Responses:
    """The responses of a route that reads but never embeds."""
    shown = {"description": "Found", "content": {"application/json": {"example": example}}}
    failures = {status: answer for status, answer in ERRORS.items() if status != 502}
    return {200: shown, **failures, **NOT_FOUND}


_GUARDED: Responses = {
    401: _error(
        "Missing or invalid key",
        "unauthorized",
        "the API key is unknown or revoked; create one with `surefind keys create`",
    ),
    429: _error("Too many requests", "rate_limited", "too many requests; try again in 12 s"),
    503: ERRORS[503],
}
_SLOW: Responses = {408: _error("Too slow", "request_timeout", "body: not received within 10 s")}
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def _as_openai(responses: Responses) -> Responses:
    """The same errors in OpenAI's shape."""
    found: Responses = {}
    for status, answer in responses.items():
        example = answer["content"]["application/json"]["example"]
        shown = openai_error(int(status), example["error"], example["message"])
        content = {"application/json": {"example": shown}}
        found[status] = {**answer, "model": OpenaiErrorResponse, "content": content}
    return found


OPENAI_ERRORS = _as_openai({**ERRORS, **NOT_FOUND})


def _add_guards(path: str, operation: dict[str, Any]) -> None:
    """Add the responses of the middleware, which FastAPI does not know."""
    more = {} if is_open(path) else dict(_GUARDED)
    if "requestBody" in operation:
        more |= _SLOW
    if is_openai(path):
        more = _as_openai(more)
    schema = "OpenaiErrorResponse" if is_openai(path) else "ErrorResponse"
    for status, answer in more.items():
        operation["responses"].setdefault(
            str(status),
            {
                "description": answer["description"],
                "content": {
                    "application/json": {
                        "schema": {"$ref": f"#/components/schemas/{schema}"},
                        **answer["content"]["application/json"],
                    }
                },
            },
        )
    operation["security"] = [] if is_open(path) else [{}, {"bearer": []}, {"header": []}]


def openapi_of(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                operation["responses"].pop("422", None)
                _add_guards(path, operation)
        schema["components"]["securitySchemes"] = _KEYS
        for name in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
