"""Search on the real engine: order, scores, thresholds, and what it refuses."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore, WordEmbedder
from surefind.errors import InputError, StoreError, UnknownCollection
from surefind.model import Mode, Query, Status
from surefind.ports import Vector
from surefind.services.generations.readers import Readers
from surefind.services.search.query_checks import check_query
from unit.installation import Installation

PAGES = {
    "install.md": "# Install\n\nrun the installer on linux\n\n## Windows\n\nrun setup on windows",
    "search.md": "# Search\n\nask and find passages\n\n## Threshold\n\nleave out the rest",
    "cats.md": "# Cats\n\ncats sleep in the sunshine all day",
    **{f"more/{n}.md": f"# Topic {n}\n\nfiller text number {n} about topic {n}" for n in range(30)},
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES)
    yield installation
    await installation.close()


@pytest.mark.parametrize("mode", list(Mode))
async def test_ranks_and_scores_are_in_order_and_in_bounds(home: Installation, mode: Mode) -> None:
    result = await home.search("where do cats sleep", mode=mode, top_k=10)
    assert result.hits[0].record.chunk.source_path == "docs/cats.md"
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert result.status is Status.SUCCESS


async def test_a_result_is_a_sequence_of_hits_with_the_common_things_within_reach(
    home: Installation,
) -> None:
    result = await home.search("run setup on windows", top_k=3)
    assert tuple(result) == result.hits
    assert len(result) == 3
    assert (result[0], result[-1], result[1:]) == (result.hits[0], result.hits[2], result.hits[1:])
    best = result[0]
    assert (best.title, best.url) == ("Install", best.record.link)
    assert best.url.endswith("#windows")
    assert "run setup on windows" in best.text


@pytest.mark.parametrize("mode", list(Mode))
async def test_the_same_question_twice_gives_the_same_answer_also_after_a_restart(
    home: Installation, mode: Mode, tmp_path: Path
) -> None:
    first = await home.search("run setup", mode=mode)
    again = await home.search("run setup", mode=mode)
    restarted = Installation(tmp_path / "data")
    after = await restarted.search("run setup", mode=mode)
    assert first.hits == again.hits == after.hits
    await restarted.close()


async def test_asking_for_more_only_appends(home: Installation) -> None:
    for mode in Mode:
        few = await home.search("topic 7 filler", mode=mode, top_k=3)
        many = await home.search("topic 7 filler", mode=mode, top_k=25)
        assert many.hits[:3] == few.hits


@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.LEXICAL])
async def test_asking_for_more_only_appends_also_where_many_are_equally_good(
    tmp_path: Path, mode: Mode
) -> None:
    """Seventy passages tie: who comes first among them must not depend on how many were asked."""
    home = Installation(tmp_path / "data")
    await home.ingest({f"{n}.md": "# Cats\n\ncats sleep all day" for n in range(70)})
    few = await home.search("cats sleep", mode=mode, top_k=3)
    many = await home.search("cats sleep", mode=mode, top_k=70)
    points = [hit.record.chunk.point_id.int for hit in many.hits]
    assert len(points) == 70
    assert points == sorted(points)
    assert many.hits[:3] == few.hits
    await home.close()


async def test_dense_order_is_the_cosine(home: Installation) -> None:
    result = await home.search("run the installer on linux", mode=Mode.DENSE)
    assert all(hit.score == hit.similarity for hit in result.hits)
    assert all(hit.lexical is None for hit in result.hits)
    assert [hit.dense.rank for hit in result.hits if hit.dense] == [1, 2, 3, 4, 5]


async def test_hybrid_hits_have_the_scores_of_both_legs(home: Installation) -> None:
    result = await home.search("run setup on windows")
    best = result.hits[0]
    assert best.record.section == "Windows"
    assert best.dense is not None
    assert best.lexical is not None
    assert (best.dense.rank, best.lexical.rank) == (1, 1)
    assert best.score == pytest.approx(1.0)
    assert best.similarity == pytest.approx(best.dense.score)


async def test_lexical_needs_no_embedder(home: Installation) -> None:
    class Broken(WordEmbedder):
        async def embed_query(self, query: str) -> Vector:
            raise AssertionError("lexical search embedded something")

    home.embedder = Broken()
    result = await home.search("sunshine", mode=Mode.LEXICAL)
    assert [hit.record.chunk.source_path for hit in result.hits] == ["docs/cats.md"]
    assert result.hits[0].similarity is None
    assert result.best_similarity is None


async def test_words_that_occur_nowhere_and_stop_words_alone(home: Installation) -> None:
    nowhere = await home.search("xylophone", mode=Mode.LEXICAL)
    assert (nowhere.hits, nowhere.status) == ((), Status.NO_RESULTS)
    assert (await home.search("the of", mode=Mode.LEXICAL)).hits == ()
    assert len((await home.search("the of", mode=Mode.HYBRID)).hits) == 5


async def test_a_threshold_above_all_scores_reports_the_best_one(
    home: Installation,
) -> None:
    for mode in (Mode.DENSE, Mode.HYBRID):
        result = await home.search("cats in sunshine", mode=mode, threshold=1.0)
        assert (result.hits, result.status) == ((), Status.NO_RESULTS)
        assert result.best_similarity is not None
        assert 0.5 < result.best_similarity < 1


async def test_lowering_the_threshold_only_adds(home: Installation) -> None:
    strict = await home.search("cats in sunshine", threshold=0.5, top_k=1000)
    loose = await home.search("cats in sunshine", threshold=0.2, top_k=1000)
    assert 0 < len(strict.hits) < len(loose.hits)
    kept = [hit.record.chunk.id for hit in loose.hits if (hit.similarity or 0) >= 0.5]
    assert kept == [hit.record.chunk.id for hit in strict.hits]


async def test_timings_add_up(home: Installation) -> None:
    timings = (await home.search("cats")).timings
    names = [name for name, _ in timings.stages]
    assert names == ["received", "embedded", "searched", "filtered", "formatted", "returned"]
    stages = [spent for _, spent in timings.stages]
    assert all(stage >= 0 for stage in stages)
    assert sum(stages) == pytest.approx(timings.total_ms, abs=0.5)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query(""), "query"),
        (Query(" \n\t"), "query"),
        (Query("x" * 2001), "query"),
        (Query("x", top_k=0), "top_k"),
        (Query("x", top_k=-1), "top_k"),
        (Query("x", top_k=10**9), "top_k"),
        (Query("x", top_k=True), "top_k"),
        (Query("x", threshold=-0.1), "threshold"),
        (Query("x", threshold=1.1), "threshold"),
        (Query("x", threshold=float("nan")), "threshold"),
        (Query("x", threshold=0.5, mode=Mode.LEXICAL), "threshold"),
    ],
)
def test_a_question_that_can_not_be_asked_names_the_field(query: Query, field: str) -> None:
    with pytest.raises(InputError, match=rf"^{field}\b"):
        check_query(query)
    with pytest.raises(ValueError, match=field):  # what the contracts call it
        check_query(query)


def test_the_limits_themselves_are_fine() -> None:
    for query in (Query("x" * 2000, top_k=1, threshold=0.0), Query("x", top_k=1000, threshold=1.0)):
        check_query(query)
        assert query.text


async def test_another_embedder_than_the_collections_is_refused(home: Installation) -> None:
    home.embedder = WordEmbedder(weights="words-2")
    with pytest.raises(InputError, match=r"words-1.*words-2"):
        await home.search("cats")


async def test_a_missing_collection_is_an_error(tmp_path: Path) -> None:
    empty = Installation(tmp_path / "other")
    with pytest.raises(UnknownCollection, match="surefind ingest"):
        await empty.search("cats")
    with pytest.raises(UnknownCollection):
        await empty.generations.list()


async def test_the_index_replaces_an_unavailable_catalog(home: Installation) -> None:
    """Away from the start, or lost in between: the answer is the same, and says it is partial."""
    whole = await home.search("where do cats sleep")
    await home.lose_catalog()
    partial = await home.search("where do cats sleep")
    assert partial.status is Status.PARTIAL
    assert [h.record.chunk for h in partial.hits] == [h.record.chunk for h in whole.hits]
    await home.readers.close()


async def test_a_catalog_that_goes_away_in_between_is_stood_in_for(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = MemoryIndexStore(), (catalogs := MemoryCatalogStore())
    home.readers = Readers(home.index, catalogs)
    await home.ingest(PAGES)
    assert (await home.search("cats")).status is Status.SUCCESS
    catalogs.away = True
    result = await home.search("cats")
    assert result.status is Status.PARTIAL
    assert result.hits[0].record.chunk.source_path == "docs/cats.md"


async def test_an_index_that_is_gone_is_an_error_never_an_empty_answer(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    await home.ingest(PAGES)
    await home.index.drop((await home.generations.list())[0].ref)
    with pytest.raises(StoreError, match="has no index"):
        await home.search("cats")
