"""Asking a website for its pages: paced, retried, bounded in time and size, never led astray."""

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
_MAX_AWAY_IN_A_ROW = 20
_CODINGS = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class CacheValidator:
    """What a site gave to recognise an unchanged page by."""

    etag: str | None = None
    last_modified: str | None = None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The reverse of `str()`; what is no such text is a validator that recognises nothing."""
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
    """`known` should name every page that was taken before, one without a validator too.

    The links of an unchanged or failed page can't be seen: then the known pages stand in for them.
    """

    max_pages: int = 5_000
    max_depth: int = 20
    max_page_bytes: int = 10_000_000
    max_known_urls: int = 100_000
    max_sitemap_urls: int = MAX_URLS
    max_alike: int = 500  # pages found by links whose urls differ in numbers alone
    concurrency: int = 4
    delay_s: float = 0.0
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 20.0
    page_timeout_s: float = 60.0
    backoff_s: float = 1.0
    max_wait_s: float = 30.0  # the longest that a Retry-After is obeyed
    max_crawl_delay_s: float = 10.0  # of robots.txt
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    query_parameters: tuple[str, ...] = ()  # those that choose a page; all others are dropped
    allow_private: bool = False  # a name that leads into a private network
    known: Mapping[str, CacheValidator] = field(default_factory=dict)


# --- asking -----------------------------------------------------------------------------------


class PageUnusable(OSError):  # noqa: N818 - reads as the answer it is
    """Why an address gave nothing that can be used."""


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
    """Requests to one host: paced, retried, bounded in time and size, never redirected."""

    def __init__(self, client: httpx2.AsyncClient, options: CrawlOptions) -> None:
        self._client = client
        self._options = options
        self._slots = asyncio.Semaphore(options.concurrency)
        self._next_start = 0.0
        self._away_in_a_row = 0
        self.delay_s = options.delay_s

    async def get(self, page_request: PageRequest) -> Answer:
        """With a body only for a 200 that is `wanted`; `PageUnusable` says why there is none."""
        attempt = 1
        while (answer := await self._try(page_request, attempt)) is None:
            attempt += 1
        self._away_in_a_row = 0
        return answer

    async def _try(self, page_request: PageRequest, attempt: int) -> Answer | None:
        """None when it is to be tried again; the pause before that has been made."""
        try:
            async with self._slots:
                await self._turn()
                answer = await self._ask(page_request)
        except httpx2.TransportError as error:
            if attempt == _TRIES or isinstance(error, httpx2.TimeoutException):
                raise self._away(_reason(error)) from error
            await asyncio.sleep(self._options.backoff_s * attempt)
            return None
        except TimeoutError as error:
            raise self._away(f"took more than {self._options.page_timeout_s:g} s") from error
        if answer.status != 429 and answer.status < 500:
            return answer
        if attempt < _TRIES:
            await self._back_off(answer, attempt)
            return None
        if answer.status == 429:
            raise self._away("answers 429: too many requests")
        return answer

    async def _turn(self) -> None:
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + self.delay_s
        await asyncio.sleep(start - now)

    async def _back_off(self, answer: Answer, attempt: int) -> None:
        """Who is told to come back later holds back all requests, not just that one."""
        asked = _retry_after_s(answer.headers.get("retry-after", ""))
        if asked is None:
            await asyncio.sleep(self._options.backoff_s * attempt)
        else:
            later = asyncio.get_running_loop().time() + min(asked, self._options.max_wait_s)
            self._next_start = max(self._next_start, later)

    def _away(self, reason: str) -> Exception:
        self._away_in_a_row += 1
        if self._away_in_a_row < _MAX_AWAY_IN_A_ROW:
            return PageUnusable(reason)
        return StoreError(
            f"the site no longer answers: {_MAX_AWAY_IN_A_ROW} requests in a row failed, the last "
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
                raise PageUnusable(f"is packed as {coding}, which was not asked for")
            return replace(answer, body=await _body(response, page_request.max_bytes))


async def _body(response: httpx2.Response, max_bytes: int) -> bytes:
    """Counted after unpacking, piece by piece: a bomb goes off at the limit."""
    body = bytearray()
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > max_bytes:
                    raise PageUnusable(f"is larger than {max_bytes:,} bytes")
    except httpx2.DecodingError as error:
        raise PageUnusable(f"can't be unpacked: {error}") from error
    return bytes(body)


def _conditions(validator: CacheValidator | None) -> dict[str, str]:
    given = {
        "If-None-Match": validator.etag if validator else None,
        "If-Modified-Since": validator.last_modified if validator else None,
    }
    # What a site sent is not always what a header may hold.
    return {name: value for name, value in given.items() if value and _is_header(value)}


def _is_header(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _retry_after_s(value: str) -> float | None:
    """Seconds, or the date that HTTP also allows there."""
    if value.strip().isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _reason(error: BaseException) -> str:
    """A sentence's end for a person, from an error of the transport."""
    if isinstance(error, httpx2.ConnectTimeout):
        return "does not accept a connection in time"
    if isinstance(error, httpx2.TimeoutException):
        return "stopped answering in time"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return f"has no TLS connection that can be trusted ({cause.reason or cause})"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ConnectError):
        return f"can't be connected to ({error})"
    return f"was cut off ({error})"


# --- the network ------------------------------------------------------------------------------


class _PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects only to the addresses that were checked: a second DNS answer is never asked for."""

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
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # keeps none: no sessions
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
        reason = str(error) or "the name server does not answer"
        raise StoreError(
            f"{start_url} can't be crawled: the name {host} can't be resolved ({reason}); "
            "check the address and the network"
        ) from error
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in found))
    private = [address for address in addresses if not _is_public(address)]
    if private and not options.allow_private and not _names_private_place(host):
        raise StoreError(
            f"{start_url} is not crawled: {host} leads to {private[0]}, inside a private network; "
            "if that is meant, allow private addresses"
        )
    return addresses


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    inner = getattr(parsed, "ipv4_mapped", None) or parsed
    return bool(inner.is_global) and not inner.is_multicast


def _names_private_place(host: str) -> bool:
    """Who types 127.0.0.1 or localhost means it; a name that turns out to be that may be a trap."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not _is_public(host)
    except ValueError:
        return False
