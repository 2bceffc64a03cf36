"""What changed from one generation to another: which pages came, went, or say something else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from surefind.model import DocumentRecord
from surefind.ports import Catalog

_PART = 500


@dataclass(slots=True)
class GenerationDiff:
    """Source paths, in their order. A page that only moved to another address has changed too."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: int = 0


async def difference(before: Catalog, after: Catalog) -> GenerationDiff:
    """Both are walked side by side: neither has to be held in memory."""
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
            if _says(left) == _says(right):
                found.unchanged += 1
            else:
                found.changed.append(right.source_path)
            left, right = await anext(old, None), await anext(new, None)
    return found


def _says(document: DocumentRecord) -> DocumentRecord:
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
