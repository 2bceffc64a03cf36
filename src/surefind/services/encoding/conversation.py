"""Follow-up questions, encoded in the context of their conversation, without a language model.

"How does it work?" says little alone. Earlier questions and the last answer are mixed into both
legs: as decayed vectors, and as decayed terms. How much depends on two signs. A question that is
short or refers back needs context, and one with many words of its own needs nothing. A question
about another subject is less similar to the conversation than to nothing in particular, which is
measured with everyday questions, since cosines of different models can't be compared.

The weights were chosen on real conversations, and so that questions that stand alone lose nothing
after an unrelated conversation; `make bench-conversations` prints the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from surefind.errors import InputError
from surefind.model import DEFAULT_LANGUAGE, Mode, Query, SparseVector, Speaker, Turn
from surefind.model.strings import check_string
from surefind.ports import QueryEmbedder, Vector
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.confidence import UNRELATED

MAX_TURNS = 1000
MAX_TURN_LENGTH = 20_000
NOTE = "searched in the context of the conversation"

_ROLES: Mapping[str, Speaker | None] = {
    "user": Speaker.USER,
    "human": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "ai": Speaker.ASSISTANT,
    "agent": Speaker.ASSISTANT,
    "system": None,
    "developer": None,
    "tool": None,
    "function": None,
}
"""Names of other programs; turns of the last four are ignored."""
_QUESTIONS = 4
"""With half the weight for each step back, earlier questions hardly count."""
_LONGEST = 2000

_DECAY = 0.5
_QUESTION_VECTOR, _ANSWER_VECTOR = 0.15, 0.2
_QUESTION_TERMS, _ANSWER_TERMS = 0.15, 0.05
_FULL, _PART = 1.0, 0.4
_RELATED, _PERHAPS, _HARDLY = 0.2, 0.1, 0.05
_FEW_WORDS, _MANY_WORDS = 2, 6
_EVERYDAY = 16

_WORD = re.compile(r"[\w'-]{2,}")
_REFERRING = re.compile(
    r"\b(it|its|they|them|their|theirs|this|these|those|he|him|his|she|her|hers)\b", re.IGNORECASE
)
_EMPTY_WORDS = frozenset(
    """
    about again all also am an and another any are as at be because been being between both but by
    can could did do does doing during each else explain few for from get give got had has have he
    hello her here hers hi him his how i'm if in instead into is it its just know let like many may
    mean me might more most much must my need no not of ok okay on one ones or other others our out
    over own please really said same say shall she should so some such sure tell than thank thanks
    that the their theirs them then there these they think this those to too under until up us use
    used using very vs want was we were what when where which who whom whose why will with would yes
    you your
    """.split()  # noqa: SIM905 - a list of words reads better in a column
)


class RecentTurns(NamedTuple):
    """The last questions, latest first, and the last answer."""

    questions: Sequence[str]
    answer: str | None


class ContextualQuery(NamedTuple):
    """`strength` is the share of the context's full weight: 0 for a question that needs nothing."""

    vector: Vector | None
    terms: SparseVector | None
    strength: float


def read_history(history: object) -> tuple[Turn, ...]:
    """The turns that count, oldest first; InputError if one is invalid.

    A turn is a `Turn`, a mapping with `role` and `content`, or a string for a question. Turns
    without text and those of a system or a tool are ignored.
    """
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Sequence):
        raise InputError("history must be a list of turns, oldest first")
    if len(history) > MAX_TURNS:
        raise InputError(
            f"history: it has {len(history)} turns; at most {MAX_TURNS} are allowed, and only the "
            "last few count"
        )
    turns = [turn for at, one in enumerate(history) if (turn := _turn(f"history.{at}", one))]
    return _latest(turns)


def _turn(place: str, one: object) -> Turn | None:
    role: object = Speaker.USER
    text: object = one
    if isinstance(one, Turn):
        role, text = one
    elif isinstance(one, Mapping):
        role, text = one.get("role"), one.get("content")
    if not isinstance(text, str):
        raise InputError(
            f"{place}: a turn must be a text, or an object with role and content, both texts"
        )
    if not isinstance(role, str) or role.lower() not in _ROLES:
        raise InputError(f"{place}: unknown role {role!r}; use user or assistant")
    check_string(place, text, MAX_TURN_LENGTH)
    known = _ROLES[role.lower()]
    return Turn(known, text.strip()[:_LONGEST]) if known and text.strip() else None


