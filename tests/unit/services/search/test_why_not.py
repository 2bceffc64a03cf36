"""Every passage that is not there has a cause."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.fakes import ForgetfulIndexStore, MemoryCatalogStore
from surefind.errors import InputError, StoreError
from surefind.model import (
    AnyOf,
    Collapse,
    GroupBy,
    Mode,
    Query,
)
from surefind.services.generations.readers import Readers
from surefind.services.search.why_not import Cause, Explainer, WhyNot
from unit.installation import Installation

PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine\n\n## Food\n\ncats eat fish in the morning",
    "dogs.md": "---\nlevel: hard\n---\n# Dogs\n\ndogs run in the rain",
    "copy-a.md": "# Copy\n\nthe same words about parrots",
    "copy-b.md": "# Copy\n\nthe same words about parrots",
    **{f"more/{n}.md": f"# Topic {n}\n\ncats and topic {n}" for n in range(10)},
}


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES, base_url="https://x.org/")
    yield installation
    await installation.close()


async def why_not(home: Installation, text: str, wanted: str, **options: object) -> WhyNot:
    explainer = Explainer(home.readers, home.searcher)
    answer = await explainer.why_not(Query(text, **options), wanted)  # type: ignore[arg-type]
    assert answer.message
    assert answer.wanted == wanted
    return answer


@pytest.mark.parametrize("wanted", ["nothing", "https://x.org/nowhere", "https://x.org/cats#no"])
async def test_what_is_not_there_is_absent(home: Installation, wanted: str) -> None:
    assert (await why_not(home, "cats", wanted)).cause is Cause.ABSENT


async def test_chunks_that_the_collection_lost_are_absent(home: Installation) -> None:
    explainer = Explainer(home.readers, home.searcher)
    result = await home.search("cats")
    answer = await explainer.why_none_of(result, "the old page", ["gone"])
    assert (answer.cause, answer.wanted) == (Cause.ABSENT, "the old page")


@pytest.mark.parametrize(
    "wanted",
    ["docs/cats.md", "https://x.org/cats", "https://x.org/cats/", "https://x.org/cats#food"],
)
async def test_what_is_among_the_hits_is_found_however_it_is_named(
    home: Installation, wanted: str
) -> None:
    answer = await why_not(home, "cats eat fish in the morning", wanted, top_k=1)
    assert (answer.cause, answer.rank) == (Cause.FOUND, 1)
    assert answer.record is not None
    by_id = await why_not(home, "cats eat fish in the morning", answer.record.chunk.id, top_k=1)
    assert by_id.record == answer.record


async def test_what_a_filter_leaves_out_names_the_filter(home: Installation) -> None:
    where = (AnyOf("level", ("hard",)), AnyOf("source", ("docs",)))
    answer = await why_not(home, "cats", "docs/cats.md", where=where)
    assert (answer.cause, answer.filters) == (Cause.FILTERED, ("level=hard",))


async def test_a_passage_below_the_threshold_shows_its_similarity(home: Installation) -> None:
    answer = await why_not(home, "cats eat fish", "docs/dogs.md", threshold=0.6)
    assert answer.cause is Cause.BELOW_THRESHOLD
    assert answer.similarity is not None
    assert answer.similarity < 0.6


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.DENSE])
async def test_an_outranked_passage_shows_its_rank_and_the_passages_above(
    home: Installation, mode: Mode
) -> None:
    answer = await why_not(home, "cats eat fish", "docs/dogs.md", top_k=3, mode=mode)
    assert answer.cause is Cause.OUTRANKED
    assert answer.rank is not None
    everything = await home.search("cats eat fish", top_k=50, mode=mode)
    assert everything.hits[answer.rank - 1].record == answer.record
    assert answer.score == pytest.approx(everything.hits[answer.rank - 1].score)
    assert len(answer.ahead) == 3
    assert all(hit.score >= (answer.score or 0) for hit in answer.ahead)


async def test_a_passage_without_the_words_is_last_in_lexical_mode(home: Installation) -> None:
    answer = await why_not(home, "fish", "docs/dogs.md", mode=Mode.LEXICAL)
    assert (answer.cause, answer.score) == (Cause.OUTRANKED, 0.0)


async def test_what_counts_as_the_same_is_folded(home: Installation) -> None:
    options = {"top_k": 1, "collapse": Collapse.SAME}
    answers = [await why_not(home, "parrots", f"docs/copy-{which}.md", **options) for which in "ab"]
    assert {answer.cause for answer in answers} == {Cause.FOUND, Cause.FOLDED}


async def test_what_its_group_has_no_place_for(home: Installation) -> None:
    text = "cats sleep in the sunshine cats eat fish in the morning"
    both = await home.search(text, top_k=2)
    assert {hit.record.title for hit in both.hits} == {"Cats"}
    second = both.hits[1].record.chunk.id
    answer = await why_not(home, text, second, top_k=2, group_by=GroupBy.DOCUMENT)
    assert answer.cause is Cause.GROUPED


async def test_what_does_not_fit_the_budget(home: Installation) -> None:
    answer = await why_not(home, "dogs run", "docs/dogs.md", top_k=1, max_tokens=1)
    assert answer.cause is Cause.OVER_BUDGET


async def test_what_the_approximate_index_loses_is_found_by_an_exact_search(
    tmp_path: Path,
) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = ForgetfulIndexStore("Dogs"), MemoryCatalogStore()
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    answer = await why_not(home, "dogs run in the rain", "docs/dogs.md")
    assert (answer.cause, answer.rank) == (Cause.LOST, 1)


async def test_a_passage_is_called_lost_only_if_top_k_reaches_it(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = ForgetfulIndexStore("Dogs"), MemoryCatalogStore()
    home.readers = Readers(home.index, home.catalogs)
    nearer = {f"rain/{n}.md": f"# Rain\n\ndogs run in the rain, no. {n}" for n in range(70)}
    await home.ingest(nearer | {"dogs.md": "# Dogs\n\na dog at home"})
    for top_k, cause in ((60, Cause.LOST), (5, Cause.OUTRANKED)):
        answer = await why_not(
            home, "dogs run in the rain", "docs/dogs.md", top_k=top_k, mode=Mode.DENSE
        )
        assert answer.cause is cause


async def test_it_needs_a_name_and_a_catalog(home: Installation) -> None:
    with pytest.raises(InputError, match="why_not"):
        await why_not(home, "cats", "  ")
    await home.lose_catalog()
    with pytest.raises(StoreError, match="catalog is unavailable"):
        await why_not(home, "cats", "docs/cats.md")
