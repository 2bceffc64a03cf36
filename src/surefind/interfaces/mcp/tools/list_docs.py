"""The tool `list_docs`: collections, versions, locales and the tree of pages."""

from pydantic import Field

from surefind.bootstrap import Application
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments, values_of
from surefind.services.reading.page_tree import page_tree

MAX_ENTRIES = 100


class ListArguments(ToolArguments):
    under: str | None = Field(default=None, description="A folder, to list its pages")
    collection: str | None = None
    cursor: str | None = Field(default=None, description="`next` of the previous answer")


class ListedPage(ToolAnswer):
    path: str
    title: str


class ListedDocs(ToolAnswer):
    collection: str
    collections: list[str]
    versions: list[str]
    locales: list[str]
    generation: int
    ingested_at: str
    total_pages: int | None = None
    folders: list[str]
    pages: list[ListedPage]
    next: str | None = None


async def _run(application: Application, _caller: Caller, asked: ListArguments) -> ListedDocs:
    collection = asked.collection or application.settings.collection
    async with application.searching.reader_of(collection).lease() as generation:
        manifest = generation.manifest
        tree = await page_tree(generation, asked.under or "", asked.cursor, MAX_ENTRIES)
        facets = (await application.searching.facets.read(collection)).facets
    return ListedDocs(
        collection=collection,
        collections=sorted(await application.parts.catalogs.collections()),
        versions=values_of("version", facets),
        locales=values_of("locale", facets),
        generation=manifest.number,
        ingested_at=manifest.created_at.isoformat(),
        total_pages=manifest.counted_documents,
        folders=list(tree.folders),
        pages=[ListedPage(path=page.source_path, title=page.title) for page in tree.pages],
        next=tree.next_path,
    )


LIST_DOCS = Tool(
    "list_docs",
    "List the documentation",
    "See what the documentation has: collections, versions, locales, when it was last ingested, "
    "and its pages by folder. Use this to filter a search, not to find an answer.",
    ListArguments,
    ListedDocs,
    _run,
)
