"""What a crawled site promises, on a real one on loopback that can misbehave."""

import asyncio
import gzip
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from local_site import Reply, Request, Site, moved, page, plain, serve, sitemap
from surefind.adapters import sitemaps, website
from surefind.adapters.sitemaps import parse_sitemap
from surefind.adapters.website import WebsiteSource
from surefind.adapters.website_http import CrawlOptions, Validator
from surefind.adapters.website_rules import Scope, normalise, page_key, reason_to_leave
from surefind.errors import InputError, StoreError
from surefind.model import PageFailure, PageUnchanged, Place, SourcePage
from surefind.text.encodings import as_utf8

Page = SourcePage | PageFailure | PageUnchanged


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as served:
        yield served


class Crawl:
    """One crawl of `/docs/`, run to its end, with what was told on the way."""

    def __init__(
        self,
        site: Site,
        start: str = "/docs/",
        known: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.told: list[str] = []
        self._validators = known
        chosen = CrawlOptions(**{"backoff_s": 0.01, "max_wait_s": 0.3, **options})
        self.source = WebsiteSource(site.url + start, chosen, self.told.append)
        self.pages: list[Page] = []
        self._host = site.host

    async def run(self) -> "Crawl":
        self.pages = [page async for page in self.source.pages(self._validators)]
        paths = [page.source_path for page in self.pages]
        assert len(paths) == len(set(paths)), "a page came twice"
        return self

    @property
    def taken(self) -> list[str]:
        return [
            page.source_path.removeprefix(self._host)
            for page in self.pages
            if isinstance(page, SourcePage)
        ]

    @property
    def validators(self) -> dict[str, str]:
        pages = [page for page in self.pages if isinstance(page, SourcePage)]
        return {page.source_path: page.validator for page in pages}

    @property
    def failed(self) -> dict[str, str]:
        return {
            page.source_path.removeprefix(self._host): page.reason
            for page in self.pages
            if isinstance(page, PageFailure)
        }

    @property
    def left(self) -> dict[str, str]:
        return {left.source_path.removeprefix(self._host): left.reason for left in self.source.left}


# --- discovery --------------------------------------------------------------------------------


async def test_links_and_the_sitemap_are_followed_together(site: Site) -> None:
    site["/docs/"] = page("Home", ["a.html", "/docs/guide/", "/other/", "https://example.com/"])
    site["/docs/a.html"] = page("A", ["../docs/guide/deep", "mailto:x@example.com", "javascript:1"])
    site["/docs/guide/"] = page("Guide")
    site["/docs/guide/deep"] = page("Deep")
    site["/docs/orphan"] = page("Orphan")
    site["/sitemap.xml"] = sitemap(f"{site.url}/docs/orphan", f"{site.url}/elsewhere/")
    crawl = await Crawl(site).run()
    assert crawl.taken == [
        "/docs/",
        "/docs/a.html",
        "/docs/guide/",
        "/docs/orphan",
        "/docs/guide/deep",
    ]
    assert crawl.pages[1] == SourcePage(
        f"{site.host}/docs/a.html",
        "a.html",
        site.replies["/docs/a.html"].body,  # type: ignore[union-attr]
        suffix=".html",
    )
    assert all(
        page.source_path == f"{crawl.source.name}/{page.site_path}"
        for page in crawl.pages
        if isinstance(page, SourcePage)
    )
    assert site.asked("/other/") == site.asked("/elsewhere/") == 0
    assert site.requests[0].headers["User-Agent"].startswith("surefind/")
    assert crawl.source.place("a.html", {}) == Place(f"{site.url}/docs/a.html")


async def test_two_crawls_of_an_unchanged_site_are_the_same(site: Site) -> None:
    for number in range(30):
        links = [f"/docs/p{(number * k) % 30}" for k in range(2, 5)]
        site[f"/docs/p{number}"] = page(f"Page {number}", links)
    site["/docs/"] = page("Home", ["p1", "p7"])
    crawl = await Crawl(site, max_pages=15).run()
    first = crawl.pages, crawl.source.left
    await crawl.run()
    assert (crawl.pages, crawl.source.left) == first
    assert len(crawl.taken) == 15
    assert "beyond the limit of 15 pages" in crawl.left.values()
    assert any("limit of 15" in message for message in crawl.told)
    assert site.most_at_once <= 4


async def test_sitemaps_nest_and_come_packed(site: Site) -> None:
    site["/docs/"] = page("Home")
    site["/robots.txt"] = plain(f"Sitemap: {site.url}/maps/index.xml\nSitemap: /maps/list.txt")
    site["/maps/index.xml"] = sitemap(
        f"{site.url}/maps/one.xml.gz", f"{site.url}/maps/index.xml", kind="sitemap"
    )
    inner = sitemap(f"{site.url}/maps/three.xml", kind="sitemap").body
    site["/maps/one.xml.gz"] = Reply(gzip.compress(inner), content_type="application/gzip")
    site["/maps/three.xml"] = sitemap(f"{site.url}/docs/three")
    site["/maps/list.txt"] = plain(f"{site.url}/docs/listed\nnothing\n")
    site["/docs/sitemap.xml"] = moved("/docs/real-sitemap.xml")
    site["/docs/real-sitemap.xml"] = sitemap(f"{site.url}/docs/own")
    for name in ("three", "listed", "own"):
        site[f"/docs/{name}"] = page(name)
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/listed", "/docs/own", "/docs/three"]
    assert crawl.told == []


async def test_sitemaps_nested_too_deep_or_away_are_told(site: Site) -> None:
    site["/docs/"] = page("Home")
    for depth in range(4):
        site[f"/map{depth}.xml"] = sitemap(f"{site.url}/map{depth + 1}.xml", kind="sitemap")
    site["/robots.txt"] = plain(f"Sitemap: {site.url}/map0.xml")
    site["/sitemap.xml"] = Reply(status=503)
    site["/docs/sitemap.xml"] = page("an application's answer to everything")
    crawl = await Crawl(site).run()
    assert crawl.told == [
        f"sitemap: {site.url}/sitemap.xml: answers 503",
        "sitemap: sitemaps nested more than 3 deep were not read",
    ]
    assert site.asked("/map3.xml") == 0


async def test_a_hostile_sitemap_leads_nowhere(site: Site) -> None:
    site["/docs/"] = page("Home")
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    entry = f"<urlset><url><loc>{site.url}/docs/&b;</loc></url></urlset>".encode()
    site["/sitemap.xml"] = Reply(bomb + entry, content_type="text/xml")
    site["/docs/sitemap.xml"] = sitemap(
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/docs/",
        "file:///etc/passwd",
        f"http://user@{site.host}/docs/x",
        f"https://{site.host}/docs/x",
        "http://[broken/docs/",
        f"{site.url}/docs/" + "x" * 2_100,
        f"{site.url}/docs/real",
    )
    site["/docs/real"] = page("Real")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/real"]
    assert any("declares entities" in message for message in crawl.told)
    assert "sitemap: 7 entries point to other sites; ignored" in crawl.told


async def test_a_sitemap_is_read_up_to_its_limits(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "MAX_URLS", 3)
    site["/docs/"] = page("Home")
    site["/sitemap.xml"] = sitemap(*(f"{site.url}/docs/{name}" for name in "abcd"))
    site["/docs/sitemap.xml"] = sitemap(f"{site.url}/docs/e")
    site.otherwise = page
    site["/robots.txt"] = Reply(status=404)
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/a", "/docs/b", "/docs/c"]
    assert [message[:24] for message in crawl.told] == [
        f"sitemap: {site.url}"[:24],
        "sitemap: only 3 urls of ",
    ]


def test_a_broken_sitemap_gives_what_stands_before_the_fault() -> None:
    broken = parse_sitemap(sitemap("http://a/1", "http://a/2").body[:-30])
    assert broken.pages == ("http://a/1",)
    assert broken.problem
    assert "unpacked" in str(parse_sitemap(b"\x1f\x8bnothing").problem)
    images = (
        b"<urlset><url><loc>http://a/1</loc><image><loc>http://a/i</loc></image></url></urlset>"
    )
    assert parse_sitemap(images).pages == ("http://a/1",)


# --- what is asked for ------------------------------------------------------------------------


async def test_robots_noindex_and_nofollow_are_respected(site: Site) -> None:
    site["/robots.txt"] = plain(
        "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /docs/secret\nCrawl-delay: 0.02"
    )
    links = ["secret/a", "hidden", "closed", '" rel="nofollow" href2="', "header"]
    site["/docs/"] = page("Home", links)
    unlisted = '<a rel="nofollow noopener" href="unfollowed">x</a>'
    site["/docs/hidden"] = page("Hidden", ["below"], '<meta name="ROBOTS" content="NoIndex">')
    site["/docs/closed"] = page(
        "Closed" + unlisted, ["x"], '<meta name="robots" content="nofollow">'
    )
    site["/docs/header"] = Reply(b"x", headers={"X-Robots-Tag": "none"})
    site["/docs/below"] = page("Below" + unlisted)
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/closed", "/docs/below"]
    assert crawl.left == {
        "/docs/header": "asks not to be indexed",
        "/docs/hidden": "asks not to be indexed",
        "/docs/secret/a": "robots.txt forbids it",
    }
    times = [request.at for request in site.requests]
    assert min(later - sooner for sooner, later in pairwise(times[1:])) > 0.01


async def test_a_long_crawl_delay_is_told_and_bounded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(website, "_MAX_CRAWL_DELAY_S", 0.01)
    site["/robots.txt"] = plain("User-agent: *\nCrawl-delay: 3600")
    site["/docs/"] = page("Home")
    crawl = await Crawl(site).run()
    assert crawl.told == ["robots.txt asks for 3600 s between requests; waiting 0.01 s"]


async def test_a_start_page_that_robots_forbid(site: Site) -> None:
    site["/robots.txt"] = plain("User-agent: surefind\nDisallow: /docs/\nAllow: /docs/open")
    site["/docs/open"] = page("Open")
    with pytest.raises(StoreError, match=r"robots.txt of .* forbids"):
        await Crawl(site).run()
    site["/sitemap.xml"] = sitemap(f"{site.url}/docs/open", f"{site.url}/docs/")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/open"]
    assert "robots.txt forbids" in crawl.told[0]
    assert site.asked("/docs/") == 0


async def test_robots_that_can_not_be_had_stop_the_crawl(site: Site) -> None:
    site["/docs/"] = page("Home")
    site["/robots.txt"] = Reply(status=503)
    with pytest.raises(StoreError, match=r"robots.txt answers 503.*try again later"):
        await Crawl(site).run()
    assert site.asked("/robots.txt") == 3
    site["/robots.txt"] = moved("/robots.txt")
    with pytest.raises(StoreError, match="redirects more than 5 times"):
        await Crawl(site).run()
    site["/robots.txt"] = moved("https://example.com/robots.txt")
    assert (await Crawl(site).run()).taken == ["/docs/"]


# --- redirects --------------------------------------------------------------------------------


async def test_redirects_are_followed_inside_the_site_alone(site: Site) -> None:
    site["/docs/"] = page(
        "Home", ["z-old", "a-old", "new", "out", "private", "up", "loop", "nowhere", "blogged"]
    )
    site["/docs/z-old"] = moved("new", 302)
    site["/docs/a-old"] = moved("/docs/hop", 307)
    site["/docs/hop"] = moved("/docs/other", 308)
    site["/docs/other"] = page("Other")
    site["/docs/new"] = page("New")
    site["/docs/out"] = moved("https://example.com/docs/")
    site["/docs/private"] = moved("http://169.254.169.254/docs/")
    site["/docs/up"] = moved("/login")
    site["/docs/loop"] = moved("/docs/pool")
    site["/docs/pool"] = moved("/docs/loop")
    site["/docs/nowhere"] = Reply(status=301)
    site["/docs/blogged"] = moved("/docs/blog/x")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/other", "/docs/new"]
    assert crawl.left == {
        "/docs/blogged": f"redirects to {site.url}/docs/blog/x (blog)",
        "/docs/out": "redirects to https://example.com/docs/, another site",
        "/docs/private": "redirects to http://169.254.169.254/docs/, another site",
        "/docs/up": f"redirects to {site.url}/login, outside /docs/",
        "/docs/z-old": f"redirects to {site.url}/docs/new",
    }
    assert crawl.failed == dict.fromkeys(
        ("/docs/loop", "/docs/nowhere"), "redirects more than 5 times"
    )
    assert site.asked("/login") == 0


async def test_the_start_may_redirect_below_itself_and_no_further(site: Site) -> None:
    site["/docs"] = moved("/docs/")
    site["/docs/"] = moved("/docs/intro")
    site["/docs/intro"] = page("Intro", ["/docs/", "next"])
    site["/docs/next"] = page("Next")
    crawl = await Crawl(site, "/docs").run()
    assert crawl.taken == ["/docs/intro", "/docs/next"]
    assert crawl.told == [f"{site.url}/docs redirects to {site.url}/docs/intro"]
    site["/docs/intro"] = unless_unchanged(page("Intro", ["next"]))
    known = {f"{site.host}/docs/intro": str(Validator('"v1"', "gestern, früh"))}
    assert (await Crawl(site, "/docs", known=known).run()).taken == ["/docs/intro", "/docs/next"]
    site["/docs/"] = moved("/documentation/")
    with pytest.raises(StoreError, match=r"redirects to .*/documentation/, outside /docs/"):
        await Crawl(site, "/docs").run()


# --- failures ---------------------------------------------------------------------------------


async def test_a_page_that_fails_is_told_and_the_rest_goes_on(site: Site) -> None:
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
    assert crawl.left == {"/docs/x404": "answers 404"}
    failed = crawl.failed
    assert failed.pop("/docs/xcut").startswith("was cut off")
    assert failed.pop("/docs/xpacked").startswith("can't be unpacked")
    assert failed == {
        "/docs/x500": "answers 500",
        "/docs/x403": "answers 403",
        "/docs/xslow": "took more than 0.5 s",
        "/docs/xbytes": "its bytes are not utf-8, as it says (byte 3)",
        "/docs/xbomb": "is larger than 200,000 bytes",
        "/docs/xhuge": "is larger than 200,000 bytes",
        "/docs/xodd": "is packed as br, which was not asked for",
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
    assert (await Crawl(site).run()).failed == {"/docs/a": "answers 429: too many requests"}


async def test_a_site_that_goes_away_ends_the_crawl(site: Site) -> None:
    site["/docs/"] = page("Home", [f"p{number}" for number in range(40)])
    site.otherwise = lambda path: Reply(status=429 if "/p" in path else 404)
    with pytest.raises(StoreError, match="no longer answers: 20 requests in a row"):
        await Crawl(site, backoff_s=0).run()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=500), "it answers 500"),
        (Reply(status=404), "it answers 404"),
        (Reply(b"{}", content_type="application/json"), "it is application/json, no HTML"),
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
    with pytest.raises(StoreError, match="can't be connected to"):
        _ = [p async for p in WebsiteSource(f"http://localhost:{port}/", FAST).pages()]
    with pytest.raises(StoreError, match="can't be resolved"):
        _ = [p async for p in WebsiteSource("http://no-such-host.invalid/", FAST).pages()]


