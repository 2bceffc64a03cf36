"""llms.txt for a collection: its pages by folder, and each page as Markdown.

The format is that of https://llmstxt.org: a title, a summary and lists of links. Pages that
assistants rarely need, such as release notes, are in the section *Optional*.
"""

from __future__ import annotations

import posixpath
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from urllib.parse import unquote, urljoin, urlsplit

from surefind.model import BrokenLink, DocumentRecord, PageKind, is_unpublished
from surefind.ports import Catalog
from surefind.text.html.to_markdown import readable
from surefind.text.links import relinked, suffix_of
from surefind.text.page_kinds import KIND

_INDEXES = ("index", "readme", "_index")
_OPTIONAL = frozenset(PageKind) - {PageKind.INDEX}
_SUFFIXES = ("", ".md", ".mdx", "/index.md", "/index.mdx", "/README.md")
_PAGE_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
_MAX_NOTE = 200
_ESCAPED = str.maketrans({"[": "\\[", "]": "\\]", "\\": "\\\\"})

LinkFor = Callable[[DocumentRecord], str]


class PageList:
    """The pages of a generation. `link_for` gives the address of a page as Markdown."""

    def __init__(
        self, collection: str, documents: Sequence[DocumentRecord], link_for: LinkFor
    ) -> None:
        self._collection = collection
        self._link_for = link_for
        shared = _shared_folder(documents)
        below = {document.source_path.removeprefix(shared): document for document in documents}
        self._below = dict(sorted(below.items(), key=lambda item: _order(item[0])))
        self._indexes = {
            posixpath.dirname(path): document
            for path, document in reversed(self._below.items())
            if _is_index(posixpath.basename(path))
        }

    @property
    def documents(self) -> list[DocumentRecord]:
        """In the order of llms.txt, but for the optional ones."""
        return list(self._below.values())

    def llms_txt(self, full: str) -> str:
        """`full` is the address of llms-full.txt."""
        start = self._indexes.get("")
        title = self._collection if start is None else start.title
        summary = "" if start is None else _note(start)
        lines = [f"# {_line(title)}", ""]
        if summary:
            lines += [f"> {summary}", ""]
        lines += [f"Every link is a page as Markdown. All pages in one file: {full}", ""]
        for name, documents in self._sections().items():
            lines += [f"## {name}", "", *map(self._entry, documents), ""]
        return "\n".join(lines)

    def _entry(self, document: DocumentRecord) -> str:
        title = _line(document.title or document.source_path).translate(_ESCAPED)
        note = _note(document)
        return f"- [{title}]({self._link_for(document)})" + (f": {note}" if note else "")

    def _sections(self) -> Mapping[str, list[DocumentRecord]]:
        """By the first folder below the one that all pages share; optional pages last."""
        sections: dict[str, list[DocumentRecord]] = {}
        optional: list[DocumentRecord] = []
        for path, document in self._below.items():
            folder, inner, _ = path.partition("/")
            if document.attributes.get(KIND) in _OPTIONAL:
                optional.append(document)
            else:
                name = self._named(folder if inner else "")
                sections.setdefault(name, []).append(document)
        return {**sections, **({"Optional": optional} if optional else {})}

    def _named(self, folder: str) -> str:
        """The title of a folder's index page, or its name."""
        if not folder:
            return "Pages"
        if folder in self._indexes:
            return _line(self._indexes[folder].title)
        name = (folder.lstrip("0123456789-_. ") or folder).replace("-", " ").replace("_", " ")
        return name[:1].upper() + name[1:]


class PageTexts:
    """Pages as Markdown, whose links to other pages lead to Markdown too."""

    def __init__(self, documents: Sequence[DocumentRecord], link_for: LinkFor) -> None:
        self._link_for = link_for
        self._by_path = {document.source_path: document for document in documents}
        self._by_url = {_key(document.url): document for document in documents}
        self.broken: list[BrokenLink] = []

    async def text_of(self, document: DocumentRecord, catalog: Catalog, folder: str = "") -> str:
        """Links without a host are relative to `folder`, as in a file in it."""

        def target(link: str) -> str | None:
            found = self._target(link, document)
            if found is None or not folder or "://" in found:
                return found
            return posixpath.relpath(found, folder)

        text = readable(await catalog.document_text(document.source_path)).strip()
        return titled(relinked(text, target), document.title)

    async def full(
        self, documents: Sequence[DocumentRecord], catalog: Catalog
    ) -> AsyncIterator[str]:
        """llms-full.txt, page by page, each with its address below its title."""
        for document in documents:
            title, _, text = (await self.text_of(document, catalog)).partition("\n")
            address = self._link_for(document) if is_unpublished(document.url) else document.url
            yield f"{title}\n\nSource: {address}\n\n{text.strip()}\n\n"

    def _target(self, link: str, document: DocumentRecord) -> str | None:
        """Another target of a link; None to keep it."""
        try:
            parts = urlsplit(link)
            absolute = urljoin(document.url, link)
        except ValueError:
            return None
        if not parts.path or (parts.scheme and parts.scheme not in {"http", "https"}):
            return None
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        page = self._by_url.get(_key(absolute)) or (
            None if parts.netloc else self._beside(document, unquote(parts.path))
        )
        if page is not None:
            return self._link_for(page) + anchor
        if not parts.netloc and suffix_of(parts.path) in _PAGE_SUFFIXES:
            reason = "no such page was ingested"
            self.broken.append(BrokenLink(document.source_path, link, reason))
        return None if is_unpublished(document.url) else absolute

    def _beside(self, document: DocumentRecord, path: str) -> DocumentRecord | None:
        folder = posixpath.dirname(document.source_path)
        place = posixpath.normpath(posixpath.join(folder, path))
        found = (self._by_path.get(place + suffix) for suffix in _SUFFIXES)
        return next((page for page in found if page is not None), None)


def titled(text: str, title: str) -> str:
    """Markdown that begins with a title."""
    return f"{text}\n" if text.startswith("# ") else f"# {_line(title)}\n\n{text}\n"


def _order(path: str) -> tuple[str, bool, str]:
    """Pages of the root first, and the index of a folder before its other pages."""
    folder, name = posixpath.split(path)
    return folder, not _is_index(name), name


def _shared_folder(documents: Sequence[DocumentRecord]) -> str:
    """The folder that contains all pages, with a slash at its end."""
    folders = [document.source_path.split("/")[:-1] for document in documents]
    shared = posixpath.commonprefix(folders) if folders else []
    return "".join(f"{part}/" for part in shared)


def _is_index(name: str) -> bool:
    return posixpath.splitext(name)[0].lower() in _INDEXES


def _key(url: str) -> str:
    return url.partition("#")[0].removesuffix("index.html").rstrip("/")


def _note(document: DocumentRecord) -> str:
    description = document.attributes.get("description")
    return _line(description)[:_MAX_NOTE] if isinstance(description, str) else ""


def _line(text: str) -> str:
    return " ".join(text.split())
