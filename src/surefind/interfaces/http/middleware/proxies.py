"""What trusted proxies report about a request, and the address that clients use for this server."""

import re
from typing import Any, cast

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

_PUBLIC_HOST = "surefind.public_host"
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")


class TrustedProxies(ProxyHeadersMiddleware):
    """Also reads X-Forwarded-Host, which uvicorn ignores.

    It is only used for links; the Host header stays what AllowedHosts checks.
    """

    def __init__(self, app: ASGIApp, trusted: tuple[str, ...]) -> None:
        super().__init__(cast("Any", app), list(trusted))  # uvicorn has its own types

    async def __call__(  # type: ignore[override]
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        client = scope.get("client")
        if scope["type"] == "http" and client and client[0] in self.trusted_hosts:
            given = Headers(scope=scope).get("x-forwarded-host", "")
            # With several proxies, the first one saw the client's request.
            host = given.partition(",")[0].strip()
            if _HOST.fullmatch(host):
                scope[_PUBLIC_HOST] = host
        await super().__call__(cast("Any", scope), cast("Any", receive), cast("Any", send))


def address_of(request: Request) -> str:
    """The address that the client used for this server, such as `https://docs.example.com`."""
    host = request.scope.get(_PUBLIC_HOST)
    if host is not None:
        return f"{request.url.scheme}://{host}{request.scope.get('root_path', '')}"
    return str(request.base_url).rstrip("/")
