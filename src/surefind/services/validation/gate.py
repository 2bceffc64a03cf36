"""The gate: runs golden tests on a new generation before it is published.

The same tests run on the current generation, if there is one. A significant regression or a removed
answer holds the new generation back, even if the rules pass.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from surefind.errors import InputError, NotComparable, StoreError
from surefind.evaluation.golden.expectations import squeezed
from surefind.evaluation.golden.golden_set import GoldenSet
from surefind.evaluation.golden.resolution import LostAnswers
from surefind.evaluation.report.comparison import compare_reports
from surefind.evaluation.report.report import Outcome, Report, TestChange
from surefind.evaluation.report.summary import with_comparison
from surefind.evaluation.report.wording import compared
from surefind.evaluation.statistics.significance import Verdict
from surefind.model import ChunkRecord, FailedTest, GateResult, GenerationRef, Manifest
from surefind.ports import Catalog
from surefind.services.generations.index_building import IngestTools, Progress, ReportProgress
from surefind.services.generations.readers import Readers
from surefind.services.search.search import Searcher
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator, resolve_in

_MAX_FAILED = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """`strict` also holds back a generation when the gate is inconclusive."""

    golden: GoldenSet
    strict: bool = False

    def check(self) -> None:
        """Raises InputError if the gate can't decide. Call it before building anything."""
        if not self.golden.tests:
            raise InputError(
                f"the gate {self.golden.name} has no tests; add some with `surefind golden add`"
            )
        RunRequest().measures_for(self.golden)

    def dry_run_result(self) -> GateResult:
        return GateResult(0, self.golden.name, len(self.golden.tests))


async def judge(
    gate: Gate,
    manifest: Manifest,
    before: Manifest | None,
    tools: IngestTools,
    progress: ReportProgress,
) -> GateResult:
    """Run the gate. Raises StoreError if a store or service is unavailable."""
    lost = {} if before is None else await _lost_answers(gate.golden, manifest, before, tools)
    report = await _validated(gate, manifest, tools, progress, lost)
    if report.interrupted:
        raise StoreError(
            f"the gate {gate.golden.name} could not run, so nothing was published: "
            f"{report.interrupted}"
        )
    compared_with, not_compared = None, _incomparable(before, tools)
    comparison: tuple[str, ...] = ()
    if before is not None and not not_compared:
        try:
            baseline = await _validated(gate, before, tools, progress)
            found = compare_reports(baseline, report)
            report = with_comparison(report, found, f"generation {before.number}")
            compared_with = before.number
            comparison = tuple(compared(found, f"generation {before.number}"))
        except (NotComparable, StoreError) as error:
            not_compared = str(error)
    held = report.verdict is Verdict.FAIL or (gate.strict and report.verdict is not Verdict.PASS)
    return GateResult(
        generation=manifest.number,
        golden=gate.golden.name,
        tests=report.totals.total,
        verdict=report.verdict.value,
        held=held,
        passed=report.totals.passed,
        reasons=report.reasons,
        warnings=report.warnings,
        failed=_failed(report),
        compared_with=compared_with,
        not_compared=not_compared,
        comparison=comparison,
    )


async def _lost_answers(
    golden: GoldenSet, manifest: Manifest, before: Manifest, tools: IngestTools
) -> LostAnswers:
    """Expected answers that the current generation has and the new one does not.

    A passage whose text survives, on a renamed page or under another heading, is not lost; the
    test that names it is stale.
    """
    async with _opened(before.ref, tools) as older, _opened(manifest.ref, tools) as newer:
        had = (await resolve_in(golden, older)).meaning
        has = (await resolve_in(golden, newer)).meaning
        gone = {
            expectation: chunks
            for expectation, chunks in had.items()
            if chunks and not has[expectation]
        }
        if not gone:
            return {}
        gone_ids = {chunk_id for chunks in gone.values() for chunk_id in chunks}
        records = [record async for record in older.chunks() if record.chunk.id in gone_ids]
        hashes = {record.chunk.content_hash async for record in newer.chunks()}
        kept = {
            record.chunk.id
            for record in records
            if record.chunk.content_hash in hashes or await _is_still_on_its_page(record, newer)
        }
    message = f"it was in generation {before.number}, but this ingest removed it"
    return {expectation: message for expectation, chunks in gone.items() if kept.isdisjoint(chunks)}


async def _is_still_on_its_page(record: ChunkRecord, catalog: Catalog) -> bool:
    """Compares the text without headings, because a reworded heading removes no answer."""
    path = record.chunk.source_path
    lines = record.chunk.text.split("\n")
    words = squeezed("\n".join(line for line in lines if not line.startswith("#")))
    if not words or await catalog.document(path) is None:
        return False
    return words in squeezed(await catalog.document_text(path))


@asynccontextmanager
async def _opened(ref: GenerationRef, tools: IngestTools) -> AsyncIterator[Catalog]:
    catalog = await tools.catalogs.open(ref)
    try:
        yield catalog
    finally:
        await catalog.close()


async def _validated(
    gate: Gate,
    manifest: Manifest,
    tools: IngestTools,
    progress: ReportProgress,
    lost: LostAnswers | None = None,
) -> Report:
    readers = Readers(tools.index, tools.catalogs, pinned=manifest)
    searcher = Searcher(readers, tools.embedder, tools.terms, kind_weights=tools.kind_weights)
    validator = Validator(readers, searcher, tools.version)
    request = RunRequest(manifest.collection, partial=False)
    stage = f"testing {manifest.number}"
    try:
        return await validator.run(
            gate.golden, request, lambda done, total: progress(Progress(stage, done, total)), lost
        )
    finally:
        await readers.close()


def _incomparable(before: Manifest | None, tools: IngestTools) -> str:
    if before is None:
        return "there is no earlier generation"
    if before.embedder != tools.embedder.fingerprint:
        return f"generation {before.number} was built with {before.embedder}"
    if before.lexical.analyzer != tools.terms.name:
        return f"generation {before.number} was built with {before.lexical.analyzer}"
    return ""


def _failed(report: Report) -> tuple[FailedTest, ...]:
    failed = [
        FailedTest(test.test_id, test.query_text, test.outcome.value, test.cause, test.message)
        for test in report.tests
        if test.outcome is not Outcome.PASSED
    ]
    comparison = report.comparison
    if comparison is not None and comparison.verdict is Verdict.FAIL:
        failed += [
            _worse(change, comparison.measure)
            for change in comparison.worse
            if change.after is Outcome.PASSED
        ]
    return tuple(failed[:_MAX_FAILED])


def _worse(change: TestChange, measure: str) -> FailedTest:
    message = f"{measure} fell from {change.value_before or 0:.3f} to {change.value_after or 0:.3f}"
    return FailedTest(change.test_id, change.query_text, change.after.value, "worse", message)
