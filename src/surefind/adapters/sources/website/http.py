"""The HTTP client of the crawler: paced, retried, limited in time and size, safe against SSRF."""

import asyncio
import ipaddress
import json
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.metadata import version
from typing import Self
from urllib.parse import urlsplit

import httpx2

from surefind.adapters.sources.website.sitemaps import MAX_URLS
from surefind.errors import StoreError

USER_AGENT = f"surefind/{version('surefind')} (+documentation crawler)"
_TRIES = 3
_MAX_FAILURES_IN_A_ROW = 20
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class CacheValidator:
    """The ETag and Last-Modified of a page, to detect whether it changed."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reverse of `str()`; invalid text gives an empty validator."""
        try:
            etag, last_modified = json.loads(text)
        except (ValueError, TypeError):
            return cls()
        return cls(etag, last_modified)

    def __str__(self) -> str:
        known = self.etag or self.last_modified
        return json.dumps([self.etag, self.last_modified]) if known else ""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """`known` should contain every page of the previous crawl, even those without a validator.

    The links of an unchanged or failed page are unknown; the known pages replace them.
    """

    max_pages: int = 5_000
    max_depth: int = 20
    max_page_bytes: int = 10_000_000
    max_known_urls: int = 100_000
    max_sitemap_urls: int = MAX_URLS
    max_alike: int = 500  # linked pages whose URLs differ only in numbers
    concurrency: int = 4
    delay_s: float = 0.0
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 20.0
    page_timeout_s: float = 60.0
    backoff_s: float = 1.0
    max_wait_s: float = 30.0  # the longest Retry-After that is honoured
    max_crawl_delay_s: float = 10.0  # of robots.txt
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    query_parameters: tuple[str, ...] = ()  # parameters that select a page; others are dropped
    allow_private: bool = False  # host names that resolve to a private network
    known: Mapping[str, CacheValidator] = field(default_factory=dict)


# --- requests ---------------------------------------------------------------------------------


