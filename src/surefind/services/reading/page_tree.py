"""Lists pages by folder, in parts of limited length."""

from dataclasses import dataclass

from surefind.model import DocumentRecord
from surefind.model.strings import check_string
from surefind.services.generations.readers import OpenGeneration

_BATCH = 1000
_LAST = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class PageTree:
    """The pages below a folder: all of them if they are few, otherwise one level with its folders.

    `next_path` continues the list.
    """

    folders: tuple[str, ...]
    pages: tuple[DocumentRecord, ...]
    next_path: str | None = None


async def page_tree(
    generation: OpenGeneration, under: str, after: str | None, limit: int
) -> PageTree:
    """`under` is a folder or a page of the collection; empty for all pages."""
    check_string("under", under)
    check_string("cursor", after or "")
    catalog = generation.require_catalog()
    folder = under.strip("/")
    page = await catalog.document(folder) if folder else None
    if page is not None:
        return PageTree((), (page,))
    prefix = f"{folder}/" if folder else ""
    # Listing the documents of a connected collection scans it, so scan it only once.
    batch = None if generation.manifest.connected else max(_BATCH, limit + 1)
    start = max(after or prefix, prefix)
    found = await catalog.documents(start or None, batch)
    below = [document for document in found if document.source_path.startswith(prefix)]
    if len(below) <= limit and after is None:
        return PageTree((), tuple(below))
    folders: dict[str, None] = {}
    pages: list[DocumentRecord] = []
    while below:
        for document in below:
            child, inner, _ = document.source_path.removeprefix(prefix).partition("/")
            name = f"{prefix}{child}/"
            if inner and name in folders:
                continue
            if len(folders) + len(pages) == limit:
                return PageTree(tuple(folders), tuple(pages), start)
            if inner:
                folders[name] = None
                start = name + _LAST  # a large folder is skipped, not read
            else:
                pages.append(document)
                start = document.source_path
        if batch is None or len(found) < batch:
            break
        found = await catalog.documents(start, batch)
        below = [document for document in found if document.source_path.startswith(prefix)]
    return PageTree(tuple(folders), tuple(pages))
