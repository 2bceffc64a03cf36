"""Calls to a Qdrant server, with retries, timeouts and clear errors."""

import asyncio
import math
import re
import socket
import ssl
import warnings
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import grpc
import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from surefind.adapters.embedders.remote import sendable_key
from surefind.adapters.remote_calls import AdaptiveLimiter, AttemptFailed, CallPolicy, retry_after_s
from surefind.errors import InputError, StoreChanged, StoreError, StoreRefused, StoreUnreachable
from surefind.model import is_address

T = TypeVar("T")
Version = tuple[int, int]
Call = Callable[[AsyncQdrantClient], Awaitable[T]]
RequireWriter = Callable[[], Awaitable[None]]

URL_SETTING, KEY_SETTING = "QDRANT_URL", "QDRANT_API_KEY"
OLDEST: Version = (1, 15)
FEATURES: dict[str, Version] = {
    "datetime indexes": (1, 8),
    "payload indexes on disk": (1, 11),
    "queries in batches": (1, 10),
    "sparse vectors weighed by rarity": (1, 10),
    "strict mode": (1, 13),
    "collection metadata": (1, 16),
}
"""The features in use and the version that introduced them. Features newer than OLDEST are checked
with `QdrantServer.has` and have a fallback. Servers older than OLDEST are rejected, because
qdrant-client supports only a few earlier versions.
"""
METADATA = "collection metadata"

CONNECTIONS = 16
_LONGEST_REASON = 300
_LOCKED = re.compile(r"\block(?:ed)?\b|\bwrite operations are forbidden", re.IGNORECASE)
_LACKS_PERMISSION = re.compile("(?:403 )?Forbidden:")
_STATUSES = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNIMPLEMENTED: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 408,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The server's address. `timeout_s` is the timeout of a search, `write_timeout_s` of a write.

    With a `grpc_port`, points are sent by gRPC.
    """

    url: str
    api_key: str | None = None
    grpc_port: int | None = None
    timeout_s: float = 10.0
    write_timeout_s: float = 60.0


class PermanentFailure(AttemptFailed):
    """A failure that a retry can't fix."""

    @property
    def may_pass(self) -> bool:
        return False


def guarded(guard: RequireWriter, call: Call[T]) -> Call[T]:
    """Check the guard before every attempt, since retries may happen minutes later."""

    async def checked(client: AsyncQdrantClient) -> T:
        await guard()
        return await call(client)

    return checked


