"""Translates PostgreSQL's errors into errors that name the catalog and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolTimeout

from surefind.adapters.postgres.address import Address
from surefind.errors import StoreError, SurefindError

_DOCS = "docs/postgres.md lists the privileges that surefind needs"

# By SQLSTATE, or by its class: the first two characters.
_ADVICE = {
    "25006": "it is read-only (a replica?); to write, set DATABASE_URL to the primary",
    "28000": "access denied; check user, password and sslmode in DATABASE_URL",
    "28P01": "wrong password; check DATABASE_URL",
    "3D000": "this database does not exist; create it, or correct the name in DATABASE_URL",
    "42501": f"your role lacks a privilege; {_DOCS}",
    "42P01": "a table is missing: {reason}; `surefind ingest` creates the tables. If they were "
    "dropped, their generations are lost",
    "3F000": "the schema is missing: {reason}; `surefind ingest` creates it",
    "53100": "its disk is full; free some space there and try again. Nothing was published",
    "53300": "it has no free connection; raise its max_connections, or lower database_pool_size",
    "57014": "the statement was cancelled; raise statement_timeout on the server, or try again",
    "57P01": "the server was shut down; try again when it is up",
    "57P02": "the server crashed; try again when it is up",
    "57P03": "the server is starting or stopping; try again in a moment",
    "40": "another transaction conflicted with this one; try again",
    "42": "the tables differ from what this version of surefind expects: {reason}; run "
    "`surefind catalog migrate --dry-run`",
}
# A refused connection has no SQLSTATE, only the message of libpq.
_MESSAGES = (
    ("password authentication failed", "28P01"),
    ("no password supplied", "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("role ", "28000"),
    ("database ", "3D000"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
)
_TRUST = (
    "its certificate is not trusted; set sslrootcert in DATABASE_URL to the file of the authority "
    "that signed it, or to `system` for the authorities that this machine trusts"
)
_OTHER_HOST = (
    "its certificate is for another host; write the host in DATABASE_URL as the certificate does"
)
_NO_TLS = (
    "it does not support TLS; turn ssl on there, or lower sslmode in DATABASE_URL if the network "
    "is private"
)
_NO_PRIMARY = (
    "none of its hosts accepts writes now; promote one, or leave out target_session_attrs in "
    "DATABASE_URL if you only read"
)
_NO_REPLICA = (
    "none of its hosts is a replica now; set target_session_attrs in DATABASE_URL to "
    "prefer-standby, which falls back to the primary"
)
_NO_STANDBY = "not in hot standby mode"
_UP = "check that it is up, or raise database_connect_timeout_s"
_REACHING = (
    ("refused", "nothing listens there; start it, or correct host and port in DATABASE_URL"),
    ("timeout expired", f"it did not answer; {_UP}"),
    ("No such file", "nothing listens there; start it, or correct the host in DATABASE_URL"),
    ("resolve", "the host does not exist; correct it in DATABASE_URL"),
    ("Name or service", "the host does not exist; correct it in DATABASE_URL"),
    ("session is read-only", _NO_PRIMARY),
    ("session is not read-only", _NO_REPLICA),
    (_NO_STANDBY, _NO_REPLICA),
    ("does not match host name", _OTHER_HOST),
    ("does not support SSL", _NO_TLS),
    ("root certificate file", _TRUST),
    ("certificate verify failed", _TRUST),
    ("SSL", "the TLS handshake failed; check sslmode and sslrootcert in DATABASE_URL"),
    ("certificate", "the TLS handshake failed; check sslmode and sslrootcert in DATABASE_URL"),
)
# Several attempts: report the most telling one, a host that answers before one that is down.
_ANSWERED = ("session is ", _NO_STANDBY, "FATAL", "password supplied", "certificate", "SSL")
_DOWN = ("timeout expired", "timed out", "unreachable", "No route", "refused", "No such file")
_ATTEMPT = re.compile(r"^- host: .*?, port: .*?, hostaddr: (?:None|'.*?'): ", re.MULTILINE)

# Repeats only where the server is.
_PREAMBLE = re.compile(r"(connection (failed|is bad): )?connection to server (at|on) .*? failed: ")


class TookTooLong(psycopg.OperationalError):
    """Our own timeout expired, on a statement."""


class ConnectingTookTooLong(TookTooLong):
    """Our own timeout expired before there was a connection."""


_WAITED = (
    (PoolTimeout, "send fewer requests at once, or raise database_pool_size"),
    (ConnectingTookTooLong, _UP),
    (TookTooLong, "check the load of the server, or raise database_timeout_s"),
)


@contextmanager
def naming_faults(address: Address) -> Iterator[None]:
    try:
        yield
    except SurefindError:
        raise
    except (psycopg.Error, OSError) as error:
        raise fault_of(error, address) from error


def fault_of(error: Exception, address: Address) -> StoreError:
    where = f"the catalog in PostgreSQL at {address.where}"
    fault = StoreError(f"{where}: {_without_secret(_advice(error, address), address)}")
    if isinstance(error, PoolTimeout):
        fault.retry_after_s = 1
    return fault


def _advice(error: Exception, address: Address) -> str:
    reason = _reason(error, address)
    for kind, advice in _WAITED:
        if isinstance(error, kind):
            return f"{reason}; {advice}"
    code = getattr(error, "sqlstate", None) or _code_in(reason)
    known = _ADVICE.get(code, _ADVICE.get(code[:2])) if code else None
    if known is not None:
        return known.format(reason=reason) if "{reason}" in known else f"{known} ({reason})"
    if isinstance(error, psycopg.OperationalError):
        for sign, advice in _REACHING:
            if sign in reason:
                return f"{advice} ({reason})"
        return f"the connection failed ({reason}); check that it is up and try again"
    return reason


def _code_in(reason: str) -> str | None:
    if "FATAL" not in reason and "password supplied" not in reason:
        return None
    return next((code for sign, code in _MESSAGES if sign in reason), None)


def _reason(error: Exception, address: Address) -> str:
    """The error's first line; after several attempts, that of the most telling one."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    message = (primary or str(error) or type(error).__name__).strip()
    # psycopg repeats the last attempt before the list of all of them.
    reasons = [_first_line(attempt) for attempt in _ATTEMPT.split(message)[1:] or [message]]
    if address.prefers_standby:  # expected: psycopg then tries all hosts again
        reasons = [reason for reason in reasons if _NO_STANDBY not in reason] or reasons
    return min(reasons, key=_rank)


def _first_line(message: str) -> str:
    return " ".join(_PREAMBLE.sub("", message.partition("\n")[0]).split())


def _rank(reason: str) -> int:
    """Most telling first. Unknown reasons rank between hosts that answered and hosts down."""
    unknown = len(_ANSWERED)
    answered = next((n for n, sign in enumerate(_ANSWERED) if sign in reason), unknown)
    if answered < unknown:
        return answered
    down = (n for n, sign in enumerate(_DOWN, unknown + 1) if sign in reason)
    return next(down, unknown)


def _without_secret(message: str, address: Address) -> str:
    return message.replace(address.password, "…") if len(address.password) > 3 else message


def connection_was_lost(error: psycopg.Error, connection: psycopg.AsyncConnection) -> bool:
    """Whether another connection may succeed. After a timeout it would time out again."""
    if isinstance(error, TookTooLong) or not isinstance(error, psycopg.OperationalError):
        return False
    return connection.closed or error.sqlstate in {"57P01", "57P02", "57P03"}


def statement_was_lost(error: psycopg.Error) -> bool:
    """A pooler switched to a server that lacks our prepared statement."""
    return error.sqlstate in {"26000", "42P05"}