async def test_tls_that_can_not_be_trusted_is_an_error(site: Site) -> None:
    source = WebsiteSource(site.url.replace("http", "https"), FAST)
    with pytest.raises(StoreError, match="no TLS connection that can be trusted"):
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


# --- one page, many urls ----------------------------------------------------------------------


async def test_one_page_under_many_urls_comes_once(site: Site) -> None:
    variants = [
        "a", "a/", "a/index.html", "a#top", "a?utm_source=x", "a?session=1&b=2",
        "./a", "%61", "x/../a", "a;jsessionid=77", "//{host}/docs/a", "../docs//a",
    ]  # fmt: skip
    site["/docs/"] = page("Home", [variant.format(host=site.host) for variant in variants])
    site.otherwise = lambda path: page("A") if path.startswith("/docs/a") else Reply(status=404)
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/a"]
    assert site.asked("/docs/a") == 1


async def test_the_other_spelling_is_tried_when_the_first_is_missing(site: Site) -> None:
    site["/docs/"] = page("Home", ["a", "a/"])
    site["/docs/a/"] = page("A")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/a/"]
    assert crawl.left == {"/docs/a": "answers 404"}


def canonical(url: str) -> str:
    return f'<link rel="Canonical" href="{url}">'


async def test_the_canonical_url_wins(site: Site) -> None:
    links = [
        "copy",
        "v1/copy",
        "slash",
        "abroad",
        "lost",
        "m1",
        "home",
        "back",
        "hid",
        "late",
        "up",
    ]
    site["/docs/"] = page("Home", links)
    site["/docs/copy"] = page("Copy", ["from-copy"], canonical("real"))
    site["/docs/v1/copy"] = page("Old copy", head=canonical("/docs/real"))
    site["/docs/real"] = page("Real", head=canonical("/docs/real"))
    site["/docs/from-copy"] = page("From the copy", head=canonical("real"))
    site["/docs/slash"] = page("Slash", head=canonical("/docs/slash/"))
    site["/docs/abroad"] = page("Abroad", head=canonical("https://example.com/docs/abroad"))
    site["/docs/lost"] = page("Lost", head=canonical("/docs/gone"))
    site["/docs/late"] = page("Late", head=canonical("/docs/gone"))
    site["/docs/m1"] = page("Mutual", head=canonical("m2"))
    site["/docs/m2"] = page("Mutual", head=canonical("m1"))
    site["/docs/home"] = page("Says it is the home page", head=canonical("/docs/"))
    site["/docs/back"] = page("Back", head=canonical("/docs/forth"))
    site["/docs/forth"] = moved("/docs/back")
    site["/docs/hid"] = page("Hid", head=canonical("/docs/blog/hid"))
    site["/docs/up"] = page("Up", head=canonical("http://[broken"))
    crawl = await Crawl(site).run()
    assert sorted(crawl.taken) == [
        "/docs/", "/docs/abroad", "/docs/back", "/docs/hid", "/docs/home", "/docs/late",
        "/docs/lost", "/docs/m2", "/docs/real", "/docs/slash/", "/docs/up",
    ]  # fmt: skip
    assert crawl.left == {
        "/docs/copy": f"the same page as {site.url}/docs/real",
        "/docs/from-copy": f"the same page as {site.url}/docs/real",
        "/docs/gone": "answers 404",
        "/docs/m1": f"the same page as {site.url}/docs/m2",
        "/docs/v1/copy": f"the same page as {site.url}/docs/real",
    }


