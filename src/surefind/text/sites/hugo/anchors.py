"""The anchors that Hugo gives to headings, by the setting `autoHeadingIDType`."""

import re
import unicodedata
from collections.abc import Callable, Mapping

from surefind.model import AnchorRule
from surefind.text.sites.hugo.config import HugoConfig

UNKNOWN = "\ue0ff"
"""The id of a heading whose anchor depends on a template: its links lead to the page."""
INCLUDED = "\ue0fe"
"""The mark of ids in included pages: Hugo renders them apart, so a page may use them again."""
_NAME = r"[^\s!-,/;-@\[-^`{-~]+"  # ids and classes can contain dots and colons
_ATTRIBUTE = rf"(?:[#.]{_NAME}|[\w:-]+=(?:\"[^\"{{}}]*\"|'[^'{{}}]*'|[^\s\"'{{}}]+))"
_ATTRIBUTES = re.compile(rf"[ \t]*\{{[ \t]*({_ATTRIBUTE}(?:[ \t,]*{_ATTRIBUTE})*+)[ \t]*\}}[ \t]*$")
_ID = re.compile(rf"(?:^|[\s,])(?:#({_NAME})|id=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'{{}}]+)))")
_CODE_SPANS = re.compile(r"(`+[^`]*`+)")


def anchor_rule(config: HugoConfig) -> AnchorRule:
    """A typographer changes dashes in headings before their anchors are made."""
    parser = config.table("markup", "goldmark", "parser")
    slugs: Mapping[str, Callable[[str], str]] = {
        "blackfriday": _blackfriday,
        "github-ascii": _github_ascii,
    }
    slug = slugs.get(str(parser.get("autoheadingidtype")).lower(), _github)
    extensions = config.table("markup", "goldmark", "extensions")
    typographer = extensions.get("typographer")
    disabled = typographer is False or (
        isinstance(typographer, dict) and typographer.get("disable") is True
    )
    slug = _none if parser.get("autoheadingid") is False else _of_words(slug)
    split = _attributes if disabled else _typographic
    return AnchorRule(split, slug, unknown=UNKNOWN, included=INCLUDED)


def _attributes(title: str) -> tuple[str, str]:
    """Split `Title {#v1.2 .class key="value"}`; a list without an id is removed, too."""
    found = _ATTRIBUTES.search(title) if title.rstrip().endswith("}") else None
    if found is None:
        return title, ""
    named = _ID.search(found[1])
    return title[: found.start()], next(filter(None, named.groups()), "") if named else ""


def _typographic(title: str) -> tuple[str, str]:
    words, anchor = _attributes(title)
    parts = _CODE_SPANS.split(words)
    parts[::2] = [
        part.replace("---", "\N{EM DASH}").replace("--", "\N{EN DASH}") for part in parts[::2]
    ]
    return "".join(parts), anchor


def _github(title: str) -> str:
    kept = "".join(
        "-" if letter in "- " else letter
        for letter in title.lower()
        if letter in "- _" or letter.isalpha() or letter.isdecimal()
    )
    return kept or "heading"


def _github_ascii(title: str) -> str:
    plain = unicodedata.normalize("NFD", title).encode("ascii", "ignore").decode()
    return _github(plain)


def _blackfriday(title: str) -> str:
    words = "".join(letter if letter.isalpha() or letter.isdecimal() else " " for letter in title)
    return "-".join(words.lower().split()) or "heading"


def _of_words(slug: Callable[[str], str]) -> Callable[[str], str]:
    """A heading without text has no anchor."""
    return lambda title: slug(title) if title else ""


def _none(_: str) -> str:
    return ""
