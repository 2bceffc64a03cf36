"""A site that fails, goes away or has not changed."""

import asyncio
import socket
import time
from contextlib import aclosing

import pytest

from support.website.crawling import Crawl, unless_unchanged
from support.website.local_site import Reply, Site, moved, page
from surefind.adapters.sources.website.http import CacheValidator, CrawlOptions
from surefind.adapters.sources.website.source import WebsiteSource
from surefind.errors import StoreError
from surefind.model import PageUnchanged


async def test_a_page_that_fails_is_reported_and_the_rest_goes_on(site: Site) -> None:
    names = ["500", "403", "cut", "slow", "bytes", "bomb", "huge", "packed", "odd", "404", "ok"]
    site["/docs/"] = page("Home", [f"x{name}" for name in names])
    site["/docs/x500"] = Reply(status=500)
    site["/docs/x403"] = Reply(status=403)
    site["/docs/xcut"] = Reply(b"<p>half", cut=True)
    site["/docs/xslow"] = Reply(b"late", delay_s=5)
    site["/docs/xbytes"] = Reply(b"<p>\xff\xfe\xfa")
    site["/docs/xbomb"] = Reply(b"\0" * 3_000_000).packed()
    site["/docs/xhuge"] = Reply(b"x" * 200_001)
    site["/docs/xpacked"] = Reply(b"not gzip", headers={"Content-Encoding": "gzip"})
    site["/docs/xodd"] = Reply(b"?", headers={"Content-Encoding": "br"})
    site["/docs/xok"] = page("Fine").packed()
    crawl = await Crawl(site, max_page_bytes=200_000, page_timeout_s=0.5).run()
    assert crawl.taken == ["/docs/", "/docs/xok"]
    assert crawl.skipped == {"/docs/x404": "returned 404"}
    failed = crawl.failed
    assert failed.pop("/docs/xcut").startswith("closed the connection")
    assert failed.pop("/docs/xpacked").startswith("can't be decompressed")
    assert failed == {
        "/docs/x500": "returned 500",
        "/docs/x403": "returned 403",
        "/docs/xslow": "took more than 0.5 s",
        "/docs/xbytes": "is not valid utf-8, as declared (byte 3)",
        "/docs/xbomb": "is larger than 200,000 bytes",
        "/docs/xhuge": "is larger than 200,000 bytes",
        "/docs/xodd": "is compressed with br, which was not requested",
    }
    assert (site.asked("/docs/x500"), site.asked("/docs/xcut")) == (3, 3)
    assert (site.asked("/docs/x403"), site.asked("/docs/xslow")) == (1, 1)


async def test_later_means_later_and_for_all(site: Site) -> None:
    site["/docs/"] = page("Home", ["a", "b", "c"])
    site["/docs/a"] = [Reply(status=429, headers={"Retry-After": "600"}), page("A")]
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    site["/docs/b"] = [Reply(status=503, headers={"Retry-After": date}), page("B")]
    site["/docs/c"] = [Reply(status=502, headers={"Retry-After": "soon"}), page("C")]
    started = time.monotonic()
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/a", "/docs/b", "/docs/c"]
    assert 0.25 < time.monotonic() - started < 3  # 600 s are too many: the limit here is 0.3 s
    site["/docs/a"] = Reply(status=429)
    assert (await Crawl(site).run()).failed == {"/docs/a": "returned 429: too many requests"}


async def test_a_site_that_goes_away_ends_the_crawl(site: Site) -> None:
    site["/docs/"] = page("Home", [f"p{number}" for number in range(40)])
    site.otherwise = lambda path: Reply(status=429 if "/p" in path else 404)
    with pytest.raises(StoreError, match="is unavailable: 20 requests in a row"):
        await Crawl(site, backoff_s=0).run()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=500), "it returned 500"),
        (Reply(status=404), "it returned 404"),
        (Reply(b"{}", content_type="application/json"), "it is application/json, not HTML"),
        (Reply(b"late", delay_s=5), "it stopped answering in time"),
        (moved("https://www.example.com/"), "it redirects to https://www.example.com/, another"),
    ],
)
async def test_a_start_page_that_can_not_be_loaded_is_an_error(
    site: Site, reply: Reply, reason: str
) -> None:
    site["/docs/"] = reply
    with pytest.raises(StoreError, match=rf"{site.url}/docs/ can't be crawled: {reason}.*; check"):
        await Crawl(site, read_timeout_s=0.3).run()