async def test_letters_of_all_scripts_and_escapes(site: Site) -> None:
    links = ["über", "%C3%BCber", "a%20b", "a b", "%2e%2e/%2E%2e/etc", "100%", "x%2fy", "%ff"]
    site["/docs/"] = page("Home", links)
    site.otherwise = lambda path: page(path) if path.startswith("/docs/") else Reply(status=404)
    crawl = await Crawl(site).run()
    assert crawl.taken == [
        "/docs/", "/docs/über", "/docs/%FF", "/docs/100%25", "/docs/a%20b", "/docs/x%2Fy",
    ]  # fmt: skip
    assert site.asked("/docs/%C3%BCber") == 1
    assert site.asked("/etc") == 0
    assert crawl.source.place("über", {}) == Place(f"{site.url}/docs/%C3%BCber")
    assert all(page.source_path.isprintable() for page in crawl.pages)


async def test_query_strings_count_where_they_are_named(site: Site) -> None:
    site["/docs/"] = page("Home", ["w?title=B&x=1", "w?y=2&title=A", "w?title=A#top", "w"])
    site.otherwise = page
    site["/robots.txt"] = site["/sitemap.xml"] = site["/docs/sitemap.xml"] = Reply(status=404)
    crawl = await Crawl(site, query_parameters=("title",)).run()
    assert crawl.taken == ["/docs/", "/docs/w", "/docs/w?title=A", "/docs/w?title=B"]
    assert (await Crawl(site).run()).taken == ["/docs/", "/docs/w"]


