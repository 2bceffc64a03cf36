"""Searches in collections with pages in several languages."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.lexical_fixtures import MANUALS
from surefind.errors import InputError
from surefind.model import Mode, Query
from surefind.services.encoding.bm25 import ENGLISH_ONLY
from surefind.services.encoding.query_language import language_filter, with_language
from surefind.services.search.filters import read_where
from surefind.services.search.query_checks import check_query
from unit.installation import Installation

ENGLISH = (
    "# Manual\n\nThe installation of the package takes a few minutes. Häuser and installieren are "
    "words in it, and the password is in the mail."
)


def manual(language: str) -> str:
    return "# M\n\n" + "\n\n".join(MANUALS[language].passages)


PAGES = {"en.md": ENGLISH, **{f"{code}.md": manual(code) for code in ("de", "fr", "ja", "ur")}}


@pytest.fixture
async def home(tmp_path: Path) -> Installation:
    home = Installation(tmp_path / "data")
    await home.ingest(PAGES)
    return home


async def found(home: Installation, query: Query) -> tuple[set[str], tuple[str, ...]]:
    result = await home.searcher.search(query)
    return {hit.record.language for hit in result.hits}, result.notes


async def test_the_manifest_names_the_languages(home: Installation) -> None:
    [manifest] = await home.generations.list()
    assert manifest.languages == ("de", "en", "fr", "ja", "ur")


@pytest.mark.parametrize(
    ("question", "language", "name"),
    [
        ("wie sind die Häuser", "de", "German"),
        ("what are the passwords of installations", "en", "English"),
        ("où sont les clés oubliées", "fr", "French"),
        ("パスワードの再設定", "ja", "Japanese"),
        ("فائلوں کی تصویریں", "ur", "Urdu"),
    ],
)
@pytest.mark.parametrize("mode", list(Mode))
async def test_a_question_searches_the_pages_in_its_language(
    home: Installation, question: str, language: str, name: str, mode: Mode
) -> None:
    languages, notes = await found(home, Query(question, mode=mode, top_k=50))
    assert languages == {language}
    assert any(f"only the pages in {name}" in note for note in notes)


async def test_any_searches_all_pages_with_the_words_of_every_language(home: Installation) -> None:
    languages, notes = await found(
        home, Query("wie sind die Häuser", mode=Mode.LEXICAL, language="any", top_k=50)
    )
    assert {"de", "en"} <= languages
    assert not notes


async def test_a_question_in_no_clear_language_searches_all_pages(home: Installation) -> None:
    languages, notes = await found(home, Query("installation", mode=Mode.LEXICAL, top_k=50))
    assert {"en", "fr"} <= languages
    assert not notes


async def test_a_chosen_language_needs_no_note(home: Installation) -> None:
    languages, notes = await found(home, Query("Häuser", language="DE-at", top_k=50))
    assert languages == {"de"}
    assert not notes


async def test_a_language_without_pages_is_an_error(home: Installation) -> None:
    with pytest.raises(InputError, match="docs has no pages in Thai; it has pages in German"):
        await home.searcher.search(Query("x", language="th"))


@pytest.mark.parametrize("language", ["", "klingon", "d\0e", "x" * 9000, 7, None])
def test_an_unknown_language_is_an_error(language: object) -> None:
    with pytest.raises(InputError, match="language must be auto, any or a code"):
        check_query(Query("x", language=language))  # type: ignore[arg-type]


async def test_a_filter_by_locale_replaces_the_default(home: Installation) -> None:
    [manifest] = await home.generations.list()
    query = Query("wie sind die Häuser", where=read_where({"locale": "de"}))
    assert with_language(query, [manifest], []) is query
    assert language_filter(query, manifest) == ()


async def test_an_english_collection_is_searched_as_before(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    await home.ingest({"a.md": ENGLISH, "b.md": "# B\n\nnothing"})
    query = Query("wie sind die Häuser")
    result = await home.searcher.search(query)
    assert result.query == query
    assert not result.notes
    assert all("page_language" not in hit.record.attributes for hit in result.hits)


async def test_a_collection_in_one_language_is_analyzed_in_it(tmp_path: Path) -> None:
    home = Installation(tmp_path / "data")
    await home.ingest({"a.md": manual("de"), "b.md": manual("de") + " Ende"})
    result = await home.searcher.search(Query("Häusern", mode=Mode.LEXICAL))
    assert len(result.hits) == 2
    assert not result.notes


async def test_generations_of_earlier_versions_are_english(home: Installation) -> None:
    [manifest] = await home.generations.list()
    old = replace(manifest, languages=(), lexical=replace(manifest.lexical, analyzer=ENGLISH_ONLY))
    query = Query("wie sind die Häuser")
    assert with_language(query, [old], []) is query
    with pytest.raises(InputError, match="has pages in English"):
        with_language(replace(query, language="de"), [old], [])