async def test_a_host_that_is_not_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreError, match="refused the connection"):
        _ = [p async for p in WebsiteSource(f"http://localhost:{port}/", FAST).pages()]
    with pytest.raises(StoreError, match="can't be resolved"):
        _ = [p async for p in WebsiteSource("http://no-such-host.invalid/", FAST).pages()]


async def test_tls_that_can_not_be_trusted_is_an_error(site: Site) -> None:
    source = WebsiteSource(site.url.replace("http", "https"), FAST)
    with pytest.raises(StoreError, match="no trusted TLS connection"):
        _ = [p async for p in source.pages()]


FAST = CrawlOptions(backoff_s=0.01, connect_timeout_s=1, read_timeout_s=2)


async def test_cancelling_closes_everything(site: Site) -> None:
    site["/docs/"] = page("Home", ["slow1", "slow2"])
    site["/docs/slow1"] = site["/docs/slow2"] = Reply(b"late", delay_s=30)
    crawl = asyncio.create_task(Crawl(site).run())
    await asyncio.to_thread(site.wait_for, "/docs/slow2")
    before = time.monotonic()
    crawl.cancel()
    with pytest.raises(asyncio.CancelledError):
        await crawl
    assert time.monotonic() - before < 1
    assert not [task for task in asyncio.all_tasks() if "_visit" in repr(task)]


async def test_a_reader_that_stops_early_ends_the_crawl(site: Site) -> None:
    site["/docs/"] = page("Home", ["a", "slow"])
    site["/docs/a"] = page("A")
    site["/docs/slow"] = Reply(b"late", delay_s=30)
    before = time.monotonic()
    async with aclosing(WebsiteSource(f"{site.url}/docs/").pages()) as pages:
        async for found in pages:
            if found.source_path.endswith("/a"):
                break
    assert time.monotonic() - before < 2
    assert not [task for task in asyncio.all_tasks() if "_visit" in repr(task)]


async def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    site["/docs/"] = unless_unchanged(page("Home", ["a"]))
    site["/docs/a"] = unless_unchanged(page("A", ["b", "c"]))
    site["/docs/b"] = unless_unchanged(page("B"))
    site["/docs/c"] = page("C")
    first = await Crawl(site).run()
    assert first.validators[f"{site.host}/docs/a"] == str(CacheValidator('"v1"', "yesterday"))
    assert first.validators[f"{site.host}/docs/c"] == ""
    site["/docs/c"] = page("C, edited")
    known = {**first.validators, "elsewhere.example/docs/x": "no validator"}
    known[f"{site.host}/docs/b"] = str(CacheValidator('"v1"', "no header can hold this: ü"))
    again = await Crawl(site, known=known).run()
    assert again.taken == ["/docs/", "/docs/c"]  # c is linked by a, which was not sent
    unchanged = [page for page in again.pages if isinstance(page, PageUnchanged)]
    assert unchanged == [PageUnchanged(f"{site.host}/docs/{name}") for name in "ab"]


async def test_pages_behind_one_that_fails_are_not_lost(site: Site) -> None:
    site["/docs/"] = page("Home", ["hub"])
    site["/docs/hub"] = page("Hub", ["leaf"])
    site["/docs/leaf"] = page("Leaf")
    first = await Crawl(site).run()
    site["/docs/hub"] = Reply(status=500)
    again = await Crawl(site, known=first.validators).run()
    assert again.taken == ["/docs/", "/docs/leaf"]
    assert again.failed == {"/docs/hub": "returned 500"}


async def test_a_304_that_was_not_asked_for_is_a_failure(site: Site) -> None:
    site["/docs/"] = page("Home", ["a"])
    site["/docs/a"] = Reply(status=304)
    assert (await Crawl(site).run()).failed == {"/docs/a": "returned 304"}