async def test_links_are_resolved_by_the_base_of_the_page(site: Site) -> None:
    base = '<base href="/docs/v2/"><base href="/ignored/">'
    site["/docs/"] = page("Home", ["a", "http://[x"], base + '<a href="">empty</a>')
    site["/docs/v2/a"] = page("A", ["b"], '<base href="http://[broken">')
    site["/docs/v2/b"] = page("B")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", "/docs/v2/a", "/docs/v2/b"]


# --- traps and what is left out ---------------------------------------------------------------


async def test_endless_sites_end(site: Site) -> None:
    def endless(path: str) -> Reply:
        if path.startswith("/docs/calendar/"):
            year, month = (int(part) for part in path.split("/")[3:5])
            return page(
                path, [f"/docs/calendar/{year + 1}/{month}", f"/docs/calendar/{year}/{month + 1}"]
            )
        if path.startswith(("/docs/loop/", "/docs/s/")):
            return page(path, ["loop/x/"])
        if path.startswith("/docs/deep"):
            return page(path, [path + "e"])
        return Reply(status=404)

    site["/docs/"] = page("Home", ["calendar/1/1", "loop/x/", "deep", "d/" * 60, "a" * 2_100])
    site.otherwise = endless
    crawl = await Crawl(site, max_alike=25, max_depth=10).run()
    assert sum("calendar" in path for path in crawl.taken) == 25
    assert sum("/deep" in path for path in crawl.taken) == 10
    assert sum("/loop" in path for path in crawl.taken) == 2
    assert set(crawl.left.values()) == {
        "25 pages like it were taken",
        "more than 10 links away",
        "its path repeats itself",
    }
    assert len(site.requests) < 60
    assert len(crawl.told) == 2


