"""The anchors that sites give to headings."""

import pytest

from surefind.model import AnchorRule
from surefind.text.anchors import GITHUB, attribute_list, explicit_id
from surefind.text.markdown.blocks import outline


@pytest.mark.parametrize(
    ("title", "split"),
    [
        ("Install {#setup}", ("Install", "setup")),
        ("Install {/* #setup */}", ("Install", "setup")),
        ("Install {/*set-up*/}", ("Install", "set-up")),
        ("Install {/* to do */}", ("Install {/* to do */}", "")),
        ("Install {setup}", ("Install {setup}", "")),
        ("Install", ("Install", "")),
    ],
)
def test_an_explicit_id_is_split_from_its_title(title: str, split: tuple[str, str]) -> None:
    assert explicit_id(title) == split


@pytest.mark.parametrize(
    ("title", "split"),
    [
        ("Install {#setup}", ("Install", "setup")),
        ("Install { #setup .wide }", ("Install", "setup")),
        ("Install {: #setup }", ("Install", "setup")),
        ('Install {.wide #setup data-x="a b"}', ("Install", "setup")),
        ('Install {id="setup" .wide}', ("Install", "setup")),
        ("Install {id=setup}", ("Install", "setup")),
        ("Install {.wide}", ("Install", "")),
        ("Use {{ braces }}", ("Use {{ braces }}", "")),
        ("Use {braces}", ("Use {braces}", "")),
    ],
)
def test_an_attribute_list_is_split_from_its_title(title: str, split: tuple[str, str]) -> None:
    assert attribute_list(title) == split


def test_a_rule_names_and_numbers_headings() -> None:
    rule = AnchorRule(attribute_list, lambda title: title.upper(), "{}_{}".format)
    text = "# a\n\n# a\n\n# b {#own .wide}\n\n# b {#own}\n\n# own\n"
    headings = outline(text, rule).headings
    assert [heading.anchor for heading in headings] == ["A", "A_1", "own", "own", "OWN"]
    assert [heading.title for heading in headings] == ["a", "a", "b", "b", "own"]


def test_github_skips_an_anchor_that_is_taken() -> None:
    headings = outline("# a\n\n# a-1\n\n# a\n", GITHUB).headings
    assert [heading.anchor for heading in headings] == ["a", "a-1", "a-2"]
