"""Renders Markdown with markdown-it-py, the CommonMark parser that rich brings along.

Known HTML tags vanish and their text stays; unknown ones, such as the `<T>` of `List<T>`, are text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html import unescape
from itertools import takewhile
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from surefind.interfaces.rendering.elements import Element, Nodes, text_of
from surefind.interfaces.rendering.site_syntax import without_site_syntax

Resolve = Callable[[str], str | None]
"""The address of a link as written, or None for text without a link."""

MAX_LENGTH = 500_000
"""Longer texts are shown unrendered, because parsing takes 8 seconds per million characters."""
_MAX_MARKS = 1_000
"""Paragraphs with more marks are text: the parser takes quadratic time for them."""

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_BLOCKS = MarkdownIt("commonmark", {"html": True}).enable(["table"]).disable("inline")
_PARSER.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005  # `is_safe` decides
_MARKS = frozenset("[*_~<&!`")
_KEPT_TAGS = frozenset({"b", "code", "em", "i", "kbd", "s", "strong", "sub", "sup"})
_TAG = re.compile(
    r"</?(a|abbr|address|article|aside|audio|b|bdi|bdo|big|blockquote|body|br|button|canvas|caption"
    r"|center|cite|code|col|colgroup|data|dd|del|details|dfn|dialog|div|dl|dt|em|embed|fieldset"
    r"|figcaption|figure|font|footer|form|frame|h[1-6]|head|header|hr|html|i|iframe|img|input|ins"
    r"|kbd|label|legend|li|link|main|map|mark|math|menu|meta|nav|noscript|object|ol|option|p"
    r"|param|picture|pre|progress|q|s|samp|script|section|select|small|source|span|strike|strong"
    r"|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr"
    r"|track|tt|u|ul|var|video|wbr)(?:\s[^<>]*+)?+/?>",
    re.IGNORECASE,
)
_PAIRED = _KEPT_TAGS | {"a"}
_MOST_INSIDE = 50
_HREF = re.compile(r"\shref\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>]*>", re.DOTALL)
_DROPPED_TEXT = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_ALT = re.compile(r"<img\b[^<>]*?\salt=(?:\"([^\"]*)\"|'([^']*)')[^<>]*>", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"^[ \t]*(?://|#|--|;|%|/\*|<!--|\{/\*|''|REM)[ \t]*"
    r"(?:highlight-(?:next-line|start|end)|error-(?:next-line|start|end)"
    r"|\[!code[ \t][^\]]*\]|prettier-ignore(?:-start|-end)?|--8<--.*)[ \t]*(?:\*/\}?|-->)?[ \t]*\n",
    re.MULTILINE,
)
_RECORDED = re.compile(r"<(?:font color|span style|u style)=")
_RECORDED_TAG = re.compile(r"</?(?:b|font|span|u)\b[^<>]*>")
_CODE_TITLE = re.compile(r"\b(?:title|filename)=(?:\"([^\"]*)\"|'([^']*)')")


def render(text: str, resolve: Resolve = lambda _: None) -> Nodes:
    """The blocks of a text; each knows its line. Links that `resolve` rejects are text."""
    if len(text) > MAX_LENGTH:
        return (Element("pre", (text,), line=0),)
    env: dict[str, object] = {}
    tokens = _BLOCKS.parse(without_site_syntax(text), env)
    return _Renderer(resolve, env).blocks(tokens)


class _Renderer:
    def __init__(self, resolve: Resolve, env: dict[str, object]) -> None:
        self._resolve = resolve
        self._env = env

    def blocks(self, tokens: Sequence[Token]) -> Nodes:
        nodes: list[Element | str] = []
        at = 0
        while at < len(tokens):
            end = _closing(tokens, at)
            nodes += self._block(tokens[at], tokens[at + 1 : end])
            at = end + 1
        return tuple(nodes)

    def _block(self, token: Token, inside: Sequence[Token]) -> Iterator[Element | str]:
        line = token.map[0] if token.map and token.level == 0 else None
        if token.type == "inline":
            yield from self._inline(token.content)
        elif token.type in {"fence", "code_block"}:
            yield from _code(token, line)
        elif token.type == "html_block":
            yield from _html_block(token.content, line)
        elif token.type == "paragraph_open" and token.hidden:
            yield from self.blocks(inside)
        else:
            attributes = {
                name: str(value) for name, value in token.attrs.items() if name == "start"
            }
            nodes = self.blocks(inside)
            if token.tag not in {"p", "thead"} or text_of(nodes).strip():
                yield Element(token.tag, nodes, attributes, line)

    def _inline(self, content: str) -> Nodes:
        content = _ALT.sub(lambda image: image[1] or image[2] or "", content)
        content = _COMMENT.sub("", content) if "<!" in content else content
        if sum(character in _MARKS for character in content) > _MAX_MARKS:
            return (_TAG.sub("", content),)
        [token] = _PARSER.parseInline(content, self._env)
        return self._spans(list(token.children or ()))

    def _spans(self, tokens: Sequence[Token]) -> Nodes:
        nodes: list[Element | str] = []
        at = 0
        while at < len(tokens):
            end = _closing(tokens, at) if tokens[at].type != "html_inline" else _end(tokens, at)
            nodes += self._span(tokens[at], tokens[at + 1 : end])
            at = end + 1
        return _joined(nodes)

    def _span(self, token: Token, inside: Sequence[Token]) -> Nodes:
        if token.type in {"text", "softbreak"}:
            return (token.content if token.type == "text" else "\n",)
        if token.type == "code_inline":
            return (Element("code", (token.content,)),)
        nodes = self._spans(token.children or inside)
        if token.type == "image":
            return nodes
        if token.type == "html_inline":
            return self._tag(token.content, nodes)
        if token.type == "link_open":
            return self._link(str(token.attrs.get("href", "")), nodes)
        return (Element(token.tag, nodes),)

    def _tag(self, tag: str, nodes: Nodes) -> Nodes:
        """A tag that is alone has no nodes."""
        known = _TAG.fullmatch(tag)
        if known is None:
            return () if tag.startswith(("<!", "<?")) else (tag,)
        name = known[1].lower()
        if name == "br":
            return (Element("br"),)
        if name == "a" and (target := _HREF.search(tag)):
            return self._link(unescape(target[1] or target[2]), nodes)
        return (Element(name, nodes),) if nodes and name in _KEPT_TAGS else nodes

    def _link(self, target: str, nodes: Nodes) -> Nodes:
        address = self._resolve(target)
        if not nodes or address is None or not is_safe(address):
            return nodes
        attributes = {"href": address}
        if urlsplit(address).scheme:
            attributes["rel"] = "noopener noreferrer nofollow"
        return (Element("a", nodes, attributes),)


def is_safe(address: str) -> bool:
    """Whether a link leads to a page of the web or of this server."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} or not (parts.scheme or parts.netloc)


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the token that closes the one at `at`, or `at` if it closes itself."""
    if tokens[at].nesting != 1:
        return at
    deeper = takewhile(lambda token: token.level > tokens[at].level, tokens[at + 1 :])
    return at + 1 + sum(1 for _ in deeper)


def _end(tokens: Sequence[Token], at: int) -> int:
    """The index of the tag that closes the one at `at`, if it does so soon, or `at`."""
    known = _TAG.fullmatch(tokens[at].content)
    if known is None or known[1].lower() not in _PAIRED or tokens[at].content.startswith("</"):
        return at
    closing = f"</{known[1].lower()}>"
    for index, token in enumerate(tokens[at + 1 : at + _MOST_INSIDE], start=at + 1):
        if token.level < tokens[at].level:
            break
        if token.type == "html_inline" and token.content.lower() == closing:
            return index if token.level == tokens[at].level else at
    return at


def _code(token: Token, line: int | None) -> Iterator[Element]:
    title = _CODE_TITLE.search(token.info)
    if title is not None and (name := (title[1] or title[2] or "").strip()):
        yield Element("p", (Element("code", (name,)),), {"class": "file"}, line)
    code = _DIRECTIVE.sub("", token.content)
    if _RECORDED.search(code):  # a terminal recording, coloured with HTML
        code = unescape(_RECORDED_TAG.sub("", code))
    if code.strip():
        yield Element("pre", (code.rstrip("\n"),), line=line)


def _html_block(html: str, line: int | None) -> Iterator[Element]:
    """The text of the block, one paragraph for each of its own."""
    html = _ALT.sub(lambda image: image[1] or image[2] or "", html)
    text = unescape(_TAG.sub("", _DROPPED_TEXT.sub("", _COMMENT.sub("", html))))
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if paragraph.strip():
            yield Element("p", (paragraph.strip(),), line=line)


def _joined(nodes: Sequence[Element | str]) -> Nodes:
    """With adjacent texts as one, so that a word is never split."""
    joined: list[Element | str] = []
    for node in nodes:
        if node == "":
            continue
        if isinstance(node, str) and joined and isinstance(joined[-1], str):
            joined[-1] += node
        else:
            joined.append(node)
    return tuple(joined)