async def test_only_so_many_urls_are_remembered(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(website, "_MAX_KNOWN_URLS", 5)
    site["/docs/"] = page("Home", [f"p{number}" for number in range(9)])
    site.otherwise = lambda path: page(path) if "/p" in path else Reply(status=404)
    crawl = await Crawl(site).run()
    assert len(crawl.taken) == 5
    assert crawl.told == ["more than 5 urls were met; the rest is ignored"]


async def test_what_is_no_documentation_is_left_out_and_listed(site: Site) -> None:
    reasons = {
        "blog/": "blog", "blog/2024/x": "blog", "tags/a": "tag pages",
        "category/c": "category archive",
        "search.html": "search page", "genindex.html": "generated index",
        "py-modindex.html": "generated index", "404.html": "404 page", "print.html": "print page",
        "en/latest/search/": "search page", "feed.xml": "feed", "rss/": "feed", "pic.PNG": "asset",
    }  # fmt: skip
    kept = ["guide/blog/", "guide/search", "en/", "search/how"]
    site["/docs/"] = page("Home", [*reasons, *kept, "data"])
    site.otherwise = page
    site["/robots.txt"] = site["/sitemap.xml"] = site["/docs/sitemap.xml"] = Reply(status=404)
    site["/docs/data"] = Reply(b"%PDF", content_type="application/pdf")
    crawl = await Crawl(site).run()
    assert crawl.taken == ["/docs/", *sorted(f"/docs/{path}" for path in kept)]
    assert crawl.left == {
        **{f"/docs/{path}": reason for path, reason in reasons.items()},
        "/docs/data": "is application/pdf, no HTML",
    }
    assert crawl.source.left[0] == PageFailure(f"{site.host}/docs/404.html", "404 page")
    assert site.asked("/docs/blog/") == 0


async def test_patterns_choose_pages(site: Site) -> None:
    site["/docs/"] = page("Home", ["guide/a", "guide/draft-b", "api/c", "blog/d"])
    site.otherwise = page
    site["/robots.txt"] = site["/sitemap.xml"] = site["/docs/sitemap.xml"] = Reply(status=404)
    crawl = await Crawl(site, include=("guide/*", "blog/*"), exclude=("*draft*",)).run()
    assert crawl.taken == ["/docs/blog/d", "/docs/guide/a"]
    assert crawl.left == {
        "/docs/": "in none of the patterns to include",
        "/docs/api/c": "in none of the patterns to include",
        "/docs/guide/draft-b": "excluded by a pattern",
    }


# --- encodings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        ("<p>é".encode(), "utf-8", "<p>é"),
        ("<p>é".encode(), None, "<p>é"),
        ("<p>é".encode(), "no-such-charset", "<p>é"),
        ("<p>é".encode(), "punycode", "<p>é"),
        ("<p>é“".encode("cp1252"), "iso-8859-1", '<meta charset="utf-8"><p>é“'),
        (
            "<html><head lang=x><p>é".encode("utf-16"),
            "utf-16",
            '<html><head lang=x><meta charset="utf-8"><p>é',
        ),
        (
            '<meta charset="shift_jis"><p>é'.encode("latin-1"),
            "latin1",
            '<meta charset="utf-8"><p>é',
        ),
        ('<meta charset="utf-8"><p>é'.encode(), "iso-8859-1", '<meta charset="utf-8"><p>é'),
        (
            '<meta charset="utf-8"><p>é'.encode("latin-1"),
            "iso-8859-1",
            '<meta charset="utf-8"><p>é',
        ),
    ],
)
def test_a_page_says_how_it_is_to_be_read(body: bytes, charset: str | None, expected: str) -> None:
    assert as_utf8(body, charset).decode() == expected


