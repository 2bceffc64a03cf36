"""Rules about the stages of a search: embedding, search and formatting."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.fakes import WordEmbedder
from surefind.errors import InputError
from surefind.evaluation.golden.gates import QualityRule, RuleSeverity
from surefind.evaluation.golden.golden_set import GoldenSet
from surefind.evaluation.report.report import Report
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import TargetAnswer, TargetQuery
from surefind.ports import EmbeddedQuery
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.search.search import Searcher
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.targets.target_run import run_on_target
from surefind.services.validation.validate import Validator
from unit.installation import Installation
from unit.services.validation.validating import FISH, FOOD, PAGES, wants

STAGES = ("embedded", "searched", "formatted")
SLOW_MS = 3000.0


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    installation = Installation(tmp_path / "data")
    await installation.ingest(PAGES, base_url="https://x.org/")
    yield installation
    await installation.close()


def golden(*rules: str) -> GoldenSet:
    gates = tuple(QualityRule.parse(RuleSeverity.FAIL, rule) for rule in rules)
    return GoldenSet("golden", (wants(FISH, FOOD),), gates=gates)


class SlowEmbedder(WordEmbedder):
    """Reports the time that a slow model would take."""

    async def embed_queries(self, queries: Sequence[str]) -> Sequence[EmbeddedQuery]:
        return [EmbeddedQuery(self.embed(query), SLOW_MS) for query in queries]


async def validated(home: Installation, *rules: str) -> Report:
    searcher = Searcher(home.readers, CachedEmbedder(SlowEmbedder(), None), home.terms)
    return await Validator(home.readers, searcher, "test").run(golden(*rules))


async def test_a_slow_embedding_breaks_the_rule_of_its_stage(home: Installation) -> None:
    report = await validated(home, f"embedded_max_ms >= {SLOW_MS}", "searched_p95_ms > 60000")
    slow, quick = report.gates
    assert (slow.met, quick.met) == (True, False)
    assert slow.value is not None
    assert slow.value >= SLOW_MS
    assert report.verdict is Verdict.FAIL
    assert report.reasons[0].startswith("embedded_max_ms >= 3000: it is ")


async def test_every_stage_is_measured_and_none_is_longer_than_the_whole(
    home: Installation,
) -> None:
    names = [f"{stage}_{part}_ms" for stage in STAGES for part in ("p50", "p95", "max")]
    report = await validated(home, *(f"{name} > 60000" for name in names), "max_ms > 60000")
    *stages, whole = [rule.value for rule in report.gates]
    assert whole is not None
    assert all(value is not None and 0 <= value <= whole for value in stages)
    assert report.verdict is Verdict.PASS


async def test_the_stages_of_a_target_are_unknown() -> None:
    class Target:
        name, takes_limit, takes_filters = "other", True, True

        async def search(self, query: TargetQuery) -> TargetAnswer:
            assert query.text
            return TargetAnswer((), 1.0)

    tests = replace(golden("embedded_max_ms > 1"), measured_only=True)
    report = await run_on_target(Target(), tests, RunRequest(), "test")
    assert [rule.value for rule in report.gates] == [None]
    assert report.verdict is Verdict.INCONCLUSIVE


def test_a_stage_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="searched_p95_ms"):
        QualityRule.parse(RuleSeverity.FAIL, "fetched_p95_ms > 1")
