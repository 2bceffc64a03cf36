"""Separates the content of an HTML page from the site around it."""

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

# Selectors for the main content of documentation tools, most specific first.
_CONTENT_ROOTS = (
    ".theme-doc-markdown",
    "[itemprop=articleBody]",
    ".md-content",
    ".document .body",
    "article",
    "main",
    "[role=main]",
    ".markdown",
)
_DROPPED = {
    *("audio", "button", "canvas", "dialog", "footer", "iframe", "input", "link", "meta", "nav"),
    *("noscript", "object", "script", "select", "style", "svg", "template", "textarea", "video"),
}
_DROPPED_ROLES = {"banner", "contentinfo", "dialog", "navigation", "search"}
_DROPPED_CLASS = re.compile(
    r"(?:.*-)?(?:breadcrumbs?|edit-this-page|pagination|skip-?link|skip-nav|table-of-contents)"
    r"|(?:theme-doc-)?toc(?:-mobile|-desktop)?|(?:tocMobile|tocCollapsible|skipToContent)_.*"
    r"|toctree-wrapper|rst-footer-buttons|wy-breadcrumbs.*|wy-nav-side|sphinxsidebar|sidebar"
    r"|md-(?:skip|sidebar|header|tabs|footer|search|dialog|consent|source-file|content__button)"
    r"|(?:headerlink|hash-link|header-anchor|anchor-?link|heading-anchor|linenos?|lineno|gutter)"
    r"|(?:js-)?cookie[-_]?(?:banner|bar|consent|law|message|modal|notice|popup).*",
    re.IGNORECASE,
)
# Text boxes that some tools write as <aside>.
_KEPT_ASIDE = re.compile(
    r"admonition|callout|alert|footnote|topic|starlight-aside|note|warning|tip"
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SITE_LINK = re.compile(
    r"(?:edit|improve|suggest edits?)(?: (?:this|the))?(?: page)?(?: on \w+| source)?"
    r"|(?:view|show)(?: page)? source|skip to (?:main )?(?:content|navigation)"
    r"|back to (?:the )?top",
    re.IGNORECASE,
)
_SIGNS = frozenset("#\u00b6\u00a7\U0001f517\u200b \xa0")  # labels of permalinks
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight(?:-source)?)-([\w+#.-]+)")
_DOCUTILS_CODE = re.compile(r"(?:^|\s)code ([\w+#-]+)")
_NO_LANGUAGE = {"default", "none", "plain", "plaintext", "text", "literal-block"}
_ANCHOR = re.compile(r"[^\s{}]+")
_BORDER = "\0"  # never occurs in HTML text
_BORDERS = re.compile(f"\n?{_BORDER}+")
_LINES = {"div", "li", "p", "tr"}


def content_root(tree: LexborHTMLParser) -> LexborNode | None:
    """The element that a documentation tool marks as the main content."""
    for selector in _CONTENT_ROOTS:
        matches = tree.css(selector)
        if len(matches) == 1:  # several matches are parts of a larger element
            return matches[0]
    return None


def is_dropped(node: LexborNode, tag: str) -> bool:
    if tag in _DROPPED:
        return True
    attributes = node.attributes
    if not attributes:
        return tag == "aside" or (tag == "header" and not _holds_title(node))
    classes = (attributes.get("class") or "").split()
    if tag == "aside" and not any(_KEPT_ASIDE.search(name) for name in classes):
        return True
    if tag == "header" and not _holds_title(node):
        return True
    return _is_hidden(attributes) or _is_furniture(node, tag, classes)


def _holds_title(header: LexborNode) -> bool:
    """Some tools put the page's heading into a <header>."""
    return header.css_first("h1") is not None


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    if attributes.get("role") == "tabpanel":  # an inactive tab, not hidden text
        return False
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
    )


def _is_furniture(node: LexborNode, tag: str, classes: list[str]) -> bool:
    """Whether the element belongs to the site, not to the page."""
    attributes = node.attributes
    if attributes.get("role") in _DROPPED_ROLES or {"contents", "topic"} <= set(classes):
        return True
    names = classes
    if tag == "div" and "section" not in classes:  # the id of a section comes from its heading
        names = [*classes, attributes.get("id") or ""]
    if any(_DROPPED_CLASS.fullmatch(name) for name in names):
        return True
    if tag != "a":
        return False
    words = text_of(node).strip()
    is_permanent = (attributes.get("href") or "").startswith("#") and not set(words) - _SIGNS
    return is_permanent or _SITE_LINK.fullmatch(words) is not None


def is_layout(table: LexborNode) -> bool:
    names = f"{table.attributes.get('class')} {table.attributes.get('role')}"
    return re.search(r"highlight|rouge|lntable|presentation|none none", names) is not None


def text_of(root: LexborNode) -> str:
    """All text below a node except dropped elements; block elements start a new line."""
    pieces: list[str] = []
    depth = 0
    node: LexborNode | None = root
    while node is not None:
        tag = node.tag or ""
        descends = False
        if tag == "-text":
            pieces.append(node.text_content or "")
        elif tag == "br":
            pieces.append("\n")
        elif tag == "img":
            pieces.append(node.attributes.get("alt") or "")
        else:
            descends = depth == 0 or not (tag in _DROPPED or _is_number(node))
            pieces.append(_BORDER if tag in _LINES else "")
        if descends and node.child is not None:
            node = node.child
            depth += 1
            continue
        while depth and node is not None and node.next is None:
            node = node.parent
            depth -= 1
            pieces.append(_BORDER if node is not None and node.tag in _LINES else "")
        node = node.next if node is not None and depth else None
    return _BORDERS.sub("\n", "".join(pieces))


def _is_number(node: LexborNode) -> bool:
    return any(_DROPPED_CLASS.fullmatch(name) for name in _classes(node).split())


def _classes(node: LexborNode | None) -> str:
    return (node.attributes.get("class") or "") if node and node.is_element_node else ""


def language_of(pre: LexborNode) -> str:
    """The language, from the class of the code, its <pre> or an enclosing box."""
    for candidate in (pre.child, pre, pre.parent, pre.parent.parent if pre.parent else None):
        classes = _classes(candidate)
        match = _LANGUAGE.search(classes) or _DOCUTILS_CODE.search(classes)
        if match is not None:
            name = match.group(1).lower()
            return "" if name in _NO_LANGUAGE else name
    return ""


def anchor_of(heading: LexborNode) -> str:
    """The heading's id, else that of an anchor in it, else that of its section."""
    inside = heading.css_first("[id], a[name]")
    parent = heading.parent
    opens = parent is not None and parent.tag in {"section", "div"} and _is_first(heading)
    candidates = (
        heading.attributes.get("id"),
        (inside.attributes.get("id") or inside.attributes.get("name")) if inside else None,
        parent.attributes.get("id") if parent is not None and opens else None,
    )
    anchor = next((name for name in candidates if name), "")
    return anchor if _ANCHOR.fullmatch(anchor) else ""


def _is_first(heading: LexborNode) -> bool:
    previous = heading.prev
    while previous is not None and not previous.is_element_node:
        previous = previous.prev
    # Sphinx puts additional targets of a section before its heading.
    return previous is None or (previous.tag == "span" and previous.child is None)
