"""Validates every string of a request before its route runs: path, query string and body."""

import json
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qsl, unquote

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from surefind.errors import InputError
from surefind.interfaces.http.errors import is_openai
from surefind.model.strings import check_string, check_strings

# Invalid UTF-8 in a path is decoded to this character.
_REPLACED = "\ufffd"


class CheckedRoute(APIRoute):
    """The route class of the whole application, so that no route can skip the check."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        # Clients of OpenAI's API may send a query string of their own, such as an API version.
        accepts_query_string = is_openai(self.path) or "POST" not in (self.methods or ())

        async def checked(request: Request) -> Response:
            _check_path(request)
            _check_query_string(request)
            if not accepts_query_string:
                _refuse_query_string(request)
            return await handle(_CheckedRequest(request.scope, request.receive))

        return checked


class _CheckedRequest(Request):
    async def json(self) -> Any:
        body = json.loads(await self.body(), parse_float=_number)
        try:
            check_strings(body)
        except InputError as error:  # FastAPI treats other exceptions as parser bugs
            raise HTTPException(400, str(error)) from error
        return body


def _number(written: str) -> float:
    """JSON has a single number type, so 5.0 is the integer 5, as in JSON Schema."""
    value = float(written)
    return int(value) if value.is_integer() else value


def _check_path(request: Request) -> None:
    raw = request.scope.get("raw_path") or b""
    read = unquote(raw.decode("latin-1"), errors="surrogateescape")
    is_text = not any("\udc80" <= letter <= "\udcff" for letter in read)
    for name, value in request.path_params.items():
        is_broken = not is_text and _REPLACED in str(value)
        check_string(name, "\udc80" if is_broken else str(value), None)


def _check_query_string(request: Request) -> None:
    raw: bytes = request.scope["query_string"]
    pairs = parse_qsl(
        raw.decode("latin-1"), keep_blank_values=True, errors="surrogateescape", separator="&"
    )
    for name, value in pairs:
        check_string("query string", name, None)
        check_string(name, value, None)


def _refuse_query_string(request: Request) -> None:
    """Ignoring `?collection=b` would search, or roll back, another collection than the caller's."""
    for name in request.query_params:
        raise InputError(
            f"{name[:100]}: {request.method} {request.url.path} has no query parameters; send "
            "options in the JSON body"
        )
