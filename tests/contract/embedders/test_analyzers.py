"""What every analyzer promises."""

import pytest

from support.fakes import WordAnalyzer
from surefind.adapters.qdrant.edge import Bm25Analyzer
from surefind.ports import Analyzer


class AnalyzerContract:
    @pytest.fixture
    def analyzer(self) -> Analyzer:
        raise NotImplementedError

    def test_words_become_terms_of_their_own(self, analyzer: Analyzer) -> None:
        terms = [analyzer.terms(word) for word in ("fox", "dog", "cat")]
        assert all(len(term) == 1 for term in terms)
        assert len(set(terms)) == 3

    def test_the_same_word_is_always_the_same_term(self, analyzer: Analyzer) -> None:
        assert analyzer.terms("fox") == type(analyzer)().terms("fox")

    def test_terms_fit_the_index(self, analyzer: Analyzer) -> None:
        for word in ("fox", "größe", "x" * 1000, "日本", "7", "snake_case"):
            assert all(0 <= term < 2**32 for term in analyzer.terms(word))

    def test_it_has_a_name(self, analyzer: Analyzer) -> None:
        assert analyzer.name


class TestWordAnalyzer(AnalyzerContract):
    @pytest.fixture
    def analyzer(self) -> Analyzer:
        return WordAnalyzer()


class TestBm25(AnalyzerContract):
    @pytest.fixture
    def analyzer(self) -> Analyzer:
        return Bm25Analyzer()

    def test_stop_words_say_nothing_and_forms_of_a_word_are_one(self) -> None:
        analyzer = Bm25Analyzer()
        assert not analyzer.terms("the")
        assert analyzer.terms("install") == analyzer.terms("installing") != ()
