"""What counts as a term, BM25's weights, and the mean length they depend on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import WordAnalyzer
from surefind.adapters.qdrant.edge import Bm25Analyzer
from surefind.model import SparseVector
from surefind.services.encoding.bm25 import PAIR_WEIGHT, Bm25Encoder, identifier_parts, mean_on_grid

SIMPLE = Bm25Encoder(WordAnalyzer())
ENGLISH = Bm25Encoder(Bm25Analyzer())


def term(word: str) -> int:
    return WordAnalyzer().terms(word)[0]


def weights(terms: SparseVector) -> dict[int, float]:
    assert list(terms.ids) == sorted(set(terms.ids))
    return dict(zip(terms.ids, terms.weights, strict=True))


def test_weights_are_those_of_bm25() -> None:
    """k1 = 1.2, b = 0.75: worked by hand for a passage of twice the mean length."""
    stored = weights(SIMPLE.passage("fox dog dog dog", mean_terms=2.0))
    norm = 1.2 * (0.25 + 0.75 * 4 / 2)
    assert stored[term("fox")] == pytest.approx(2.2 / (1 + norm))
    assert stored[term("dog")] == pytest.approx(3 * 2.2 / (3 + norm))
    assert len(stored) == 3  # and the pair fox dog; dog dog is none
    assert SIMPLE.length("fox dog dog dog") == 4


def test_no_words_weigh_nothing() -> None:
    nothing = SparseVector((), ())
    assert SIMPLE.passage("…!?", 1.0) == SIMPLE.query(" \n") == nothing
    assert ENGLISH.query("the of and") == nothing


def test_a_question_weighs_what_it_repeats_and_pairs_a_fifth() -> None:
    asked = weights(SIMPLE.query("Fox dog FOX"))
    assert asked[term("fox")] == 2
    assert asked[term("dog")] == 1
    pairs = {key: weight for key, weight in asked.items() if key not in map(term, ("fox", "dog"))}
    assert list(pairs.values()) == [PAIR_WEIGHT, PAIR_WEIGHT]


def test_a_pair_has_an_order_and_bridges_what_says_nothing() -> None:
    machine_learning = set(ENGLISH.query("machine learning").ids)
    assert set(ENGLISH.query("machines of learning").ids) == machine_learning
    assert set(ENGLISH.query("learning machines").ids) != machine_learning


def test_many_occurrences_are_counted_exactly() -> None:
    assert SIMPLE.length("fox " * 700) == 700
    assert weights(SIMPLE.query("fox " * 700)) == {term("fox"): 700}


@pytest.mark.parametrize(
    ("word", "inside"),
    [
        ("max_tokens", ("max", "tokens")),
        ("__init__", ()),
        ("_private_name", ("private", "name")),
        ("useEffect", ("use", "Effect")),
        ("parseHTMLDocument", ("parse", "HTML", "Document")),
        ("HtmlWebpackPlugin", ("Html", "Webpack", "Plugin")),
        ("MAX_TOP_K", ("MAX", "TOP", "K")),
        ("JavaScript", ()),
        ("PostgreSQL", ()),
        ("iPhone", ()),
        ("HTTP", ()),
        ("plain", ()),
        ("x", ()),
    ],
)
def test_what_a_word_is_made_of(word: str, inside: tuple[str, ...]) -> None:
    assert identifier_parts(word) == inside


def test_an_identifier_is_found_by_its_name_and_by_its_parts() -> None:
    stored = set(ENGLISH.passage("call get_user_name first", 3.0).ids)
    for query in ("get_user_name", "user name", "getUserName"):
        asked = set(ENGLISH.query(query).ids)
        assert asked & stored, query
    assert set(ENGLISH.query("get_user_name").ids) <= stored
    assert set(ENGLISH.query("user name").ids) <= stored


def test_matching_words_are_found_where_they_stand() -> None:
    text = "Installing it: the installer of max_tokens."
    found = ENGLISH.matches(text, "how to install tokens")
    assert [text[start:end] for start, end in found] == ["Installing", "installer", "max_tokens"]
    assert ENGLISH.matches(text, "the of") == []


def test_the_word_cache_is_rebuilt_when_it_is_full() -> None:
    reader = Bm25Encoder(WordAnalyzer(), max_words=3)
    text = "one two three four five one"
    assert reader.query(text) == SIMPLE.query(text)
    assert len(reader._known["en"]) <= 3


@given(st.text(max_size=80))
def test_whatever_is_read_gives_sound_terms(text: str) -> None:
    for terms in (ENGLISH.query(text), ENGLISH.passage(text, 5.0)):
        assert all(0 <= key < 2**32 for key in terms.ids)
        assert all(weight > 0 for weight in terms.weights)
        weights(terms)
    for start, end in ENGLISH.matches(text, text):
        assert 0 <= start < end <= len(text)


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_the_grid_is_within_five_percent_of_the_mean(total: int, chunks: int) -> None:
    mean = mean_on_grid(total, chunks)
    assert mean >= 1
    if total >= chunks:
        assert abs(math.log(mean / (total / chunks))) < 0.06


def test_a_small_change_stays_on_the_grid_and_an_empty_collection_has_a_mean() -> None:
    assert mean_on_grid(100_000, 1000) == mean_on_grid(100_900, 1003)
    assert mean_on_grid(100_000, 1000) != mean_on_grid(120_000, 1000)
    assert mean_on_grid(0, 0) == mean_on_grid(0, 5) == mean_on_grid(3, 5) == 1.0
