"""Golden tests can be as wrong as what they test."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fakes.values import record
from surefind.evaluation.golden.expectations import (
    ByAddress,
    ByChunk,
    BySource,
    ByText,
    Expectation,
)
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, SuccessCriteria, TestKind
from surefind.evaluation.golden.lint import (
    NEAR,
    KnownFacts,
    LintSeverity,
    Problem,
    _near,
    _overlap,
    lint,
)
from surefind.evaluation.golden.near_misses import NearMisses
from surefind.interfaces.reports.lint import lint_json, lint_text
from surefind.model import ChunkRecord
from surefind.services.validation.golden_authoring import (
    expectations_for,
    lint_set,
    section_expectation,
)
from unit.installation import Installation

A, B = ByChunk("a"), ByChunk("b")
LONG = " ".join(f"Sentence number {n} of the long section tells something." for n in range(60))
PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine\n\n## Food\n\ncats eat fish in the morning",
    "long.md": f"# Long\n\n## All\n\n{LONG}",
    "twin.md": f"# Twin\n\n{LONG}",
}


def golden(test_id: str, question: str, *expected: Expectation, **more: object) -> GoldenTest:
    return GoldenTest(test_id, question, expected=expected, **more)  # type: ignore[arg-type]


def problems(*tests: GoldenTest, top_k: int = 5, **known: object) -> list[tuple[str, str]]:
    values = {"meaning": {A: {"a"}, B: {"b"}}, "older": {}, "refused": {}} | known
    found = lint(GoldenSet("g", tests), KnownFacts(top_k=top_k, **values))  # type: ignore[arg-type]
    return [(one.test_id, one.problem.value) for one in found]


def test_good_tests_have_no_findings() -> None:
    assert problems(golden("x", "What is a?", A), golden("y", "And where is b?", B)) == []


def test_the_same_question_twice_is_a_duplicate_or_a_contradiction() -> None:
    first = golden("x", "What is a?", A)
    assert problems(first, golden("y", "what  is A", A)) == [("y", "duplicate")]
    assert problems(first, golden("y", "What is a?", B)) == [("y", "contradictory")]
    negative = GoldenTest("y", "what is a", TestKind.NEGATIVE)
    assert problems(first, negative) == [("y", "contradictory")]
    assert problems(negative, first) == [("x", "contradictory")]
    assert problems(golden("x", "Is it in C++?", A), golden("y", "Is it in C#?", B)) == []
    elsewhere = golden("y", "What is a?", B, where=("version=2",))
    assert problems(first, elsewhere) == []


def test_near_duplicate_questions_are_reported() -> None:
    one = golden("x", "How do I install the teapot on a stable table?", A)
    other = golden("y", "How do I install the teapot on the stable table?", A)
    [found] = lint(GoldenSet("g", (one, other)), KnownFacts({A: frozenset("a")}, 5, {}, {}))
    assert (found.problem, found.severity) == (Problem.NEAR_DUPLICATE, LintSeverity.WARNING)
    assert found.other == "x"
    assert problems(golden("x", "What is E42?", A), golden("y", "What is E43?", B)) == []


def test_what_is_gone_is_stale_and_ids_of_another_generation_say_which() -> None:
    gone = golden("x", "What?", ByChunk("old"), ByText("words"))
    assert problems(gone) == [("x", "stale"), ("x", "stale")]
    assert problems(gone, older={"old": 3}) == [("x", "other_generation"), ("x", "stale")]


def test_tests_that_can_never_pass_are_reported() -> None:
    assert problems(golden("x", "What?")) == [("x", "empty")]
    both = golden("x", "What?", A, B)
    assert problems(both, top_k=1) == [("x", "unreachable")]
    half = golden("x", "What?", A, B, criteria=SuccessCriteria(0.5))
    assert problems(half, top_k=1) == []
    assert problems(golden("x", "What?", A), refused={"x": "no"}) == [("x", "unanswerable")]
    page = BySource("a.md")
    repeated = problems(golden("x", "What?", A, page), meaning={A: {"a"}, page: {"a"}})
    assert repeated == [("x", "repeated")]


def test_a_hit_may_meet_several_expectations() -> None:
    page, sentence, other = BySource("a.md"), ByText("a"), ByText("elsewhere")
    meaning = {page: {"a", "b", "c"}, sentence: {"b"}, other: {"z"}}
    test = golden("x", "What?", page, sentence, other)
    assert problems(test, top_k=2, meaning=meaning) == []
    assert problems(test, top_k=1, meaning=meaning) == [("x", "unreachable")]
    stale = golden("x", "What?", page, other, ByText("gone"), ByText("lost"))
    assert ("x", "unreachable") not in problems(stale, top_k=2, meaning=meaning)
    alike = {page: {"a"}, other: {"z"}}
    test = golden("x", "What?", page, other)
    assert problems(test, top_k=1, meaning=alike) == [("x", "unreachable")]
    assert problems(test, top_k=1, meaning=alike, texts={"a": "same", "z": "same"}) == []


@given(
    st.lists(st.sets(st.sampled_from("abcdef"), max_size=4), min_size=1, max_size=5),
    st.sampled_from([0.2, 0.5, 0.75, 1.0]),
    st.integers(1, 4),
)
def test_what_some_hits_would_meet_is_never_unreachable(
    meant: list[set[str]], accuracy: float, top_k: int
) -> None:
    meaning = {ByText(str(number)): chunks for number, chunks in enumerate(meant)}
    test = golden("x", "What?", *meaning, criteria=SuccessCriteria(accuracy))
    live = [chunks for chunks in meant if chunks]
    can_pass = any(
        sum(not chunks.isdisjoint(hits) for chunks in live) >= accuracy * len(live)
        for hits in combinations("abcdef", top_k)
    )
    told = ("x", "unreachable") in problems(test, top_k=top_k, meaning=meaning)
    assert not (told and can_pass)


WORDS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=8)


@given(st.lists(WORDS, max_size=25))
def test_near_questions_are_found_without_looking_at_every_pair(asked: list[list[str]]) -> None:
    tests = [golden(str(n), " ".join(words)) for n, words in enumerate(asked)]
    found = {(one.test_id, other.test_id) for one, other, _ in _near(tests)}
    expected = {
        (str(one), str(other))
        for one, other in combinations(range(len(asked)), 2)
        if _overlap(frozenset(asked[one]), frozenset(asked[other])) >= NEAR
    }
    assert found == expected


def test_findings_are_shown_by_line_and_as_json() -> None:
    tests = (golden("x", "What?", A, line=3), golden("y", "What?", line=7))
    findings = lint(GoldenSet("g", tests), KnownFacts({A: frozenset("a")}, 5, {}, {}))
    assert lint_text("g.yaml", 2, findings).splitlines() == [
        "g.yaml:7: error: contradictory: y: its question equals that of x, but the "
        "expectations differ",
        "g.yaml:7: error: empty: y: it has no expectations; add expected_results, or expect: none",
        "2 tests, 2 errors, 0 warnings",
    ]
    assert lint_text("g.yaml", 1, findings[:1]).endswith("\n1 test, 1 error, 0 warnings")
    told = lint_json("g.yaml", 2, findings)
    assert told["schema"] == "surefind.lint/1"
    assert told["findings"][0]["other_line"] == 3
    assert told["findings"][1]["other_test_id"] is None


# --- beside a collection ----------------------------------------------------------------------


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("lint") / "data")
    await installation.ingest({"old.md": "# Old\n\nwords that went"}, base_url="https://x.org/")
    await installation.ingest(PAGES, base_url="https://x.org/", allow_shrink=True)
    yield installation
    await installation.close()


async def records(home: Installation) -> list[ChunkRecord]:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        return [record async for record in generation.catalog.chunks()]


async def name_of(home: Installation, *picked: tuple[ChunkRecord, int]) -> list[Expectation]:
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        return list(await expectations_for(picked, generation.catalog))


async def test_a_passage_is_named_by_its_section_where_that_is_enough(home: Installation) -> None:
    [food] = [one for one in await records(home) if one.section == "Food"]
    assert await name_of(home, (food, 3)) == [ByAddress("https://x.org/cats", "Food", 3)]


async def test_a_part_of_a_long_section_is_named_by_its_words(home: Installation) -> None:
    parts = [one for one in await records(home) if one.section == "All"]
    assert len(parts) > 1
    [named] = await name_of(home, (parts[1], 1))
    # The same sentences stand in the twin, so its section is all that tells it apart.
    assert named == ByAddress("https://x.org/long", "All")


async def test_words_that_stand_nowhere_else_tell_a_passage_from_its_section(
    home: Installation,
) -> None:
    [intro] = [one for one in await records(home) if one.breadcrumb == "Cats"]
    named = await name_of(home, (intro, 1))
    assert named == [ByText("cats sleep in the sunshine")]
    meant = [one for one in await records(home) if named[0].matches(one)]
    assert meant == [intro]


async def test_two_passages_of_one_name_are_one_expectation(home: Installation) -> None:
    parts = [one for one in await records(home) if one.section == "All"]
    named = await name_of(home, (parts[0], 1), (parts[1], 2))
    assert named == [ByAddress("https://x.org/long", "All", 2)]


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        (BySource("cats.md"), "did you mean docs/cats.md?"),
        (BySource("src/docs/cats.md"), "did you mean docs/cats.md?"),
        (BySource("docs/cat.md", "Food"), "did you mean docs/cats.md?"),
        (BySource("docs/dogs.md"), ""),
        (
            BySource("docs/cats.md", "Foods?"),
            "the page exists, but not this heading; did you mean 'Food'?",
        ),
        (
            BySource("docs/cats.md", "Opera"),
            "the page exists, but not this heading; see its headings",
        ),
        (ByAddress("https://y.org/cats"), "did you mean https://x.org/cats?"),
        (ByAddress("/guide/cats"), "did you mean /cats?"),
        (
            ByAddress("/cats#foot"),
            "the page exists, but not this anchor; did you mean #food?",
        ),
        (
            ByAddress("/cats#opera", "Food"),
            "the page exists, but not this anchor; see its headings",
        ),
        (
            ByAddress("/long#all", "Long?"),
            "the page exists, but not this heading; did you mean 'Long'?",
        ),
        (ByAddress("/cats#cats", "Food"), "the page exists, but its anchor and heading"),
        (BySource("docs/hats-and-cats.md"), ""),
        (BySource("docs/cats.md", "Feeding"), "the page exists, but not this heading; see"),
        (BySource("something/else.rst"), ""),
        (ByText("words that stand nowhere"), ""),
    ],
)
async def test_what_is_nearly_meant_is_named(
    home: Installation, expected: Expectation, told: str
) -> None:
    async with home.reader.lease() as generation:
        one = GoldenSet("g", (golden("x", "What?", expected),))
        findings = await lint_set(one, generation, home.catalogs)
    [found] = [finding for finding in findings if finding.problem is not Problem.VACUOUS]
    assert found.problem is Problem.STALE
    said, _, hint = found.message.partition("; ")
    assert said == f"nothing in the collection matches {expected}"
    assert hint.startswith(told)
    assert bool(hint) == bool(told)


def test_not_every_name_that_is_misspelt_is_looked_for() -> None:
    misses = NearMisses(max_compared=2)
    misses.show(record(0))
    wrong = [BySource(f"docs/page{number}.md") for number in range(3)]
    elsewhere = BySource("page.md", "A heading")
    told = misses.of([*wrong, elsewhere, replace(elsewhere, heading="")])
    assert list(told) == [*wrong[:2], elsewhere, replace(elsewhere, heading="")]


async def test_equal_texts_are_one_hit(home: Installation) -> None:
    long, twin = BySource("docs/long.md"), BySource("docs/twin.md")
    apart = BySource("docs/cats.md")
    serious = set(Problem) - {Problem.VACUOUS}
    async with home.reader.lease() as generation:
        for expected, problems in (((long, twin), []), ((long, apart), ["unreachable"])):
            one = GoldenSet("g", (golden("x", "What?", *expected),), top_k=1)
            found = await lint_set(one, generation, home.catalogs)
            told = [finding.problem.value for finding in found if finding.problem in serious]
            assert told == problems


async def test_a_set_is_held_against_the_collection_and_its_past(home: Installation) -> None:
    async with home.reader.lease() as generation:
        old = await home.catalogs.open(type(generation.manifest.ref)("docs", 1))
        [gone] = [record.chunk.id async for record in old.chunks()]
        await old.close()
        tests = (
            golden("gone", "What went?", ByChunk(gone)),
            golden("never", "What never was?", ByChunk("never")),
            golden("long", "x" * 3000, ByAddress("https://x.org/cats", "Food")),
            golden("where", "Which one is it?", ByText("eat fish"), where=("nonsense",)),
            golden("fine", "What do cats eat?", ByAddress("https://x.org/cats", "Food")),
        )
        found = await lint_set(GoldenSet("g", tests), generation, home.catalogs)
    assert [(one.test_id, one.problem.value) for one in found] == [
        ("gone", "other_generation"),
        ("long", "unanswerable"),
        ("never", "stale"),
        ("where", "unanswerable"),
    ]
    assert "was last in generation 1" in found[0].message


async def test_a_tiny_collection_is_not_blamed(home: Installation) -> None:
    """Its only page has most of its passages, and every top_k is near its size."""
    tests = (golden("food", "What do cats eat?", BySource("docs/cats.md")),)
    async with home.reader.lease() as generation:
        assert await lint_set(GoldenSet("g", tests), generation, home.catalogs) == []


async def test_what_passes_whatever_the_search_does_is_vacuous(home: Installation) -> None:
    many = {f"more/{n}.md": f"# Page {n}\n\nabout the number {n}" for n in range(20)}
    await home.ingest({**PAGES, **many}, base_url="https://x.org/")
    nowhere, one_page = ("source_path^=docs/nowhere",), ("source_path=docs/cats.md",)
    tests = (
        GoldenTest("none", "Who sings?", TestKind.NEGATIVE, where=nowhere),
        GoldenTest("sound", "Who sings here?", TestKind.NEGATIVE, where=one_page),
        golden("few", "What do cats eat?", ByText("eat fish"), where=one_page),
        golden("broad", "What is this about?", ByText("about the number")),
        golden("good", "Where do cats sleep?", ByText("in the sunshine")),
    )

    async def findings(top_k: int) -> list[tuple[str, str]]:
        async with home.reader.lease() as generation:
            found = await lint_set(GoldenSet("g", tests, top_k=top_k), generation, home.catalogs)
        assert {one.severity for one in found} == {LintSeverity.WARNING}
        return [(one.test_id, one.message) for one in found]

    [broad, few, none] = await findings(3)
    assert broad == (
        "broad",
        "20 of the 26 passages match the text 'about the number': it nearly always passes",
    )
    reason = "only 2 passages match its where, and top_k is 3, so it nearly always passes"
    assert few == ("few", reason)
    assert none == ("none", "no passage matches its where, so it always passes")
    [whole, *_] = await findings(20)
    assert whole == (
        "",
        "top_k is 20, and the collection has only 26 passages, so nearly any order passes; "
        "lower top_k",
    )


def test_paths_are_not_made_of_the_readers_own_addresses(tmp_path: Path) -> None:
    local = record(1)
    assert isinstance(section_expectation(local), ByAddress)
    reader = replace(local, url="http://localhost:8000/read/docs/page.md")
    assert section_expectation(reader) == BySource("docs/page.md", "Überschrift")
    assert section_expectation(replace(local, url="")) == BySource("docs/page.md", "Überschrift")