async def test_the_charset_of_the_header_reaches_the_page(site: Site) -> None:
    site["/docs/"] = Reply("<p>Größe".encode("cp1252"), content_type="text/html; charset=cp1252")
    [found] = (await Crawl(site).run()).pages
    assert isinstance(found, SourcePage)
    assert found.content.decode() == '<meta charset="utf-8"><p>Größe'
    own = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Да'.encode(
        "koi8-r"
    )
    site["/docs/"] = Reply(own, content_type=None)
    [found] = (await Crawl(site).run()).pages
    assert isinstance(found, SourcePage)
    assert found.content == own


# --- asking again -----------------------------------------------------------------------------


def unless_unchanged(reply: Reply) -> Any:
    def answer(request: Request) -> Reply:
        if '"v1"' in (
            request.headers.get("If-None-Match"),
            request.headers.get("If-Modified-Since"),
        ):
            return Reply(status=304)
        return Reply(reply.body, headers={"ETag": '"v1"', "Last-Modified": "yesterday"})

    return answer


async def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    site["/docs/"] = unless_unchanged(page("Home", ["a"]))
    site["/docs/a"] = unless_unchanged(page("A", ["b", "c"]))
    site["/docs/b"] = unless_unchanged(page("B"))
    site["/docs/c"] = page("C")
    first = await Crawl(site).run()
    assert first.validators[f"{site.host}/docs/a"] == str(Validator('"v1"', "yesterday"))
    assert first.validators[f"{site.host}/docs/c"] == ""
    site["/docs/c"] = page("C, edited")
    known = {**first.validators, "elsewhere.example/docs/x": "no validator"}
    known[f"{site.host}/docs/b"] = str(Validator('"v1"', "no header can hold this: ü"))
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
    assert again.failed == {"/docs/hub": "answers 500"}


