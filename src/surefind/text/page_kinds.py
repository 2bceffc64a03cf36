"""What kind of page a page is, if it is not ordinary documentation, and when it was last changed.

Readers rarely look for release notes, blog posts or generated lists, but these pages mention every
feature and match most queries. Search ranks them lower, so ingest has to recognize them: by their
path, by their front matter and by their headings.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath

from surefind.model import PageKind
from surefind.text.markdown.blocks import Outline

KIND = "kind"
UPDATED = "updated"

_CHANGELOG_NAME = re.compile(
    r"change-?logs?|release-?notes?|releases?|what-?s-?new|version-?history|changes", re.ASCII
)
_CHANGELOG_TITLE = re.compile(
    r"\W*(?:changelog|change log|release notes|what.s new)\b", re.IGNORECASE
)
_UPGRADE_NAME = re.compile(
    r"(?:migrat|upgrad)(?:e|ion|ing)(?:-.*)?|.*-(?:migration|upgrade)(?:-guide)?", re.ASCII
)
_UPGRADE_TITLE = re.compile(
    r"\W*(?:migrat|upgrad)(?:e|ion|ing)\b.*\bv?\d|.*\bmigration guide$", re.IGNORECASE
)
_BLOG_FOLDERS = frozenset({"blog", "_posts"})
_DATED_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-.")
_DATED_PATH = re.compile(r"(?:^|/)(?:19|20)\d{2}/(?:0?[1-9]|1[0-2])/")
_INDEX_NAMES = frozenset({"genindex", "py-modindex", "modindex", "sitemap", "tags", "summary"})
_INDEX_FOLDERS = frozenset({"tags", "categories"})
_TEST_FOLDERS = frozenset({"__tests__", "__fixtures__", "_dogfooding"})
_VERSION_HEADING = re.compile(
    r"\W*(?:version |release |v)?\d+\.\d+(?:\.\d+)?\b|\W*\d{4}-\d{2}-\d{2}\b|\W*unreleased\b",
    re.IGNORECASE,
)
_FEWEST_VERSIONS = 3
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")
_WORD = re.compile(r"\w+")
_MOSTLY_LINKS = 0.75
_FEWEST_LINKS = 8
_LONGEST_LIST = 200_000
_DATE_KEYS = ("lastmod", "last_update.date", "last_modified", "last_updated", "updated", "date")


def kind_of(
    site_path: str, title: str, front_matter: Mapping[str, object], text: str, structure: Outline
) -> PageKind | None:
    """None for ordinary documentation. A `kind` in the front matter decides.

    >>> kind_of("blog/2026-01-31-hello.md", "Hello", {}, "", Outline())
    <PageKind.BLOG: 'blog'>
    """
    declared = front_matter.get(KIND)
    if isinstance(declared, str):
        return next((kind for kind in PageKind if kind.value == declared), None)
    return _by_place(site_path, title, front_matter) or _by_shape(text, structure)


def _by_place(site_path: str, title: str, front_matter: Mapping[str, object]) -> PageKind | None:
    path = PurePosixPath(site_path.lower())
    folders = frozenset(path.parts[:-1])
    name = re.sub(r"[\s_.']+", "-", path.stem)
    if name in {"index", "_index", "readme"} and path.parent.name:
        name = re.sub(r"[\s_.']+", "-", path.parent.name)
    if folders & _TEST_FOLDERS:
        return PageKind.TEST
    written = "date" in front_matter and not front_matter.keys().isdisjoint(("author", "authors"))
    dated = _DATED_NAME.match(path.name) or _DATED_PATH.search(site_path)
    if folders & _BLOG_FOLDERS or written or dated:
        return PageKind.BLOG
    named = any(_CHANGELOG_NAME.fullmatch(part) for part in (name, *folders))
    if named or _CHANGELOG_TITLE.match(title):
        return PageKind.CHANGELOG
    if _UPGRADE_NAME.fullmatch(name) or _UPGRADE_TITLE.match(title):
        return PageKind.UPGRADE
    if name in _INDEX_NAMES or folders & _INDEX_FOLDERS:
        return PageKind.INDEX
    return None


def _by_shape(text: str, structure: Outline) -> PageKind | None:
    below = [heading.title for heading in structure.headings if heading.level > 1 and heading.title]
    versions = sum(_VERSION_HEADING.match(title) is not None for title in below)
    if versions >= _FEWEST_VERSIONS and 2 * versions >= len(below):
        return PageKind.CHANGELOG
    return PageKind.INDEX if is_link_list(text) else None


def is_link_list(text: str) -> bool:
    """Whether a text is a table of contents or another list of links, and hardly anything else."""
    if len(text) > _LONGEST_LIST or text.count("](") < _FEWEST_LINKS:
        return False
    labels = [match[1] for match in _LINK.finditer(text)]
    if len(labels) < _FEWEST_LINKS:
        return False
    linked = sum(len(_WORD.findall(label)) for label in labels)
    return linked >= _MOSTLY_LINKS * len(_WORD.findall(_LINK.sub(r" \1 ", text)))


def updated_on(attributes: Mapping[str, object]) -> str:
    """The date of the last change as the front matter states it, in ISO 8601; else empty."""
    for key in _DATE_KEYS:
        value = attributes.get(key)
        if isinstance(value, str):
            try:
                datetime.fromisoformat(value)
            except ValueError:
                continue
            return value
    return ""
