"""HTML becomes Markdown: the page's own content, without the site around it.

The tree is walked with a loop, never by recursion: pages nest as deep as they like.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from surefind.text.markdown import plain
from surefind.text.mdx import fenced, guarded

# The most specific first: what a documentation tool marks as the text of the page.
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
_LEAST_SHARE = 3  # a content root that holds less than a third of the page's words is none

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
# Boxes of the text that some tools write as <aside>.
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
_SIGNS = frozenset("#\u00b6\u00a7\U0001f517\u200b \xa0")  # what permanent links are shown as
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight(?:-source)?)-([\w+#.-]+)")
_DOCUTILS_CODE = re.compile(r"(?:^|\s)code ([\w+#-]+)")
_NO_LANGUAGE = {"default", "none", "plain", "plaintext", "text", "literal-block"}
_NO_PAGE = re.compile(r"\s*(?:#|(?:javascript|mailto|tel|data|blob):|$)", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAK = re.compile(r" *\n[ \n]*")
_ANCHOR = re.compile(r"[^\s{}]+")
_BORDER = "\0"  # no character of any HTML text
_BORDERS = re.compile(f"\n?{_BORDER}+")
_LINES = {"div", "li", "p", "tr"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "label", "mark", "math", "mn", "mi", "mo", "mrow", "msub", "msup", "q"),
    *("rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "u"),
    *("var", "wbr"),
}
_MAX_DEPTH = 12  # of lists and quotes; what is nested deeper is shown at this depth
_MAX_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """`links` are those of the whole page, navigation included, for whoever follows them."""

    text: str
    title: str = ""
    canonical_url: str = ""
    description: str = ""
    language: str = ""
    links: tuple[str, ...] = ()


def html_to_markdown(html: str) -> HtmlPage:
    tree = LexborHTMLParser(html)
    text, top_heading = _content(tree)
    title = tree.css_first("title")
    language = tree.css_first("html[lang]")
    return HtmlPage(
        text=text,
        title=top_heading or (" ".join(_text_of(title).split()) if title else ""),
        canonical_url=_attribute(tree, "link[rel=canonical]", "href"),
        description=_attribute(tree, "meta[name=description]", "content"),
        language=(language.attributes.get("lang") or "") if language else "",
        links=_links(tree),
    )


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node else ""


def _links(tree: LexborHTMLParser) -> tuple[str, ...]:
    base = _attribute(tree, "base[href]", "href")
    found = (node.attributes.get("href") or "" for node in tree.css("a[href]"))
    return tuple(dict.fromkeys(_joined(base, link) for link in found if not _NO_PAGE.match(link)))


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link.strip())
    except ValueError:  # no address at all, which is for whoever follows it to say
        return link.strip()


def _content(tree: LexborHTMLParser) -> tuple[str, str]:
    """(text, top heading) of the content, or of the whole body if the content is elsewhere."""
    if tree.body is None:
        return "", ""
    whole = _Converter().convert(tree.body)
    for selector in _CONTENT_ROOTS:
        matches = tree.css(selector)
        if len(matches) == 1:  # several are parts of something larger
            part = _Converter().convert(matches[0])
            holds_enough = len(part[0].split()) * _LEAST_SHARE >= len(whole[0].split())
            return part if holds_enough else whole
    return whole


_Exit = Callable[[], None]


class _Writer:
    """Markdown blocks, one after the other, inside of the lists and quotes that are open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._markers: list[tuple[str, str]] = []  # for the first line of an item, for the others
        self._fresh = 0  # how many of the innermost markers have not been written yet
        self._close = False  # the next block follows without a blank line

    def open(self, marker: str, *, close: bool = False) -> None:
        self._markers.append((marker, marker if marker == "> " else " " * len(marker)))
        self._fresh += 1
        self._close = close or self._close

    def shut(self) -> None:
        self._markers.pop()
        self._fresh = max(0, self._fresh - 1)
        self._close = False

    def block(self, lines: list[str]) -> None:
        if self._lines and not self._close:
            self._lines.append(self._margin(show_fresh=False).rstrip())
        for line in lines:
            self._lines.append((self._margin(show_fresh=True) + line).rstrip())
            self._fresh = 0
        self._close = False

    def stay_close(self, *, close: bool = True) -> None:
        self._close = close

    def _margin(self, *, show_fresh: bool) -> str:
        written = len(self._markers) - self._fresh
        margin = [other for _, other in self._markers[: min(written, _MAX_DEPTH)]]
        if show_fresh:
            margin += [marker for marker, _ in self._markers[written:_MAX_DEPTH]]
        return "".join(margin)

    def text(self) -> str:
        return "\n".join([*self._lines, ""]) if self._lines else ""


