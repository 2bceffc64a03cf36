"""The host names that the server accepts.

Protects against DNS rebinding: a site can point its own name at this machine and make a visitor's
browser call a server that only this machine can reach. The Host header still has the site's name.
"""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from surefind.interfaces.http.errors import error_response

_OWN_NAME = "localhost"
_HOST = re.compile(r"(?:\[(?P<address>[^\]]*)\]|(?P<name>[^:\[\]]*))(?::\d*)?")


class AllowedHosts:
    """Accepts IP addresses, localhost and the configured names."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...], *, public: bool) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._any_name = public and not names  # a public server has its site's name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._any_name:
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("host")
        if all(self._is_known(host) for host in given):  # browsers always send one
            await self._app(scope, receive, send)
            return
        message = (
            "Host: this server does not accept that name; if it is yours, add it to the "
            "allowed_hosts setting"
        )
        await error_response(400, "validation_error", message)(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        if match["address"]:
            return _is_address(match["address"])
        name = match["name"].lower().rstrip(".")
        own = name == _OWN_NAME or name.endswith(f".{_OWN_NAME}")
        return own or name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
