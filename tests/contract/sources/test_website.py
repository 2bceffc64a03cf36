"""What a crawled site promises, on a real one on loopback that can misbehave."""

import pytest

from support.website.crawling import Crawl
from support.website.local_site import Reply, Site, moved, page, plain, sitemap
from surefind.errors import StoreError
from surefind.model import PageFailure, PageLocation, SourcePage
from surefind.text.formats.encodings import as_utf8


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
    assert crawl.source.place("a.html", {}) == PageLocation(f"{site.url}/docs/a.html")


async def test_two_crawls_of_an_unchanged_site_are_the_same(site: Site) -> None:
    for number in range(30):
        links = [f"/docs/p{(number * k) % 30}" for k in range(2, 5)]
        site[f"/docs/p{number}"] = page(f"Page {number}", links)
    site["/docs/"] = page("Home", ["p1", "p7"])
    crawl = await Crawl(site, max_pages=15).run()
    first = crawl.pages, crawl.source.skipped
    await crawl.run()
    assert (crawl.pages, crawl.source.skipped) == first
    assert len(crawl.taken) == 15
    assert "beyond the limit of 15 pages" in crawl.skipped.values()
    assert any("limit of 15" in message for message in crawl.told)
    assert site.most_at_once <= 4


async def test_robots_noindex_and_nofollow_are_respected(site: Site) -> None:
    site["/robots.txt"] = plain(
        "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /docs/secret"
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
    assert crawl.skipped == {
        "/docs/header": "asks not to be indexed",
        "/docs/hidden": "asks not to be indexed",
        "/docs/secret/a": "robots.txt forbids it",
    }


async def test_the_delay_that_robots_ask_for_is_kept_between_all_requests(site: Site) -> None:
    """None comes before its turn; how much later it comes is the machine's affair."""
    delay_s, early_s = 0.02, 0.001
    site["/robots.txt"] = plain(f"User-agent: *\nCrawl-delay: {delay_s}")
    site["/docs/"] = page("Home", [f"page-{number}" for number in range(8)])
    for number in range(8):
        site[f"/docs/page-{number}"] = page(f"Page {number}")
    await Crawl(site).run()
    robots, *turns = sorted(request.at for request in site.requests)
    assert len(turns) > 8
    for turn, at in enumerate(turns):
        assert at >= robots + turn * delay_s - early_s


async def test_a_long_crawl_delay_is_reported_and_bounded(site: Site) -> None:
    site["/robots.txt"] = plain("User-agent: *\nCrawl-delay: 3600")
    site["/docs/"] = page("Home")
    crawl = await Crawl(site, max_crawl_delay_s=0.01).run()
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


async def test_robots_that_cant_be_read_stop_the_crawl(site: Site) -> None:
    site["/docs/"] = page("Home")
    site["/robots.txt"] = Reply(status=503)
    with pytest.raises(StoreError, match=r"robots.txt returned 503.*try again later"):
        await Crawl(site).run()
    assert site.asked("/robots.txt") == 3
    site["/robots.txt"] = moved("/robots.txt")
    with pytest.raises(StoreError, match="redirects more than 5 times"):
        await Crawl(site).run()
    site["/robots.txt"] = moved("https://example.com/robots.txt")
    assert (await Crawl(site).run()).taken == ["/docs/"]


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
    assert set(crawl.skipped.values()) == {
        "25 similar pages were taken",
        "more than 10 links away",
        "its path repeats itself",
    }
    assert len(site.requests) < 60
    assert len(crawl.told) == 2


async def test_the_number_of_remembered_urls_is_limited(site: Site) -> None:
    site["/docs/"] = page("Home", [f"p{number}" for number in range(9)])
    site.otherwise = lambda path: page(path) if "/p" in path else Reply(status=404)
    crawl = await Crawl(site, max_known_urls=5).run()
    assert len(crawl.taken) == 5
    assert crawl.told == ["found more than 5 URLs; the rest is ignored"]


async def test_pages_without_documentation_are_left_out_and_listed(site: Site) -> None:
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
    assert crawl.skipped == {
        **{f"/docs/{path}": reason for path, reason in reasons.items()},
        "/docs/data": "is application/pdf, not HTML",
    }
    assert crawl.source.skipped[0] == PageFailure(f"{site.host}/docs/404.html", "404 page")
    assert site.asked("/docs/blog/") == 0


async def test_patterns_choose_pages(site: Site) -> None:
    site["/docs/"] = page("Home", ["guide/a", "guide/draft-b", "api/c", "blog/d"])
    site.otherwise = page
    site["/robots.txt"] = site["/sitemap.xml"] = site["/docs/sitemap.xml"] = Reply(status=404)
    crawl = await Crawl(site, include=("guide/*", "blog/*"), exclude=("*draft*",)).run()
    assert crawl.taken == ["/docs/blog/d", "/docs/guide/a"]
    assert crawl.skipped == {
        "/docs/": "not matched by a pattern to include",
        "/docs/api/c": "not matched by a pattern to include",
        "/docs/guide/draft-b": "excluded by a pattern",
    }


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
