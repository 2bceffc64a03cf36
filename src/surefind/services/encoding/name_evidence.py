"""What the names in a query say about the evidence, which the similarity hardly shows.

To a model, `E04` is nearly nothing, and every `How do I install …?` is close to an installation
guide. So a rare code that a hit contains is evidence for an answer, and a name that the collection
does not contain at all is evidence against one. Both shift the logarithm of the odds, so that a
very high or low similarity still decides.
"""

import re
from collections.abc import Sequence

from surefind.model import Confidence, Hit, SparseVector
from surefind.ports import SparseQuery, VectorIndex
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.confidence import shifted

_FOUND, _ABSENT = 3.5, -3.0
"""A shift of 3 turns odds of 9:1 into 1:2."""
_MOST_NAMES = 4
_RARE_SHARE, _RARE = 0.01, 3
_WORD = re.compile(r"\w+")
_CODE = re.compile(r"(?=\w*[^\W\d])(?=\w*\d)\w{2,}|[^\W_]+_\w*[^\W_]|\w*[a-z][A-Z]\w*")
_NAME = re.compile(r"\b[a-z]\w*,? ([A-Z][a-z]{2,})\b")
"""A word with a capital after one in small letters. Titles And Headings have no such names."""
_MAY_HAVE_NAMES = re.compile(r"[\d_]|[a-z][A-Z]|[\w,] [A-Z][a-z]{2}")
"""Part of every code and name. Queries without it need not be split into words."""


async def with_names(
    confidence: Confidence,
    text: str,
    hits: Sequence[Hit],
    indexes: Sequence[tuple[VectorIndex, int]],
    encoder: Bm25Encoder,
    languages: Sequence[str],
) -> Confidence:
    """`indexes`: each index that was searched, with its number of chunks.

    `languages` are those of the pages that were searched.
    """
    if _MAY_HAVE_NAMES.search(text) is None:
        return confidence
    codes = [word for word in _WORD.findall(text) if _CODE.fullmatch(word)]
    names = list(dict.fromkeys([*codes, *_NAME.findall(text)]))[:_MOST_NAMES]
    shift = 0.0
    for name in names:
        terms = {encoder.whole(name, language) for language in languages}
        found = [[await _count(term, indexes) for term in whole] for whole in terms]
        if all(0 in counts for counts in found):
            return shifted(confidence, _ABSENT)
        counts = [count for counts in found if 0 not in counts for count in counts]
        rare = any(count <= _most(indexes) for count in counts)
        if name in codes and rare and _is_in(name, hits, encoder):
            shift = _FOUND
    return shifted(confidence, shift) if shift else confidence


async def _count(term: int, indexes: Sequence[tuple[VectorIndex, int]]) -> int:
    """In how many passages a term is, counted until it is too frequent to be rare."""
    query = SparseQuery(SparseVector((term,), (1.0,)), _most(indexes) + 1)
    return sum([len((await index.search([query]))[0].points) for index, _ in indexes])


def _most(indexes: Sequence[tuple[VectorIndex, int]]) -> int:
    return max(_RARE, int(_RARE_SHARE * sum(chunks for _, chunks in indexes)))


def _is_in(name: str, hits: Sequence[Hit], encoder: Bm25Encoder) -> bool:
    return any(
        set(encoder.whole(name, language)) <= encoder.words(hit.record.chunk.passage, language)
        for hit in hits[:_RARE]
        for language in [hit.record.language]
    )
