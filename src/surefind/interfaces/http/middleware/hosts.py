"""Which names the server answers to.

A site may give its own name the address of this machine and so let a visitor's browser call a
server here that nobody else can reach (DNS rebinding). The browser still says the site's name.
"""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from surefind.interfaces.http.errors import error_response

_OWN_NAME = "localhost"
_HOST = re.compile(r"(?:\[(?P<address>[^\]]*)\]|(?P<name>[^:\[\]]*))(?::\d*)?")


class AllowedHosts:
    """Bare addresses are nobody's name, and this machine's own name is no site's."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...], *, public: bool) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._any_name = public and not names  # who is public is called as its site is

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._any_name:
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("host")
        if all(self._is_known(host) for host in given):  # without any, it is no browser
            await self._app(scope, receive, send)
            return
        message = (
            "Host: this server does not answer to that name; if it is yours, add it to the "
            "setting allowed_hosts"
        )
        await error_response(400, "validation_error", message)(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        read = _HOST.fullmatch(host)
        if read is None:
            return False
        if read["address"]:
            return _is_address(read["address"])
        name = read["name"].lower().rstrip(".")
        own = name == _OWN_NAME or name.endswith(f".{_OWN_NAME}")
        return own or name in self._names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
