"""One test against its hits, and which chunks its expectations mean."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes import record
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    ByName,
    BySource,
    ByText,
    Expectation,
)
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.evaluation.golden.resolution import ResolvedExpectations, Resolver, quoted_on
from surefind.evaluation.measures.ranking import Measure
from surefind.evaluation.report.judging import judge
from surefind.evaluation.report.report import Outcome
from surefind.model import ChunkRecord

MEASURES = [Measure.parse(name) for name in ("R@5", "MRR", "P@2", "judged@5")]
PAGE, QUOTE, CHUNK = BySource("docs/a.md"), ByText("words"), ByChunk("c9", grade=3)


def of(meaning: ResolvedExpectations, hits: list[str], *wrong: Expectation) -> dict[str, float]:
    expected = tuple(one for one in meaning if one not in wrong)
    test = GoldenTest("t", "What?", expected=expected, known_wrong=wrong)
    return dict(judge(test, meaning, hits, MEASURES).measures)


def test_a_page_is_found_once_and_its_further_chunks_are_passed_over() -> None:
    test = GoldenTest("t", "What?", expected=(PAGE, CHUNK))
    meaning: ResolvedExpectations = {PAGE: frozenset({"c1", "c2"}), CHUNK: frozenset({"c9"})}
    judged = judge(test, meaning, ["x", "c2", "c1", "c9"], MEASURES)
    assert judged.labels == (("x",), ("expected-1",), (), ("c9",))
    assert [one.rank for one in judged.sought] == [2, 4]
    assert [one.grade for one in judged.sought] == [1, 3]
    assert judged.accuracy == 1.0
    assert judged.measures == {"R@5": 1.0, "MRR": 0.5, "P@2": 0.5, "judged@5": 2 / 3}


def test_a_hit_can_meet_two_expectations() -> None:
    meaning: ResolvedExpectations = {PAGE: frozenset({"c1"}), QUOTE: frozenset({"c1"})}
    test = GoldenTest("t", "What?", expected=(PAGE, QUOTE))
    judged = judge(test, meaning, ["c1"], MEASURES)
    assert judged.labels == (("expected-1", "expected-2"),)
    assert (judged.accuracy, judged.measures["R@5"]) == (1.0, 1.0)


def test_what_is_stale_is_shown_and_not_judged_by() -> None:
    test = GoldenTest("t", "What?", expected=(PAGE, CHUNK))
    judged = judge(test, {PAGE: frozenset({"c1"}), CHUNK: frozenset()}, ["c1"], MEASURES)
    assert judged.unmeetable == judged.sought[1]
    assert [one.stale for one in judged.sought] == [False, True]
    assert (judged.accuracy, judged.measures["R@5"]) == (1.0, 1.0)
    gone = judge(test, {PAGE: frozenset(), CHUNK: frozenset()}, ["c1"], MEASURES)
    assert (gone.accuracy, gone.measures) == (None, {})
    assert gone.outcome(0.0) is Outcome.STALE


def test_a_stale_expectation_does_not_hide_a_failure() -> None:
    other = ByName("b")
    test = GoldenTest("t", "What?", expected=(PAGE, other, CHUNK))
    meaning: ResolvedExpectations = {
        PAGE: frozenset({"c1"}),
        other: frozenset({"c2"}),
        CHUNK: frozenset(),
    }
    judged = judge(test, meaning, ["c1"], MEASURES)
    assert (judged.outcome(1.0), judged.outcome(0.5)) == (Outcome.FAILED, Outcome.STALE)
    assert judge(test, meaning, ["c1"], (), lost={CHUNK: "removed"}).outcome(0.5) is Outcome.FAILED


def test_what_is_known_to_be_wrong_counts_as_judged() -> None:
    wrong = ByName("b", 0)
    meaning: ResolvedExpectations = {PAGE: frozenset({"c1"}), wrong: frozenset({"c2", "c3"})}
    values = of(meaning, ["c2", "c3", "c1"], wrong)
    assert values == {"R@5": 1.0, "MRR": 0.5, "P@2": 0.5, "judged@5": 1.0}


def test_conflicting_names_are_distinguished() -> None:
    test = GoldenTest("t", "What?", expected=(ByChunk("a"), ByName("a")))
    meaning: ResolvedExpectations = {ByChunk("a"): frozenset({"a"}), ByName("a"): frozenset({"a"})}
    assert judge(test, meaning, ["a"], MEASURES).labels == (("a", "expected-2"),)


def test_a_test_without_judgements_has_no_measures() -> None:
    assert judge(GoldenTest("t", "What?"), {}, ["c1"], MEASURES).measures == {}


# --- which chunks are meant -------------------------------------------------------------------


def page(path: str, *texts: str) -> tuple[str, list[ChunkRecord]]:
    text = "\n\n".join(texts)
    records, at = [], 0
    for number, part in enumerate(texts):
        plain = record(number, part, path)
        start = text.index(part, at)
        at = start + len(part)
        chunk = replace(plain.chunk, id=f"{path}-{number}", start=start, end=at)
        records.append(replace(plain, chunk=chunk, url=f"https://x.org/{path}"))
    return text, records


PAGES = [
    page("docs/a.md", "one two three", "four  five six", "seven"),
    page("docs/b.md", "eight nine", "two three"),
]
RECORDS = [one for _, records in PAGES for one in records]


def resolved(*expectations: Expectation) -> ResolvedExpectations:
    resolver = Resolver(expectations)
    for one in RECORDS:
        resolver.show(one)
    unmet = resolver.unmet_quotations
    for text, records in PAGES:
        resolver.show_page(quoted_on(text, unmet), text, records)
    return resolver.meaning


@pytest.mark.parametrize(
    ("expectation", "chunks"),
    [
        (ByChunk("docs/a.md-1"), {"docs/a.md-1"}),
        (BySource("docs/b.md"), {"docs/b.md-0", "docs/b.md-1"}),
        (ByAddress("/docs/b.md", "Überschrift"), {"docs/b.md-0", "docs/b.md-1"}),
        (ByAddress("https://x.org/docs/b.md/#section"), {"docs/b.md-0", "docs/b.md-1"}),
        (ByName("b"), {"docs/b.md-0", "docs/b.md-1"}),
        (ByText("two three"), {"docs/a.md-0", "docs/b.md-1"}),
        (ByText("four five"), {"docs/a.md-1"}),
        (ByText("three four five six seven"), {"docs/a.md-0", "docs/a.md-1", "docs/a.md-2"}),
        (ByText("six seven"), {"docs/a.md-1", "docs/a.md-2"}),
        (ByText("six eight"), set()),
        (ByChunk("nowhere"), set()),
    ],
)
def test_every_expectation_finds_its_chunks(expectation: Expectation, chunks: set[str]) -> None:
    assert resolved(expectation, ByText("seven"))[expectation] == chunks


names = st.sampled_from(["docs/a.md", "docs/b.md", "a", "b.md", "docs/a.md-0", "/docs/a.md", "x"])
expectations = st.one_of(
    st.builds(ByChunk, names),
    st.builds(ByAddress, names | names.map("https://x.org/{}".format), st.just("") | names),
    st.builds(BySource, names, st.sampled_from(["", "page", "Section"])),
    st.builds(ByName, names),
    st.builds(ByText, st.sampled_from(["one", "two  three", "nine", "zero"])),
)


@given(st.lists(expectations, max_size=5))
def test_looking_up_by_keys_misses_nothing(wanted: list[Expectation]) -> None:
    resolver = Resolver(wanted)
    for one in RECORDS:
        resolver.show(one)
    for expectation, chunks in resolver.meaning.items():
        assert chunks == {one.chunk.id for one in RECORDS if expectation.matches(one)}
