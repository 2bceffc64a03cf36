"""Parses DATABASE_URL as people have it: written for libpq, an ORM or a pooler."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from itertools import zip_longest
from urllib.parse import parse_qsl, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from surefind.errors import InputError

_SCHEME = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_POOLER_PORT = "6432"
# Parameters for Prisma, asyncpg and SQLAlchemy, which libpq would reject.
_FOREIGN_PARAMETERS = {
    "connection_limit",
    "pgbouncer",
    "pool_size",
    "pool_timeout",
    "prepared_statement_cache_size",
    "schema",
    "statement_cache_size",
}


@dataclass(frozen=True, slots=True)
class Address:
    """`where` names the database without a secret; `pooled` means a pooler is in front of it.

    `hosts` are tried in order. `is_single`: there is exactly one address to try, once.
    `connect_timeout_s` is the timeout of each attempt, if the URL sets one.
    """

    conninfo: str = field(repr=False)
    where: str
    hosts: tuple[str, ...]
    connect_timeout_s: float | None
    prefers_standby: bool
    is_single: bool
    user: str
    pooled: bool
    password: str = field(repr=False)


def address_of(url: str) -> Address:
    """Raises InputError. libpq's own message may quote the password, so it is not repeated."""
    plain, pooled = _for_libpq(url.strip())
    try:
        found = {key: str(value) for key, value in conninfo_to_dict(plain).items() if value}
    except (ProgrammingError, UnicodeError, ValueError) as error:
        raise InputError(_ADVICE) from error
    host, port = found.get("host", found.get("hostaddr", "localhost")), found.get("port", "5432")
    if "@" in host or not re.fullmatch(
        r"[\d,]+", port
    ):  # part of the password ended up in the host
        raise InputError(_ADVICE)
    defaults = {
        name: value
        for name, value in {
            "application_name": "surefind",
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": "30000",
        }.items()
        if name not in found
    }
    hosts = _hosts(host.split(","), port.split(","))
    database = found.get("dbname", found.get("user", ""))
    return Address(
        conninfo=make_conninfo(**found, **defaults),
        where=f"{','.join(hosts)}/{database}",
        hosts=hosts,
        is_single=_is_single(found),
        connect_timeout_s=_seconds(found.get("connect_timeout", "0")),
        prefers_standby=found.get("target_session_attrs") == "prefer-standby",
        user=found.get("user", ""),
        pooled=pooled or "-pooler." in host or _POOLER_PORT in port.split(","),
        password=found.get("password", ""),
    )


def _hosts(names: list[str], ports: list[str]) -> tuple[str, ...]:
    """Several hosts have one port each, or share one."""
    ports = ports * len(names) if len(ports) == 1 else ports
    pairs = zip_longest(names, ports, fillvalue="5432")
    return tuple(name if name.startswith("/") else f"{name}:{port or 5432}" for name, port in pairs)


def _is_single(found: Mapping[str, str]) -> bool:
    """One IP address or socket; a name may have several addresses."""
    place = found.get("hostaddr") or found.get("host", "/")
    if found.get("target_session_attrs") == "prefer-standby":  # psycopg tries each host twice
        return False
    try:
        return place.startswith("/") or bool(ip_address(place))
    except ValueError:
        return False


def _seconds(written: str) -> float | None:
    """None for zero and less, which libpq reads as no limit: the setting applies instead."""
    try:
        seconds = float(written)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise InputError(
            "connect_timeout in DATABASE_URL must be a number of seconds, such as "
            "connect_timeout=10; correct it or leave it out"
        )
    return seconds if seconds > 0 else None


_ADVICE = (
    "DATABASE_URL is not a PostgreSQL address; set SUREFIND_STORES=embedded to use the data "
    "folder, or write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with characters like "
    "@ / : ? # % in the password written as %40 %2F %3A %3F %23 %25"
)


def _for_libpq(url: str) -> tuple[str, bool]:
    scheme = _SCHEME.match(url)
    if scheme is None:
        if "://" in url or "=" not in url:
            raise InputError(_ADVICE)
        return url, False
    place, _, query = url[scheme.end() :].partition("?")
    if "@" in place.partition("/")[2]:  # part of the password ended up in the path
        raise InputError(_ADVICE)
    given = parse_qsl(query, keep_blank_values=True)
    kept = [("sslmode" if key == "ssl" else key, value) for key, value in given]
    kept = [(key, value) for key, value in kept if key not in _FOREIGN_PARAMETERS]
    pooled = ("pgbouncer", "true") in given
    return f"postgresql://{place}" + (f"?{urlencode(kept)}" if kept else ""), pooled
