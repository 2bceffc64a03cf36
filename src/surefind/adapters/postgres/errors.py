"""What PostgreSQL refuses, as errors that name the store and the next step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolTimeout

from surefind.adapters.postgres.address import Address
from surefind.errors import StoreError, SurefindError

_DOCS = "docs/postgres.md says which rights are needed"

# By SQLSTATE, or the class that its first two characters name.
_ADVICE = {
    "25006": "it may only be read (a replica?); to write, let DATABASE_URL name the primary",
    "28000": "it does not let you in; check the user, the password and the sslmode in DATABASE_URL",
    "28P01": "it refused the password; check DATABASE_URL",
    "3D000": "there is no such database; create it, or mend the name in DATABASE_URL",
    "42501": f"your role may not do that; {_DOCS}",
    "42P01": "a table is missing: {reason}; `surefind ingest` makes the tables, where they were "
    "dropped the generations are lost",
    "3F000": "the schema is missing: {reason}; `surefind ingest` makes it",
    "53100": "its disk is full; free some space there and run it again. Nothing was published",
    "53300": "it has no connection left; raise its max_connections, or lower database_pool_size",
    "57014": "it took too long and was cancelled; raise statement_timeout there, or try again",
    "57P01": "it was shut down; try again when it is up",
    "57P02": "it crashed; try again when it is up",
    "57P03": "it is starting or stopping; try again in a moment",
    "40": "another transaction was in the way; run it again",
    "42": "the tables are not as this surefind knows them: {reason}; run `surefind catalog "
    "migrate --dry-run`",
}
# A refused connection has no SQLSTATE, only what libpq says of it.
_TELLING = (
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
    "its certificate can't be trusted here; let sslrootcert in DATABASE_URL name the file of the "
    "authority that signed it, or be system for those that this machine trusts"
)
_OTHER_HOST = (
    "its certificate is another host's; let DATABASE_URL name the host as the certificate does"
)
_NO_TLS = (
    "it speaks no TLS; turn ssl on there, or lower sslmode in DATABASE_URL if nobody can listen on "
    "the way"
)
_NO_PRIMARY = (
    "none of its hosts may be written now; promote one, or leave out target_session_attrs in "
    "DATABASE_URL where you only read"
)
_NO_REPLICA = (
    "none of its hosts is a replica now; let target_session_attrs in DATABASE_URL be "
    "prefer-standby, which takes the primary then"
)
_NO_STANDBY = "not in hot standby mode"
_UP = "check that it is up, or raise database_connect_timeout_s"
_REACHING = (
    ("refused", "nothing listens there; start it, or mend host and port in DATABASE_URL"),
    ("timeout expired", f"it did not answer; {_UP}"),
    ("No such file", "nothing listens there; start it, or mend the host in DATABASE_URL"),
    ("resolve", "there is no such host; mend it in DATABASE_URL"),
    ("Name or service", "there is no such host; mend it in DATABASE_URL"),
    ("session is read-only", _NO_PRIMARY),
    ("session is not read-only", _NO_REPLICA),
    (_NO_STANDBY, _NO_REPLICA),
    ("does not match host name", _OTHER_HOST),
    ("does not support SSL", _NO_TLS),
    ("root certificate file", _TRUST),
    ("certificate verify failed", _TRUST),
    ("SSL", "TLS could not be agreed on; check sslmode and sslrootcert in DATABASE_URL"),
    ("certificate", "TLS could not be agreed on; check sslmode and sslrootcert in DATABASE_URL"),
)
# Of several attempts the one that tells most: a host that answers before one that is away.
_ANSWERED = ("session is ", _NO_STANDBY, "FATAL", "password supplied", "certificate", "SSL")
_AWAY = ("timeout expired", "timed out", "unreachable", "No route", "refused", "No such file")
_ATTEMPT = re.compile(r"^- host: .*?, port: .*?, hostaddr: (?:None|'.*?'): ", re.MULTILINE)

# It only repeats where the server is.
_PREAMBLE = re.compile(r"(connection (failed|is bad): )?connection to server (at|on) .*? failed: ")


class TookTooLong(psycopg.OperationalError):
    """Our own clock ran out, on a statement."""


class ConnectingTookTooLong(TookTooLong):
    """It ran out before there was a connection at all."""


_WAITED = (
    (PoolTimeout, "ask less at once, or raise database_pool_size"),
    (ConnectingTookTooLong, _UP),
    (TookTooLong, "check that it is well, or raise database_timeout_s"),
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
    code = getattr(error, "sqlstate", None) or _told(reason)
    known = _ADVICE.get(code, _ADVICE.get(code[:2])) if code else None
    if known is not None:
        return known.format(reason=reason) if "{reason}" in known else f"{known} ({reason})"
    if isinstance(error, psycopg.OperationalError):
        for sign, advice in _REACHING:
            if sign in reason:
                return f"{advice} ({reason})"
        return f"the connection failed ({reason}); check that it is up and try again"
    return reason


def _told(reason: str) -> str | None:
    if "FATAL" not in reason and "password supplied" not in reason:
        return None
    return next((code for sign, code in _TELLING if sign in reason), None)


def _reason(error: Exception, address: Address) -> str:
    """Its first line, or of several attempts the first line of the one that tells most."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    said = (primary or str(error) or type(error).__name__).strip()
    # What psycopg says before the list of attempts repeats the last of them.
    reasons = [_first_line(attempt) for attempt in _ATTEMPT.split(said)[1:] or [said]]
    if address.prefers_standby:  # then that was no reason, but why all were asked once more
        reasons = [reason for reason in reasons if _NO_STANDBY not in reason] or reasons
    return min(reasons, key=_silence)


def _first_line(said: str) -> str:
    return " ".join(_PREAMBLE.sub("", said.partition("\n")[0]).split())


def _silence(reason: str) -> int:
    """The less it tells, the more; what nobody has foreseen lies between the two kinds."""
    unforeseen = len(_ANSWERED)
    answered = next((n for n, sign in enumerate(_ANSWERED) if sign in reason), unforeseen)
    if answered < unforeseen:
        return answered
    away = (n for n, sign in enumerate(_AWAY, unforeseen + 1) if sign in reason)
    return next(away, unforeseen)


def _without_secret(message: str, address: Address) -> str:
    return message.replace(address.password, "…") if len(address.password) > 3 else message


def connection_is_gone(error: psycopg.Error, connection: psycopg.AsyncConnection) -> bool:
    """Whether another connection may do better; one that took too long would do no better."""
    if isinstance(error, TookTooLong) or not isinstance(error, psycopg.OperationalError):
        return False
    return connection.closed or error.sqlstate in {"57P01", "57P02", "57P03"}


def statement_was_lost(error: psycopg.Error) -> bool:
    """A pooler gave us a server that does not know what we prepared on another."""
    return error.sqlstate in {"26000", "42P05"}
