"""Resolves the expectations of a golden set to chunks, in one pass over a collection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    ByName,
    BySource,
    ByText,
    Expectation,
    address_key,
    squeezed,
)
from surefind.model import ChunkRecord

ResolvedExpectations = Mapping[Expectation, frozenset[str]]
"""The chunks that match each expectation; empty if it is stale."""
LostAnswers = Mapping[Expectation, str]
"""Expectations that only the previous generation met -> the message for each."""
LOST_ANSWER = "lost_answer"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Where the first chunk that an expectation means is from."""

    source_path: str
    version: str
    locale: str


Places = Mapping[Expectation, PagePlace]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What expectations mean in a collection, and where that is from."""

    meaning: ResolvedExpectations = field(default_factory=dict)
    places: Places = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolvedGoldenSet:
    """The resolved expectations of a golden set in one generation."""

    meaning: ResolvedExpectations
    lost: LostAnswers = field(default_factory=dict)


_Key = tuple[str, str]
"""The kind of a key, and the key."""


class Resolver:
    """Call `show` for every chunk, then read `meaning`.

    All expectations except quotations have a key, so each chunk is compared only with the
    candidates for its keys.
    """

    def __init__(self, expectations: Iterable[Expectation]) -> None:
        self._meant: dict[Expectation, set[str]] = {one: set() for one in expectations}
        self._keyed: dict[str, dict[str, list[Expectation]]] = {}
        self._quoted: dict[ByText, str] = {}
        self._places: dict[Expectation, PagePlace] = {}
        for expectation in self._meant:
            if isinstance(expectation, ByText):
                self._quoted[expectation] = squeezed(expectation.text)
            else:
                kind, key = _key(expectation)
                self._keyed.setdefault(kind, {}).setdefault(key, []).append(expectation)

    @property
    def meaning(self) -> ResolvedExpectations:
        return {one: frozenset(chunks) for one, chunks in self._meant.items()}

    @property
    def resolution(self) -> Resolution:
        return Resolution(self.meaning, dict(self._places))

    @property
    def unmet_quotations(self) -> tuple[ByText, ...]:
        return tuple(one for one in self._quoted if not self._meant[one])

    def show(self, record: ChunkRecord) -> None:
        for kind, expected in self._keyed.items():
            for key in _KEYS[kind](record):
                for expectation in expected.get(key, ()):
                    if expectation.matches(record):
                        self._mean(expectation, record)
        if self._quoted:
            text = squeezed(record.chunk.text)
            for expectation, words in self._quoted.items():
                if words in text:
                    self._mean(expectation, record)

    def _mean(self, expectation: Expectation, record: ChunkRecord) -> None:
        if expectation not in self._places:
            chunk = record.chunk
            self._places[expectation] = PagePlace(chunk.source_path, record.version, record.locale)
        self._meant[expectation].add(record.chunk.id)

    def show_page(
        self, quotations: Sequence[ByText], text: str, chunks: Sequence[ChunkRecord]
    ) -> None:
        """Resolve quotations on a page; one that spans several chunks matches all of them."""
        for quotation in quotations:
            for match in _pattern(quotation.text).finditer(text):
                self._meant[quotation].update(
                    record.chunk.id
                    for record in chunks
                    if record.chunk.start < match.end() and match.start() < record.chunk.end
                )


def quoted_on(text: str, quotations: Sequence[ByText]) -> list[ByText]:
    return [one for one in quotations if _pattern(one.text).search(text)]


@lru_cache(maxsize=1024)
def _pattern(quotation: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, quotation.split())))


def _key(expectation: ByChunk | ByAddress | BySource | ByName) -> _Key:
    if isinstance(expectation, ByChunk):
        return "chunk", expectation.chunk_id
    if isinstance(expectation, BySource):
        return "source", expectation.source_path
    if isinstance(expectation, ByName):
        return "name", expectation.name
    address = expectation.url.partition("#")[0]
    return ("path" if address.startswith("/") else "address"), address_key(address)


def _chunk_keys(record: ChunkRecord) -> tuple[str, ...]:
    return (record.chunk.id,)


def _source_keys(record: ChunkRecord) -> tuple[str, ...]:
    return (record.chunk.source_path,)


def _name_keys(record: ChunkRecord) -> set[str]:
    chunk = record.chunk
    path = PurePosixPath(chunk.source_path)
    return {chunk.id, chunk.source_path, path.name, path.stem}


def _address_keys(record: ChunkRecord) -> tuple[str, ...]:
    return (address_key(record.url),)


def _path_keys(record: ChunkRecord) -> tuple[str, ...]:
    return (address_key(record.url, path_only=True),)


_KEYS: Mapping[str, Callable[[ChunkRecord], Iterable[str]]] = {
    "chunk": _chunk_keys,
    "source": _source_keys,
    "name": _name_keys,
    "address": _address_keys,
    "path": _path_keys,
}
