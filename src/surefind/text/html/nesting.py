"""Whether an HTML page nests deeper than can be read in good time."""

import re

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
# These close each other, or hold nothing.
_NOT_NESTED = {"area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link"}
_NOT_NESTED |= {"meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead"}
_NOT_NESTED |= {"tr", "track", "wbr"}
_MOST_STEPS = 100_000_000
"""A third of a second: a page of 14,000 elements in each other, or a megabyte a thousand deep."""


def is_too_deep(html: str) -> bool:
    """An HTML parser walks through all open elements at each tag."""
    depth = steps = 0
    for tag in _TAG.finditer(html):
        if tag[1]:
            depth = max(0, depth - 1)
        elif tag[2].lower() not in _NOT_NESTED:
            depth += 1
            steps += depth
    return steps > _MOST_STEPS
