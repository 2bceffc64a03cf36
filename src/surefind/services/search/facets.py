"""The filter fields of a collection, and their values if there are few."""

import asyncio
import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from surefind.model import FIELDS, ChunkRecord, Field, GenerationRef, Scalar
from surefind.ports import Catalog
from surefind.services.generations.readers import OpenGeneration, Readers

FEW = 50
LONGEST_VALUE = 80
MOST_CHUNKS = 200_000  # about ten seconds; larger collections list no values
# The other fields have a different value for almost every passage or page.
_SHARED = ("content_type", "has_code", "locale", "source", "version")

Values = tuple[tuple[Scalar, int], ...]


@dataclass(frozen=True, slots=True)
class Facet:
    """A field, and its values with their number of chunks, most frequent first.

    `values` is None if they are too many or too long to list.
    """

    field: Field
    from_front_matter: bool
    values: Values | None


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """`folders` holds the folders below the one that has all pages, with their number of chunks."""

    generation: GenerationRef
    facets: tuple[Facet, ...]
    folders: tuple[tuple[str, int], ...] = ()


class Facets:
    """Counts the values of a generation once; generations never change."""

    def __init__(self, readers: Readers, max_chunks: int = MOST_CHUNKS) -> None:
        """A collection with more than `max_chunks` has no lists of values."""
        self._readers = readers
        self._max_chunks = max_chunks
        self._known: dict[str, FilterOptions] = {}
        self._counting = asyncio.Lock()

    async def read(self, collection: str) -> FilterOptions:
        async with self._readers.of(collection).lease() as generation, self._counting:
            known = self._known.get(collection)
            if known is None or known.generation != generation.manifest.ref:
                known = self._known[collection] = await _offer(generation, self._max_chunks)
            return known


async def _offer(generation: OpenGeneration, max_chunks: int) -> FilterOptions:
    catalog = generation.require_catalog()
    added = generation.manifest.fields
    names = {*_SHARED, *(field.name for field in added)}
    few = generation.manifest.chunks <= max_chunks
    counted, folders = await _count(catalog, names) if few else ({}, ())
    own = [
        Facet(field, from_front_matter=False, values=counted.get(field.name)) for field in FIELDS
    ]
    front = [
        Facet(field, from_front_matter=True, values=counted.get(field.name)) for field in added
    ]
    return FilterOptions(generation.manifest.ref, (*own, *front), folders)


async def _count(
    catalog: Catalog, names: Collection[str]
) -> tuple[dict[str, Values], tuple[tuple[str, int], ...]]:
    """Count values; a field with too many is dropped at once, which limits memory."""
    # The flag keeps True and 1 apart, which are equal.
    counts: dict[str, Counter[tuple[bool, Scalar]]] = {name: Counter() for name in names}
    folders: Counter[str] = Counter()
    async for record in catalog.chunks():
        folders[posixpath.dirname(record.chunk.source_path)] += 1
        for name, value in _filter_values(record):
            if name not in counts or value == "":
                continue
            counts[name][isinstance(value, bool), value] += 1
            if len(counts[name]) > FEW or len(str(value)) > LONGEST_VALUE:
                del counts[name]
    values: dict[str, Values] = {
        name: tuple(
            sorted(
                ((value, number) for (_, value), number in counted.items()),
                key=lambda pair: (-pair[1], str(pair[0])),
            )
        )
        for name, counted in counts.items()
    }
    return values, _folders(folders)


def _folders(chunks: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The children of the deepest folder that has all chunks; none if they are too many."""
    paths = [path.split("/") for path in chunks]
    common = posixpath.commonpath(list(chunks)) if chunks and all(chunks) else ""
    depth = len(common.split("/")) if common else 0
    children: Counter[str] = Counter()
    for parts, number in zip(paths, chunks.values(), strict=True):
        if len(parts) > depth and parts[depth]:
            children["/".join(parts[: depth + 1])] += number
    return tuple(sorted(children.items())) if len(children) <= FEW else ()


def _filter_values(record: ChunkRecord) -> Iterator[tuple[str, Scalar]]:
    yield "content_type", record.chunk.content_type
    yield "has_code", record.chunk.has_code
    yield "locale", record.locale
    yield "source", record.chunk.source_path.partition("/")[0]
    yield "version", record.version
    for name, value in record.attributes.items():
        for scalar in value if isinstance(value, tuple) else (value,):
            yield name, scalar
