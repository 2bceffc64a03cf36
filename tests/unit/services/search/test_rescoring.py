"""Hybrid search prefers exact headings, and documentation to release notes and blog posts."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from surefind.model import AnyOf, Hit, KindWeights, Mode, Query, SearchResult
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.readers import OpenGeneration
from surefind.services.search.ranking.rescoring import (
    DEFAULT_KIND_WEIGHTS,
    TraitsCache,
    heading_words,
)
from surefind.services.search.search import Searcher
from surefind.services.search.why_not import Cause, Explainer
from unit.installation import Installation

WORDS = "the kettle boils water for tea"
PAGES = {
    "blog/a.md": f"# Kettle\n\n{WORDS}",
    "guide/b.md": f"# Kettle\n\n{WORDS} and more words about cups and plates",
    **{f"other/{n}.md": f"# Page {n}\n\nwater number {n}" for n in range(70)},
}
QUESTION = "kettle boils water for tea"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def searcher(home: Installation, weights: KindWeights = DEFAULT_KIND_WEIGHTS) -> Searcher:
    embedder = CachedEmbedder(home.embedder, None)
    return Searcher(home.readers, embedder, home.terms, kind_weights=weights)


async def search(
    home: Installation, weights: KindWeights = DEFAULT_KIND_WEIGHTS, **options: object
) -> SearchResult:
    query: Mapping[str, object] = {"text": QUESTION, "top_k": 5, **options}
    return await searcher(home, weights).search(Query(**query))  # type: ignore[arg-type]


def paths(result: SearchResult) -> list[str]:
    return [hit.record.chunk.source_path for hit in result]


def by_path(result: SearchResult) -> dict[str, Hit]:
    return {hit.record.chunk.source_path: hit for hit in result}


async def test_a_blog_post_comes_after_the_page_it_speaks_of(home: Installation) -> None:
    unweighed, weighed = await search(home, weights={}), await search(home)
    assert paths(unweighed)[:2] == ["docs/blog/a.md", "docs/guide/b.md"]
    assert paths(weighed)[:2] == ["docs/guide/b.md", "docs/blog/a.md"]
    before, after = by_path(unweighed)["docs/blog/a.md"], by_path(weighed)["docs/blog/a.md"]
    assert after.weight == DEFAULT_KIND_WEIGHTS["blog"]
    assert after.score == pytest.approx(before.score * after.weight)
    assert after.similarity == before.similarity
    assert [hit.score for hit in weighed] == sorted((h.score for h in weighed), reverse=True)


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.LEXICAL])
async def test_one_leg_alone_keeps_its_order(home: Installation, mode: Mode) -> None:
    assert (await search(home, mode=mode)).hits == (await search(home, {}, mode=mode)).hits


@pytest.mark.parametrize(
    "asked",
    [
        {"text": f"blog post: {QUESTION}"},
        {"text": f"{QUESTION} in version 2.1"},
        {"where": (AnyOf("kind", ("blog",)),)},
    ],
)
async def test_a_query_that_names_the_kind_is_not_weighed(
    home: Installation, asked: dict[str, object]
) -> None:
    found = await search(home, DEFAULT_KIND_WEIGHTS, **asked)
    assert paths(found)[0] == "docs/blog/a.md"
    assert {hit.weight for hit in found} == {1.0}


async def test_a_weight_of_0_excludes_a_kind_and_one_above_1_prefers_it(home: Installation) -> None:
    assert "docs/blog/a.md" not in paths(await search(home, {"blog": 0.0}, top_k=72))
    preferred = await search(home, {"blog": 2.0})
    assert paths(preferred)[0] == "docs/blog/a.md"
    assert preferred[0].score <= 1.0
    assert by_path(preferred)["docs/guide/b.md"].weight == 0.5


@pytest.mark.parametrize("weight", [0.1, 0.7])
async def test_a_larger_top_k_only_appends(home: Installation, weight: float) -> None:
    everything = paths(await search(home, {"blog": weight}, top_k=72))
    assert len(everything) == 72
    for top_k in (1, 2, 5, 50, 60):
        assert paths(await search(home, {"blog": weight}, top_k=top_k)) == everything[:top_k]


async def test_a_collection_without_kinds_is_searched_as_before(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    await home.ingest({path: text for path, text in PAGES.items() if "blog" not in path})
    assert (await search(home)).hits == (await search(home, {})).hits
    assert (await search(home, {"blog": 0.0})).hits == (await search(home, {})).hits
    await home.close()


async def test_why_not_reports_the_weighed_rank_and_the_exclusion(home: Installation) -> None:
    query = Query(QUESTION, top_k=1)
    explained = await Explainer(home.readers, searcher(home)).why_not(query, "docs/blog/a.md")
    assert (explained.cause, explained.rank) == (Cause.OUTRANKED, 2)
    assert explained.score == pytest.approx((await search(home))[1].score)
    excluding = Explainer(home.readers, searcher(home, {"blog": 0.0}))
    excluded = await excluding.why_not(query, "docs/blog/a.md")
    assert (excluded.cause, excluded.filters) == (Cause.FILTERED, ("kind!=blog",))


@pytest.mark.parametrize(
    "heading", ["What does it do?", "WHAT does it do", "what do it does", "What does it, do?"]
)
async def test_a_query_that_is_a_heading_finds_its_section_first(
    tmp_path: Path, heading: str
) -> None:
    home = Installation(tmp_path / "data")
    others = "\n\n".join(f"## Part {n}\n\nWhat it does: it, it, it do {n}." for n in range(20))
    await home.ingest({"a.md": f"# Tool\n\n{others}\n\n## What does it do?\n\nCooks eggs."})
    found = await search(home, text=heading)
    assert found[0].record.section == "What does it do?"
    assert found[0].score <= 1.0
    assert (await search(home, text="does it do"))[0].record.section != "What does it do?"
    await home.close()


async def test_why_not_reports_the_rank_of_an_exact_heading(home: Installation) -> None:
    query = Query("page 3", top_k=5)
    found = await Explainer(home.readers, searcher(home)).why_not(query, "docs/other/3.md")
    assert (found.cause, found.rank) == (Cause.FOUND, 1)


async def test_traits_are_read_once_and_kept_up_to_a_limit(home: Installation) -> None:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        documents = await generation.catalog.documents()
        records = [
            record
            for document in documents[:5]
            for record in await generation.catalog.document_chunks(document.source_path)
        ]
        points = [generation.index.number(record.point_id) for record in records]
        cache = TraitsCache(home.terms.words, most=3)
        first, whole = await cache.read(generation, points[:2])
        assert whole
        assert first.sections[points[0]] == heading_words(records[0].section)
        assert (await cache.read(generation, points[1:2]))[0] is first
        second, _ = await cache.read(generation, points[1:5])
        assert second.sections.keys() == set(points[1:5])
        assert second.kinds.keys() <= second.sections.keys()
        assert first.sections.keys() == set(points[:2])


async def test_copies_of_the_index_are_read_for_each_search(home: Installation) -> None:
    async with home.reader.lease() as generation:
        away = OpenGeneration(generation.manifest, generation.index, None)
        cache = TraitsCache(home.terms.words)
        assert generation.catalog is not None
        records = await generation.catalog.document_chunks("docs/blog/a.md")
        points = [generation.index.number(record.point_id) for record in records]
        read = [await cache.read(away, points) for _ in range(2)]
        assert [whole for _, whole in read] == [False, False]
        assert read[0][0] is not read[1][0]
        assert read[0][0] == read[1][0]
