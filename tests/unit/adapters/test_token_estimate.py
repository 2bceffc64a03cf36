"""The estimate of tokens, beside a tokenizer that is here."""

from pathlib import Path
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from surefind.adapters.embedders.model_files import TOKENIZER
from surefind.adapters.embedders.token_estimate import count, cut

DOCS = Path(__file__).parents[3] / "docs"


def test_it_is_a_little_too_high_for_documentation(model_files: Path) -> None:
    tokenizer: Tokenizer = Tokenizer.from_file(str(model_files / TOKENIZER.name))
    tokenizer.no_truncation()
    ratios = []
    for page in DOCS.rglob("*.md"):
        text = page.read_text()
        for start in range(0, len(text) - 1500, 1500):
            passage = text[start : start + 1500]
            true = len(tokenizer.encode(passage, add_special_tokens=False))
            ratios.append(count(passage) / true)
    assert len(ratios) > 30
    assert 1.05 < fmean(ratios) < 1.2
    assert min(ratios) > 0.95
    assert max(ratios) < 1.4


@given(st.text(), st.text())
def test_tokens_add_up_over_white_space(one: str, other: str) -> None:
    assert count(f"{one} {other}") == count(one) + count(other)


@given(st.text(alphabet="ab 1.é漢😀\n"), st.integers(2, 40))
def test_what_is_cut_is_a_beginning_that_fits(text: str, most: int) -> None:
    shorter = cut(text, most)
    assert text.startswith(shorter)
    assert count(shorter) <= most
    assert shorter == text or count(text) > most


def test_a_word_without_an_end_is_cut_too() -> None:
    assert 0 < len(cut("x" * 100_000, 512)) < 3000
    assert cut("tea and coffee", 2) == "tea and"
