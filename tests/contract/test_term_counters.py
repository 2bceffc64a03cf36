"""What every term counter promises."""

import pytest

from fakes import WordCounter
from surefind.adapters.qdrant_edge import Bm25TermCounter
from surefind.ports import TermCounter


class TermCounterContract:
    @pytest.fixture
    def counter(self) -> TermCounter:
        raise NotImplementedError

    def test_counts_are_whole_and_belong_to_distinct_terms(self, counter: TermCounter) -> None:
        terms = counter.count("fox dog fox cat fox dog")
        assert sorted(terms.weights) == [1.0, 2.0, 3.0]
        assert len(set(terms.ids)) == 3

    def test_order_and_case_do_not_matter(self, counter: TermCounter) -> None:
        one, other = counter.count("Fox dog"), counter.count("dog FOX")
        assert dict(zip(one.ids, one.weights, strict=True)) == dict(
            zip(other.ids, other.weights, strict=True)
        )

    def test_no_words_no_terms(self, counter: TermCounter) -> None:
        assert counter.count("") == counter.count(" \n") == counter.count("…!?")
        assert not counter.count("").ids

    def test_many_occurrences_are_counted_exactly(self, counter: TermCounter) -> None:
        assert counter.count("fox " * 700).weights == (700.0,)


class TestWordCounter(TermCounterContract):
    @pytest.fixture
    def counter(self) -> TermCounter:
        return WordCounter()


class TestBm25(TermCounterContract):
    @pytest.fixture
    def counter(self) -> TermCounter:
        return Bm25TermCounter()

    def test_stop_words_count_nothing_and_forms_of_a_word_are_one(self) -> None:
        counter = Bm25TermCounter()
        assert not counter.count("the of and to").ids
        assert counter.count("install").ids == counter.count("installing").ids
