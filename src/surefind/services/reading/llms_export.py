"""Exports a generation as llms.txt with the Markdown of its pages."""

import posixpath
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote

from surefind.model import BrokenLink, DocumentRecord, is_unpublished
from surefind.services.generations.readers import OpenGeneration
from surefind.services.reading.llms_txt import PageList, PageTexts
from surefind.services.reading.markdown_twins import twins_of

INDEX, FULL = "llms.txt", "llms-full.txt"


@dataclass(frozen=True, slots=True)
class LlmsTxtExport:
    """`left_out` are pages without a place for their Markdown; published ones are still linked."""

    collection: str
    generation: int
    pages: int
    left_out: tuple[str, ...]
    broken_links: tuple[BrokenLink, ...]


async def export_llms_txt(
    generation: OpenGeneration,
    base_url: str | None,
    prepare: Callable[[Iterable[str]], Awaitable[None]],
    write: Callable[[str, str], Awaitable[None]],
) -> LlmsTxtExport:
    """llms.txt is written last, so that it never links to a file that does not exist yet."""
    catalog, manifest = generation.require_catalog(), generation.manifest
    documents = await catalog.documents()
    twins = twins_of(documents, base_url)

    def link_for(document: DocumentRecord) -> str:
        twin = twins.get(document.source_path)
        return document.url if twin is None else twin.link

    linked = [
        document
        for document in documents
        if document.source_path in twins or not is_unpublished(document.url)
    ]
    await prepare([INDEX, FULL, *(twin.place for twin in twins.values())])
    texts = PageTexts(linked, link_for)
    for document in linked:
        if document.source_path in twins:
            place = twins[document.source_path].place
            folder = quote(posixpath.dirname(place))
            await write(place, await texts.text_of(document, catalog, folder))
    pages = PageList(manifest.collection, linked, link_for)
    whole = PageTexts(linked, link_for).full(pages.documents, catalog)
    await write(FULL, "".join([part async for part in whole]))
    root = base_url.rstrip("/") + "/" if base_url else ""
    await write(INDEX, pages.llms_txt(root + FULL))
    return LlmsTxtExport(
        manifest.collection,
        manifest.number,
        len(twins),
        tuple(one.source_path for one in documents if one.source_path not in twins),
        tuple(texts.broken),
    )
