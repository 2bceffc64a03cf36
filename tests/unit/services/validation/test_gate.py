"""The gate: what golden tests do not let through, readers never see."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndex, MemoryIndexStore, WordEmbedder
from surefind.errors import InputError, StoreError
from surefind.evaluation.golden.expectations import ByChunk, BySource, ByText
from surefind.evaluation.golden.gates import QualityRule as Rule
from surefind.evaluation.golden.gates import RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, SuccessCriteria
from surefind.evaluation.measures.ranking import Measure
from surefind.model import GenerationRef, Ranking
from surefind.ports import DenseQuery, SparseQuery, Vector
from surefind.services.generations.readers import Readers
from surefind.services.validation.gate import Gate
from unit.installation import Installation

WORDS = ("cats", "dogs", "parrots", "horses", "whales", "beavers", "spiders", "llamas")
PAGES = {f"{word}.md": f"# {word.title()}\n\nall about {word}" for word in WORDS}
# Still there, but no longer found by their word.
MUDDLED = {
    f"{word}.md": f"# Animals {number}\n\nall about everything {number}"
    for number, word in enumerate(WORDS)
}


def golden(*rules: str, words: Sequence[str] = WORDS) -> GoldenSet:
    tests = tuple(
        GoldenTest(word, f"all about {word}", expected=(BySource(f"docs/{word}.md"),))
        for word in words
    )
    gates = tuple(Rule.parse(RuleSeverity.FAIL, rule) for rule in rules)
    return GoldenSet("golden.yaml", tests, (Measure.parse("MRR"),), gates, top_k=3)


STRICT = Gate(golden())
LENIENT = Gate(golden("MRR < 0.01"))


async def seen(home: Installation) -> int | None:
    return await home.catalogs.current("docs")


async def test_what_passes_is_published_and_its_manifest_says_so(home: Installation) -> None:
    first = await home.ingest(PAGES, gate=STRICT)
    assert first.published
    assert first.gate is not None
    assert (first.gate.verdict, first.gate.held, first.gate.passed) == ("pass", False, 8)
    assert first.gate.not_compared == "there is no earlier generation"
    second = await home.ingest({**PAGES, "more.md": "# More\n\nsomething else"}, gate=STRICT)
    assert second.gate is not None
    assert (second.published, second.gate.compared_with) == (True, 1)
    assert (await home.generations.one()).gate == second.gate


async def test_what_fails_is_kept_and_not_seen(home: Installation) -> None:
    await home.ingest(PAGES)
    told = await home.ingest(MUDDLED, gate=STRICT)
    assert told.gate is not None
    assert (told.published, told.generation, told.gate.generation) == (False, 1, 2)
    assert (told.gate.verdict, told.gate.held) == ("fail", True)
    assert "tests failed" in told.gate.reasons[0]
    assert told.gate.failed[0].cause
    assert told.gate.failed[0].message
    assert await seen(home) == 1
    assert [manifest.number for manifest in await home.generations.list()] == [1, 2]
    await home.generations.rollback(2)
    assert (await home.search("everything")).generation == 2


async def test_a_first_generation_can_be_held_back_too(home: Installation) -> None:
    told = await home.ingest(MUDDLED, gate=STRICT)
    assert (told.published, told.generation) == (False, 0)
    assert await seen(home) is None
    assert [manifest.number for manifest in await home.generations.list()] == [1]


async def test_a_significant_regression_is_held_back_though_the_rules_hold(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    told = await home.ingest(MUDDLED, gate=LENIENT)
    assert told.gate is not None
    assert told.gate.held
    assert told.gate.reasons == ("MRR: significantly worse than generation 1",)
    assert told.gate.compared_with == 1


async def test_an_inconclusive_gate_passes_unless_it_is_strict(
    home: Installation,
) -> None:
    """One page of eight got worse: that is too few to tell from chance."""
    await home.ingest(PAGES)
    changed = {**PAGES, "cats.md": MUDDLED["cats.md"]}
    held = await home.ingest(changed, gate=Gate(golden("MRR < 0.01"), strict=True))
    assert held.gate is not None
    assert (held.gate.verdict, held.gate.held) == ("inconclusive", True)
    assert await seen(home) == 1
    told = await home.ingest(changed, gate=LENIENT)
    assert told.gate is not None
    assert (told.gate.verdict, told.published, await seen(home)) == ("inconclusive", True, 3)


async def test_a_pure_improvement_is_published_though_it_is_too_small_to_be_significant(
    home: Installation,
) -> None:
    """One page is found by its word now, and nothing else changed."""
    await home.ingest({**PAGES, "cats.md": MUDDLED["cats.md"]})
    told = await home.ingest(PAGES, gate=Gate(golden(), strict=True))
    assert told.gate is not None
    assert (told.published, told.gate.verdict, told.gate.reasons) == (True, "pass", ())
    assert told.gate.comparison[:2] == (
        "compared with generation 1: no evidence of harm: 1 better, 0 worse, 7 the same",
        "at most 31.2 % of similar queries got worse, with 95 % confidence",
    )


@pytest.mark.parametrize("gate", [STRICT, LENIENT], ids=["tests decide", "rules decide"])
async def test_an_answer_that_the_ingest_removes_is_lost_and_held_back(
    home: Installation, gate: Gate
) -> None:
    """The label is not stale: the generation before had what the test expects."""
    await home.ingest(PAGES)
    left = {name: text for name, text in PAGES.items() if name != "cats.md"}
    told = await home.ingest(left, gate=gate)
    assert told.gate is not None
    assert (told.published, told.gate.verdict, await seen(home)) == (False, "fail", 1)
    assert told.gate.reasons[0] == (
        "1 test lost its answer: the previous generation had what it expects; update the tests "
        "if this is intended"
    )
    assert len(told.gate.reasons) == 1
    [failed] = told.gate.failed
    assert (failed.test_id, failed.outcome, failed.cause) == ("cats", "failed", "lost_answer")
    assert failed.message == ("docs/cats.md: it was in generation 1, but this ingest removed it")
    assert "compared with generation 1: inconclusive: 0 better, 1 worse" in told.gate.comparison[0]


async def test_words_that_were_edited_away_are_a_lost_answer_too(home: Installation) -> None:
    quoted = GoldenTest("cats", "all about cats", expected=(ByText("all about cats"),))
    gate = Gate(GoldenSet("golden.yaml", (quoted,), (Measure.parse("MRR"),), top_k=3))
    await home.ingest(PAGES)
    told = await home.ingest({**PAGES, "cats.md": "# Cats\n\nnothing about them"}, gate=gate)
    assert told.gate is not None
    assert [one.cause for one in told.gate.failed] == ["lost_answer"]


async def test_a_page_that_was_renamed_is_a_stale_label_and_no_lost_answer(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    renamed = {name.replace("cats", "felines"): text for name, text in PAGES.items()}
    told = await home.ingest(renamed, gate=STRICT)
    assert told.gate is not None
    assert (told.published, told.gate.verdict) == (True, "inconclusive")
    assert [(one.outcome, one.cause) for one in told.gate.failed] == [("stale", "stale_label")]


async def test_a_passage_with_other_boundaries_is_not_a_lost_answer(home: Installation) -> None:
    """The test names a chunk by its id, and that chunk is part of another one now."""
    before = {"a.md": "# A\n\nfirst words here\n\n## B\n\nsecond words here"}
    after = {"a.md": "# A\n\nfirst words here\n\nsecond words here"}
    await home.ingest(before)
    [chunk] = [one.record for one in (await home.search("second words")).hits][:1]
    named = GoldenTest("b", "second words", expected=(ByChunk(chunk.chunk.id),))
    gate = Gate(GoldenSet("golden.yaml", (named,), (Measure.parse("MRR"),), top_k=3))
    told = await home.ingest({**after, "b.md": "# C\n\nmore"}, gate=gate)
    assert told.gate is not None
    assert [one.cause for one in told.gate.failed] == ["stale_label"]


async def test_a_test_that_is_met_without_the_lost_answer_is_stale(home: Installation) -> None:
    either = GoldenTest(
        "either",
        "all about dogs",
        expected=(BySource("docs/dogs.md"), BySource("docs/cats.md")),
        criteria=SuccessCriteria(min_accuracy=0.5),
    )
    gate = Gate(GoldenSet("golden.yaml", (either,), (Measure.parse("MRR"),), top_k=3))
    await home.ingest(PAGES)
    left = {name: text for name, text in PAGES.items() if name != "cats.md"}
    told = await home.ingest(left, gate=gate)
    assert told.gate is not None
    assert [(one.outcome, one.cause) for one in told.gate.failed] == [("stale", "stale_label")]


async def test_of_those_held_back_only_the_last_is_kept_and_a_published_one_ends_it(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    await home.ingest(MUDDLED, gate=STRICT)
    again = await home.ingest(
        {name: f"{text} again" for name, text in MUDDLED.items()}, gate=STRICT
    )
    assert again.pruned == (2,)
    assert [manifest.number for manifest in await home.generations.list()] == [1, 3]
    good = await home.ingest({**PAGES, "more.md": "# More\n\nsomething else"}, gate=STRICT)
    assert (good.generation, good.pruned) == (4, (3,))
    assert (await home.generations.rollback()).number == 1


async def test_one_that_was_published_by_hand_stays_to_roll_back_to(home: Installation) -> None:
    await home.ingest(PAGES)
    await home.ingest(MUDDLED, gate=STRICT)
    await home.generations.rollback(2)
    await home.ingest(PAGES, gate=STRICT)
    assert [manifest.number for manifest in await home.generations.list()] == [1, 2, 3]
    assert (await home.generations.rollback()).number == 2


async def test_where_nothing_changed_no_test_is_run(home: Installation) -> None:
    await home.ingest(PAGES, gate=STRICT)
    told = await home.ingest(PAGES, gate=STRICT)
    assert (told.published, told.gate) == (False, None)


async def test_a_rehearsal_says_that_it_would_be_tested(home: Installation) -> None:
    told = await home.ingest(PAGES, gate=STRICT, dry_run=True)
    assert told.gate is not None
    assert (told.gate.tests, told.gate.verdict, told.gate.held) == (8, "", False)


async def test_another_model_is_tested_but_not_compared(home: Installation) -> None:
    await home.ingest(PAGES)
    home.embedder = WordEmbedder(weights="words-2")
    told = await home.ingest(PAGES, gate=STRICT, rebuild=True)
    assert told.gate is not None
    assert told.published
    assert "generation 1 was built with fake/words" in told.gate.not_compared


async def test_a_lost_index_is_not_reported_as_one_that_never_existed(
    home: Installation,
) -> None:
    await home.ingest(PAGES)
    await home.index.drop(GenerationRef("docs", 1))
    told = await home.ingest(PAGES, gate=STRICT)
    assert told.gate is not None
    assert (told.published, told.gate.compared_with) == (True, None)
    assert "docs--0001 has no index" in told.gate.not_compared


async def test_a_gate_that_could_never_decide_is_refused_before_anything_is_built(
    home: Installation,
) -> None:
    with pytest.raises(InputError, match="has no tests"):
        await home.ingest(PAGES, gate=Gate(GoldenSet("empty.yaml", ())))
    unfit = GoldenSet("g", golden().tests, (Measure.parse("nDCG@50"),), top_k=3)
    with pytest.raises(InputError, match="set top_k to 50"):
        await home.ingest(PAGES, gate=Gate(unfit))
    assert await home.catalogs.complete("docs") == []
    assert home.embedder.calls == 0


class Dying(MemoryIndex):
    """Answers whoever verifies it, and no question."""

    async def search(self, queries: Sequence[DenseQuery | SparseQuery]) -> list[Ranking]:
        if any(isinstance(leg_query, SparseQuery) for leg_query in queries):
            raise StoreError("the index is away")
        return await super().search(queries)


class DyingStore(MemoryIndexStore):
    async def open(self, ref: GenerationRef) -> MemoryIndex:
        return (Dying if ref.number > 1 else MemoryIndex)(dict(self.generations[ref]))


async def test_an_unavailable_store_publishes_nothing(tmp_path: Path) -> None:
    home = Installation(tmp_path / "memory")
    home.index, home.catalogs = DyingStore(), MemoryCatalogStore()
    home.readers = Readers(home.index, home.catalogs)
    await home.ingest(PAGES)
    with pytest.raises(StoreError, match=r"the gate golden\.yaml could not run"):
        await home.ingest(MUDDLED, gate=STRICT)
    assert await seen(home) == 1
    assert [ref.number for ref in await home.catalogs.complete("docs")] == [1]
    await home.close()


class Waiting(WordEmbedder):
    """Keeps every question of a test waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def embed_query(self, query: str) -> Vector:
        if query.startswith("all about"):
            self.asked.set()
            await asyncio.Event().wait()
        return await super().embed_query(query)


async def test_stopping_during_the_gate_keeps_the_old_generation(home: Installation) -> None:
    await home.ingest(PAGES)
    waiting = home.embedder = Waiting()
    run = asyncio.create_task(home.ingest(MUDDLED, gate=STRICT))
    await waiting.asked.wait()
    # A process that is killed now leaves what the next run removes.
    assert [ref.number for ref in await home.catalogs.unfinished("docs")] == [2]
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await seen(home) == 1
    left = [*await home.catalogs.complete("docs"), *await home.catalogs.unfinished("docs")]
    assert [ref.number for ref in left] == [1]
