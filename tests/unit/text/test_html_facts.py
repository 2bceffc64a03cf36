"""What a page says of itself, to whoever follows its links and to whoever reads it."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from surefind.text.html.facts import read_facts, read_head

PAGE = "https://x.org/docs/a"


def test_links_are_absolute_each_once_and_those_of_the_whole_page() -> None:
    html = b"<nav><a href=/n>n</a></nav><a href=b>b</a><a href=b>again</a><a href>e</a>"
    assert read_facts(html, PAGE).links == ("https://x.org/n", "https://x.org/docs/b")


def test_links_and_the_canonical_url_follow_the_base_of_the_page() -> None:
    html = (
        b"<base href=/d/><link rel='alternate Canonical' href=c>"
        b"<a href=a>a</a><a href='http://[b'>no address</a><a href=z rel=nofollow>z</a>"
    )
    facts = read_facts(html, PAGE)
    assert facts.links == ("https://x.org/d/a",)
    assert facts.canonical == "https://x.org/d/c"
    assert read_head(LexborHTMLParser(html)).canonical == "/d/c"


@pytest.mark.parametrize(
    ("head", "header", "noindex", "follows"),
    [
        ("", "", False, True),
        ("<meta name=robots content='noindex'>", "", True, True),
        ("<meta name=Robots content='NOINDEX, nofollow'>", "", True, False),
        ("<meta name=surefind content=none>", "", True, False),
        ("<meta name=googlebot content=noindex>", "", False, True),
        ("", "noindex", True, True),
        ("<meta name=robots content='noindex'>", "nofollow", True, False),
    ],
)
def test_robots_may_be_excluded(head: str, header: str, noindex: bool, follows: bool) -> None:
    facts = read_facts(f"{head}<a href=b>b</a>".encode(), PAGE, header)
    assert (facts.noindex, bool(facts.links)) == (noindex, follows)
