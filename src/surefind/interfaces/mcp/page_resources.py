"""Pages as resources: `surefind://{collection}/{+path}`, as Markdown."""

from urllib.parse import unquote

import mcp_types as types

from surefind.bootstrap import Application
from surefind.errors import UnknownDocument
from surefind.interfaces.mcp.tools.read_page import ReadArguments, read_page
from surefind.interfaces.mcp.tools.search_docs import MAX_TOKENS
from surefind.interfaces.mcp.tools.tool import Caller
from surefind.model import unpublished_url
from surefind.model.strings import check_string
from surefind.services.reading.page_reader import Part

PAGE_TEMPLATE = types.ResourceTemplate(
    name="page",
    title="A page of the documentation",
    uri_template="surefind://{collection}/{+path}",
    description="A page as Markdown, by its collection and path. list_docs lists the paths.",
    mime_type="text/markdown",
)
_MAX_LISTED = 100
_MAX_COMPLETED = 100
_SCHEME = "surefind://"


class PageResources:
    def __init__(self, application: Application) -> None:
        self._application = application

    async def listed(self, cursor: str | None) -> types.ListResourcesResult:
        """The pages of the served collection, sorted by path. A cursor is the last path."""
        collection = self._application.settings.collection
        after = check_string("cursor", cursor or "") or None
        async with self._application.searching.reader_of(collection).lease() as generation:
            documents = await generation.require_catalog().documents(after, _MAX_LISTED + 1)
        shown = documents[:_MAX_LISTED]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=document.source_path,
                    title=document.title,
                    uri=unpublished_url(collection, document.source_path),
                    mime_type="text/markdown",
                )
                for document in shown
            ],
            next_cursor=shown[-1].source_path if len(documents) > _MAX_LISTED else None,
        )

    async def read(self, uri: str, caller: Caller) -> types.ReadResourceResult:
        """A page that is too long for an answer ends with how to read on."""
        scheme, _, place = uri.partition(_SCHEME)
        collection, _, path = place.partition("/")
        if scheme or not collection or not path:
            raise UnknownDocument(
                f"there is no resource {uri!r}; resources have URIs such as "
                f"{unpublished_url(self._application.settings.collection, 'guide/install.md')}"
            )
        wanted = ReadArguments(
            id_or_url=uri, part=Part.PAGE, collection=unquote(collection), max_tokens=MAX_TOKENS
        )
        page = await read_page(self._application, caller, wanted)
        text = page.text
        if page.next is not None:
            text += (
                "\n\n[The page is longer. Continue with read_page: "
                f"id_or_url={uri!r}, part='page', cursor={page.next!r}, max_tokens={MAX_TOKENS}]"
            )
        contents = types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def complete(self, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Collections and paths that begin with what was typed; nothing for other arguments."""
        values: list[str] = []
        typed = params.argument.value
        if isinstance(params.ref, types.ResourceTemplateReference):
            if params.argument.name == "collection":
                names = await self._application.parts.catalogs.collections()
                values = sorted(name for name in names if name.startswith(typed))
            elif params.argument.name == "path":
                given = (params.context and params.context.arguments) or {}
                values = await self._paths(typed, given.get("collection"))
        return types.CompleteResult(
            completion=types.Completion(
                values=values[:_MAX_COMPLETED], has_more=len(values) > _MAX_COMPLETED
            )
        )

    async def _paths(self, typed: str, collection: str | None) -> list[str]:
        check_string("path", typed)
        name = collection or self._application.settings.collection
        async with self._application.searching.reader_of(name).lease() as generation:
            catalog = generation.require_catalog()
            exact = await catalog.document(typed) if typed else None
            later = await catalog.documents(typed or None, _MAX_COMPLETED + 1)
        paths = [document.source_path for document in ([exact] if exact else []) + later]
        return [path for path in paths if path.startswith(typed)]
