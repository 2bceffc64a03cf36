"""Which pages of a folder the patterns keep."""

import pytest

from surefind.adapters.sources.path_patterns import PathPatterns


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("CHANGELOG.md", ["CHANGELOG.md", "api/CHANGELOG.md"], ["CHANGELOG.mdx", "log.md"]),
        ("old", ["old/a.md", "x/old/a.md"], ["older/a.md", "old.md"]),
        ("old/", ["old/a.md", "x/old/deep/a.md"], ["older/a.md"]),
        ("guide/**", ["guide/a.md", "guide/deep/a.md"], ["x/guide/a.md", "guides/a.md"]),
        ("guide/old", ["guide/old/a.md"], ["guide/older.md", "x/guide/old/a.md"]),
        ("**/index.md", ["index.md", "guide/deep/index.md"], ["guide/a.md"]),
        ("guide/*.mdx", ["guide/a.mdx"], ["guide/a.md"]),
        ("./guide/a.md", ["guide/a.md"], ["a.md"]),
        ("/index.md", ["index.md"], ["guide/index.md"]),
        ("*.draft.md", ["a.draft.md", "x/a.draft.md"], ["draft.md"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], others: list[str]) -> None:
    for path in matching:
        assert PathPatterns(include=(pattern,)).keep(path), path
        assert not PathPatterns(exclude=(pattern,)).keep(path), path
    for path in others:
        assert not PathPatterns(include=(pattern,)).keep(path), path
        assert PathPatterns(exclude=(pattern,)).keep(path), path


def test_to_exclude_wins() -> None:
    patterns = PathPatterns(include=("guide/**",), exclude=("old",))
    assert patterns.keep("guide/a.md")
    assert not patterns.keep("guide/old/a.md")
