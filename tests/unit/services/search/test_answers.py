"""Answers that are remembered: the same as found ones, and never one that may be wrong by now."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore
from surefind.errors import InputError
from surefind.model import AnyOf, Expand, Query, SearchResult, Status
from surefind.services.generations.readers import OpenGeneration, Readers
from surefind.services.search.answer_cache import AnswerCache
from surefind.services.search.search import Searcher
from unit.installation import Installation

PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine all day",
    "dogs.md": "# Dogs\n\ndogs bark at cats",
    "one.md": "---\nlevel: 1\n---\n# One\n\nthe number of cats",
    "true.md": "---\nlevel: true\n---\n# True\n\nthe truth of cats",
}
CATS = Query("where do cats sleep")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


def remembering(home: Installation, most: int = 10) -> Searcher:
    return Searcher(home.readers, home.embedder, home.terms, answers=AnswerCache(most))


def described(result: SearchResult) -> SearchResult:
    """All but how long it took, and how it was come by."""
    return replace(result, timings=None, remembered=False)  # type: ignore[arg-type]


async def test_a_question_asked_again_is_answered_the_same_and_says_so(home: Installation) -> None:
    searcher = remembering(home)
    first, again = await searcher.search(CATS), await searcher.search(CATS)
    assert (first.remembered, again.remembered) == (False, True)
    assert described(again) == described(first)
    assert again.timings.embedded_ms == again.timings.searched_ms == 0
    stages = sum(spent for _, spent in again.timings.stages)
    assert stages == pytest.approx(again.timings.total_ms)


@pytest.mark.parametrize(
    "other",
    [
        replace(CATS, text="where do cats sleep?"),
        replace(CATS, top_k=2),
        replace(CATS, threshold=0.1),
        replace(CATS, highlight=True),
        replace(CATS, where=(AnyOf("level", (1,)),)),
    ],
)
async def test_another_question_is_looked_for(home: Installation, other: Query) -> None:
    searcher = remembering(home)
    await searcher.search(CATS)
    assert not (await searcher.search(other)).remembered


async def test_to_a_filter_one_and_true_are_not_the_same(home: Installation) -> None:
    searcher = remembering(home)
    pages = []
    for value in (1, True, 1.0):
        result = await searcher.search(replace(CATS, where=(AnyOf("level", (value,)),)))
        pages.append([hit.record.chunk.source_path for hit in result.hits])
    assert pages == [["docs/one.md"], ["docs/true.md"], ["docs/one.md"]]


async def test_a_new_generation_is_asked_at_once(home: Installation) -> None:
    searcher = remembering(home)
    await searcher.search(CATS)
    await home.ingest({**PAGES, "cats.md": "# Cats\n\ncats sleep in the moonlight"})
    fresh = await searcher.search(CATS)
    assert not fresh.remembered
    assert "moonlight" in fresh.hits[0].record.chunk.text
    await home.generations.rollback()
    before = await searcher.search(CATS)
    assert "sunshine" in before.hits[0].record.chunk.text


async def test_what_was_asked_longest_ago_is_forgotten_first(home: Installation) -> None:
    searcher = remembering(home, most=2)
    for text in ("cats", "dogs", "cats", "number"):
        await searcher.search(Query(text))
    seen = {text: (await searcher.search(Query(text))).remembered for text in ("cats", "dogs")}
    assert seen == {"cats": True, "dogs": False}


async def test_a_partial_answer_is_not_kept(tmp_path: Path) -> None:
    """The catalog is away for a moment, and its stand-in's answer must not outlive that."""
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = MemoryIndexStore(), (catalogs := MemoryCatalogStore())
    home.readers = Readers(home.index, catalogs)
    await home.ingest(PAGES)
    searcher = remembering(home)
    await searcher.search(Query("dogs"))  # with the catalog open
    catalogs.away = True
    assert (await searcher.search(CATS)).status is Status.PARTIAL
    catalogs.away = False
    again = await searcher.search(CATS)
    assert (again.status, again.remembered) == (Status.SUCCESS, False)


async def test_answers_of_connected_collections_are_not_kept(home: Installation) -> None:
    async with home.reader.lease() as held:
        manifest = replace(held.manifest, connected=object())  # type: ignore[arg-type]
        theirs = OpenGeneration(manifest, held.index, held.catalog)
        answers, found = AnswerCache(), await home.search(CATS.text)
        answers.keep(CATS, theirs, found)
        answers.keep(CATS, held, found)
        assert answers.known(CATS, theirs) is None
        assert answers.known(CATS, held) is found


async def test_several_collections_are_never_answered_from_the_cache(home: Installation) -> None:
    await home.ingest(PAGES, collection="more")
    searcher = remembering(home)
    both = replace(CATS, also_in=("more",))
    assert [(await searcher.search(both)).remembered for _ in range(2)] == [False, False]


async def test_an_answer_that_is_too_large_is_not_kept_and_large_ones_are_forgotten_sooner(
    home: Installation,
) -> None:
    async with home.reader.lease() as held:
        found = await home.search(CATS.text, expand=Expand.DOCUMENT)
        texts = sum(len(hit.record.chunk.text) for hit in found.hits)
        answers = AnswerCache(memory=2 * (texts + 2_000 * (len(found.hits) + 2)))
        small = replace(found, hits=())
        for number in range(3):
            answers.keep(Query(f"large {number}"), held, found)
        answers.keep(Query("small"), held, small)
        known = [answers.known(Query(f"large {number}"), held) for number in range(3)]
        assert known[0] is None
        assert known[2] is found
        assert answers.known(Query("small"), held) is small
        tight = AnswerCache(memory=2_000)
        tight.keep(CATS, held, found)
        assert tight.known(CATS, held) is None


async def test_what_counts_as_the_same_takes_room_too(home: Installation) -> None:
    async with home.reader.lease() as held:
        found = await home.search(CATS.text, top_k=1)
        [hit] = found.hits
        answers = AnswerCache(memory=10_000)
        answers.keep(CATS, held, replace(found, hits=(replace(hit, also=(hit.record,) * 5),)))
        assert answers.known(CATS, held) is None
        answers.keep(CATS, held, found)
        assert answers.known(CATS, held) is found


async def test_a_stand_ins_answer_is_not_kept_though_nothing_of_it_is_shown(tmp_path: Path) -> None:
    """The budget has room for no passage: the answer is empty, and not called partial."""
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = MemoryIndexStore(), (catalogs := MemoryCatalogStore())
    home.readers = Readers(home.index, catalogs)
    await home.ingest(PAGES)
    searcher = remembering(home)
    await searcher.search(Query("dogs"))
    catalogs.away = True
    nothing = replace(CATS, max_tokens=1)
    assert not (await searcher.search(nothing)).hits
    assert not (await searcher.search(nothing)).remembered


@pytest.mark.parametrize(
    "named",
    [{"mode": "lexical"}, {"where": [AnyOf("level", (1,))]}, {"also_in": []}, {"group_by": "page"}],
)
async def test_a_question_of_other_types_is_refused_by_name(
    home: Installation, named: dict[str, object]
) -> None:
    """What equals a mode and is none would be asked in another one."""
    with pytest.raises(InputError, match=next(iter(named))):
        await remembering(home).search(Query("cats", **named))  # type: ignore[arg-type]


async def test_a_fresh_search_bypasses_the_cache(home: Installation) -> None:
    searcher = remembering(home)
    await searcher.search(CATS)
    assert not (await searcher.without_cache().search(CATS)).remembered