async def test_a_304_that_was_not_asked_for_is_a_failure(site: Site) -> None:
    site["/docs/"] = page("Home", ["a"])
    site["/docs/a"] = Reply(status=304)
    assert (await Crawl(site).run()).failed == {"/docs/a": "answers 304"}


# --- addresses --------------------------------------------------------------------------------


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
    with pytest.raises(StoreError, match=f"leads to {address}, inside a private network"):
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
    assert source.left == []
    assert source.place("a", {}) == Place("http://docs.example.com/a")
    [found] = [p async for p in source.pages()]
    assert found.source_path == "docs.example.com/"
    assert source.place("", {"language": "de"}) == Place("https://docs.example.com/", locale="de")
    assert asked.count("https:/robots.txt") == 2


# --- rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "name", "inside", "outside"),
    [
        ("https://x.org", "x.org", "https://x.org/a", "http://x.org/a"),
        ("https://x.org/docs", "x.org/docs", "https://x.org/docs", "https://x.org/docs2"),
        ("https://x.org/d/i.html", "x.org/d", "https://x.org/d/j", "https://x.org/e"),
        ("HTTPS://X.org:443/d/", "x.org/d", "https://x.org/d/index.html", "https://x.org/"),
        ("http://[::1]:81/", "[::1]:81", "http://[::1]:81/a", "http://[::1]/a"),
        ("https://ü.org/ü/", "xn--tda.org/ü", "https://xn--tda.org/%C3%BC/a", "https://x.org/"),
    ],
)  # fmt: skip
def test_the_scope_of_a_start(start: str, name: str, inside: str, outside: str) -> None:
    scope = Scope.of(start)
    assert scope.name == name
    assert scope.contains(inside)
    assert not scope.contains(outside)
    assert scope.url(scope.source_path(inside)) == inside


@pytest.mark.parametrize("start", ["docs.example.com", "ftp://x.org/", "http://", "http://x:y/"])
def test_what_is_no_website_is_said(start: str) -> None:
    with pytest.raises(InputError, match="no address of a website"):
        WebsiteSource(start)


def test_a_url_has_one_spelling() -> None:
    base = "https://x.org/d/p"
    assert normalise("../a/./b/..", base) == "https://x.org/a/"
    assert normalise("/(S(abc123))/a", base) == "https://x.org/a"
    assert normalise("?b=2&a=1", base, ["a", "b"]) == "https://x.org/d/p?a=1&b=2"
    assert normalise("ü" * 400, base) is None
    assert page_key("https://x.org/a/index.html?t=1") == "https://x.org/a?t=1"
    assert reason_to_leave("docs/", (), ()) is None
    assert reason_to_leave("tags/index.html", (), ()) == "tag pages"
