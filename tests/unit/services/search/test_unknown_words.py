"""Words that no passage contains: unfinished ones and misspelt ones."""

import asyncio
from pathlib import Path

import pytest

from surefind.errors import StoreError
from surefind.model import Evidence, Hit, Mode, Query, SearchResult
from surefind.services.encoding.unknown_words import replaced_words
from surefind.services.encoding.vocabulary import Vocabulary, is_one_mistake
from surefind.services.generations.generation_words import GenerationWords
from surefind.services.generations.readers import Readers
from surefind.services.search.why_not import Cause, Explainer
from unit.installation import Installation

PAGES = {
    "teapot.md": "# Teapot\n\nThe teapot brews tea, and the teapots of others do not.\n",
    "table.md": "# Table\n\nPut it on a stable table.\n",
    "errors.md": "# Error E42\n\nThe lid is open.\n",
    "filler.md": "# Filler\n\nNothing about anything in particular.\n",
}


@pytest.fixture
async def home(tmp_path: Path) -> Installation:
    home = Installation(tmp_path / "data")
    await home.ingest(PAGES)
    return home


async def words(home: Installation, text: str) -> SearchResult:
    return await home.search(text, mode=Mode.LEXICAL, highlight=True)


def best(result: SearchResult) -> str:
    return result.hits[0].record.chunk.source_path if result.hits else ""


@pytest.mark.parametrize(
    "text", ["teapto", "tepot", "teapott", "teapet", "TEAPTO", "teapto?", "where is my teapto?"]
)
async def test_one_typing_mistake_still_finds(home: Installation, text: str) -> None:
    result = await words(home, text)
    assert best(result) == "docs/teapot.md"
    assert any("searched for teapot" in note for note in result.notes)
    [(start, end), *_] = result.hits[0].highlights
    assert result.hits[0].text[start:end].lower().startswith("teapot")


async def test_the_word_at_the_end_may_be_unfinished(home: Installation) -> None:
    result = await words(home, "brews teapo")
    assert best(result) == "docs/teapot.md"
    assert "teapot" in result.also_searched
    assert best(await words(home, "part")) == "docs/filler.md"
    finished = await words(home, "part of it")
    assert finished.also_searched == ()


@pytest.mark.parametrize(
    "text", ["E43", "e_42", "xteapot", "tpt", "tep", "tepto", "日本語", "zzzz", "?!", "te"]
)
async def test_nothing_is_guessed_for_codes_short_words_or_two_mistakes(
    home: Installation, text: str
) -> None:
    result = await words(home, text)
    assert (result.also_searched, result.notes) == ((), ())
    assert result.hits == ()


async def test_words_that_occur_are_searched_as_they_are(home: Installation) -> None:
    known = await words(home, "table")
    assert (known.also_searched, known.notes) == ((), ())
    mixed = await words(home, "tabel lid")
    assert {"docs/table.md", "docs/errors.md"} == {hit.record.chunk.source_path for hit in mixed}
    assert best(mixed) == "docs/errors.md", "an exact word counts more"


async def test_similar_words_count_in_the_lexical_leg_of_hybrid_search(home: Installation) -> None:
    result = await home.search("teapto")
    assert result.also_searched == ("teapot",)
    similar, exact = teapot_in(result), teapot_in(await home.search("teapot"))
    assert similar.lexical is not None
    assert exact.lexical is not None
    assert 0 < similar.lexical.score < exact.lexical.score
    assert similar.similarity == exact.similarity
    dense = await home.search("teapto", mode=Mode.DENSE)
    assert (dense.also_searched, dense.notes) == ((), ())


def teapot_in(result: SearchResult) -> Hit:
    [teapot] = [hit for hit in result.hits if hit.record.chunk.source_path == "docs/teapot.md"]
    return teapot


async def test_evidence_for_a_question_of_guesses_is_at_most_fair(home: Installation) -> None:
    sure = await home.search("teapot brews tea and others do not")
    guess = await home.search("teapto brews tea")
    mostly_known = await home.search("brews tea of others in the teapot particular filler tabel")
    assert sure.confidence is not None
    assert guess.confidence is not None
    assert mostly_known.confidence is not None
    assert sure.confidence.evidence is Evidence.STRONG
    assert guess.confidence.evidence is not Evidence.STRONG
    assert mostly_known.also_searched == ("table",)


