"""llms.txt and llms-full.txt: the pages of a collection as Markdown, for assistants."""

from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from surefind.bootstrap import Application
from surefind.interfaces.http.middleware.proxies import address_of
from surefind.interfaces.http.routes.collections import CollectionChoice
from surefind.model import DocumentRecord
from surefind.services.generations.readers import CollectionReader
from surefind.services.reading.llms_export import FULL
from surefind.services.reading.llms_txt import PageList, PageTexts

Choice = Annotated[CollectionChoice, Query()]


def add_llms_txt(app: FastAPI, application: Application) -> None:
    served = application.settings.collection

    @app.head("/llms.txt", include_in_schema=False)
    @app.get("/llms.txt", include_in_schema=False)
    async def index(http: Request, choice: Choice) -> PlainTextResponse:
        collection = choice.collection or served
        async with application.parts.readers.of(collection).lease() as generation:
            documents = await generation.require_catalog().documents()
        pages = PageList(collection, documents, _link_for(http, collection))
        other = f"?collection={quote(collection)}" if choice.collection else ""
        return PlainTextResponse(pages.llms_txt(f"{address_of(http)}/{FULL}{other}"))

    @app.head("/llms-full.txt", include_in_schema=False)
    @app.get("/llms-full.txt", include_in_schema=False)
    async def full(http: Request, choice: Choice) -> Response:
        collection = choice.collection or served
        reader = application.parts.readers.of(collection)
        return _AllPages(reader, collection, _link_for(http, collection))


def _link_for(http: Request, collection: str) -> Callable[[DocumentRecord], str]:
    address = f"{address_of(http)}/read/{quote(collection)}"
    return lambda document: f"{address}/{quote(document.source_path)}.md"


class _AllPages(PlainTextResponse):
    """Sent page by page, because all pages together may not fit into memory."""

    def __init__(
        self,
        reader: CollectionReader,
        collection: str,
        link_for: Callable[[DocumentRecord], str],
    ) -> None:
        super().__init__()
        del self.headers["Content-Length"]
        self._reader = reader
        self._collection = collection
        self._link_for = link_for

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        async with self._reader.lease() as generation:
            catalog = generation.require_catalog()
            documents = await catalog.documents()
            pages = PageList(self._collection, documents, self._link_for)
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            if scope["method"] != "HEAD":
                texts = PageTexts(documents, self._link_for)
                async for text in texts.full(pages.documents, catalog):
                    body = text.encode("utf-8", "replace")
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body"})
