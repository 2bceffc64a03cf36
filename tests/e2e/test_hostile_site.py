"""A website that lies, leads astray and never ends, through the whole system."""

import gzip
from pathlib import Path

import pytest

from support.commands import surefind, surefind_json
from support.website.local_site import Reply, Request, moved, page, plain, serve, sitemap

pytestmark = pytest.mark.thorough

BOMB = gzip.compress(b"<p>boom " * 4_000_000)


def calendar(path: str) -> Reply:
    if not path.startswith("/docs/calendar/"):
        return Reply(status=404)
    day = int(path.rsplit("/", 1)[1])
    return page(f"Day {day}", [f"/docs/calendar/{day + 1}", f"/docs/calendar/{day + 2}"])


def test_a_hostile_site_is_read_as_far_as_possible_and_no_other_server_is_called(
    tmp_path: Path,
) -> None:
    with serve() as site, serve() as other:
        other.otherwise = lambda _: page("stolen words")
        site["/docs/"] = page(
            "Home",
            [
                *("out", "inside", "loop", "bomb", "latin", "lying", "binary", "cut"),
                *(f"{other.url}/docs/", "calendar/1", "http://169.254.169.254/latest/"),
            ],
        )
        site["/robots.txt"] = plain(f"Sitemap: {other.url}/sitemap.xml\n")
        site["/sitemap.xml"] = sitemap(
            *(f"{other.url}/docs/a", "http://169.254.169.254/latest/meta-data/"),
            *("http://10.0.0.1/", "http://localhost:1/", "file:///etc/passwd", "gopher://x/"),
            f"{site.url}/docs/listed",
        )
        site["/docs/listed"] = page("Listed words")
        site["/docs/out"] = moved(f"{other.url}/docs/")
        site["/docs/inside"] = moved("http://10.0.0.1/admin")
        site["/docs/loop"] = moved("/docs/loop")
        site["/docs/bomb"] = Reply(BOMB, headers={"Content-Encoding": "gzip"})
        site["/docs/latin"] = Reply("<h1>Thé</h1>".encode("latin-1"), content_type="text/html")
        site["/docs/lying"] = Reply(b"\xff\xfe\xff words", content_type="text/html; charset=utf-8")
        site["/docs/binary"] = Reply(b"<p>\x00\x01\x02", content_type="text/html")
        site["/docs/cut"] = Reply(b"<p>half a page", cut=True)
        site.otherwise = calendar
        done = surefind("ingest", "--site", f"{site.url}/docs/", "--max-pages", "30", cwd=tmp_path)
        assert "Traceback" not in done.stderr
        assert done.returncode == 1, "some pages failed, and the exit code says so"
        assert other.requests == []
        for failed in ("loop", "bomb", "lying", "binary", "cut"):
            assert f"failed   {site.host}/docs/{failed}: " in done.stdout, failed
        for left in ("out", "inside"):
            assert f"skipped  {site.host}/docs/{left}: redirects to http" in done.stdout
        assert "is larger than 10,000,000 bytes" in done.stdout
        assert "beyond the limit of 30 pages" in done.stdout
        assert "entries point to other sites; ignored" in done.stderr
        assert len(site.requests) < 60, "an endless calendar ends"
    shown = surefind_json("search", "words", "-k", "100", "--mode", "dense", cwd=tmp_path)
    texts = " ".join(hit["text"] for hit in shown["hits"])
    assert "Listed words" in texts
    assert "Thé" in texts
    for word in ("stolen", "boom", "half a page", "root:"):
        assert word not in texts


def test_a_site_whose_sitemap_is_a_bomb_is_still_read(tmp_path: Path) -> None:
    def too_much(_: Request) -> Reply:
        body = gzip.compress(b"<urlset>" + b"<url><loc>x</loc></url>" * 3_000_000)
        return Reply(body, content_type="application/gzip")

    with serve() as site:
        site["/docs/"] = page("Home of words", ["a"])
        site["/docs/a"] = page("A")
        site["/sitemap.xml"] = too_much
        done = surefind("ingest", "--site", f"{site.url}/docs/", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "pages    2 added" in done.stdout
    assert "sitemap: " in done.stderr