async def test_why_not_knows_what_was_searched_instead(home: Installation) -> None:
    query = Query("teapto", mode=Mode.LEXICAL, top_k=1)
    explainer = Explainer(home.readers, home.searcher)
    assert (await explainer.why_not(query, "docs/teapot.md")).cause is Cause.FOUND
    assert (await explainer.why_not(query, "docs/table.md")).cause is Cause.OUTRANKED


async def test_a_new_generation_has_its_own_words(home: Installation) -> None:
    searcher = home.searcher
    query = Query("kettel", mode=Mode.LEXICAL)
    assert (await searcher.search(query)).hits == ()
    await home.ingest({**PAGES, "kettle.md": "# Kettle\n\nThe kettle boils.\n"})
    assert (await searcher.search(query)).also_searched == ("kettle",)


async def test_without_the_catalog_or_in_a_huge_collection_nothing_changes(
    home: Installation,
) -> None:
    async with home.reader.lease() as generation:
        assert await replaced_words("teapto", [generation], home.terms) != ()
        catalog = generation.catalog
        generation.words = GenerationWords(generation.manifest, lambda: catalog, len(PAGES) - 1)
        assert await replaced_words("teapto", [generation], home.terms) == ()
    await home.lose_catalog()
    result = await words(home, "teapto")
    assert (result.hits, result.also_searched) == ((), ())


async def test_the_index_is_searched_for_a_word_once(home: Installation) -> None:
    async with home.reader.lease() as generation:
        words, known = generation.words, generation.words.found
        assert await replaced_words("stable teapot brews zzzz", [generation], home.terms) == ()
        assert known == {(word, "en") for word in ("stable", "teapot", "brews")}
        await generation.index.close()  # from here on a search of it fails
        words._known = None
        assert await replaced_words("stable teapot", [generation], home.terms) == ()
        with pytest.raises(StoreError):
            await replaced_words("stable filler", [generation], home.terms)


def test_the_vocabulary_is_bounded_and_keeps_frequent_words() -> None:
    vocabulary = Vocabulary(max_words=10)
    for number in range(1000):
        vocabulary.add(f"frequent word{number}")
    assert vocabulary.completions("freq") == ["frequent"]
    assert vocabulary.corrections("frequant") == ["frequent"]
    assert len(vocabulary.completions("word")) <= 4
    assert vocabulary.completions("word500") == []


def test_frequent_words_come_first() -> None:
    vocabulary = Vocabulary()
    for passage in ("form", "from", "from here", "forma"):
        vocabulary.add(passage)
    assert vocabulary.corrections("frpm") == ["from"]
    assert vocabulary.corrections("forn") == ["form"]
    assert vocabulary.completions("for") == ["form", "forma"]


def test_a_swap_is_one_mistake_and_equal_words_have_zero() -> None:
    assert is_one_mistake("form", "from")
    assert not is_one_mistake("form", "form")
    assert not is_one_mistake("abcd", "badc")


async def test_a_process_that_stays_open_reads_the_words_before_a_search_does(
    home: Installation,
) -> None:
    readers = Readers(home.index, home.catalogs, words_after_s=0.0)
    async with readers.of("docs").lease() as generation:
        for _ in range(500):
            if generation.words.known is not None:
                break
            await asyncio.sleep(0.01)
        assert generation.words.known is not None
        assert "teapot" in generation.words.known
    await readers.close()


@pytest.mark.parametrize("delay_s", [60.0, 0.0])
async def test_closing_ends_the_reading_of_words(home: Installation, delay_s: float) -> None:
    """At the first stop: the passages of this collection fill several turns."""
    pages = {f"{number}.md": f"# Page {number}\n\nword{number}\n" for number in range(200)}
    await home.ingest(pages, allow_shrink=True)
    readers = Readers(home.index, home.catalogs, words_after_s=delay_s)
    async with readers.of("docs").lease() as generation:
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await readers.close()
    assert generation.words.known is None
