"""Metadata of an HTML page: title, language, links and robots directives."""

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
# These elements close each other, or are void.
_NOT_NESTED = {"area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link"}
_NOT_NESTED |= {"meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead"}
_NOT_NESTED |= {"tr", "track", "wbr"}
_MOST_STEPS = 100_000_000
"""Limits parsing to a third of a second: 14,000 nested elements, or a megabyte 1,000 deep."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """`links` and `canonical` are absolute URLs, not yet normalized."""

    links: tuple[str, ...]
    canonical: str | None
    noindex: bool


@dataclass(frozen=True, slots=True)
class PageHead:
    """Empty fields are missing on the page. `canonical` may be relative."""

    title: str
    canonical: str
    description: str
    language: str


def is_too_deep(html: str) -> bool:
    """Reject deep nesting: HTML parsers walk all open elements at each tag."""
    depth = steps = 0
    for tag in _TAG.finditer(html):
        if tag[1]:
            depth = max(0, depth - 1)
        elif tag[2].lower() not in _NOT_NESTED:
            depth += 1
            steps += depth
    return steps > _MOST_STEPS


def read_facts(html: bytes, url: str, robots_header: str = "") -> PageFacts:
    """The facts that a crawler needs about a page at this URL."""
    if is_too_deep(html.decode("latin-1")):  # parsing the page reports the reason
        return PageFacts(links=(), canonical=None, noindex=False)
    tree = LexborHTMLParser(html)
    base = _base(tree, url)
    directives = _directives(robots_header)
    for node in tree.css("meta[name]"):
        if (node.attributes.get("name") or "").lower() in {"robots", "surefind"}:
            directives |= _directives(node.attributes.get("content") or "")
    followed = [] if directives & {"nofollow", "none"} else tree.css("a[href]")
    links = (
        _joined(base, href)
        for node in followed
        if (href := node.attributes.get("href")) and "nofollow" not in _relations(node)
    )
    return PageFacts(
        links=tuple(dict.fromkeys(link for link in links if link)),
        canonical=_canonical(tree, base),
        noindex=bool(directives & {"noindex", "none"}),
    )


def read_head(tree: LexborHTMLParser) -> PageHead:
    title = tree.css_first("title")
    return PageHead(
        title=" ".join(title.text().split()) if title else "",
        canonical=_canonical(tree, _base(tree, "")) or "",
        description=_attribute(tree, "meta[name=description]", "content"),
        language=_attribute(tree, "html[lang]", "lang"),
    )


def _canonical(tree: LexborHTMLParser, base: str) -> str | None:
    for node in tree.css("link[rel][href]"):
        href = node.attributes.get("href")
        if href and "canonical" in _relations(node):
            return _joined(base, href)
    return None


def _base(tree: LexborHTMLParser, url: str) -> str:
    return _joined(url, _attribute(tree, "base[href]", "href")) or url


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node else ""


def _relations(node: LexborNode) -> list[str]:
    return (node.attributes.get("rel") or "").lower().split()


def _directives(content: str) -> set[str]:
    return {part.strip().lower() for part in content.split(",")}


def _joined(base: str, href: str) -> str | None:
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return None
