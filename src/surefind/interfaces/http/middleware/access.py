"""Authentication and rate limits.

Every path requires a key, except those that browsers and platforms must reach without one.
"""

import base64
import binascii
from ipaddress import ip_network
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from surefind.errors import StoreError
from surefind.interfaces.http.errors import error_response, known_response
from surefind.interfaces.http.middleware.request_log import current_request
from surefind.model import ApiKey
from surefind.model import Scope as KeyScope
from surefind.services.serving.keys import Keyring
from surefind.services.serving.rate_limiter import RateLimiter

OPEN_PATHS = frozenset(
    {"/", "/live", "/ready", "/health", "/api/v1/health", "/embed.js", "/favicon.ico"}
)
_OPEN_FOLDERS = ("/static/",)
# Pages that a browser opens from a link, where it can't send our headers, so they also accept the
# key as a Basic password. Other paths don't: browsers send such credentials automatically, which
# other sites could exploit.
_BROWSED = ("/read/", "/docs", "/llms.txt", "/llms-full.txt")
_KEY = "surefind.key"
_RATES = "surefind.rates"


def is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(_OPEN_FOLDERS)


class Access:
    def __init__(self, app: ASGIApp, keyring: Keyring, rates: RateLimiter) -> None:
        self._app = app
        self._keyring = keyring
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            refusal = await self._refusal(scope)
        except StoreError as error:
            await known_response(error)(scope, receive, send)
            return
        wait_s = self._rates.take(_client(scope))
        if wait_s:
            message = f"too many requests; try again in {wait_s} s"
            headers = {"Retry-After": str(wait_s)}
            await error_response(429, "rate_limited", message, headers)(scope, receive, send)
            return
        scope[_RATES] = self._rates
        if refusal is None:
            await self._app(scope, receive, send)
            return
        response = error_response(401, "unauthorized", refusal)
        browsed = scope["path"].startswith(_BROWSED)
        challenge = 'Basic realm="surefind", charset="UTF-8"' if browsed else "Bearer"
        response.headers["WWW-Authenticate"] = challenge
        await response(scope, receive, send)

    async def _refusal(self, scope: Scope) -> str | None:
        if not await self._keyring.requires_key():
            return None
        presented = _presented(scope)
        if presented is None:
            return "an API key is required: send Authorization: Bearer KEY, or X-API-Key: KEY"
        key = await self._keyring.find(presented)
        if key is None and presented != "".join(presented.split()):
            return "the API key contains whitespace; send it exactly as it was created"
        if key is None:
            return "the API key is unknown or revoked; create one with `surefind keys create`"
        scope[_KEY] = key
        record = current_request()
        if record is not None:
            record.key_id = key.id
        return None


def key_of(scope: Scope) -> ApiKey | None:
    """The request's valid key; None on a server that requires no keys."""
    key: ApiKey | None = scope.get(_KEY)
    return key


def _admin(request: Request) -> None:
    key = key_of(request.scope)
    if key is None or key.scope is not KeyScope.ADMIN:
        raise HTTPException(
            403,
            "this requires a key with the admin scope; create one with "
            "`surefind keys create --scope admin --name NAME`",
        )


AdminOnly = Annotated[None, Depends(_admin)]


def count_searches(request: Request, searches: int) -> None:
    """Charge for all searches of a request; one was charged before its body was read."""
    rates: RateLimiter = request.scope[_RATES]
    wait_s = rates.take(_client(request.scope), searches - 1, taken=1)
    if wait_s:
        message = f"too many searches; send these {searches} again in {wait_s} s"
        raise HTTPException(429, message, {"Retry-After": str(wait_s)})


def _client(scope: Scope) -> str:
    """The key's ID, or else the address; for IPv6 the /64 network, assigned as a whole."""
    key = key_of(scope)
    if key is not None:
        return key.id
    host = scope["client"][0] if scope.get("client") else ""
    if ":" not in host:
        return host
    try:
        return str(ip_network((host.partition("%")[0], 64), strict=False))
    except ValueError:
        return host


def _presented(scope: Scope) -> str | None:
    """The key exactly as sent; extra characters make it a different, unknown key.

    Repeated headers are rejected: a proxy might pick another one than we do.
    """
    headers = Headers(scope=scope)
    given, keys = headers.getlist("authorization"), headers.getlist("x-api-key")
    if len(given) > 1 or len(keys) > 1:
        return None
    scheme, _, value = (given[0] if given else "").partition(" ")
    if scheme.lower() == "bearer" and value.strip(" "):
        return value.lstrip(" ")
    if scheme.lower() == "basic" and scope["path"].startswith(_BROWSED):
        return _password(value)
    return keys[0] if keys else None


def _password(value: str) -> str | None:
    try:
        _, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return password or None
