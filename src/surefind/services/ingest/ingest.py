"""Ingest: sources become the next generation, and then, in one step, the current one.

What readers read is never edited. The catalog of the next generation is written first, page by
page, so that memory does not grow with the source; then its chunks are embedded and indexed; then
both are verified, tested where there is a gate, sealed and published. A run that dies leaves an
unfinished generation, which the next run goes on with or removes, and every vector that was paid
for, in the cache.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from surefind.errors import InputError, StoreError, StoreRefused
from surefind.model import GateResult, GenerationRef, IngestReport, Manifest
from surefind.ports import Source
from surefind.services.generations.generations import drop, held_back, surplus_of
from surefind.services.generations.index_building import IngestTools, ReportProgress
from surefind.services.generations.resume import PartialBuild, left_behind
from surefind.services.ingest.generation_builder import (
    BuildParams,
    CurrentGeneration,
    GenerationBuilder,
    open_base,
)
from surefind.services.ingest.link_check import LinkCheck
from surefind.services.ingest.planning import (
    PlannedChanges,
    check_budget,
    check_not_fewer,
    check_same_making,
    check_shrinking,
)
from surefind.services.ingest.source_scan import ChangeTarget, DryRunTarget, SourceScan
from surefind.services.validation.gate import Gate, judge

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    collection: str
    rebuild: bool = False
    allow_shrink: bool = False
    keep_generations: int = 5
    check_links: bool = False
    max_cost: float | None = None
    gate: Gate | None = None


class Ingestor:
    def __init__(self, tools: IngestTools) -> None:
        if tools.chunker.max_tokens > tools.embedder.max_tokens:
            raise InputError(
                f"max_tokens is {tools.chunker.max_tokens}, but the embedder reads at most "
                f"{tools.embedder.max_tokens}; lower it"
            )
        self._tools = tools

    async def run(
        self,
        sources: Sequence[Source],
        options: IngestOptions,
        report: ReportProgress = lambda _: None,
    ) -> IngestReport:
        """Whatever it raises, readers see what they saw before."""
        self._check(sources, options)
        tools = self._tools
        async with tools.catalogs.writing("ingest"):
            half = await left_behind(options.collection, tools.index, tools.catalogs)
            base = await open_base(options.collection, tools, report, rebuild=options.rebuild)
            builder = GenerationBuilder(options.collection, base, tools, half)
            try:
                return await _IngestRun(tools, options, sources, report, half).publish(
                    base, builder
                )
            except StoreRefused:
                builder.give_up()
                raise
            finally:
                await base.close()
                await builder.clean_up()

    async def dry_run(
        self,
        sources: Sequence[Source],
        options: IngestOptions,
        report: ReportProgress = lambda _: None,
    ) -> IngestReport:
        """What `run` would do, guards included. It writes nothing and embeds nothing."""
        self._check(sources, options)
        base = await open_base(options.collection, self._tools, report, rebuild=options.rebuild)
        try:
            return await _IngestRun(self._tools, options, sources, report).dry_run(base)
        finally:
            await base.close()

    def _check(self, sources: Sequence[Source], options: IngestOptions) -> None:
        _check_sources(sources)
        if options.gate is not None:
            options.gate.check()
        if options.max_cost is not None and self._tools.price_per_million_tokens is None:
            raise InputError(
                f"--max-cost: nobody has said what {self._tools.embedder.fingerprint.model} costs; "
                "set embed_price_per_million_tokens, or leave out --max-cost"
            )


class _IngestRun:
    """One ingest, from the sources to the report."""

    def __init__(
        self,
        tools: IngestTools,
        options: IngestOptions,
        sources: Sequence[Source],
        report: ReportProgress,
        half: PartialBuild | None = None,
    ) -> None:
        self._tools = tools
        self._options = options
        self._sources = sources
        self._report_progress = report
        self._started = time.monotonic()
        self._embedded_before = tools.embedder.embedded
        self._reused_before = tools.embedder.reused
        now = datetime.now(UTC)
        self._params = BuildParams(
            now=now,
            began=half.begun.at if half else now,
            sources=tuple(source.name for source in sources),
            sites=tuple(source.fingerprint for source in sources),
            rebuild=options.rebuild,
            max_cost=options.max_cost,
        )

    async def publish(self, base: CurrentGeneration, builder: GenerationBuilder) -> IngestReport:
        changes = await self._scan(base, builder)
        if base.manifest is not None and base.is_whole and not changes.any:
            await builder.discard_half()
            told = self._report(base.manifest, changes, base.manifest.chunks, published=False)
            return replace(told, gate=None)
        manifest, points = await builder.build(changes, self._params, self._report_progress)
        gate = await self._judged(manifest, base)
        manifest = replace(manifest, gate=gate)
        if gate is not None and gate.held:
            pruned = await self._drop(await held_back(manifest, self._tools.catalogs))
            await builder.hold_back(manifest)
            told = self._report(manifest, changes, points, published=False, pruned=pruned)
            return replace(told, generation=manifest.follows or 0)
        await builder.publish(manifest)
        pruned = await self._prune(manifest)
        return self._report(manifest, changes, points, published=True, pruned=pruned)

    async def _judged(self, manifest: Manifest, base: CurrentGeneration) -> GateResult | None:
        gate = self._options.gate
        if gate is None:
            return None
        return await judge(gate, manifest, base.manifest, self._tools, self._report_progress)

    async def dry_run(self, base: CurrentGeneration) -> IngestReport:
        changes = await self._scan(base, DryRunTarget())
        check_budget(self._tools.cost(changes.unpaid_tokens), self._options.max_cost)
        gate = self._options.gate.dry_run_result() if self._options.gate and changes.any else None
        return replace(self._report(base.manifest, changes, 0, published=False), gate=gate)

    async def _scan(self, base: CurrentGeneration, target: ChangeTarget) -> PlannedChanges:
        options, tools = self._options, self._tools
        before = base.manifest
        if before is not None and not options.rebuild:
            check_same_making(before, tools.embedder.fingerprint, tools.chunker, tools.terms.name)
        again = options.rebuild or (before is not None and before.sites != self._params.sites)
        links = LinkCheck() if options.check_links else None
        scan = SourceScan(base, target, tools, self._params.began, again=again, links=links)
        await scan.read(self._sources, self._report_progress)
        if not options.allow_shrink:
            gone = (*scan.missing, *scan.changes.removed, *scan.changes.emptied)
            check_shrinking(base.documents.keys(), gone)
            check_not_fewer(base.lost_documents, len(scan.changes.added))
        await scan.remove_missing()
        return scan.changes

    async def _prune(self, manifest: Manifest) -> tuple[int, ...]:
        """All is published by now: what can't be removed today is left to the next run."""
        keep = self._options.keep_generations
        return await self._drop(await surplus_of(manifest, keep, self._tools.catalogs))

    async def _drop(self, surplus: Sequence[GenerationRef]) -> tuple[int, ...]:
        try:
            for ref in surplus:
                await drop(ref, self._tools.index, self._tools.catalogs)
        except StoreError as error:
            _log.warning("old generations could not be removed: %s", error)
            return ()
        return tuple(sorted(ref.number for ref in surplus))

    def _report(
        self,
        manifest: Manifest | None,
        changes: PlannedChanges,
        points: int,
        *,
        published: bool,
        pruned: tuple[int, ...] = (),
    ) -> IngestReport:
        embedder = self._tools.embedder
        return IngestReport(
            collection=self._options.collection,
            generation=manifest.number if manifest else 0,
            published=published,
            added_pages=tuple(changes.added),
            changed_pages=tuple(changes.changed),
            removed_pages=tuple(changes.removed),
            unchanged=len(changes.unchanged),
            documents=manifest.documents if manifest else 0,
            chunks=manifest.chunks if manifest else 0,
            index_points=points,
            new_chunks=len(changes.new_chunks),
            new_tokens=changes.new_tokens,
            embedded=embedder.embedded - self._embedded_before,
            from_cache=embedder.reused - self._reused_before,
            failures=tuple(changes.failures),
            left_out=tuple(changes.left_out),
            warnings=tuple(changes.warnings),
            empty_pages=tuple(changes.empty_pages),
            pruned=pruned,
            seconds=time.monotonic() - self._started,
            cost=self._tools.cost(changes.unpaid_tokens),
            broken_links=None if changes.broken_links is None else tuple(changes.broken_links),
            gate=manifest.gate if manifest else None,
        )


def _check_sources(sources: Sequence[Source]) -> None:
    if not sources:
        raise InputError(
            "no source was given; name a folder of documentation, or a website with --site"
        )
    names = [source.name for source in sources]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(
            f"two sources are called {', '.join(sorted(twice))}: a page is known by its folder's "
            "name and its path below it, so rename one of the folders"
        )
