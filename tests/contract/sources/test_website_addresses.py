"""Which urls are one page, and which are pages of the site at all."""

import pytest

from support.website.crawling import Crawl, unless_unchanged
from support.website.local_site import Reply, Site, moved, page
from surefind.adapters.sources.website.crawl_scope import (
    CrawlScope,
    normalise,
    page_key,
    skip_reason,
)
from surefind.adapters.sources.website.http import CacheValidator
from surefind.adapters.sources.website.source import WebsiteSource
from surefind.errors import InputError, StoreError
from surefind.model import PageLocation


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
    assert crawl.skipped == {
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
    known = {f"{site.host}/docs/intro": str(CacheValidator('"v1"', "gestern, früh"))}
    assert (await Crawl(site, "/docs", known=known).run()).taken == ["/docs/intro", "/docs/next"]
    site["/docs/"] = moved("/documentation/")
    with pytest.raises(StoreError, match=r"redirects to .*/documentation/, outside /docs/"):
        await Crawl(site, "/docs").run()


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
    assert crawl.skipped == {"/docs/a": "returned 404"}


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
    assert crawl.skipped == {
        "/docs/copy": f"the same page as {site.url}/docs/real",
        "/docs/from-copy": f"the same page as {site.url}/docs/real",
        "/docs/gone": "returned 404",
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
    assert crawl.source.place("über", {}) == PageLocation(f"{site.url}/docs/%C3%BCber")
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
    scope = CrawlScope.of(start)
    assert scope.name == name
    assert scope.contains(inside)
    assert not scope.contains(outside)
    assert scope.url(scope.source_path(inside)) == inside


@pytest.mark.parametrize("start", ["docs.example.com", "ftp://x.org/", "http://", "http://x:y/"])
def test_an_address_that_is_not_a_website_is_reported(start: str) -> None:
    with pytest.raises(InputError, match="not a website URL"):
        WebsiteSource(start)


def test_a_login_in_a_url_is_named_as_the_reason() -> None:
    with pytest.raises(InputError, match="a user name or password in it is not supported"):
        WebsiteSource("https://somebody:secret@x.org/docs")


def test_a_url_has_one_spelling() -> None:
    base = "https://x.org/d/p"
    assert normalise("../a/./b/..", base) == "https://x.org/a/"
    assert normalise("/(S(abc123))/a", base) == "https://x.org/a"
    assert normalise("?b=2&a=1", base, ["a", "b"]) == "https://x.org/d/p?a=1&b=2"
    assert normalise("ü" * 400, base) is None
    assert page_key("https://x.org/a/index.html?t=1") == "https://x.org/a?t=1"
    assert skip_reason("docs/", (), ()) is None
    assert skip_reason("tags/index.html", (), ()) == "tag pages"