class QdrantServer:
    """One server and one client; it connects on the first call."""

    def __init__(self, place: ServerAddress, policy: CallPolicy) -> None:
        if not is_address(place.url):
            raise InputError(
                f"{URL_SETTING} must be a URL such as https://host:6333 or http://localhost:6333"
            )
        address = urlsplit(place.url)
        self.name = f"the Qdrant server at {address.netloc.rpartition('@')[2]}"
        self._host = address.hostname or ""
        self._secure = address.scheme == "https"
        self._place = place
        self._key = sendable_key(place.api_key, KEY_SETTING) if place.api_key else None
        self._notify = policy.notify
        self._reads = AdaptiveLimiter(self.name, policy.searching, policy.notify)
        self._writes = AdaptiveLimiter(self.name, policy.ingesting, policy.notify)
        self._client: AsyncQdrantClient | None = None
        self._version: Version | None = None

    @property
    def timeout_s(self) -> int:
        """The timeout for the server, which need not finish abandoned requests."""
        return math.ceil(self._place.timeout_s)

    async def has(self, feature: str) -> bool:
        return await self.version() >= FEATURES[feature]

    async def version(self) -> Version:
        """Queried once; StoreError if the server is too old or not a Qdrant server."""
        if self._version is None:
            info = await self.read(lambda client: client.info())
            found = re.match(r"(\d+)\.(\d+)", str(getattr(info, "version", "")))
            if found is None:
                raise StoreRefused(f"{self.name} does not say its version; check {URL_SETTING}")
            version = (int(found[1]), int(found[2]))
            if version < OLDEST:
                raise StoreRefused(
                    f"{self.name} has version {info.version}, but surefind needs "
                    f"{OLDEST[0]}.{OLDEST[1]} or newer; upgrade the server"
                )
            self._version = version
        return self._version

    async def reported_version(self) -> str:
        """The version as the server spells it, uncached."""
        await self.version()
        return str((await self.read(lambda client: client.info())).version)

    async def clock_ahead_s(self) -> float | None:
        """From the Date header of a response; None without the header."""
        head = {} if self._key is None else {"api-key": self._key}
        try:
            async with httpx.AsyncClient(timeout=self._place.timeout_s) as client:
                answer = await client.get(
                    f"{self._place.url.rstrip('/')}/collections", headers=head
                )
            server_time = parsedate_to_datetime(answer.headers["date"])
        except (httpx.HTTPError, KeyError, ValueError):
            return None
        return (server_time - datetime.now(UTC)).total_seconds()

    async def read(self, call: Call[T], collection: str | None = None) -> T:
        """`collection` is named in error messages."""
        return await self._retried(self._reads, call, self._place.timeout_s, collection)

    async def write(self, call: Call[T], collection: str | None = None) -> T:
        """Only for idempotent calls: after a lost response, the call may have succeeded."""
        return await self._retried(self._writes, call, self._place.write_timeout_s, collection)

    async def change(self, call: Call[T], collection: str | None = None) -> T:
        """Like `write`, but with the few retries of a search, because a user is waiting."""
        return await self._retried(self._reads, call, self._place.write_timeout_s, collection)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    # --- one call -----------------------------------------------------------------------------

    async def _retried(
        self, calls: AdaptiveLimiter, call: Call[T], timeout_s: float, collection: str | None
    ) -> T:
        try:
            return await calls.call(lambda: self._attempt(call, timeout_s))
        except AttemptFailed as failure:
            raise self._explained(failure, collection) from failure

    async def _attempt(self, call: Call[T], timeout_s: float) -> T:
        try:
            async with asyncio.timeout(timeout_s):
                return await call(self._opened())
        except ResourceExhaustedResponse as error:
            raise AttemptFailed("too many requests", 429, error.retry_after_s) from error
        except QdrantException as error:  # an invalid Retry-After header
            raise AttemptFailed("too many requests", 429) from error
        except UnexpectedResponse as error:
            raise AttemptFailed(
                self._reason(error), error.status_code, retry_after_s(_retry_after(error))
            ) from error
        except ResponseHandlingException as error:
            raise self._connection_failure(error.source, timeout_s) from error
        except grpc.aio.AioRpcError as error:
            raise self._grpc_failure(error) from error
        except TimeoutError as error:
            raise AttemptFailed(f"no answer within {timeout_s:g} s") from error
        except (
            AssertionError,
            ValueError,
        ) as error:  # raised by the client for an invalid response
            raise AttemptFailed("its answer can't be parsed") from error

    def _connection_failure(self, source: Exception, timeout_s: float) -> AttemptFailed:
        causes = list(_causes(source))
        for cause in causes:
            if isinstance(cause, ssl.SSLError):
                return _tls_failure(cause)
            if isinstance(cause, socket.gaierror):
                return AttemptFailed(f"the host {self._host} does not exist")
        if isinstance(source, httpx.TimeoutException):
            return AttemptFailed(f"no answer within {timeout_s:g} s")
        if isinstance(source, httpx.ConnectError):
            return AttemptFailed("the connection was refused")
        if isinstance(source, httpx.HTTPError | OSError):
            return AttemptFailed(f"the connection broke ({type(source).__name__})")
        return AttemptFailed("its answer can't be parsed")

    def _grpc_failure(self, error: grpc.aio.AioRpcError) -> AttemptFailed:
        reason = self._hidden(error.details() or error.code().name)
        status = _STATUSES.get(error.code(), 500)
        if error.code() == grpc.StatusCode.FAILED_PRECONDITION and _is_locked(reason):
            status = 403  # as over REST
        return AttemptFailed(reason, status)

    def _opened(self) -> AsyncQdrantClient:
        if self._client is None:
            if self._key and not self._secure and not _is_here(self._host):
                self._notify(f"{KEY_SETTING} is sent unencrypted to {self._host}; use https")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about the unencrypted key, reported above
                self._client = AsyncQdrantClient(
                    url=self._place.url,
                    api_key=self._key,
                    prefer_grpc=self._place.grpc_port is not None,
                    grpc_port=self._place.grpc_port or 0,
                    timeout=math.ceil(self._place.write_timeout_s),
                    check_compatibility=False,  # it would only warn, from another thread
                    verify=self._secure,  # loading certificates is slow, even if unused
                    limits=httpx.Limits(
                        max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS
                    ),
                )
        return self._client

    # --- messages -----------------------------------------------------------------------------

    def _explained(self, failure: AttemptFailed, collection: str | None) -> StoreError:
        """An error with the server, the reason and the next step."""
        if failure.status == 401:
            return StoreRefused(
                f"{self.name} rejected the API key (401); check {KEY_SETTING} in the environment "
                "or in .env"
            )
        if failure.status == 403:
            return StoreRefused(self._forbidden(failure.reason))
        if failure.status == 404 and collection:
            return StoreChanged(
                f"{self.name} has no collection {collection}; run `surefind ingest` to rebuild it"
            )
        if isinstance(failure, PermanentFailure):
            return StoreUnreachable(f"{self.name}: {failure.reason}")
        if failure.may_pass:
            times = "once" if failure.tries == 1 else f"{failure.tries} times"
            return StoreUnreachable(
                f"{self.name} failed {times}; the last error was: {failure.reason}; check "
                f"{URL_SETTING} and that the server runs, then try again"
            )
        about = f" about {collection}" if collection else ""
        return StoreRefused(f"{self.name} rejected a request{about}: {failure.reason}")

    def _forbidden(self, reason: str) -> str:
        if _is_locked(reason):
            return (
                f"{self.name} is locked against writes ({reason}); the API key is fine. Have its "
                "administrator remove the lock, then try again. Searches still work"
            )
        return (
            f"the API key lacks permission on {self.name} (403); set {KEY_SETTING} to a key with "
            "more permissions. Building an index needs write access"
        )

    def _reason(self, error: UnexpectedResponse) -> str:
        try:
            message = error.structured()["status"]["error"]
        except (ValueError, KeyError, TypeError):
            message = error.content.decode("utf-8", "replace")
        return f"{error.status_code} {self._hidden(str(message))}".strip()

    def _hidden(self, message: str) -> str:
        text = " ".join(message.split())[:_LONGEST_REASON]
        return text.replace(self._key, "…") if self._key else text


def _tls_failure(cause: ssl.SSLError) -> PermanentFailure:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return PermanentFailure(
            f"its certificate is not trusted ({cause.verify_message}); renew it, use its host "
            f"name in {URL_SETTING}, or set SSL_CERT_FILE to the certificate of the authority "
            "that signed it"
        )
    return PermanentFailure(
        f"the TLS connection failed ({cause.reason or type(cause).__name__}); use https in "
        f"{URL_SETTING} only if the server supports it"
    )


def _is_locked(reason: str) -> bool:
    """Whether a refusal is about a write lock. Those about the key begin with `Forbidden:`."""
    return _LACKS_PERMISSION.match(reason) is None and _LOCKED.search(reason) is not None


def _retry_after(error: UnexpectedResponse) -> str | None:
    value = error.headers.get("retry-after") if error.headers else None
    return None if value is None else str(value)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
