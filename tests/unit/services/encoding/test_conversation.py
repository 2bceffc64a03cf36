"""Follow-ups are searched in their conversation; questions that stand alone are left alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import WordAnalyzer, WordEmbedder
from surefind.errors import InputError
from surefind.model import Mode, Query, SparseVector, Speaker, Turn
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.conversation import (
    MAX_TURN_LENGTH,
    MAX_TURNS,
    encode,
    is_incomplete,
    read_history,
    standalone_text,
    strength_of,
)

USER, ASSISTANT = Speaker.USER, Speaker.ASSISTANT


def test_turns_are_read_in_the_forms_of_other_programs() -> None:
    assert read_history(
        [
            {"role": "system", "content": "You are helpful."},
            {"role": "human", "content": " How do I install it? "},
            {"role": "AI", "content": "With pip."},
            "And on Windows?",
            Turn(ASSISTANT, "With the installer."),
            {"role": "tool", "content": "{}"},
            {"role": "user", "content": "  "},
        ]
    ) == (
        Turn(USER, "How do I install it?"),
        Turn(USER, "And on Windows?"),
        Turn(ASSISTANT, "With the installer."),
    )
    assert read_history([]) == ()


def test_only_the_last_turns_count() -> None:
    turns = [
        {"role": role, "content": f"{role} {number}"}
        for number in range(MAX_TURNS // 2)
        for role in ("user", "assistant")
    ]
    assert [turn.text for turn in read_history(turns)] == [
        "user 496",
        "user 497",
        "user 498",
        "user 499",
        "assistant 499",
    ]
    assert read_history([{"role": "user", "content": "word " * 1000}])[0].text == "word " * 400


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ("How?", "history must be a list of turns"),
        ({"role": "user", "content": "How?"}, "history must be a list of turns"),
        (7, "history must be a list of turns"),
        ([{"role": "user", "content": "How?"}] * (MAX_TURNS + 1), "it has 1001 turns; at most"),
        (["fine", {"role": "judge", "content": "No."}], "history.1: unknown role 'judge'"),
        ([{"content": "No."}], "history.0: unknown role None"),
        ([{"role": ["user"], "content": "No."}], "unknown role"),
        ([{"role": "user", "text": "No."}], "history.0: a turn must be a text, or an object"),
        ([{"role": "user", "content": [{"type": "text"}]}], "a turn must be a text"),
        ([None], "history.0: a turn must be a text"),
        (["half \ud800 a character"], "history.0: it contains a lone surrogate"),
        (["a\0b"], "history.0: it contains a NUL"),
        (["x" * (MAX_TURN_LENGTH + 1)], "history.0: it has 20001 characters"),
        ([Turn("judge", "No.")], "unknown role 'judge'"),  # type: ignore[arg-type]
    ],
)
def test_other_histories_are_refused_and_the_turn_is_named(history: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_history(history)


@given(st.lists(st.one_of(st.text(), st.dictionaries(st.text(), st.text()), st.none())))
def test_any_list_is_read_or_refused(history: list[object]) -> None:
    try:
        turns = read_history(history)
    except InputError as error:
        assert str(error).startswith("history")  # noqa: PT017 - either outcome is right
    else:
        assert all(turn.text.strip() for turn in turns)


@pytest.mark.parametrize(
    ("text", "incomplete"),
    [
        ("How does it work?", True),
        ("And the price?", True),
        ("Why?", True),
        ("What are their opening hours on Sunday?", True),
        ("How do I configure the thermostat for a weekend?", False),
        ("How does it change the boiler pressure limits after a power failure?", False),
    ],
)
def test_questions_with_few_words_of_their_own_are_incomplete(text: str, incomplete: bool) -> None:
    assert is_incomplete(text) is incomplete


def test_the_context_counts_as_far_as_it_is_needed_and_related() -> None:
    assert strength_of("How does it work?", related=0.06) == 1
    assert strength_of("How does it work?", related=0.04) == 0
    assert strength_of("What are their opening hours?", related=0.06) == 1
    assert strength_of("And the delivery price?", related=0.06) == 0
    assert strength_of("What are their opening hours on Sunday?", related=0.25) == 1
    assert strength_of("What are their opening hours on Sunday?", related=0.15) == 0.4
    assert strength_of("When does the weekend schedule start?", related=0.5) == 0.4
    long = "Which pressure limits does the boiler controller apply after power failures?"
    assert strength_of(long, related=0.9) == 0


# --- encoding -----------------------------------------------------------------------------------

ENCODER = Bm25Encoder(WordAnalyzer())
EMBEDDER = WordEmbedder(256)
ABOUT_BOILERS = (
    Turn(USER, "boiler pressure too low"),
    Turn(ASSISTANT, "Open the valve of the boiler."),
)


def weights(terms: SparseVector) -> dict[int, float]:
    return dict(zip(terms.ids, terms.weights, strict=True))


async def test_a_question_without_a_conversation_is_encoded_as_always() -> None:
    for mode in Mode:
        query = Query("how does the boiler work", mode=mode)
        vector, terms, strength = await encode(query, EMBEDDER, ENCODER)
        assert strength == 0
        assert (vector is None) == (mode is Mode.LEXICAL)
        assert (terms is None) == (mode is Mode.DENSE)
        assert vector is None or np.array_equal(vector, EMBEDDER.embed(query.text))
        assert terms is None or terms == ENCODER.query(query.text)


async def test_a_follow_up_takes_vectors_and_terms_of_its_conversation() -> None:
    query = Query("boiler too low, why?", history=ABOUT_BOILERS)
    vector, terms, strength = await encode(query, EMBEDDER, ENCODER)
    assert strength == 1
    assert vector is not None
    assert terms is not None
    own, question, answer = map(EMBEDDER.embed, (query.text, *(t.text for t in ABOUT_BOILERS)))
    mixed = own + 0.15 * question + 0.2 * answer
    assert np.allclose(vector, mixed / np.linalg.norm(mixed), atol=1e-6)
    plain, extended = weights(ENCODER.query(query.text)), weights(terms)
    [valve], [pressure], [low] = (WordAnalyzer().terms(w) for w in ("valve", "pressure", "low"))
    assert extended[valve] == pytest.approx(0.05)
    assert extended[pressure] == pytest.approx(0.15)
    assert extended[low] == pytest.approx(plain[low] + 0.15)


async def test_earlier_questions_count_half_as_much_with_each_step() -> None:
    history = (Turn(USER, "alpha boiler"), Turn(USER, "beta boiler"), Turn(USER, "gamma boiler"))
    _, terms, _ = await encode(
        Query("its boiler?", mode=Mode.LEXICAL, history=history), EMBEDDER, ENCODER
    )
    assert terms is not None
    counts = [weights(terms)[WordAnalyzer().terms(w)[0]] for w in ("gamma", "beta", "alpha")]
    assert counts == pytest.approx([0.15, 0.075, 0.0375])


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("where do llamas sleep at night", Mode.HYBRID),  # about something else
        ("which boiler pressure valve limits apply after long power failures", Mode.HYBRID),
        ("which boiler pressure applies on Sunday", Mode.LEXICAL),
    ],
)
async def test_a_complete_question_is_not_changed(text: str, mode: Mode) -> None:
    alone, after = Query(text, mode=mode), Query(text, mode=mode, history=ABOUT_BOILERS)
    vector, terms, strength = await encode(after, EMBEDDER, ENCODER)
    plain, plain_terms, _ = await encode(alone, EMBEDDER, ENCODER)
    assert strength == 0
    assert terms == plain_terms
    if vector is not None and plain is not None:
        assert np.array_equal(vector, plain)
    assert (vector is None) == (mode is Mode.LEXICAL)
    assert standalone_text(after, strength) == text


def test_a_reranker_reads_a_follow_up_after_its_question() -> None:
    query = Query("and why?", history=ABOUT_BOILERS)
    assert standalone_text(query, 1.0) == "boiler pressure too low\nand why?"
    only_answers = Query("and why?", history=ABOUT_BOILERS[1:])
    assert standalone_text(only_answers, 1.0) == "and why?"
