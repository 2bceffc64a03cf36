"""Chunks that repeat the end of the one before them, where the settings ask for it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefind.model import Chunk, ChunkerSettings
from surefind.text.chunking import has_words, without_overlap
from unit.text.markdown_strategies import any_text, words
from unit.text.test_chunking import chunked, count_words

SMALL = ChunkerSettings(max_tokens=16, max_chars=120, overlap_tokens=6)
MANY = [SMALL, ChunkerSettings(40, 300, 20), ChunkerSettings(400, 1999, 200)]
long_text = st.lists(
    st.one_of(
        st.lists(words, min_size=3, max_size=12).map(". ".join),
        st.lists(words, min_size=3, max_size=12).map("\n".join),
        st.lists(words, min_size=3, max_size=9).map(
            lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | x |" for row in rows)
        ),
        st.lists(words, min_size=3, max_size=9).map(
            lambda lines: "```py\n" + "\n".join(lines) + "\n```"
        ),
        st.just("## Heading"),
    ),
    max_size=6,
).map("\n\n".join)
texts = st.one_of(long_text, any_text)


def repeats(one: Chunk, other: Chunk) -> str:
    return other.text[: max(0, one.end - other.start)]


@given(texts, st.sampled_from(MANY))
def test_offsets_budget_and_ids_hold_with_an_overlap(text: str, settings: ChunkerSettings) -> None:
    document, chunks = chunked(text, settings)
    for chunk in chunks:
        assert chunk.text == document.text[chunk.start : chunk.end]
        assert len(chunk.text) <= settings.max_chars
        assert chunk.tokens <= settings.max_tokens
        assert chunk.tokens >= count_words(chunk.passage) - 1
    assert len({chunk.id for chunk in chunks}) == len(chunks)


@given(texts, st.sampled_from(MANY))
def test_what_is_repeated_is_the_end_of_the_chunk_before_in_the_same_section(
    text: str, settings: ChunkerSettings
) -> None:
    document, chunks = chunked(text, settings)
    for one, other in pairwise(chunks):
        assert one.start < other.start <= other.end
        assert one.end < other.end
        repeated = repeats(one, other)
        assert count_words(repeated) <= settings.overlap_tokens
        assert not repeated or one.heading_path == other.heading_path
        assert not has_words(document.text[one.end : other.start])
        begins = document.text[: other.start].rstrip(" \t")
        whole = not begins or begins[-1] in "\n.!?。！？\"')]*_"
        assert not repeated or whole


@given(texts, st.sampled_from(MANY))
def test_put_together_again_nothing_is_repeated_and_nothing_is_missing(
    text: str, settings: ChunkerSettings
) -> None:
    document, chunks = chunked(text, settings)
    shown, parts = 0, []
    for chunk in chunks:
        assert not has_words(document.text[shown : chunk.start])
        parts.append(document.text[max(shown, chunk.start) : chunk.end])
        shown = chunk.end
    assert not has_words(document.text[shown:])
    assert "".join("".join(without_overlap(chunks)).split()) == "".join("".join(parts).split())
    assert all(part.strip() for part in without_overlap(chunks))


@given(texts)
def test_without_an_overlap_nothing_is_repeated(text: str) -> None:
    _, chunks = chunked(text, replace(SMALL, overlap_tokens=0))
    assert without_overlap(chunks) == [chunk.text for chunk in chunks]


def test_a_section_that_fits_is_one_chunk_whatever_the_overlap() -> None:
    text = "# A\n\none two three four five six seven\n\neight nine ten\n\n# B\n\nwords"
    _, chunks = chunked(text, SMALL)
    assert len(chunks) == 2


def test_whole_sentences_are_repeated() -> None:
    text = "One two three four. Five six seven. Eight nine ten. Eleven twelve. Thirteen fourteen."
    _, chunks = chunked(text * 2, SMALL)
    assert len(chunks) > 2
    for one, other in pairwise(chunks):
        assert repeats(one, other).strip().endswith(".")
        assert other.text[0].isupper()


def test_rows_of_a_table_are_repeated_under_its_head_and_never_the_head_alone() -> None:
    rows = "\n".join(f"| option {n} | does it |" for n in range(20))
    text = f"# T\n\n| name | use |\n|------|-----|\n{rows}\n\nand then some words after it"
    _, chunks = chunked(text, ChunkerSettings(max_tokens=40, max_chars=1999, overlap_tokens=12))
    assert len(chunks) > 2
    for one, other in pairwise(chunks):
        assert repeats(one, other).startswith("| option")
    for chunk in chunks[1:]:
        assert chunk.context == "T\n\n| name | use |\n|------|-----|"


@pytest.mark.parametrize("text", ["x" * 50_000, "word " * 10_000, "a.\n" * 10_000])
def test_a_huge_page_is_cut_to_measure(text: str) -> None:
    settings = ChunkerSettings(overlap_tokens=100)
    document, chunks = chunked(text, settings)
    assert all(len(chunk.text) <= settings.max_chars for chunk in chunks)
    assert "".join("".join(without_overlap(chunks)).split()) == "".join(document.text.split())
