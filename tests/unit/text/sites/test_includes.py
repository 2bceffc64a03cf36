"""`{!file!}`: what the extension markdown-include puts into a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.errors import InputError
from surefind.text.sites.mkdocs.includes import (
    IncludeFolder,
    IncludeOptions,
    Inclusions,
    expand_includes,
)

FILES = {
    "docs/a.md": "# A\nfirst\nlast\n",
    "docs/nested.md": "before\n{!a.md!}\nafter\n",
    "docs/loop.md": "round {!loop.md!} and round",
    "docs/empty.md": "",
    "docs/deep/beside.md": "beside",
    "top.md": "top",
}


def read(path: str) -> str | None:
    if path == "docs/secret.md":
        raise InputError("which is outside the project")
    return FILES.get(path)


def expand(text: str, *bases: IncludeFolder, offset: int = 0, inherits: bool = False) -> str:
    options = IncludeOptions(bases or (IncludeFolder("docs"),), offset, inherits)
    return expand_includes(text, options, Inclusions("docs/deep/page.md", read))


def warnings_of(text: str, *bases: IncludeFolder) -> list[str]:
    inclusions = Inclusions("docs/deep/page.md", read)
    expand_includes(text, IncludeOptions(bases or (IncludeFolder("docs"),)), inclusions)
    return list(inclusions.warnings)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("{!a.md!}", "# A\nfirst\nlast"),
        ("say {! a.md !} it", "say # A\nfirst\nlast it"),
        ("{!nested.md!}", "before\n# A\nfirst\nlast\nafter"),
        ("{!a.md!lines=2}", "first"),
        ("{!a.md!lines=3 1}", "last\n# A"),
        ("{!a.md!lines=2-3!}", "first\nlast"),
        ("{!a.md!lines=2-99 0}", "first\nlast\n# A"),
        ("{!a.md!lines=- x}", "{!a.md!lines=- x}"),
        ("{!a.md!lines=-}", ""),
        ("{!empty.md!}|{!empty.md!lines=1}", "|"),
        ("{!../top.md!}", "top"),
        ("{!}, {!!}, {! !}, { !a.md! }", "{!}, {!!}, {! !}, { !a.md! }"),
        ("```\n{!a.md!lines=1}\n```", "```\n# A\n```"),
        ("one\n\ntwo", "one\n\ntwo"),
    ],
)
def test_a_file_replaces_its_directive(text: str, expanded: str) -> None:
    assert expand(text) == expanded


def test_headings_follow_those_above_them_where_the_site_says_so() -> None:
    text = "## Above\n{!a.md!}\n{!a.md!}"
    assert expand(text, offset=1) == "## Above\n## A\nfirst\nlast\n## A\nfirst\nlast"
    assert expand(text, inherits=True) == "## Above\n### A\nfirst\nlast\n#### A\nfirst\nlast"


def test_the_first_base_that_has_the_file_wins() -> None:
    assert expand("{!beside.md!}", IncludeFolder(beside_page=True)) == "beside"
    assert expand(
        "{!beside.md!}",
        IncludeFolder(),
        IncludeFolder("deep", beside_page=True),
        IncludeFolder("docs/deep"),
    ) == ("beside")
    assert expand("{!a.md!}", IncludeFolder("top.md"), IncludeFolder("docs/a.md")).startswith("# A")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{!no.md!}", "which is missing"),
        ("{!loop.md!}", "which includes itself"),
        ("{!secret.md!}", "outside the project"),
        ("{!../../top.md!}", "which is missing"),
        ("{!/etc/passwd!}", "outside the project"),
        ("{!~/x!}", "outside the project"),
    ],
)
def test_what_can_not_be_included_is_reported_and_the_rest_stays(text: str, reason: str) -> None:
    assert "left" in expand(f"left {text}")
    [warning] = warnings_of(f"{text} {text}")
    assert reason in warning


def test_pages_that_include_each_other_without_end_come_to_one() -> None:
    doubling = {f"{n}.md": f"{{!{n + 1}.md!}} x {{!{n + 1}.md!}}" for n in range(30)}
    inclusions = Inclusions("page.md", doubling.get)
    text = expand_includes("{!0.md!}", IncludeOptions((IncludeFolder(),)), inclusions)
    assert len(text) < 10_000
    assert any("too" in warning for warning in inclusions.warnings)
    assert len(inclusions.warnings) <= 2
    large = Inclusions("page.md", lambda _: "x" * 3 * 2**20)
    assert len(expand_includes("{!a!}" * 9, IncludeOptions((IncludeFolder(),)), large)) < 8 * 2**20
    assert "exceeds the limit" in large.warnings[0]


@given(st.text(alphabet="{!}a.mdlines=1- \n#/~", max_size=60))
def test_any_text_comes_to_an_end(text: str) -> None:
    assert isinstance(expand(text), str)
