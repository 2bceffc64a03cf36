"""Counting tokens word by word, against the tokenizer itself."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from surefind.adapters.embedders.bge_small import WordPieceCounter
from surefind.adapters.embedders.model_files import TOKENIZER

# What cuts, joins, is dropped, is replaced or is a token of its own, and words that are several.
AWKWARD = st.sampled_from(
    [
        *"\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f \x00\x7f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000",
        *"\u200b\u200d\u00ad\ufeff\ufffd\u0301\u0345\u20e3\u3099\ud7a3\u1112\u4e2d\uff01\u3002",
        *"[]()_-#'`$<>=^|~¿«°€×½ßİıſΣςDžﬁ🎉",
        *("[MASK]", "[CLS]", "[mask]", "[[UNK]]", "[PAD", "SEP]", "##ing", "don't"),
        *("antidisestablishmentarianism", "useDocusaurusContext", "a" * 99, "b" * 100, "c" * 101),
        *("https://example.com/a_b?c=d#e", "v2.0.0-beta.1", "naïve", "E\u0301cole", "日本語", "Ω1"),
    ]
)
TEXTS = st.lists(AWKWARD | st.text(max_size=8), max_size=12).map("".join) | st.text()


@pytest.fixture(scope="module")
def tokenizer(model_files: Path) -> Tokenizer:
    loaded: Tokenizer = Tokenizer.from_file(str(model_files / TOKENIZER.name))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


@pytest.fixture(scope="module")
def counter(tokenizer: Tokenizer) -> WordPieceCounter:
    return WordPieceCounter(tokenizer)


@given(text=TEXTS)
def test_a_text_has_as_many_tokens_as_the_tokenizer_finds(
    tokenizer: Tokenizer, counter: WordPieceCounter, text: str
) -> None:
    """Whatever the counter has met before: it lives through all of these texts."""
    expected = len(tokenizer.encode(text, add_special_tokens=False))
    assert counter.count(text) == expected
    assert counter.count(text) == expected


@pytest.mark.parametrize(
    "text", ["a\x0bb", "a\x1fb", "un\x85believable", "x [MASK]y", "[CLS][SEP]"]
)
def test_what_the_tokenizer_joins_or_keeps_whole_is_counted_so(
    tokenizer: Tokenizer, counter: WordPieceCounter, text: str
) -> None:
    assert counter.count(text) == len(tokenizer.encode(text, add_special_tokens=False))


def test_the_number_of_cached_words_is_limited(tokenizer: Tokenizer) -> None:
    small = WordPieceCounter(tokenizer, max_words=10)
    text = " ".join(f"word{number}" for number in range(50)) + " " + "long" * 40
    assert small.count(text) == len(tokenizer.encode(text, add_special_tokens=False))
    assert len(small._counts) <= 10
