"""Where a crawl connects to: only to addresses that were checked."""

import asyncio
import socket
from typing import Any

import httpx2
import pytest

from support.website.local_site import Site, page
from surefind.adapters.sources.website.http import CrawlOptions
from surefind.adapters.sources.website.source import WebsiteSource
from surefind.errors import StoreError
from surefind.model import PageLocation


def resolving_to(*addresses: str) -> Any:
    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 0)) for a in addresses]

    return getaddrinfo


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::ffff:192.168.0.1", "100.64.0.1"]
)
async def test_a_public_name_that_leads_inside_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "getaddrinfo", resolving_to("93.184.216.34", address))
    with pytest.raises(StoreError, match=f"resolves to {address} in a private network"):
        _ = [p async for p in WebsiteSource("https://docs.example.com/").pages()]


async def test_only_checked_addresses_are_connected_to(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first address refuses, the second answers; the host's name goes with the request."""
    monkeypatch.setattr(
        asyncio.get_running_loop(), "getaddrinfo", resolving_to("127.0.0.99", "127.0.0.1")
    )
    port = site.host.partition(":")[2]
    start = f"http://docs.example.com:{port}/docs/"
    site["/docs/"] = page("Home")
    source = WebsiteSource(start, CrawlOptions(allow_private=True))
    assert [p.source_path async for p in source.pages()] == [f"docs.example.com:{port}/docs/"]
    assert site.requests[0].headers["Host"] == f"docs.example.com:{port}"


async def test_the_start_may_move_to_https(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.host == "93.184.216.34"
        asked.append(f"{request.url.scheme}:{request.url.path}")
        if request.url.scheme == "http":
            target = f"https://{request.headers['host']}{request.url.path}"
            return httpx2.Response(301, headers={"Location": target})
        if request.url.path != "/":
            return httpx2.Response(404)
        return httpx2.Response(200, html="<p>Home")

    asked: list[str] = []
    transport = httpx2.MockTransport(answer)
    monkeypatch.setattr(httpx2, "AsyncHTTPTransport", lambda **_: transport)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolving_to("93.184.216.34"))
    source = WebsiteSource("http://docs.example.com")
    assert source.skipped == []
    assert source.place("a", {}) == PageLocation("http://docs.example.com/a")
    [found] = [p async for p in source.pages()]
    assert found.source_path == "docs.example.com/"
    assert source.place("", {"language": "de"}) == PageLocation(
        "https://docs.example.com/", locale="de"
    )
    assert asked.count("https:/robots.txt") == 2
