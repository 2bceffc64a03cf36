"""Compares what surefind reads from a site's source with the site as its generator renders it."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from surefind.adapters.sources.filesystem import sources_of
from surefind.model import Chunk, ChunkerSettings, Document, PageFailure, SkippedPage
from surefind.text.chunking import chunk_document
from surefind.text.documents import read_document

_BLOCKS = {
    *("address", "article", "aside", "blockquote", "br", "button", "caption", "dd", "details"),
    *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3"),
    *("h4", "h5", "h6", "header", "hr", "label", "li", "main", "nav", "ol", "p", "pre", "section"),
    *("summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_NOT_TEXT = frozenset({"script", "style", "svg", "template", "noscript", "title"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_]+")
_FENCED = re.compile(
    r"^([ \t>]*)(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\]\n]*\])")
_IMAGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_TAG = re.compile(r"(?<!\\)</?[A-Za-z][^<>]*>")

MARKUP = (
    r"<!--",
    r"^\s*</?(?:div|span|p|details|summary|table|tr|td|img|a|br|[A-Z][A-Za-z]*)\b[^>]*>",
    r"\{\s*:?\s*[#.][\w-]+[^}]*\}",  # attribute lists and heading ids
    r"^\s*\*\[[^\]]+\]:",  # abbreviations
    r"^ {0,3}\[[^\]^]+\]:\s*(?:<|https?:|\.|/|#)",  # link references
    r"^\s*(?:!!!|\?\?\?\+?|///+|:::+|={3}[!+]{0,2} \")",  # admonitions, tabs and other blocks
    r"-{1,}8<-{1,}|\{!.*!\}|\{\*[^*].*\*\}|\{\{.*\}\}|\{%.*%\}",  # includes and shortcodes
    r"^(?:import|export) .*[;'\"]$",
    r":(?:material|octicons|fontawesome|simple)-[\w-]+:",
)
"""What no reader of a page should see outside of code. Every generator's tests may add to it."""


@dataclass(frozen=True)
class Rendering:
    """Where a generator puts the content of its pages; `furniture` in it belongs to the site."""

    content: str
    furniture: Sequence[str] = ()
    not_pages: str = r"404\.html|search(?:/index)?\.html"
    markup: Sequence[str] = MARKUP


@dataclass(frozen=True)
class Differences:
    """Everything is empty if surefind reads the site as visitors see it."""

    unread_pages: list[str] = field(default_factory=list)
    missing_pages: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    dead_links: list[str] = field(default_factory=list)
    wrong_headings: list[str] = field(default_factory=list)
    lost_text: list[str] = field(default_factory=list)
    visible_markup: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class IngestedPage:
    document: Document
    chunks: list[Chunk]

    @cached_property
    def words(self) -> str:
        return "\n".join(f" {words_of(plain_text(chunk.text))} " for chunk in self.chunks)

    @cached_property
    def characters(self) -> str:
        return "\n".join("".join(chunk.text.split()) for chunk in self.chunks)


async def ingested_pages(
    source: Path, base_url: str | None
) -> tuple[list[IngestedPage], list[str], list[SkippedPage]]:
    """(the pages of a folder with their chunks, failures and warnings, pages left out)."""
    pages, problems, left = [], [], []
    for folder in sources_of([source], "docs", base_url):
        async for page in folder.pages():
            if isinstance(page, PageFailure):
                problems.append(f"{page.source_path}: {page.reason}")
                continue
            read = read_document(page, folder.site)
            if isinstance(read, SkippedPage):
                left.append(read)
                continue
            problems += [f"{page.source_path}: {warning}" for warning in read.warnings]
            settings = ChunkerSettings()
            chunks = chunk_document(
                read.document, read.structure, settings, lambda text: len(text) // 4 + 1
            )
            pages.append(IngestedPage(read.document, chunks))
    return pages, problems, left


async def compare(
    source: Path,
    rendered: Path,
    rendering: Rendering,
    base_url: str | None = None,
    *,
    path: str = "",
) -> Differences:
    """Compare every chunk of `source` with the site that its generator wrote to `rendered`.

    `rendered` is served at the root of the host, or below `path`, such as `/docs/`.
    """
    pages, problems, _ = await ingested_pages(source, base_url)
    found = Differences(failures=problems)
    read: set[Path] = set()
    for page in pages:
        file = _file_at(rendered, page.document.url, path)
        if file is None:
            found.missing_pages.append(f"{page.document.source_path}: {page.document.url}")
            continue
        read.add(file)
        _compare_page(page, LexborHTMLParser(file.read_bytes()), rendering, found)
    for file in sorted({*rendered.rglob("*.html")} - read):
        name = file.relative_to(rendered).as_posix()
        tree = LexborHTMLParser(file.read_bytes())
        redirects = tree.css_first("meta[http-equiv=refresh]") is not None
        if not re.fullmatch(rendering.not_pages, name) and not redirects:
            found.unread_pages.append(name)
    return found


