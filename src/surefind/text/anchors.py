"""The anchors that site generators give to headings."""

import re

from surefind.model import AnchorRule
from surefind.text.slugs import anchor_of

_EXPLICIT_ID = re.compile(r"[ \t]*(?:\{#([^\s{}]+)\}|\{/\*[ \t]*#?([^\s*#{}]+)[ \t]*\*/\})[ \t]*$")
_ATTRIBUTE = r"(?:[#.][^\s{}\"'#.=]+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s\"'{}]+))"
_ATTRIBUTES = re.compile(
    rf"[ \t]*\{{:?[ \t]*({_ATTRIBUTE}(?:[ \t]*{_ATTRIBUTE})*+)[ \t]*\}}[ \t]*$"
)
_ID = re.compile(r"#([^\s{}\"'#.=]+)|\bid=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'{}]+))")


def explicit_id(title: str) -> tuple[str, str]:
    """Split `Title {#id}`, or `Title {/* #id */}` and `Title {/*id*/}` as in MDX."""
    found = _EXPLICIT_ID.search(title)
    return (title[: found.start()], found[1] or found[2]) if found else (title, "")


def attribute_list(title: str) -> tuple[str, str]:
    """Split `Title {#id .class key="value"}`; a list without an id is removed, too."""
    found = _ATTRIBUTES.search(title) if title.rstrip().endswith("}") else None
    if found is None:
        return title, ""
    named = _ID.search(found[1])
    return title[: found.start()], next(filter(None, named.groups()), "") if named else ""


GITHUB = AnchorRule(explicit_id, anchor_of)

READER = AnchorRule(explicit_id, anchor_of, in_html=True)
"""The rule of surefind's own reader."""

DOCUSAURUS = AnchorRule(explicit_id, anchor_of, first_level=2, counts_declared=False)
"""As on GitHub, but a heading of the first level, the title of the page, has no anchor."""
