"""Filters, groups, folding, diversity, surroundings, budgets: on the real engine."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.fakes import PageSource, WordEmbedder, record
from surefind.errors import InputError, StoreError
from surefind.model import (
    AnyOf,
    Between,
    ChunkRecord,
    Collapse,
    Evidence,
    Expand,
    GroupBy,
    Hit,
    Mode,
    PageLocation,
    Query,
    SearchResult,
    Status,
)
from surefind.services.encoding.confidence import judge, still_fits
from surefind.services.encoding.reranking import RerankStage
from surefind.services.search.answer_cache import AnswerCache
from surefind.services.search.passages import section_of
from surefind.services.search.query_checks import MAX_COLLECTIONS, check_query
from surefind.services.search.search import Searcher
from surefind.text.anchors import GITHUB
from unit.installation import Installation

GUIDE = """---
audience: beginners
order: {n}
---
# Guide {n}

cats sleep in the sunshine on the warm roof number {n}

## Feeding

cats eat fish in the morning, and again in the evening of day {n}

### Amounts

three bowls a day for cats of size {n}

## Playing

a ball of wool is what cats of house {n} chase
"""
PAGES = {
    **{f"guide/{n}.md": GUIDE.format(n=n) for n in range(8)},
    "dogs.md": "---\naudience: experts\n---\n# Dogs\n\ndogs run in the rain",
    "same-a.md": "# Copy\n\nthe very same words about parrots and their feathers",
    "same-b.md": "# Copy\n\nthe very same words about parrots and their feathers",
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def paths(result: SearchResult) -> list[str]:
    return [hit.record.chunk.source_path for hit in result.hits]


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_filter_restricts_and_one_that_keeps_everything_changes_nothing(
    home: Installation, mode: Mode
) -> None:
    everything = await home.search("cats and dogs", mode=mode, top_k=50)
    kept = await home.search(
        "cats and dogs", mode=mode, top_k=50, where=(Between("position", gte=0.0),)
    )
    assert kept.hits == everything.hits
    experts = await home.search(
        "cats and dogs", mode=mode, top_k=50, where=(AnyOf("audience", ("experts",)),)
    )
    assert paths(experts) == ["docs/dogs.md"]
    nobody = await home.search("cats", mode=mode, where=(AnyOf("audience", ("nobody",)),))
    assert (nobody.hits, nobody.status) == ((), Status.NO_RESULTS)


async def test_another_embedder_than_the_collections_is_refused(home: Installation) -> None:
    searcher = home.searcher.without_cache(WordEmbedder(weights="words-2"))
    with pytest.raises(
        InputError, match=r"'docs' was built with .*run .surefind ingest --rebuild."
    ):
        await searcher.search(Query("cats"))
    assert (await searcher.search(Query("cats", mode=Mode.LEXICAL))).hits


async def test_an_unknown_field_is_an_error_not_an_empty_answer(home: Installation) -> None:
    with pytest.raises(InputError, match="did you mean audience"):
        await home.search("cats", where=(AnyOf("audiense", ("experts",)),))


async def test_one_page_can_not_flood_the_answer(home: Installation) -> None:
    grouped = await home.search("cats of house 3", top_k=5, group_by=GroupBy.DOCUMENT)
    assert len(set(paths(grouped))) == 5
    twice = await home.search("cats", top_k=8, group_by=GroupBy.DOCUMENT, group_size=2)
    assert max(paths(twice).count(path) for path in paths(twice)) == 2
    sections = await home.search("cats", top_k=20, group_by=GroupBy.SECTION)
    assert len({(h.record.chunk.source_path, h.record.breadcrumb) for h in sections.hits}) == 20


async def test_grouping_looks_deeper_until_there_are_enough(tmp_path: Path) -> None:
    """One page holds more good passages than a search looks at; the second is found as well."""
    home = Installation(tmp_path / "data")
    flood = "\n\n".join(f"## Cat {n}\n\ncats sleep all day, says note {n}" for n in range(150))
    await home.ingest({"flood.md": flood, "other.md": "# Dogs\n\nnothing of the kind"})
    result = await home.search("cats sleep", top_k=2, group_by=GroupBy.DOCUMENT)
    assert paths(result) == ["docs/flood.md", "docs/other.md"]
    await home.close()


async def test_equal_texts_are_shown_once_when_folded(home: Installation) -> None:
    both = await home.search("parrots feathers", top_k=2)
    assert sorted(paths(both)) == ["docs/same-a.md", "docs/same-b.md"]
    folded = await home.search("parrots feathers", top_k=2, collapse=Collapse.SAME)
    first = folded.hits[0]
    assert {first.record.chunk.source_path, first.also[0].chunk.source_path} == set(paths(both))
    assert len(folded.hits) == 2
    assert "parrots" not in folded.hits[1].record.chunk.text


async def test_near_copies_fold_only_when_asked_to(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    words = " ".join(f"word{n}" for n in range(60))
    await home.ingest(
        {"a.md": f"{words} end", "b.md": f"{words} finish", "c.md": "other things entirely"}
    )
    same = await home.search(words, top_k=3, collapse=Collapse.SAME)
    near = await home.search(words, top_k=3, collapse=Collapse.NEAR)
    assert (len(same.hits), len(near.hits)) == (3, 2)
    assert len(near.hits[0].also) == 1
    await home.close()


class TwoVersions:
    """The same tree twice, as a versioned site has it."""

    anchors = GITHUB

    def place(self, site_path: str, front_matter: object) -> PageLocation:
        version, _, rest = site_path.partition("/")
        del front_matter
        step = "" if version == "current" else f"{version}/"
        return PageLocation(f"https://x.org/{step}{rest}", version=version)

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return ()


async def test_one_page_in_two_versions_does_not_crowd_the_answer(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    words = " ".join(f"word{n}" for n in range(40))
    source = PageSource(
        {
            "1.0/a.md": f"# Cats\n\n{words} old",
            "2.0/a.md": f"# Cats\n\n{words} new",
            "current/a.md": f"# Cats\n\n{words} new",
            "current/b.md": "# Dogs\n\nsomething else",
        },
        site=TwoVersions(),
    )
    await home.ingest_from(source)
    result = await home.search(f"{words} new", top_k=2, collapse=Collapse.SAME)
    first = result.hits[0]
    assert first.record.url == "https://x.org/a.md"  # of equal texts the default version's
    assert {record.version for record in first.also} == {"1.0", "2.0"}
    assert result.hits[1].record.title == "Dogs"
    scoped = await home.search(
        words, top_k=2, collapse=Collapse.SAME, where=(AnyOf("version", ("1.0",)),)
    )
    assert [hit.record.version for hit in scoped.hits] == ["1.0"]
    await home.close()


async def test_diversity_prefers_what_is_new_and_never_raises_scores(home: Installation) -> None:
    plain = await home.search("cats sleep in the sunshine", top_k=6)
    diverse = await home.search("cats sleep in the sunshine", top_k=6, diversity=0.7)
    assert plain.hits[0].record == diverse.hits[0].record
    assert len(set(sections(diverse))) > len(set(sections(plain)))
    scores = [hit.score for hit in diverse.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    more = await home.search("cats sleep in the sunshine", top_k=12, diversity=0.7)
    assert more.hits[:6] == diverse.hits
    none = await home.search("xylophone", mode=Mode.LEXICAL, diversity=0.5)
    assert none.hits == ()


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.HYBRID])
async def test_diversity_has_more_to_choose_from_than_it_may_take(
    tmp_path: Path, mode: Mode
) -> None:
    home = Installation(tmp_path / "data")
    alike = {f"a/{n}.md": f"# Sun\n\ncats sleep in the sunshine, no. {n}" for n in range(60)}
    others = {f"b/{n}.md": f"# Wool\n\ncats chase balls of wool, no. {n}" for n in range(60)}
    await home.ingest(alike | others)
    asked = "cats sleep in the sunshine"
    plain = await home.search(asked, top_k=50, mode=mode)
    assert set(sections(plain)) == {"Sun"}
    diverse = await home.search(asked, top_k=50, mode=mode, diversity=0.9)
    assert set(sections(diverse)) == {"Sun", "Wool"}
    await home.close()


def sections(result: SearchResult) -> list[str]:
    return [hit.record.section.strip("0123456789 ") for hit in result.hits]


async def best(home: Installation, **options: object) -> Hit:
    result = await home.search("cats eat fish in the evening of day 3", top_k=1, **options)
    [hit] = result.hits
    assert (hit.record.chunk.source_path, hit.record.section) == ("docs/guide/3.md", "Feeding")
    return hit


async def test_neighbours_section_and_document_of_a_hit(home: Installation) -> None:
    neighbours = (await best(home, expand=Expand.NEIGHBOURS)).context
    section = (await best(home, expand=Expand.SECTION)).context
    document = (await best(home, expand=Expand.DOCUMENT)).context
    assert neighbours is not None
    assert section is not None
    assert document is not None
    assert (neighbours.first, neighbours.last) == (0, 2)
    assert (section.first, section.last) == (1, 2)
    assert section.text.startswith("## Feeding")
    assert "### Amounts" in section.text
    assert "Playing" not in section.text
    assert document.text.startswith("# Guide 3")
    assert document.text.endswith("of house 3 chase")
    assert document.tokens > section.tokens
    assert (await best(home)).context is None


def test_a_section_may_reach_to_the_end_of_its_page() -> None:
    def at(position: int, *path: str, anchor: str = "a") -> ChunkRecord:
        one = record(position)
        return replace(one, chunk=replace(one.chunk, heading_path=path, anchor=anchor))

    page = [at(0, "Top"), at(1, "Top", "Food"), at(2, "Top", "Food", "Fish"), at(3, "Top", "Food")]
    assert section_of(page[1], page) == page[1:]
    assert section_of(page[2], page) == page[2:3]
    assert section_of(page[3], page) == page[1:]
    assert section_of(page[0], page) == page
    twin = at(4, "Top", "Food", anchor="b")
    assert section_of(page[1], [*page, twin]) == page[1:], "another section of the same name"


async def test_a_budget_keeps_whole_passages_and_counts_the_omitted_ones(
    home: Installation,
) -> None:
    whole = await home.search("cats", top_k=10)
    budget = sum(hit.tokens for hit in whole.hits[:4])
    result = await home.search("cats", top_k=10, max_tokens=budget)
    assert sum(hit.tokens for hit in result.hits) <= budget
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    ids = [hit.record.chunk.id for hit in (*result.hits, *result.over_budget)]
    assert sorted(ids) == sorted(hit.record.chunk.id for hit in whole.hits)
    nothing = await home.search("cats", top_k=3, max_tokens=1)
    assert (nothing.hits, len(nothing.over_budget)) == ((), 3)


async def test_matching_words_are_marked(home: Installation) -> None:
    [hit] = (await home.search("where dogs are running", top_k=1, highlight=True)).hits
    text = hit.record.chunk.text
    assert [text[a:b] for a, b in hit.highlights] == ["Dogs", "dogs", "run"]
    assert [hit.record.section[a:b] for a, b in hit.section_highlights] == ["Dogs"]
    assert (await home.search("dogs", top_k=1)).hits[0].highlights == ()


async def test_several_collections_are_one_answer(home: Installation) -> None:
    await home.ingest({"birds.md": "# Birds\n\nparrots fly over cats"}, collection="birds")
    result = await home.search("parrots fly", top_k=3, also_in=("birds",))
    assert result.hits[0].collection == "birds"
    assert {hit.collection for hit in result.hits} == {"docs", "birds"}
    alone = await home.search("parrots fly", top_k=3, collection="birds")
    assert len(alone.hits) == 1
    assert result.chunks == alone.chunks + (await home.search("cats")).chunks
    with pytest.raises(InputError, match="unknown field"):  # the birds' pages have no such key
        await home.search("cats", also_in=("birds",), where=(AnyOf("audience", ("experts",)),))


class ShortestFirst:
    """A reranker with a mind of its own."""

    name = "shortest"

    def __init__(self, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        self.batches: list[int] = []

    async def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        assert query
        self.batches.append(len(passages))
        if len(self.batches) > 1:  # only the first batch is quick
            await asyncio.sleep(self.wait_s)
        return [1 / len(passage) for passage in passages]

    async def close(self) -> None:
        pass


async def test_a_slow_reranker_scores_what_fits_into_its_budget_and_says_so(
    home: Installation,
) -> None:
    slow = ShortestFirst(wait_s=60)
    stage = RerankStage(slow, depth=5, batch=2, budget_ms=1500)
    answers = AnswerCache()
    searcher = Searcher(home.readers, home.embedder, home.terms, stage, answers=answers)
    query = Query("cats", top_k=4, rerank=True)
    result = await searcher.search(query)
    plain = await home.search("cats", top_k=4)
    count = len(plain.hits)
    assert slow.batches == [2, 2]
    assert result.notes == ("reranked 2 of 5 candidates within 1500 ms",)
    assert [hit.reranking is not None for hit in result.hits] == [True] * 2 + [False] * (count - 2)
    first = [{h.record.chunk.id for h in found.hits[:2]} for found in (result, plain)]
    assert first[0] == first[1]
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.rank for hit in result.hits] == list(range(1, count + 1))
    assert not (await searcher.search(query)).remembered  # a later search may rerank more


async def test_a_reranker_that_never_answers_leaves_the_order(home: Installation) -> None:
    stuck = ShortestFirst(wait_s=60)
    stuck.batches.append(0)
    stage = RerankStage(stuck, budget_ms=20)
    searcher = Searcher(home.readers, home.embedder, home.terms, stage)
    result = await searcher.search(Query("cats", rerank=True))
    plain = await home.search("cats")
    assert result.notes[0].startswith("reranked 0 of ")
    assert [h.record.chunk.id for h in result.hits] == [h.record.chunk.id for h in plain.hits]


async def test_a_budget_that_suffices_changes_nothing(home: Installation) -> None:
    results = []
    for stage in (
        RerankStage(ShortestFirst()),
        RerankStage(ShortestFirst(), batch=1, budget_ms=60_000),
    ):
        searcher = Searcher(home.readers, home.embedder, home.terms, stage)
        results.append(await searcher.search(Query("cats", rerank=True)))
    assert results[0].hits == results[1].hits
    assert results[1].notes == ()


async def test_a_reranker_decides_the_order_and_reports_the_old_ranks(home: Installation) -> None:
    searcher = Searcher(
        home.readers,
        home.embedder,
        home.terms,
        RerankStage(ShortestFirst()),
    )
    result = await searcher.search(Query("cats", top_k=4, rerank=True))
    lengths = [len(hit.record.chunk.passage) for hit in result.hits]
    assert lengths == sorted(lengths)
    assert all(h.reranking is not None and h.reranking.score == h.score for h in result.hits)
    assert {h.reranking.rank_before for h in result.hits if h.reranking} != {1, 2, 3, 4}
    with pytest.raises(InputError, match="no reranker"):
        await home.search("cats", rerank=True)


async def test_confidence_separates_answerable_questions_from_others(
    home: Installation,
) -> None:
    [manifest] = await home.generations.list()
    calibration = manifest.calibration
    assert calibration is not None
    assert calibration.answered_mean > calibration.unanswered_mean
    known = (await home.search("cats sleep in the sunshine on the warm roof")).confidence
    unknown = judge(calibration, calibration.unanswered_mean)
    assert known is not None
    assert unknown is not None
    assert known.evidence is Evidence.STRONG
    assert unknown.evidence is Evidence.THIN
    assert 0 <= unknown.value < known.value <= 1
    assert (await home.search("cats", mode=Mode.LEXICAL)).confidence is None
    assert judge(calibration, calibration.middle + 0.2 / calibration.slope) is not None
    assert still_fits(calibration, calibration.chunks + 1)
    assert not still_fits(calibration, calibration.chunks * 2)
    assert not still_fits(None, 5)


async def test_a_collection_too_small_to_judge_by_has_no_confidence(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    await home.ingest({"a.md": "short"})
    assert (await home.search("short")).confidence is None
    await home.close()


async def test_surroundings_need_the_catalog(home: Installation) -> None:
    await home.lose_catalog()
    with pytest.raises(StoreError, match="the catalog is unavailable"):
        await home.search("cats", expand=Expand.SECTION)


async def test_what_was_read_by_other_rules_is_refused_where_it_matters(
    home: Installation,
) -> None:
    class Renamed(type(home.terms)):  # type: ignore[misc]
        name = "other-rules"

    home.terms = Renamed(home.terms._analyzer)
    with pytest.raises(InputError, match="other-rules"):
        await home.search("cats")
    assert (await home.search("cats", mode=Mode.DENSE)).hits


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query("x", diversity=1.5), "diversity"),
        (Query("x", diversity=float("inf")), "diversity"),
        (Query("x", diversity="much"), "diversity"),  # type: ignore[arg-type]
        (Query("x", group_size=0), "group_size"),
        (Query("x", neighbours=0), "neighbours"),
        (Query("x", neighbours=21), "neighbours"),
        (Query("x", max_tokens=0), "max_tokens"),
        (Query("x", top_k=2.5), "top_k"),  # type: ignore[arg-type]
        (Query("x", top_k="5"), "top_k"),  # type: ignore[arg-type]
        (Query("x", also_in=tuple(map(str, range(MAX_COLLECTIONS)))), "collections"),
    ],
)
def test_a_parameter_out_of_bounds_is_named(query: Query, field: str) -> None:
    with pytest.raises(InputError, match=rf"^{field}\b"):
        check_query(query)


async def test_the_first_stays_first_when_a_page_is_doubled(home: Installation) -> None:
    before = await home.search("a ball of wool", top_k=1)
    doubled = {**PAGES, "guide/copy.md": PAGES["guide/3.md"]}
    await home.ingest(doubled)
    after = await home.search("a ball of wool", top_k=1)
    assert np.isclose(after.hits[0].similarity or 0, before.hits[0].similarity or 0)
    assert after.hits[0].record.section == before.hits[0].record.section
