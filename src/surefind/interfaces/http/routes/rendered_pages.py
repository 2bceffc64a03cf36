"""The reader: pages of a collection, rendered, for passages without a published address."""

import asyncio
import posixpath
from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from urllib.parse import unquote, urljoin, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from surefind.bootstrap import Application
from surefind.errors import SurefindError, UnknownDocument
from surefind.interfaces.failures import failure_of, public_message
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.rendering.elements import html_of
from surefind.interfaces.rendering.rendered_page import PassageAnchor, rendered_page
from surefind.model import ChunkRecord, reader_path
from surefind.ports import Catalog
from surefind.services.reading.llms_txt import titled
from surefind.text.html.to_markdown import readable
from surefind.text.links import markdown_links, relinked

_MAX_LINKS = 300
"""Each needs a look into the catalog; further links are text."""
_TWIN = ".md"
_SUFFIXES = ("", ".md", ".mdx", "/index.md", "/index.mdx", "/README.md")
_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · surefind</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<link rel="stylesheet" href="/static/styles/style.css">
<link rel="stylesheet" href="/static/styles/rendered.css">
<script src="/static/theme.js"></script>
<script src="/static/reader.js" type="module"></script>
</head>
<body class="reader">
<header><a href="/">surefind</a> <span class="page">{title}</span> <span>{path}</span></header>
<main>
<article class="rendered">
{body}
</article>
</main>
</body>
</html>
"""


def add_reader(app: FastAPI, application: Application) -> None:
    @app.head("/read/{name}/{source_path:path}", include_in_schema=False)
    @app.get("/read/{name}/{source_path:path}", include_in_schema=False)
    async def read(request: Request, name: str, source_path: str, passage: str = "") -> Response:
        """`passage` is the ID of a chunk to mark; an unknown one marks nothing.

        A page is sent as Markdown if `.md` is added to its path, or if Accept requests that.
        """
        try:
            markdown = await _markdown(application, name, source_path, request)
            if markdown is not None:
                return Response(markdown, media_type="text/markdown")
            return HTMLResponse(await _page(application, name, source_path, passage))
        except SurefindError as error:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            status = failure_of(error).http_status
            return HTMLResponse(_problem(error, source_path), status)


async def _markdown(
    application: Application, collection: str, source_path: str, request: Request
) -> bytes | None:
    """None if the page is requested as HTML, or does not exist."""
    async with application.parts.readers.of(collection).lease() as generation:
        catalog = generation.require_catalog()
        if await catalog.document(source_path) is None:
            source_path = source_path.removesuffix(_TWIN)
        elif "text/markdown" not in request.headers.get("accept", ""):
            return None
        document = await catalog.document(source_path)
        if document is None:
            return None
        chunks = await catalog.document_chunks(source_path)
        text, _ = _readable(await catalog.document_text(source_path), chunks)
        links = await _links(text, chunks, catalog) if not generation.manifest.connected else {}
    address = address_of(request)

    def target(link: str) -> str | None:
        found = links.get(link)
        if found is None or not found.startswith("/read/"):
            return found
        path, mark, anchor = found.partition("#")
        return f"{address}{path}{_TWIN}{mark}{anchor}"

    text = titled(relinked(text.strip(), target), document.title)
    return text.encode("utf-8", "replace")


async def _page(application: Application, collection: str, source_path: str, passage: str) -> str:
    async with application.parts.readers.of(collection).lease() as generation:
        catalog = generation.require_catalog()
        document = await catalog.document(source_path)
        if document is None:
            raise UnknownDocument(f"collection {collection!r} has no page {source_path!r}")
        chunks = await catalog.document_chunks(source_path)
        text = await catalog.document_text(source_path)
        text, spans = _readable(text, chunks)
        links = await _links(text, chunks, catalog) if not generation.manifest.connected else {}
    anchors = [
        PassageAnchor(record.chunk.anchor, (record.chunk.heading_path or ("",))[-1], start)
        for record, (start, _) in zip(chunks, spans, strict=True)
    ]
    found = next(
        (span for record, span in zip(chunks, spans, strict=True) if record.chunk.id == passage),
        None,
    )

    def resolve(link: str) -> str | None:
        if link.startswith("#") or urlsplit(link).scheme:
            return link
        return links.get(link)

    body = await asyncio.to_thread(lambda: html_of(rendered_page(text, anchors, resolve, found)))
    return _html(document.title, source_path, body, chunks[0].locale if chunks else "")


def _readable(text: str, chunks: Sequence[ChunkRecord]) -> tuple[str, list[tuple[int, int]]]:
    """The text of a page and the spans of its chunks in it. HTML of other programs is converted."""
    texts = [readable(record.chunk.text) for record in chunks]
    if all(one == record.chunk.text for one, record in zip(texts, chunks, strict=True)):
        return text, [(record.chunk.start, record.chunk.end) for record in chunks]
    spans, start = [], 0
    for one in texts:
        spans.append((start, start + len(one)))
        start += len(one) + 2
    return "\n\n".join(texts), spans


async def _links(text: str, chunks: Sequence[ChunkRecord], catalog: Catalog) -> Mapping[str, str]:
    """The addresses of the relative links that lead to pages of this collection or its site."""
    found: dict[str, str] = {}
    if not chunks:
        return found
    relative = (link for link in dict.fromkeys(markdown_links(text)) if _is_relative(link))
    for link in islice(relative, _MAX_LINKS):
        address = await _address(link, chunks[0], catalog)
        if address is not None:
            found[link] = address
    return found


def _is_relative(link: str) -> bool:
    try:
        parts = urlsplit(link)
    except ValueError:
        return False
    return bool(parts.path) and not parts.scheme and not parts.netloc


async def _address(link: str, record: ChunkRecord, catalog: Catalog) -> str | None:
    parts = urlsplit(link)
    folder = posixpath.dirname(record.chunk.source_path)
    path = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    for suffix in _SUFFIXES:
        document = await catalog.document(path + suffix)
        if document is not None:
            return (reader_path(document.url) or document.url) + anchor
    published = urlsplit(record.url).scheme in {"http", "https"}
    return urljoin(record.url, link) if published else None


def _problem(error: SurefindError, source_path: str) -> str:
    """An HTML error page for readers who followed a broken link."""
    message = f'<p>{escape(public_message(error))}</p><p><a href="/">Search instead</a></p>'
    return _html(
        "Page unavailable", source_path, f"<section><h1>Page unavailable</h1>{message}</section>"
    )


def _html(title: str, path: str, body: str, locale: str = "") -> str:
    return _PAGE.format(
        title=escape(title), path=escape(path), body=body, language=escape(locale or "en")
    )
