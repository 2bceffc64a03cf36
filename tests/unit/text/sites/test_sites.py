"""What the sites of all tools share."""

from surefind.model import PageLocation
from surefind.text.documents import PlacesPages
from surefind.text.sites.addresses import clashes, encode_uri
from surefind.text.sites.parsing.globs import glob_expression
from surefind.text.sites.plain import PlainSite, ReaderSite
from unit.text.sites.docusaurus_sites import PLAIN, SITE, site_of


def test_a_plain_site_serves_every_page_under_its_path() -> None:
    site: PlacesPages = PlainSite("https://x.org/docs/")
    assert site.place("guide/index.md", {"draft": True}) == PageLocation("https://x.org/docs/guide")
    reader: PlacesPages = ReaderSite("docs", "handbook")
    assert reader.place("a b.md", {}) == PageLocation("surefind://docs/handbook/a%20b.md")


def test_addresses_that_several_pages_claim_are_found() -> None:
    site = site_of(PLAIN)
    pages = ["docs/demo/demo.md", "docs/demo/index.md", "docs/demo/other.md", "docs/_a.md"]
    places = {page: site.place(page, {}) for page in pages}
    urls = {page: place.url for page, place in places.items() if isinstance(place, PageLocation)}
    assert clashes(urls) == {f"{SITE}/docs/demo": ("docs/demo/demo.md", "docs/demo/index.md")}


def test_paths_are_spelled_as_browsers_do() -> None:
    assert encode_uri("/a b/ü/%20/100%/[x]") == "/a%20b/%C3%BC/%20/100%25/%5Bx%5D"


def test_globs_that_could_never_end_are_refused() -> None:
    assert glob_expression("**/" * 20, braces=True) is None
    assert glob_expression("a" * 300, braces=True) is None
    assert glob_expression("[z-a]", braces=True) is None
    assert glob_expression("{a,b*}", braces=False) == r"\{a,b\*\}"
