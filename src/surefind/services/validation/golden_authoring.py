"""Helps to write golden tests: identifies picked passages, and lints test sets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from surefind.errors import InputError, StoreError
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    BySource,
    ByText,
    Expectation,
    squeezed,
)
from surefind.evaluation.golden.golden_set import GoldenSet
from surefind.evaluation.golden.lint import KnownFacts, LintFinding, lint
from surefind.evaluation.golden.near_misses import NearMisses
from surefind.evaluation.golden.resolution import Resolver
from surefind.model import ChunkRecord, GenerationRef, Query, is_address
from surefind.ports import Catalog, CatalogStore
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.filters import checked, failing, read_expressions
from surefind.services.search.query_checks import check_query
from surefind.services.validation.run_request import DEFAULT_TOP_K
from surefind.services.validation.validate import resolve

_QUOTED = 8
_SHORTEST, _LONGEST = 25, 160
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_OLDER = 10
_OWN_MACHINE = {"localhost", "127.0.0.1"}


async def expectations_for(
    picked: Sequence[tuple[ChunkRecord, int]], catalog: Catalog
) -> tuple[Expectation, ...]:
    """Expectations for picked passages and grades that survive rechunking.

    Each passage is identified by its section if it is the only chunk there, or else by a unique
    sentence. Without a unique sentence, the section has to do.
    """
    sections = {record.chunk.id: section_expectation(record) for record, _ in picked}
    quotations = {record.chunk.id: _quotations(record.chunk.text) for record, _ in picked}
    resolver = Resolver(
        [*sections.values(), *(one for held in quotations.values() for one in held)]
    )
    async for record in catalog.chunks():
        resolver.show(record)
    meaning = resolver.meaning

    def best(chunk_id: str) -> Expectation:
        alone = (
            one for one in (sections[chunk_id], *quotations[chunk_id]) if meaning[one] == {chunk_id}
        )
        return next(alone, sections[chunk_id])

    named = [replace(best(record.chunk.id), grade=grade) for record, grade in picked]
    # Two passages may share a section; keep the better grade.
    named.sort(key=lambda one: -one.grade)
    kept: dict[Expectation, Expectation] = {}
    for one in named:
        kept.setdefault(replace(one, grade=1), one)
    return tuple(kept.values())


def section_expectation(record: ChunkRecord) -> Expectation:
    heading = record.chunk.heading_path[-1] if record.chunk.heading_path else ""
    if is_address(record.url) and urlsplit(record.url).hostname not in _OWN_MACHINE:
        return ByAddress(record.url, heading)
    return BySource(record.chunk.source_path, heading)


def _quotations(text: str) -> list[ByText]:
    """Sentences of a passage; long ones are cut at a word."""
    found: dict[str, None] = {}
    for sentence in _SENTENCE.split(text):
        words = squeezed(sentence)
        if len(words) >= _SHORTEST and not words.startswith(("#", "```", "|")):
            found.setdefault(words if len(words) <= _LONGEST else _cut(words))
    short = squeezed(text)
    return [ByText(words) for words in found or {_cut(short): None} if words][:_QUOTED]


def _cut(words: str) -> str:
    return words[:_LONGEST].rsplit(" ", 1)[0] if len(words) > _LONGEST else words


def check_filters(source: str, golden: GoldenSet) -> None:
    """Raises InputError for a filter that can't be parsed.

    Its fields and values are only checked when the tests run.
    """
    for test in golden.tests:
        for at, expression in enumerate(test.where):
            try:
                read_expressions((expression,))
            except InputError as error:
                lines = test.where_lines
                place = f"line {lines[at]}" if lines else f"test {test.test_id!r}"
                raise InputError(f"{source}, {place}: {error}") from error


async def lint_set(
    golden: GoldenSet, generation: OpenGeneration, catalogs: CatalogStore
) -> list[LintFinding]:
    catalog = generation.require_catalog()
    meaning = (await resolve(golden, generation)).meaning
    gone = [one for one, chunks in meaning.items() if not chunks]
    lost = {one.chunk_id for one in gone if isinstance(one, ByChunk)}
    meant = {chunk_id for chunks in meaning.values() for chunk_id in chunks}
    refused = _refused(golden, generation)
    filters = {
        test.where: checked(read_expressions(test.where), generation.manifest.fields)
        for test in golden.tests
        if test.where and test.test_id not in refused
    }
    texts: dict[str, str] = {}
    left = dict.fromkeys(filters, 0)
    chunks = 0
    misses = NearMisses()
    async for record in catalog.chunks():
        chunks += 1
        for where, conditions in filters.items():
            left[where] += not failing(record, conditions)
        if record.chunk.id in meant:
            texts[record.chunk.id] = record.chunk.content_hash
        if gone:
            misses.show(record)
    known = KnownFacts(
        meaning=meaning,
        top_k=golden.top_k or DEFAULT_TOP_K,
        older=await _older(lost, generation.manifest.ref, catalogs) if lost else {},
        refused=refused,
        texts=texts,
        near=misses.of(gone),
        chunks=chunks,
        left=left,
    )
    return lint(golden, known)


async def _older(
    chunk_ids: set[str], current: GenerationRef, catalogs: CatalogStore
) -> Mapping[str, int]:
    """The latest earlier generation that contained each chunk."""
    found: dict[str, int] = {}
    others = [ref for ref in await catalogs.complete(current.collection) if ref != current]
    for ref in sorted(others, key=lambda ref: -ref.number)[:_OLDER]:
        try:
            catalog = await catalogs.open(ref)
        except (StoreError, InputError):
            continue  # damaged, or removed meanwhile
        try:
            for chunk_id in chunk_ids - found.keys():
                if await catalog.chunk(chunk_id) is not None:
                    found[chunk_id] = ref.number
        finally:
            await catalog.close()
    return found


def _refused(golden: GoldenSet, generation: OpenGeneration) -> Mapping[str, str]:
    """The reasons why queries are invalid, by test ID."""
    refused: dict[str, str] = {}
    for test in golden.tests:
        try:
            where = read_expressions(test.where)
            check_query(Query(test.query_text, where=where))
            checked(where, generation.manifest.fields)
        except InputError as error:
            refused[test.test_id] = str(error)
    return refused
