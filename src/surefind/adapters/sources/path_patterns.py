"""Patterns that choose pages of a folder, as `.gitignore` does."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """`include` keeps only matching paths; `exclude` takes precedence over it.

    >>> PathPatterns(exclude=("CHANGELOG.md", "old/")).keep("guide/old/setup.md")
    False
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def keep(self, path: str) -> bool:
        """`path` is relative to the folder that is ingested."""
        if any(_matches(path, pattern) for pattern in self.exclude):
            return False
        return not self.include or any(_matches(path, pattern) for pattern in self.include)


EVERYTHING = PathPatterns()


def _matches(path: str, pattern: str) -> bool:
    """A pattern without a slash matches a file or folder at any depth; others match the path."""
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.removeprefix("./").strip("/")
    parts = path.split("/")
    if not anchored:
        return any(fnmatchcase(part, pattern) for part in parts)
    below = ("/".join(parts[: count + 1]) for count in range(len(parts)))
    return any(_fits(part, pattern) for part in below)


def _fits(path: str, pattern: str) -> bool:
    """`**/` also matches no folder at all, and `dir/**` the folder itself."""
    return any(fnmatchcase(path, one) for one in _variants(pattern))


def _variants(pattern: str) -> Sequence[str]:
    return (pattern, pattern.replace("**/", ""), pattern.removesuffix("/**"))
