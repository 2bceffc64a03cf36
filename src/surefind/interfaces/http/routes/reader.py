"""An ingested page as HTML, for links that have no site to lead to."""

from html import escape

from surefind.bootstrap import Application
from surefind.errors import SurefindError, UnknownCollection, UnknownDocument
from surefind.interfaces.http.errors import public_message
from surefind.model import ChunkRecord
from surefind.text.chunking import without_overlap

_PAGE = """<!doctype html>
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


async def render_document(application: Application, collection: str, source_path: str) -> str:
    if collection != application.settings.collection:
        raise UnknownCollection(f"this server has no collection {collection!r}")
    async with application.parts.reader.lease() as generation:
        catalog = generation.require_catalog()
        document = await catalog.document(source_path)
        if document is None:
            raise UnknownDocument(f"collection {collection!r} has no page {source_path!r}")
        chunks = await catalog.document_chunks(source_path)
    return _page(document.title, source_path, _body(chunks))


def render_problem(error: SurefindError, source_path: str) -> str:
    """For the person who followed a link that leads nowhere any more."""
    message = f'<p>{escape(public_message(error))}</p><p><a href="/">Search for it</a></p>'
    return _page("Not to be read", source_path, message)


def _page(title: str, path: str, body: str) -> str:
    return _PAGE.format(title=escape(title), path=escape(path), body=body)


def _body(chunks: list[ChunkRecord]) -> str:
    """Each passage under its anchor; the first of a section carries it."""
    sections, seen = [], set()
    texts = without_overlap(record.chunk for record in chunks)
    for record, text in zip(chunks, texts, strict=True):
        anchor = record.chunk.anchor
        identity = f' id="{escape(anchor)}"' if anchor and anchor not in seen else ""
        seen.add(anchor)
        sections.append(f"<section{identity}>{escape(text)}</section>")
    return "\n".join(sections)
