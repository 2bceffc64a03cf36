"""The anchors that Hugo gives to headings, by the setting `autoHeadingIDType`."""

import re
import unicodedata
from collections.abc import Callable, Mapping

from surefind.model import AnchorRule
from surefind.text.anchors import attribute_list
from surefind.text.sites.hugo.config import HugoConfig

UNKNOWN = "\ue0ff"
"""The id of a heading whose anchor depends on a template: its links lead to the page."""
INCLUDED = "\ue0fe"
"""The mark of ids in included pages: Hugo renders them apart, so a page may use them again."""
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
    if parser.get("autoheadingid") is False:
        slug = _none
    split = attribute_list if disabled else _typographic
    return AnchorRule(split, slug, unknown=UNKNOWN, included=INCLUDED)


def _typographic(title: str) -> tuple[str, str]:
    words, anchor = attribute_list(title)
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


def _none(_: str) -> str:
    return ""
