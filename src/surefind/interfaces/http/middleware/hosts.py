"""The host names that the server accepts.

Protects against DNS rebinding: a site can point its own name at this machine and make a visitor's
browser call a server that only this machine can reach. The Host header still has the site's name.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

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
        name = _name_of(host)
        return _is_local(name) or name in self._names or _address(name) is not None


def is_own_machine(host: str) -> bool:
    """Whether a host with its port, as in a header, is the machine of the client."""
    name = _name_of(host)
    address = _address(name)
    return _is_local(name) or (address is not None and address.is_loopback)


def _name_of(host: str) -> str:
    """Without the port; empty if it is malformed."""
    match = _HOST.fullmatch(host)
    if match is None:
        return ""
    if match["address"]:
        return match["address"] if _address(match["address"]) else ""
    return match["name"].lower().rstrip(".")


def _is_local(name: str) -> bool:
    return name == _OWN_NAME or name.endswith(f".{_OWN_NAME}")


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None
