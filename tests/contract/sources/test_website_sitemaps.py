"""Sitemaps of a real site on loopback: packed, nested, hostile."""

import gzip

from support.website.crawling import Crawl
from support.website.local_site import Reply, Site, moved, page, plain, sitemap
from surefind.adapters.sources.website.sitemaps import parse_sitemap


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


async def test_sitemaps_that_are_nested_too_deep_or_missing_are_reported(site: Site) -> None:
    site["/docs/"] = page("Home")
    for depth in range(4):
        site[f"/map{depth}.xml"] = sitemap(f"{site.url}/map{depth + 1}.xml", kind="sitemap")
    site["/robots.txt"] = plain(f"Sitemap: {site.url}/map0.xml")
    site["/sitemap.xml"] = Reply(status=503)
    site["/docs/sitemap.xml"] = page("an application's answer to everything")
    crawl = await Crawl(site).run()
    assert crawl.told == [
        f"sitemap: {site.url}/sitemap.xml: returned 503",
        "sitemap: sitemaps nested more than 3 deep were not read",
    ]
    assert site.asked("/map3.xml") == 0


async def test_a_hostile_sitemap_has_no_effect(site: Site) -> None:
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


async def test_a_sitemap_is_read_up_to_its_limits(site: Site) -> None:
    site["/docs/"] = page("Home")
    site["/sitemap.xml"] = sitemap(*(f"{site.url}/docs/{name}" for name in "abcd"))
    site["/docs/sitemap.xml"] = sitemap(f"{site.url}/docs/e")
    site.otherwise = page
    site["/robots.txt"] = Reply(status=404)
    crawl = await Crawl(site, max_sitemap_urls=3).run()
    assert crawl.taken == ["/docs/", "/docs/a", "/docs/b", "/docs/c"]
    assert [message[:24] for message in crawl.told] == [
        f"sitemap: {site.url}"[:24],
        "sitemap: the sitemaps ex",
    ]


def test_a_broken_sitemap_gives_the_addresses_before_the_fault() -> None:
    broken = parse_sitemap(sitemap("http://a/1", "http://a/2").body[:-30])
    assert broken.pages == ("http://a/1",)
    assert broken.problem
    assert "decompressed" in str(parse_sitemap(b"\x1f\x8bnothing").problem)
    images = (
        b"<urlset><url><loc>http://a/1</loc><image><loc>http://a/i</loc></image></url></urlset>"
    )
    assert parse_sitemap(images).pages == ("http://a/1",)
