"""Whether a target's result is what a test expects, judged by what the result says."""

import pytest

from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    ByName,
    BySource,
    ByText,
    Expectation,
    address_key,
)
from surefind.evaluation.targets.matching import is_judged_by_page, meets, miss_of
from surefind.model import TargetHit

SITE = "https://docs.example.com"


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}/guide/power",
        f"{SITE}/guide/power/",
        f"{SITE}/guide/power.html",
        f"{SITE}/guide/power.md",
        f"{SITE}/guide/power.mdx",
        f"{SITE}/guide/power/index.html",
        f"{SITE}/guide/power#voltage",
        "http://DOCS.example.com/guide/power",
        f"{SITE}/guide/%70ower",
    ],
)
def test_one_page_has_many_addresses(url: str) -> None:
    assert address_key(url) == address_key(f"{SITE}/guide/power")
    assert meets(TargetHit(url=url), ByAddress(f"{SITE}/guide/power"))
    assert meets(TargetHit(url=url), ByAddress("/guide/power"))
    assert meets(TargetHit(url=url), BySource("guide/power.md"))


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}/guide/powers",
        f"{SITE}/power",
        "https://other.example.com/guide/power",
        f"{SITE}/guide/power?version=1",
        f"{SITE}/guide/Power",
        "",
    ],
)
def test_other_pages_are_other_pages(url: str) -> None:
    assert not meets(TargetHit(url=url), ByAddress(f"{SITE}/guide/power"))


MATCHING: list[tuple[TargetHit, Expectation, bool]] = [
    (TargetHit(url="/a#x"), ByAddress("/a#x"), True),
    (TargetHit(url="/a#y"), ByAddress("/a#x"), False),
    (TargetHit(url="/a"), ByAddress("/a#x"), True),
    (TargetHit(url="/a#y"), ByAddress("/a"), True),
    (TargetHit(url="/a", headings=("Power",)), ByAddress("/a", "power"), True),
    (TargetHit(url="/a", headings=("Cleaning",)), ByAddress("/a", "power"), False),
    (TargetHit(url="/a"), ByAddress("/a", "power"), True),
    (TargetHit(source_path="docs/a.md"), BySource("docs/a.md"), True),
    (TargetHit(source_path="/srv/docs/a.md"), BySource("docs/a.md"), True),
    (TargetHit(source_path="b.md", url=f"{SITE}/docs/a"), BySource("docs/a.md"), False),
    (TargetHit(id="docs/a.md"), BySource("docs/a.md"), True),
    (TargetHit(id=f"{SITE}/a"), ByAddress(f"{SITE}/a"), True),
    (TargetHit(id="a-1"), ByChunk("a-1"), True),
    (TargetHit(id="a-2"), ByChunk("a-1"), False),
    (TargetHit(text="The lid\n is open."), ByText("lid is open"), True),
    (TargetHit(text="The lid"), ByText("lid is open"), False),
    (TargetHit(id="4983"), ByName("4983"), True),
    (TargetHit(source_path="docs/4983.md"), ByName("4983"), True),
    (TargetHit(url=f"{SITE}/d/4983.html"), ByName("4983"), True),
    (TargetHit(url=f"{SITE}/d/4984"), ByName("4983"), False),
]


@pytest.mark.parametrize(("hit", "expectation", "expected"), MATCHING)
def test_results_meet_expectations(
    hit: TargetHit, expectation: Expectation, *, expected: bool
) -> None:
    assert meets(hit, expectation) is expected


def test_what_only_the_page_decides_is_known() -> None:
    assert is_judged_by_page(TargetHit(url="/a"), ByAddress("/a#x"))
    assert is_judged_by_page(TargetHit(url="/a"), ByAddress("/a", "Power"))
    assert not is_judged_by_page(TargetHit(url="/a#x"), ByAddress("/a#x"))
    assert not is_judged_by_page(TargetHit(url="/a", headings=("Power",)), ByAddress("/a", "Power"))
    assert not is_judged_by_page(TargetHit(url="/a"), ByAddress("/a"))


HITS = (TargetHit(url=f"{SITE}/a#x"), TargetHit(url=f"{SITE}/b"))
MISSES: list[tuple[Expectation, tuple[TargetHit, ...], str, str]] = [
    (ByAddress(f"{SITE}/c"), HITS, "outranked", "rank 3, below the first 2; ahead of it: "),
    (ByAddress(f"{SITE}/d"), HITS, "wrong_page", "not among 3 results; other pages: "),
    (ByAddress("/d"), HITS, "wrong_page", "not among 3 results"),
    (ByAddress("/a#z"), HITS, "wrong_section", f"another section: {SITE}/a#x"),
    (ByAddress("https://other.org/a"), HITS, "other_site", "from other sites: docs.example.com"),
    (ByText("water"), HITS, "missing", "not among 3 results: "),
    (ByAddress("/d"), (), "no_results", "the target returned no results"),
]


@pytest.mark.parametrize(("expectation", "hits", "cause", "said"), MISSES)
def test_a_miss_has_the_cause_that_the_outside_can_see(
    expectation: Expectation, hits: tuple[TargetHit, ...], cause: str, said: str
) -> None:
    deeper = (*hits, TargetHit(url=f"{SITE}/c")) if hits else ()
    miss = miss_of(expectation, hits, deeper, 2)
    assert miss.cause == cause
    assert said in miss.message