def _file_at(rendered: Path, url: str, served_at: str) -> Path | None:
    path = unquote(urlsplit(url).path).removeprefix(served_at.rstrip("/")).strip("/")
    names = (f"{path}/index.html", f"{path}.html", path, path or "index.html")
    files = (rendered / name.lstrip("/") for name in names)
    return next((file for file in files if file.is_file() and file.suffix == ".html"), None)


def _compare_page(
    page: IngestedPage, tree: LexborHTMLParser, rendering: Rendering, found: Differences
) -> None:
    where = page.document.source_path
    content = tree.css_first(rendering.content)
    if content is None:
        found.missing_pages.append(f"{where}: no {rendering.content}")
        return
    for selector in rendering.furniture:
        for node in content.css(selector):
            node.decompose()
    by_id = {
        name: node
        for node in tree.css("[id], a[name]")
        if (name := node.attributes.get("id") or node.attributes.get("name"))
    }
    for chunk in page.chunks:
        _compare_link(chunk, by_id, where, found)
    found.lost_text.extend(f"{where}: {text}" for text in lost_text(content, page))
    for chunk in page.chunks:
        for text in (chunk.text, *chunk.heading_path):
            found.visible_markup.extend(
                f"{where}#{chunk.anchor}: {line}" for line in visible_markup(text, rendering.markup)
            )


def _compare_link(
    chunk: Chunk, by_id: dict[str, LexborNode], where: str, found: Differences
) -> None:
    if not chunk.anchor:
        return
    target = by_id.get(chunk.anchor)
    if target is None:
        found.dead_links.append(f"{where}#{chunk.anchor}")
        return
    is_object = "doc-heading" in (target.attributes.get("class") or "").split()
    if target.tag == "dt" or is_object:  # the description of a function or an option
        shown = words_of(target.text())
        if f" {words_of(chunk.heading_path[-1])} " not in f" {shown} ":
            found.wrong_headings.append(f"{where}#{chunk.anchor}: it describes {shown!r}")
        return
    heading = target
    while heading.tag not in _HEADINGS and heading.parent is not None:
        inner = heading.css_first("h1, h2, h3, h4, h5, h6")
        heading = inner if inner is not None else heading.parent
    shown = words_of(" ".join(text for _, text in _blocks(heading)))
    told = words_of(chunk.heading_path[-1])
    if told != shown:
        found.wrong_headings.append(f"{where}#{chunk.anchor}: {told!r}, on the page {shown!r}")


def lost_text(content: LexborNode, page: IngestedPage) -> Iterator[str]:
    """Sentences and code lines of the rendered content that are in no chunk."""
    for is_code, text in _blocks(content):
        if is_code:
            for line in text.splitlines():
                squeezed = "".join(line.split())
                if squeezed not in page.characters:
                    yield f"code: {line}"
            continue
        for sentence in _SENTENCE_END.split(text):
            words = words_of(sentence)
            if words and f" {words} " not in page.words:
                yield sentence


def visible_markup(text: str, patterns: Sequence[str] = MARKUP) -> Iterator[str]:
    prose = _CODE_SPAN.sub("", _FENCED.sub("", text))
    for pattern in patterns:
        for match in re.finditer(pattern, prose, re.MULTILINE):
            yield prose[match.start() : match.end()].strip()[:100]


def words_of(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def plain_text(markdown: str) -> str:
    """The words of a passage without the addresses and tags of its Markdown."""
    code: list[str] = []

    def keep(match: re.Match[str]) -> str:
        code.append(match.group())
        return f"\0{len(code) - 1}\0"

    prose = _CODE_SPAN.sub(keep, _FENCED.sub(keep, markdown))
    prose = _LINK.sub(r"\1", _LINK.sub(r"\1", _IMAGE.sub("", prose)))
    prose = html.unescape(_TAG.sub("", prose)).replace("\\", "")
    for number, span in reversed(list(enumerate(code))):
        prose = prose.replace(f"\0{number}\0", span)
    return prose


def _blocks(root: LexborNode) -> Iterator[tuple[bool, str]]:
    """(whether it is code, text) of every block, in order."""
    words: list[str] = []
    node: LexborNode | None = root
    while node is not None:
        tag = node.tag or ""
        descends = tag not in _NOT_TEXT
        if tag == "-text":
            words.append(node.text_content or "")
        elif tag in _BLOCKS:
            yield False, "".join(words)
            words = []
            if tag == "pre":
                yield True, _code(node)
                descends = False
        if descends and node.child is not None:
            node = node.child
            continue
        while node is not None and node.next is None and node != root:
            node = node.parent
            if node is not None and node.tag in _BLOCKS:
                yield False, "".join(words)
                words = []
        node = None if node is None or node == root else node.next
    yield False, "".join(words)


def _code(pre: LexborNode) -> str:
    for line_break in pre.css("br"):
        line_break.replace_with("\n")
    return pre.text()
