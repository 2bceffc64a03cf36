"""Compares the pages of two generations."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from surefind.model import DocumentRecord
from surefind.ports import Catalog

_PART = 500


@dataclass(slots=True)
class GenerationDiff:
    """Source paths, sorted. A page whose URL changed counts as changed."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0


async def difference(before: Catalog, after: Catalog) -> GenerationDiff:
    """Compare two catalogs by a merge of their sorted pages, in constant memory."""
    found = GenerationDiff()
    old, new = _documents(before), _documents(after)
    left, right = await anext(old, None), await anext(new, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left.source_path < right.source_path):
            assert left is not None
            found.removed.append(left.source_path)
            left = await anext(old, None)
        elif left is None or right.source_path < left.source_path:
            found.added.append(right.source_path)
            right = await anext(new, None)
        else:
            if _comparable(left) == _comparable(right):
                found.unchanged += 1
            else:
                found.changed.append(right.source_path)
            left, right = await anext(old, None), await anext(new, None)
    return found


def _comparable(document: DocumentRecord) -> DocumentRecord:
    return replace(document, validator="")


async def _documents(catalog: Catalog) -> AsyncIterator[DocumentRecord]:
    last = None
    while True:
        part = await catalog.documents(last, _PART)
        for document in part:
            yield document
        if len(part) < _PART:
            return
        last = part[-1].source_path
