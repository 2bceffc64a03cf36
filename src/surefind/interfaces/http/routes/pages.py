"""The search page and its assets, the search box for other sites, and the reader."""

from html import escape
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from surefind.bootstrap import Application
from surefind.errors import SurefindError, UnknownDocument
from surefind.interfaces.failures import failure_of, public_message
from surefind.model import ChunkRecord
from surefind.text.chunking import without_overlap

_CACHED = "public, max-age=300"
_DOCUMENT_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · surefind</title>
<link rel="icon" type="image/svg+xml" href="/static/favicon.svg">
<link rel="stylesheet" href="/static/style.css">
<script src="/static/theme.js"></script>
</head>
<body class="reader">
<header><a href="/">surefind</a> <h1>{title}</h1> <span>{path}</span></header>
<main>
<article>
{body}
</article>
</main>
</body>
</html>
"""


def add_pages(app: FastAPI, application: Application) -> None:
    web = files("surefind.interfaces") / "web"
    app.mount("/static", StaticFiles(directory=str(web / "static")), name="static")
    page = (web / "index.html").read_text("utf-8")

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse(page)

    box = (web / "embed.js").read_bytes()

    @app.head("/embed.js", include_in_schema=False)
    @app.get("/embed.js", include_in_schema=False)
    async def embed() -> Response:
        """Loadable from any site, including sites with Cross-Origin-Embedder-Policy."""
        headers = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": _CACHED}
        return Response(box, media_type="text/javascript", headers=headers)

    @app.head("/read/{name}/{source_path:path}", include_in_schema=False)
    @app.get("/read/{name}/{source_path:path}", include_in_schema=False)
    async def read(request: Request, name: str, source_path: str) -> HTMLResponse:
        try:
            return HTMLResponse(await _document_page(application, name, source_path))
        except SurefindError as error:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            status = failure_of(error).http_status
            return HTMLResponse(_problem_page(error, source_path), status)


async def _document_page(application: Application, collection: str, source_path: str) -> str:
    async with application.parts.readers.of(collection).lease() as generation:
        catalog = generation.require_catalog()
        document = await catalog.document(source_path)
        if document is None:
            raise UnknownDocument(f"collection {collection!r} has no page {source_path!r}")
        chunks = await catalog.document_chunks(source_path)
    return _render(document.title, source_path, _sections(chunks))


def _problem_page(error: SurefindError, source_path: str) -> str:
    """An HTML error page for readers who followed a broken link."""
    message = f'<p>{escape(public_message(error))}</p><p><a href="/">Search instead</a></p>'
    return _render("Page unavailable", source_path, message)


def _render(title: str, path: str, body: str) -> str:
    return _DOCUMENT_PAGE.format(title=escape(title), path=escape(path), body=body)


def _sections(chunks: list[ChunkRecord]) -> str:
    """The chunks as HTML sections; the first chunk of each section has its anchor."""
    sections, seen = [], set()
    texts = without_overlap(record.chunk for record in chunks)
    for record, text in zip(chunks, texts, strict=True):
        anchor = record.chunk.anchor
        identity = f' id="{escape(anchor)}"' if anchor and anchor not in seen else ""
        seen.add(anchor)
        sections.append(f"<section{identity}>{escape(text)}</section>")
    return "\n".join(sections)