def _latest(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The last questions and the last answer: other turns don't count."""
    asked = [at for at, turn in enumerate(turns) if turn.role is Speaker.USER]
    answered = [at for at, turn in enumerate(turns) if turn.role is Speaker.ASSISTANT]
    return tuple(turns[at] for at in sorted((*asked[-_QUESTIONS:], *answered[-1:])))


def context_of(history: Sequence[Turn]) -> RecentTurns:
    questions = [turn.text for turn in history if turn.role is Speaker.USER]
    answers = [turn.text for turn in history if turn.role is Speaker.ASSISTANT]
    return RecentTurns(questions[::-1], answers[-1] if answers else None)


def standalone_text(query: Query, strength: float) -> str:
    """The text for a reranker, which reads words: a follow-up comes after its last question."""
    questions = context_of(query.history).questions
    return f"{questions[0]}\n{query.text}" if strength and questions else query.text


async def encode(
    query: Query,
    embedder: QueryEmbedder,
    encoder: Bm25Encoder,
    languages: Sequence[str] = (DEFAULT_LANGUAGE,),
    meant: str = "",
) -> ContextualQuery:
    """The query for both legs, as far as its mode needs them; words are read in the languages.

    `meant` is the text to embed, if it differs from that of the query.
    """
    vector = terms = None
    if query.mode is not Mode.LEXICAL:
        vector = await embedder.embed_query(meant or query.text)
    if query.mode is not Mode.DENSE:
        terms = encoder.query(query.text, languages)
    if not query.history:
        return ContextualQuery(vector, terms, 0.0)
    context = context_of(query.history)
    if vector is None:
        strength = _FULL if is_incomplete(query.text) else 0.0
    else:
        vectors = await _embedded(context, embedder)
        related = await _relatedness(vector, vectors, embedder)
        strength = strength_of(query.text, related)
        vector = _mixed(vector, vectors, strength)
    if terms is not None and strength:
        terms = _extended(terms, context, strength, partial(encoder.query, languages=languages))
    return ContextualQuery(vector, terms, strength)


def is_incomplete(text: str) -> bool:
    """Whether a question has few words of its own, or refers back and has not many."""
    words = _own_words(text)
    return words <= _FEW_WORDS or (words <= _MANY_WORDS and bool(_REFERRING.search(text)))


def strength_of(text: str, related: float) -> float:
    """The share of the full weight; `related` is 0 for unrelated texts and 1 for equal ones."""
    words = _own_words(text)
    says_nothing = words < _FEW_WORDS + bool(_REFERRING.search(text))
    if says_nothing and related >= _HARDLY:  # such a question is not similar to anything
        return _FULL
    if related < _PERHAPS or words > _MANY_WORDS:
        return 0.0
    return _FULL if related >= _RELATED and is_incomplete(text) else _PART


def _own_words(text: str) -> int:
    return sum(word not in _EMPTY_WORDS for word in _WORD.findall(text.lower()))


async def _embedded(context: RecentTurns, embedder: QueryEmbedder) -> list[tuple[Vector, float]]:
    """The vector of each turn and its weight."""
    texts = [*context.questions, *((context.answer,) if context.answer else ())]
    weights = [_QUESTION_VECTOR * _DECAY**step for step in range(len(context.questions))]
    rows = await embedder.embed_queries(texts)
    return list(
        zip((row.vector for row in rows), (*weights, _ANSWER_VECTOR)[: len(rows)], strict=True)
    )


async def _relatedness(
    vector: Vector, turns: Sequence[tuple[Vector, float]], embedder: QueryEmbedder
) -> float:
    """How similar the question is to the last question or answer, beyond everyday questions."""
    everyday = [row.vector for row in await embedder.embed_queries(UNRELATED[:_EVERYDAY])]
    usual = float(np.mean(np.stack(everyday) @ vector))
    last = [turns[0][0], turns[-1][0]] if turns else []
    best = max((float(one @ vector) for one in last), default=usual)
    return (best - usual) / max(1 - usual, 1e-6)


def _mixed(vector: Vector, turns: Sequence[tuple[Vector, float]], strength: float) -> Vector:
    mixed = vector.astype(np.float32)
    for one, weight in turns:
        mixed = mixed + np.float32(strength * weight) * one
    length = float(np.linalg.norm(mixed))
    return mixed / np.float32(length) if strength and length else vector


def _extended(
    terms: SparseVector,
    context: RecentTurns,
    strength: float,
    terms_of: Callable[[str], SparseVector],
) -> SparseVector:
    weights = dict(zip(terms.ids, terms.weights, strict=True))
    parts = [
        (question, _QUESTION_TERMS * _DECAY**step)
        for step, question in enumerate(context.questions)
    ]
    if context.answer:
        parts.append((context.answer, _ANSWER_TERMS))
    for text, weight in parts:
        added = terms_of(text)
        for term, count in zip(added.ids, added.weights, strict=True):
            weights[term] = weights.get(term, 0.0) + strength * weight * count
    ordered = sorted(weights)
    return SparseVector(tuple(ordered), tuple(weights[term] for term in ordered))
