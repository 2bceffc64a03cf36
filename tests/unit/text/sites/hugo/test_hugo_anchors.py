"""Hugo's anchors, by `autoHeadingIDType`. tests/sites compares them with Hugo itself."""

import pytest

from surefind.text.formats.registry import parse
from surefind.text.markdown.blocks import outline
from surefind.text.sites.hugo.addresses import HugoSite
from surefind.text.sites.hugo.anchors import anchor_rule
from surefind.text.sites.hugo.config import HugoConfig

PARSER = "[markup.goldmark.parser]\n"
TYPOGRAPHER = "[markup.goldmark.extensions]\ntypographer = false\n"


def anchors_of(config: str, *titles: str) -> list[str]:
    rule = anchor_rule(HugoConfig({"hugo.toml": config}))
    text = "\n\n".join(f"## {title}" for title in titles)
    return [heading.anchor for heading in outline(text, rule).headings]


@pytest.mark.parametrize(
    ("title", "github", "ascii_only", "blackfriday"),
    [
        ("Hello, World!", "hello-world", "hello-world", "hello-world"),
        ("a -- b", "a--b", "a--b", "a-b"),
        ("`--flag` and --x", "--flag-and-x", "--flag-and-x", "flag-and-x"),
        ("a_b c.d", "a_b-cd", "a_b-cd", "a-b-c-d"),
        ("Größe", "größe", "groe", "größe"),
        ("日本語 1", "日本語-1", "-1", "日本語-1"),
        ("नम", "नम", "heading", "नम"),
        ("नमस्ते", "नमसत", "heading", "नमस-त"),
        ("!?", "heading", "heading", "heading"),
        ("T {#own .x}", "own", "own", "own"),
        ("T {.x}", "t", "t", "t"),
    ],
)
def test_anchors_are_those_of_hugo(
    title: str, github: str, ascii_only: str, blackfriday: str
) -> None:
    assert anchors_of("", title) == [github]
    assert anchors_of(f'{PARSER}autoHeadingIDType = "github-ascii"', title) == [ascii_only]
    assert anchors_of(f'{PARSER}autoHeadingIDType = "blackfriday"', title) == [blackfriday]


def test_dashes_stay_without_a_typographer() -> None:
    assert anchors_of(TYPOGRAPHER, "a -- b") == ["a----b"]
    assert anchors_of("[markup.goldmark.extensions.typographer]\ndisable = true", "a -- b") == [
        "a----b"
    ]


def test_repeated_titles_are_numbered() -> None:
    assert anchors_of("", "A", "a", "a-1", "?", "!") == [
        "a",
        "a-1",
        "a-1-1",
        "heading",
        "heading-1",
    ]


def test_headings_can_have_no_anchors() -> None:
    assert anchors_of(f"{PARSER}autoHeadingID = false", "A", "A", "B {#b}") == ["", "", "b"]


def test_html_pages_have_only_the_ids_that_are_in_them() -> None:
    site = HugoSite.from_config('baseURL = "https://x.org"')
    page = parse(b"<h2>Plain</h2><p>a</p><h2 id='own'>Own</h2><p>b</p>", ".html", site.anchors)
    assert [(h.title, h.anchor) for h in page.structure.headings] == [("Plain", ""), ("Own", "own")]
