"""Answers a route in public JSON or, if a surefind client requests it, with the typed values."""

from collections.abc import Callable

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from surefind.interfaces.http.errors import error_response
from surefind.interfaces.json_output import Json
from surefind.interfaces.json_output.typed import (
    FORMAT,
    MEDIA_TYPE,
    VERSION_HEADER,
    dump,
    own_version,
    requested_format,
)


def response_of(
    http: Request,
    value: object,
    kind: object,
    as_json: Callable[[], Json],
    public: type[JSONResponse] = JSONResponse,
) -> Response:
    """`kind` is the type of `value`; `as_json` gives the public JSON, in a `public` response."""
    requested = requested_format(http.headers.get("accept", ""))
    if requested is None:
        return public(as_json())
    headers = {VERSION_HEADER: own_version()}
    if requested != FORMAT:
        message = (
            f"this server runs surefind {own_version()}, which can't answer clients with format "
            f"{requested}; install the same version of surefind on both sides"
        )
        return error_response(406, "not_acceptable", message, headers)
    return Response(dump(value, kind), media_type=MEDIA_TYPE, headers=headers)
