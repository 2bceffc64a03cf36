"""Gaps: what users ask and the collection hardly answers, from the query log."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

import numpy as np

from surefind.model import Gap, GapReport, LoggedSearch, NearestPage, question_key
from surefind.ports import Embedder, Matrix
from surefind.services.demand.missing_answers import MissingAnswers
from surefind.services.encoding.confidence import UNRELATED

THIN = 0.5
MAX_QUESTIONS = 3_000
MAX_CHECKED = 1_000
_SHOWN_PAGES = 3
_SHOWN_QUESTIONS = 10
_AT_ONCE = 32
_TYPING = timedelta(seconds=3)
_NEXT_SEARCHES = 20
_LIKENESS = 0.5


@dataclass(frozen=True, slots=True)
class GapOptions:
    """`below` is the confidence under which a question counts; `least` the searches of a gap.

    `possible` also asks for possible gaps, which takes searches.
    """

    since: datetime
    until: datetime
    below: float = THIN
    least: int = 1
    possible: bool = False


async def find_gaps(
    collection: str,
    searches: Sequence[LoggedSearch],
    embedder: Callable[[], Awaitable[Embedder]],
    options: GapOptions,
    missing: MissingAnswers | None = None,
) -> GapReport:
    """`searches` are sorted by time. The embedder is only opened if there is something to group.

    Searches with filters or a threshold don't count: their conditions may be why so little was
    found. With `missing`, the other questions are searched again, the most frequent ones first,
    and those that look unanswered are possible gaps.
    """
    asked = [one for one in typed_out(searches) if not one.filtered]
    judged = [one for one in asked if one.confidence is not None or not one.hits]
    thin = [one for one in judged if confidence_of(one) < options.below]
    possible: list[Gap] = []
    if missing is not None:
        others = [one for one in judged if confidence_of(one) >= options.below]
        unanswered = await _unanswered(others, missing)
        possible = await _gaps(unanswered, embedder, options)
    return GapReport(
        collection=collection,
        since=options.since,
        until=options.until,
        searches=len(asked),
        judged=len(judged),
        thin=len(thin),
        gaps=tuple(await _gaps(thin, embedder, options)),
        possible=tuple(possible),
    )


async def _gaps(
    searches: Sequence[LoggedSearch],
    embedder: Callable[[], Awaitable[Embedder]],
    options: GapOptions,
) -> list[Gap]:
    groups = await _grouped(_by_question(searches), embedder)
    middle = options.since + (options.until - options.since) / 2
    gaps = [_gap(group, middle) for group in groups if len(group) >= options.least]
    return sorted(gaps, key=lambda gap: (-gap.count, gap.confidence, gap.questions))


def _by_question(searches: Sequence[LoggedSearch]) -> Mapping[str, list[LoggedSearch]]:
    by_question: dict[str, list[LoggedSearch]] = defaultdict(list)
    for one in searches:
        by_question[question_key(one.text)].append(one)
    return by_question


async def _unanswered(
    searches: Sequence[LoggedSearch], missing: MissingAnswers
) -> list[LoggedSearch]:
    by_question = _by_question(searches)
    frequent = sorted(by_question, key=lambda key: (-len(by_question[key]), key))[:MAX_CHECKED]
    return [
        one
        for key in frequent
        if await missing.looks_unanswered(by_question[key][0].text)
        for one in by_question[key]
    ]


def confidence_of(search: LoggedSearch) -> float:
    """Without hits, there is no evidence at all."""
    return search.confidence if search.hits and search.confidence is not None else 0.0


def typed_out(searches: Sequence[LoggedSearch]) -> Iterable[LoggedSearch]:
    """Without the beginnings of questions, which a search box sends while the user is typing."""
    for at, one in enumerate(searches):
        following = searches[at + 1 : at + 1 + _NEXT_SEARCHES]
        begun = one.text.casefold()
        if not any(
            later.at - one.at <= _TYPING
            and len(later.text) > len(one.text)
            and later.text.casefold().startswith(begun)
            and later.client == one.client
            for later in following
        ):
            yield one


async def _grouped(
    by_question: Mapping[str, Sequence[LoggedSearch]],
    embedder: Callable[[], Awaitable[Embedder]],
) -> list[list[LoggedSearch]]:
    """Groups of similar questions. Each joins the most similar group of a more frequent one.

    Beyond MAX_QUESTIONS different questions, the rarest ones stay on their own.
    """
    keys = sorted(by_question, key=lambda key: (-len(by_question[key]), key))
    compared = keys[:MAX_QUESTIONS]
    if len(compared) < 2:
        return [list(by_question[key]) for key in keys]
    opened = await embedder()
    vectors = await _embedded([by_question[key][0].text for key in compared], opened)
    likeness = await _least_likeness(opened)
    leaders = np.empty_like(vectors)
    groups: list[list[LoggedSearch]] = []
    for key, vector in zip(compared, vectors, strict=True):
        nearest, best = 0, -1.0
        if groups:
            cosines = leaders[: len(groups)] @ vector
            nearest = int(cosines.argmax())
            best = float(cosines[nearest])
        if best < likeness:
            leaders[len(groups)] = vector
            groups.append([])
            nearest = len(groups) - 1
        groups[nearest].extend(by_question[key])
    return [*groups, *(list(by_question[key]) for key in keys[MAX_QUESTIONS:])]


async def _embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    rows = []
    for start in range(0, len(texts), _AT_ONCE):
        page = texts[start : start + _AT_ONCE]
        rows.extend(await asyncio.gather(*(embedder.embed_query(text) for text in page)))
    vectors = np.array(rows, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normal: Matrix = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return normal


async def _least_likeness(embedder: Embedder) -> float:
    """The cosine from which questions are similar: halfway from unrelated ones to equal ones.

    Cosines are not comparable across models, so it is measured with everyday questions.
    """
    vectors = await _embedded(UNRELATED, embedder)
    cosines = vectors @ vectors.T
    pairs = cosines[np.triu_indices(len(vectors), 1)]
    unrelated = float(pairs.mean())
    return unrelated + _LIKENESS * (1 - unrelated)


def _gap(searches: Sequence[LoggedSearch], middle: datetime) -> Gap:
    texts: dict[str, str] = {}
    for one in searches:
        texts.setdefault(question_key(one.text), " ".join(one.text.split()))
    asked = Counter(question_key(one.text) for one in searches)
    pages = Counter((one.url, one.title) for one in searches if one.url)
    clients = {one.client for one in searches if one.client}
    return Gap(
        questions=tuple(texts[key] for key, _ in asked.most_common(_SHOWN_QUESTIONS)),
        count=len(searches),
        recent=sum(one.at >= middle for one in searches),
        confidence=fmean(confidence_of(one) for one in searches),
        nearest=tuple(
            NearestPage(url, title, times)
            for (url, title), times in pages.most_common(_SHOWN_PAGES)
        ),
        first=min(one.at for one in searches),
        last=max(one.at for one in searches),
        clients=len(clients) or None,
    )