class _Converter:
    """Walks a tree once: every element says what to do with it and what to do after it."""

    def __init__(self) -> None:
        self._writer = _Writer()
        self._words: list[str] = []
        self._lists: list[int | None] = []  # the number of the next item; None for bullets
        self._rows: list[list[str]] | None = None  # of the table that is open
        self._in_cell = False
        self._top_heading = ""
        self._openers: Mapping[str, Callable[[LexborNode], _Exit | None]] = {
            **dict.fromkeys(_HEADINGS, self._heading),
            **dict.fromkeys(("code", "samp", "tt"), self._inline_code),
            **dict.fromkeys(("ul", "menu", "ol", "dir"), self._list),
            **dict.fromkeys(("td", "th"), self._cell),
            "blockquote": self._quote,
            "br": self._break,
            "dd": self._definition,
            "img": self._image,
            "li": self._item,
            "pre": self._pre,
            "table": self._table,
            "tr": self._row,
        }

    def convert(self, root: LexborNode) -> tuple[str, str]:
        exits: list[_Exit] = []
        node: LexborNode | None = root
        while node is not None:
            leave = self._enter(node)
            if leave is not None and node.child is not None:
                exits.append(leave)
                node = node.child
                continue
            if leave is not None:
                leave()
            while node is not None and exits and node.next is None:
                node = node.parent
                exits.pop()()
            node = node.next if node is not None and exits else None
        self._flush()
        return self._writer.text(), self._top_heading

    def _enter(self, node: LexborNode) -> _Exit | None:
        """What to do after the children; None where they are not to be visited."""
        tag = node.tag or ""
        if tag == "-text":
            self._words.append(_WHITE_SPACE.sub(" ", node.text_content or ""))
            return None
        if not node.is_element_node or _is_dropped(node, tag):
            return None
        if tag in _INLINE:
            return _nothing
        opener = self._openers.get(tag)
        if opener is not None:
            return opener(node)
        self._flush()
        return self._flush

    def _flush(self) -> None:
        """Ends a paragraph; in a table's cell, which is one line, only a word."""
        if self._in_cell:
            self._words.append(" ")
            return
        lines = [guarded(line) for line in self._said().split("\n") if line]
        if lines:
            self._writer.block(lines)

    def _said(self) -> str:
        words = _AROUND_BREAK.sub("\n", re.sub(" +", " ", "".join(self._words))).strip()
        self._words = []
        return words

    def _heading(self, node: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush

        def leave() -> None:
            title = self._said().replace("\n", " ")
            if title:
                anchor = _anchor_of(node)
                level = _HEADINGS[node.tag or ""]
                if level == 1 and not self._top_heading:
                    self._top_heading = plain(title)
                if title.endswith("#") and not anchor:  # it would be read as a closing sign
                    title = f"{title[:-1]}\\#"
                ending = f" {{#{anchor}}}" if anchor else ""
                self._writer.block([f"{'#' * level} {title}{ending}"])

        return leave

    def _inline_code(self, node: LexborNode) -> None:
        code = _WHITE_SPACE.sub(" ", _text_of(node)).strip()
        if code:
            ticks = "`" * (max((len(run) for run in re.findall("`+", code)), default=0) + 1)
            space = " " if "`" in code else ""
            self._words.append(f"{ticks}{space}{code}{space}{ticks}")

    def _pre(self, node: LexborNode) -> None:
        if self._in_cell:
            self._inline_code(node)
            return
        self._flush()
        code = _text_of(node).strip("\n")
        if code.strip():
            self._writer.block(fenced(code.rstrip(), _language(node)).split("\n"))

    def _list(self, node: LexborNode) -> _Exit:
        nested = bool(self._lists)
        self._flush()
        start = node.attributes.get("start") or ""
        number = int(start) if start.isdecimal() and len(start) < 9 else 1
        self._lists.append(number if node.tag == "ol" else None)
        if nested and not self._in_cell:
            self._writer.stay_close()

        def leave() -> None:
            self._flush()
            self._lists.pop()
            self._writer.stay_close(close=False)

        return leave

    def _item(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        self._writer.open("- " if number is None else f"{number}. ")
        return self._leave_item

    def _leave_item(self) -> None:
        self._flush()
        self._writer.shut()
        self._writer.stay_close()

    def _definition(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        self._writer.open(": ", close=True)
        return self._leave_container

    def _quote(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._in_cell:
            return self._flush
        self._writer.open("> ")
        return self._leave_container

    def _leave_container(self) -> None:
        self._flush()
        self._writer.shut()

    def _break(self, _: LexborNode) -> None:
        self._words.append(" " if self._in_cell else "\n")

    def _image(self, node: LexborNode) -> None:
        self._words.append(_WHITE_SPACE.sub(" ", node.attributes.get("alt") or ""))

    def _table(self, node: LexborNode) -> _Exit:
        self._flush()
        if self._rows is not None or _is_layout(node):
            return self._flush
        self._rows = []

        def leave() -> None:
            rows, self._rows, self._words = self._rows or [], None, []
            width = max((len(row) for row in rows), default=0)
            if any(cell for row in rows for cell in row):
                lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
                self._writer.block([lines[0], "|" + " --- |" * width, *lines[1:]])

        return leave

    def _row(self, _: LexborNode) -> _Exit:
        self._flush()
        if self._rows is not None and not self._in_cell:
            self._rows.append([])
        return self._flush

    def _cell(self, node: LexborNode) -> _Exit:
        self._flush()
        if not self._rows or self._in_cell:
            return self._flush
        row, self._in_cell = self._rows[-1], True
        span = node.attributes.get("colspan") or ""
        columns = int(span) if span.isdecimal() and len(span) < 4 else 1

        def leave() -> None:
            self._in_cell = False
            row.append(self._said().replace("\n", " ").replace("|", "\\|"))
            row.extend([""] * (min(columns, _MAX_COLUMNS) - 1))

        return leave


def _nothing() -> None:
    """After an inline element the line goes on."""


def _is_dropped(node: LexborNode, tag: str) -> bool:
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
    """Some tools put the page's own heading into a <header>."""
    return header.css_first("h1") is not None


def _is_hidden(attributes: Mapping[str, str | None]) -> bool:
    if attributes.get("role") == "tabpanel":  # its tab is only not the one in front
        return False
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
    )


def _is_furniture(node: LexborNode, tag: str, classes: list[str]) -> bool:
    """What belongs to the site, not to the page."""
    attributes = node.attributes
    if attributes.get("role") in _DROPPED_ROLES or {"contents", "topic"} <= set(classes):
        return True
    names = classes
    if tag == "div" and "section" not in classes:  # the id of a section is made of its heading
        names = [*classes, attributes.get("id") or ""]
    if any(_DROPPED_CLASS.fullmatch(name) for name in names):
        return True
    if tag != "a":
        return False
    words = _text_of(node).strip()
    is_permanent = (attributes.get("href") or "").startswith("#") and not set(words) - _SIGNS
    return is_permanent or _SITE_LINK.fullmatch(words) is not None


def _is_layout(table: LexborNode) -> bool:
    names = f"{table.attributes.get('class')} {table.attributes.get('role')}"
    return re.search(r"highlight|rouge|lntable|presentation|none none", names) is not None


def _text_of(root: LexborNode) -> str:
    """All text below a node but what is dropped; what is a line of its own is one here too."""
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


def _language(pre: LexborNode) -> str:
    """From the class of the code, of its <pre> or of a box around it."""
    for candidate in (pre.child, pre, pre.parent, pre.parent.parent if pre.parent else None):
        classes = _classes(candidate)
        match = _LANGUAGE.search(classes) or _DOCUTILS_CODE.search(classes)
        if match is not None:
            name = match.group(1).lower()
            return "" if name in _NO_LANGUAGE else name
    return ""


def _anchor_of(heading: LexborNode) -> str:
    """Its own id, else that of an anchor in it, else that of the section it opens."""
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
    # Sphinx puts further targets of the same section before its heading.
    return previous is None or (previous.tag == "span" and previous.child is None)
