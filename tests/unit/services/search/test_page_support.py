"""Grouped results rank pages: by several of their passages, and by their titles and addresses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import GroupBy, Mode, Query, SearchResult
from surefind.services.search.ranking.page_support import (
    FLOOR,
    NAMES,
    PASSAGES,
    names_of,
    page_support,
)
from surefind.services.search.why_not import Cause, Explainer
from unit.installation import Installation

QUESTION = "kettle descaling"
SECTIONS = "\n\n".join(f"## Step {n}\n\nkettle descaling, part {n} of it" for n in range(4))
PAGES = {
    "care/descaling-a-kettle.md": f"# Descaling a kettle\n\n{SECTIONS}",
    "news.md": "# Diary\n\nkettle descaling today",
    **{
        f"other/{n}.md": f"# Other {n}\n\nwater {n}\n\n## More\n\nwater and tea {n}"
        for n in range(60)
    },
}
ABOUT, MENTION = "docs/care/descaling-a-kettle.md", "docs/news.md"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


async def search(home: Installation, **options: object) -> SearchResult:
    asked: dict[str, object] = {"text": QUESTION, "group_by": GroupBy.DOCUMENT, **options}
    return await home.searcher.search(Query(**asked))  # type: ignore[arg-type]


def paths(result: SearchResult) -> list[str]:
    return [hit.record.chunk.source_path for hit in result]


async def test_the_page_about_it_comes_before_the_page_that_mentions_it(home: Installation) -> None:
    assert paths(await search(home, group_by=None))[0] == MENTION
    grouped = await search(home)
    assert paths(grouped)[:2] == [ABOUT, MENTION]
    about, mention = (hit.page for hit in grouped.hits[:2])
    assert about is not None
    assert mention is not None
    assert about.passages > 0 == mention.passages
    assert about.names > 0 == mention.names
    assert about.own < mention.own
    assert grouped[0].score == pytest.approx(about.total)
    assert [hit.score for hit in grouped] == sorted((hit.score for hit in grouped), reverse=True)


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.LEXICAL])
async def test_one_leg_alone_ranks_by_its_scores(home: Installation, mode: Mode) -> None:
    found = await search(home, mode=mode)
    ungrouped = await search(home, mode=mode, group_by=None, top_k=50)
    assert paths(found) == list(dict.fromkeys(paths(ungrouped)))[:5]
    assert {hit.page for hit in found} == {None}


async def test_sections_are_ranked_by_their_passages(home: Installation) -> None:
    assert {hit.page for hit in await search(home, group_by=GroupBy.SECTION)} == {None}


async def test_a_larger_top_k_only_appends(home: Installation) -> None:
    everything = await search(home, top_k=62)
    assert len(everything) == 62
    for top_k in (1, 2, 5, 40, 55):
        assert paths(await search(home, top_k=top_k)) == paths(everything)[:top_k]
    scores = [hit.score for hit in everything]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_a_threshold_only_removes(home: Installation) -> None:
    everything = await search(home, top_k=20)
    similarities = sorted(hit.similarity or 0.0 for hit in everything)
    threshold = similarities[len(similarities) // 2]
    kept = [hit for hit in everything if (hit.similarity or 0.0) >= threshold]
    assert [(hit.url, hit.score) for hit in await search(home, top_k=20, threshold=threshold)][
        : len(kept)
    ] == [(hit.url, hit.score) for hit in kept]


async def test_several_passages_of_a_page_keep_their_order(home: Installation) -> None:
    alone = await search(home, group_by=None, top_k=20)
    grouped = await search(home, group_size=4, top_k=20)

    def of_the_page(result: SearchResult) -> list[int]:
        return [
            hit.record.chunk.position for hit in result if hit.record.chunk.source_path == ABOUT
        ]

    assert of_the_page(grouped) == of_the_page(alone)[:4]


async def test_why_not_reports_the_rank_among_pages(home: Installation) -> None:
    grouped = await search(home, top_k=30)
    query = Query(QUESTION, top_k=1, group_by=GroupBy.DOCUMENT)
    explained = await Explainer(home.readers, home.searcher).why_not(query, MENTION)
    assert explained.cause is Cause.OUTRANKED
    assert explained.score == pytest.approx(grouped[1].score)


def test_names_are_the_title_and_the_path() -> None:
    assert names_of("Use Effect", "https://x.org/docs/use%20effect.html") == (
        "Use Effect docs/use effect"
    )
    assert names_of("T", "surefind://docs/guide/a.md") == "T guide/a"
    assert names_of("T", "/guide/a.md") == "T /guide/a"
    assert names_of("T", "") == "T "


SCORES = st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), max_size=30)


@given(scores=SCORES, words=st.sets(st.integers(0, 5)))
def test_scores_stay_in_their_range_and_support_keeps_order_within_a_page(
    scores: list[tuple[int, float]], words: set[int]
) -> None:
    ranked = sorted((((0, str(page)), score) for page, score in scores), key=lambda one: -one[1])
    names = {page: {int(page[1]), 9} for page, _ in ranked}
    support = page_support(ranked, words, names)
    by_page: dict[tuple[int, str], list[float]] = {}
    for page, score in ranked:
        parts = support.score(score, page)
        assert 0 <= parts.total <= 1 + 1e-9
        by_page.setdefault(page, []).append(parts.total)
    assert all(totals == sorted(totals, reverse=True) for totals in by_page.values())


def test_nothing_changes_if_every_page_has_one_passage() -> None:
    ranked = [((0, str(n)), 1 - n / 10) for n in range(5)]
    support = page_support(ranked, {1}, {page: {1} for page, _ in ranked})
    assert [support.score(score, page).total for page, score in ranked] == [
        score for _, score in ranked
    ]


def test_the_second_and_third_passage_count_and_later_ones_do_not() -> None:
    page, other = (0, "a"), (1, "a")
    ranked = [(page, 0.9), (page, 0.8), (page, 0.6), (other, 0.5), (page, 0.4), (page, 0.2)]
    support = page_support(ranked, {1, 2}, {page: {2, 3}, other: set()})
    weight = 1 - 2 / 6
    assert support.passages[page] == pytest.approx(weight * PASSAGES * (0.8 + 0.6 - 2 * FLOOR))
    assert support.names == {page: pytest.approx(weight * NAMES * 0.5), other: 0.0}
    assert support.passages[other] == 0.0


def test_passages_below_the_floor_do_not_count() -> None:
    page, other = (0, "a"), (0, "b")
    ranked = [(page, 0.9), (other, 0.8), (other, FLOOR + 0.1), (page, FLOOR), (other, 0.0)]
    support = page_support(ranked, set(), {page: set(), other: set()})
    assert support.passages == {page: 0.0, other: pytest.approx((1 - 2 / 5) * PASSAGES * 0.1)}
