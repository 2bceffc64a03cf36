"""What the words of a query say about the evidence, which the similarity hardly shows.

To a model, `E04` is nearly nothing, and every `How do I install …?` is close to an installation
guide. So a rare code that a hit contains is evidence for an answer. Evidence against one is a name
that the collection does not contain at all, a word in capitals that no hit has in capitals, as
`SELECT` in documentation about selectors, and few words in common with the best hits. Each shifts
the logarithm of the odds, so that a very high or low similarity still decides.
"""

import re
from collections.abc import Sequence

from surefind.model import Confidence, Hit, SparseVector
from surefind.ports import SparseQuery, VectorIndex
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.confidence import shifted

_FOUND, _ABSENT = 3.5, -3.0
"""A shift of 3 turns odds of 9:1 into 1:2."""
_OTHER_CASE, _MOST_OTHER_CASE = -1.6, 2
_COVERAGE, _SLOPE = 0.4, 8.0
"""A smaller share of words in a hit counts against it; up to this one, judged questions lose
nothing. The largest shift is -3.2."""
_BEST_HITS = 3
_MOST_NAMES, _MOST_TERMS = 4, 32
_RARE_SHARE, _RARE = 0.01, 3
_WORD = re.compile(r"\w+")
_CODE = re.compile(r"(?=\w*[^\W\d])(?=\w*\d)\w{2,}|[^\W_]+_\w*[^\W_]|\w*[a-z][A-Z]\w*")
_NAME = re.compile(r"\b[a-z]\w*,? ([A-Z][a-z]{2,})\b")
"""A word with a capital after one in small letters. Titles And Headings have no such names."""
_MAY_HAVE_NAMES = re.compile(r"[\d_]|[a-z][A-Z]|[\w,] [A-Z][a-z]{2}")
"""Part of every code and name. Queries without it need not be split into words."""
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
Searched = Sequence[tuple[VectorIndex, int]]
"""Each index that was searched, with its number of chunks."""


async def with_words(
    confidence: Confidence,
    text: str,
    hits: Sequence[Hit],
    indexes: Searched,
    encoder: Bm25Encoder,
    languages: Sequence[str],
) -> Confidence:
    """`languages` are those of the pages that were searched."""
    best = hits[:_BEST_HITS]
    shift = await _of_names(text, best, indexes, encoder, languages)
    if shift <= 0:
        shift += _of_capitals(text, best) + await _of_coverage(text, best, indexes, encoder)
    return shifted(confidence, shift) if shift else confidence


async def _of_names(
    text: str,
    hits: Sequence[Hit],
    indexes: Searched,
    encoder: Bm25Encoder,
    languages: Sequence[str],
) -> float:
    if _MAY_HAVE_NAMES.search(text) is None:
        return 0.0
    codes = [word for word in _WORD.findall(text) if _CODE.fullmatch(word)]
    names = list(dict.fromkeys([*codes, *_NAME.findall(text)]))[:_MOST_NAMES]
    shift = 0.0
    for name in names:
        terms = {encoder.whole(name, language) for language in languages}
        found = [[await _count(term, indexes) for term in whole] for whole in terms]
        if all(0 in counts for counts in found):
            return _ABSENT
        counts = [count for counts in found if 0 not in counts for count in counts]
        rare = any(count <= _most(indexes) for count in counts)
        if name in codes and rare and _is_in(name, hits, encoder):
            shift = _FOUND
    return shift


def _of_capitals(text: str, hits: Sequence[Hit]) -> float:
    """Nothing if the whole text is in capitals."""
    words = set(_CAPITALS.findall(text))
    if not words or text == text.upper():
        return 0.0
    for hit in hits:
        words -= set(_CAPITALS.findall(hit.record.chunk.passage))
    return _OTHER_CASE * min(len(words), _MOST_OTHER_CASE)


async def _of_coverage(
    text: str, hits: Sequence[Hit], indexes: Searched, encoder: Bm25Encoder
) -> float:
    """By the words that the collection has: questions in other languages hardly have any."""
    wanted: list[set[int]] = []
    found: list[set[int]] = []
    for hit in hits:
        words = encoder.words(text, hit.record.language)
        has = words & encoder.passage_words(hit.record.chunk.passage, hit.record.language)
        if _share(has, words) >= _COVERAGE:
            return 0.0
        wanted.append(words)
        found.append(has)
    if not found:
        return 0.0
    in_hits = set().union(*found)
    others = sorted(set().union(*wanted) - in_hits)[:_MOST_TERMS]
    known = in_hits | await _known(others, indexes)
    best = max(_share(has, words & known) for has, words in zip(found, wanted, strict=True))
    return _SLOPE * min(0.0, best - _COVERAGE)


def _share(found: set[int], wanted: set[int]) -> float:
    """One word alone says nothing."""
    return len(found) / len(wanted) if len(wanted) > 1 else 1.0


async def _known(terms: Sequence[int], indexes: Searched) -> set[int]:
    """The terms that some passage has."""
    queries = [SparseQuery(SparseVector((term,), (1.0,)), 1) for term in terms]
    known: set[int] = set()
    for index, _ in indexes:
        if queries:
            rankings = await index.search(queries)
            known |= {term for term, found in zip(terms, rankings, strict=True) if found.points}
    return known


async def _count(term: int, indexes: Searched) -> int:
    """In how many passages a term is, counted until it is too frequent to be rare."""
    query = SparseQuery(SparseVector((term,), (1.0,)), _most(indexes) + 1)
    return sum([len((await index.search([query]))[0].points) for index, _ in indexes])


def _most(indexes: Searched) -> int:
    return max(_RARE, int(_RARE_SHARE * sum(chunks for _, chunks in indexes)))


def _is_in(name: str, hits: Sequence[Hit], encoder: Bm25Encoder) -> bool:
    return any(
        set(encoder.whole(name, language))
        <= encoder.passage_words(hit.record.chunk.passage, language)
        for hit in hits
        for language in [hit.record.language]
    )