class PageUnusable(OSError):  # noqa: N818 - the name states the result
    """A URL gave no usable page; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx2.Headers
    body: bytes | None = None

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class PageRequest:
    url: str
    max_bytes: int
    wanted: Callable[[Answer], bool]
    validator: CacheValidator | None = None


class SiteClient:
    """Requests to one host: paced, retried, limited in time and size, without redirects."""

    def __init__(self, client: httpx2.AsyncClient, options: CrawlOptions) -> None:
        self._client = client
        self._options = options
        self._slots = asyncio.Semaphore(options.concurrency)
        self._next_start = 0.0
        self._failures_in_a_row = 0
        self.delay_s = options.delay_s

    async def get(self, page_request: PageRequest) -> Answer:
        """Fetch a page, with a body only for an accepted 200; `PageUnusable` if that fails."""
        attempt = 1
        while (answer := await self._try(page_request, attempt)) is None:
            attempt += 1
        self._failures_in_a_row = 0
        return answer

    async def _try(self, page_request: PageRequest, attempt: int) -> Answer | None:
        """One attempt; None to retry, after the pause."""
        try:
            async with self._slots:
                await self._turn()
                answer = await self._ask(page_request)
        except httpx2.TransportError as error:
            if attempt == _TRIES or isinstance(error, httpx2.TimeoutException):
                raise self._unavailable(_reason(error)) from error
            await asyncio.sleep(self._options.backoff_s * attempt)
            return None
        except TimeoutError as error:
            raise self._unavailable(f"took more than {self._options.page_timeout_s:g} s") from error
        if answer.status != 429 and answer.status < 500:
            return answer
        if attempt < _TRIES:
            await self._back_off(answer, attempt)
            return None
        if answer.status == 429:
            raise self._unavailable("returned 429: too many requests")
        return answer

    async def _turn(self) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + self.delay_s
        await asyncio.sleep(start - now)

    async def _back_off(self, answer: Answer, attempt: int) -> None:
        """A Retry-After delays all requests, not only this one."""
        asked = _retry_after_s(answer.headers.get("retry-after", ""))
        if asked is None:
            await asyncio.sleep(self._options.backoff_s * attempt)
        else:
            later = asyncio.get_running_loop().time() + min(asked, self._options.max_wait_s)
            self._next_start = max(self._next_start, later)

    def _unavailable(self, reason: str) -> Exception:
        self._failures_in_a_row += 1
        if self._failures_in_a_row < _MAX_FAILURES_IN_A_ROW:
            return PageUnusable(reason)
        return StoreError(
            f"the site is unavailable: {_MAX_FAILURES_IN_A_ROW} requests in a row failed, the last "
            f"because it {reason}; nothing was changed, try again later"
        )

    async def _ask(self, page_request: PageRequest) -> Answer:
        headers = _conditions(page_request.validator)
        async with (
            asyncio.timeout(self._options.page_timeout_s),
            self._client.stream("GET", page_request.url, headers=headers) as response,
        ):
            answer = Answer(response.status_code, response.headers)
            if answer.status != 200 or not page_request.wanted(answer):
                return answer
            coding = response.headers.get("content-encoding", "").lower()
            if not {part.strip() for part in coding.split(",")} <= _CODINGS:
                raise PageUnusable(f"is compressed with {coding}, which was not requested")
            return replace(answer, body=await _body(response, page_request.max_bytes))


async def _body(response: httpx2.Response, max_bytes: int) -> bytes:
    """Read the body piece by piece; the limit applies after decompression, against zip bombs."""
    body = bytearray()
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > max_bytes:
                    raise PageUnusable(f"is larger than {max_bytes:,} bytes")
    except httpx2.DecodingError as error:
        raise PageUnusable(f"can't be decompressed: {error}") from error
    return bytes(body)


def _conditions(validator: CacheValidator | None) -> dict[str, str]:
    given = {
        "If-None-Match": validator.etag if validator else None,
        "If-Modified-Since": validator.last_modified if validator else None,
    }
    # A site may send values that are not valid in a request header.
    return {name: value for name, value in given.items() if value and _is_header(value)}


def _is_header(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _retry_after_s(value: str) -> float | None:
    """A Retry-After header, given in seconds or as a date, in seconds."""
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _reason(error: BaseException) -> str:
    """A transport error as the end of a sentence."""
    if isinstance(error, httpx2.ConnectTimeout):
        return "does not accept a connection in time"
    if isinstance(error, httpx2.TimeoutException):
        return "stopped answering in time"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return f"has no trusted TLS connection ({cause.reason or cause})"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ConnectError):
        return f"refused the connection ({error})"
    return f"closed the connection ({error})"


# --- the network ------------------------------------------------------------------------------


class _PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects only to the checked IP addresses, without another DNS lookup."""

    def __init__(self, addresses: list[str], connections: int) -> None:
        self._addresses = deque(addresses)
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._transport = httpx2.AsyncHTTPTransport(limits=limits)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for _ in range(len(self._addresses) - 1):
            try:
                return await self._send(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                self._addresses.rotate(-1)
        return await self._send(request)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=self._addresses[0]),
            headers=request.headers,  # Host among them
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": request.url.host},
        )
        return await self._transport.handle_async_request(pinned)

    async def aclose(self) -> None:
        await self._transport.aclose()


@asynccontextmanager
async def open_site(start_url: str, options: CrawlOptions) -> AsyncGenerator[SiteClient]:
    addresses = await _resolve(start_url, options)
    async with httpx2.AsyncClient(
        transport=_PinnedTransport(addresses, options.concurrency),
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # no cookies
        timeout=httpx2.Timeout(options.read_timeout_s, connect=options.connect_timeout_s),
    ) as client:
        yield SiteClient(client, options)


async def _resolve(start_url: str, options: CrawlOptions) -> list[str]:
    host = urlsplit(start_url).hostname or ""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(options.read_timeout_s):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # TimeoutError is an OSError
        reason = str(error) or "no answer from the name server"
        raise StoreError(
            f"{start_url} can't be crawled: the name {host} can't be resolved ({reason}); "
            "check the address and the network"
        ) from error
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in found))
    private = [address for address in addresses if not _is_public(address)]
    if private and not options.allow_private and not _names_private_place(host):
        raise StoreError(
            f"{start_url} is not crawled: {host} resolves to {private[0]} in a private network; "
            "if this is intended, allow private addresses"
        )
    return addresses


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    inner = getattr(parsed, "ipv4_mapped", None) or parsed
    return bool(inner.is_global) and not inner.is_multicast


def _names_private_place(host: str) -> bool:
    """A literal 127.0.0.1 or localhost is intended; another name that resolves there may not be."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not _is_public(host)
    except ValueError:
        return False
