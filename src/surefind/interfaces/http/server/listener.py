"""The socket that the server listens on."""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from surefind.errors import AddressInUse, InputError


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()  # queue connections while the model loads
        except socket.gaierror as error:
            raise InputError(
                f"can't resolve --host {host}: {error.strerror}; use an address of this machine"
            ) from error
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise InputError(
                    f"{host} is not an address of this machine; choose another --host"
                ) from error
            raise AddressInUse(
                f"port {port} on {host} is not available ({error.strerror}); stop the program that "
                "uses it, or choose another port with --port"
            ) from error
        yield listener


def is_public(listener: socket.socket) -> bool:
    """Whether other machines can reach it."""
    host: str = listener.getsockname()[0]
    return not ip_address(host.partition("%")[0]).is_loopback


def address_of_listener(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
