"""Ingestion: builds a generation from the sources and publishes it once it is complete.

The current generation is never modified. The catalog of the next one is written first, page by
page, so that memory does not grow with the sources. Then its chunks are embedded and indexed. Both
stores are verified, tested if there is a gate, sealed and published. A killed run leaves an
unfinished generation, which the next run removes; its vectors stay in the embedding cache.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from surefind.errors import InputError, StoreError
from surefind.model import GateResult, GenerationRef, IngestReport, Manifest, Replication
from surefind.ports import Source
from surefind.services.generations.cleanup import drop, held_back, remove_unfinished, surplus_of
from surefind.services.generations.index_building import IngestTools, ReportProgress
from surefind.services.ingest.current_generation import CurrentGeneration, open_current
from surefind.services.ingest.generation_builder import BuildParams, GenerationBuilder
from surefind.services.ingest.link_check import LinkCheck
from surefind.services.ingest.planning import (
    PlannedChanges,
    check_budget,
    check_named,
    check_not_empty,
    check_not_fewer,
    check_same_settings,
    check_shrinking,
)
from surefind.services.ingest.source_scan import ChangeTarget, DryRunTarget, SourceScan
from surefind.services.validation.gate import Gate, judge
from surefind.text.documents import TEXT_VERSION

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
    update: bool = False
    """Add and change pages of the sources, and remove none."""
    is_unnamed: Callable[[str], bool] = lambda _source_path: False
    """Whether a page still exists, and the sources only do not name it."""


class Ingestor:
    def __init__(self, tools: IngestTools) -> None:
        if tools.chunker.max_tokens > tools.embedder.max_tokens:
            raise InputError(
                f"max_tokens is {tools.chunker.max_tokens}, but the embedder accepts at most "
                f"{tools.embedder.max_tokens} tokens; lower max_tokens"
            )
        self._tools = tools

    async def run(
        self,
        sources: Sequence[Source],
        options: IngestOptions,
        report: ReportProgress = lambda _: None,
    ) -> IngestReport:
        """Ingest and publish. If it raises, the current generation stays as it was."""
        self._check(sources, options)
        tools = self._tools
        async with tools.catalogs.writing("ingest"):
            await remove_unfinished(options.collection, tools.index, tools.catalogs)
            current = await open_current(options.collection, tools, report, rebuild=options.rebuild)
            builder = GenerationBuilder(options.collection, current, tools)
            try:
                return await _IngestRun(tools, options, sources, report).publish(current, builder)
            finally:
                await current.close()
                await builder.clean_up()

    async def dry_run(
        self,
        sources: Sequence[Source],
        options: IngestOptions,
        report: ReportProgress = lambda _: None,
    ) -> IngestReport:
        """Report what `run` would do, guards included, without writing or embedding anything."""
        self._check(sources, options)
        tools = self._tools
        current = await open_current(options.collection, tools, report, rebuild=options.rebuild)
        try:
            return await _IngestRun(tools, options, sources, report).dry_run(current)
        finally:
            await current.close()

    def _check(self, sources: Sequence[Source], options: IngestOptions) -> None:
        _check_sources(sources)
        if options.gate is not None:
            options.gate.check()
        if options.max_cost is not None and self._tools.price_per_million_tokens is None:
            raise InputError(
                f"--max-cost: the price of {self._tools.embedder.fingerprint.model} is unknown; "
                "set embed_price_per_million_tokens, or omit --max-cost"
            )


class _IngestRun:
    """A single ingest, from the sources to the report."""

    def __init__(
        self,
        tools: IngestTools,
        options: IngestOptions,
        sources: Sequence[Source],
        report: ReportProgress,
    ) -> None:
        self._tools = tools
        self._options = options
        self._sources = sources
        self._report_progress = report
        self._started = time.monotonic()
        self._embedded_before = tools.embedder.embedded
        self._reused_before = tools.embedder.reused
        self._params = BuildParams(
            now=datetime.now(UTC),
            sources=tuple(source.name for source in sources),
            sites=(
                *(source.fingerprint for source in sources),
                *tools.formats.fingerprint,
                f"text {TEXT_VERSION}",
            ),
            rebuild=options.rebuild,
            max_cost=options.max_cost,
        )

    def _keep_other_sources(self, before: Manifest) -> None:
        """An update is a part of the sources that the collection has."""
        sources = tuple(dict.fromkeys((*before.sources, *self._params.sources)))
        self._params = replace(self._params, sources=sources, sites=before.sites)

    async def publish(self, current: CurrentGeneration, builder: GenerationBuilder) -> IngestReport:
        changes = await self._scan(current, builder)
        if current.manifest is not None and current.is_whole and not changes.any:
            report = self._report(current.manifest, changes, published=False)
            replication = await self._replication(current.manifest)
            return replace(report, gate=None, replication=replication)
        manifest = await builder.build(changes, self._params, self._report_progress)
        gate = await self._judge(manifest, current)
        manifest = replace(manifest, gate=gate)
        if gate is not None and gate.held:
            pruned = await self._drop(await held_back(manifest, self._tools.catalogs))
            await builder.hold_back(manifest)
            report = self._report(manifest, changes, published=False, pruned=pruned)
            return replace(report, generation=manifest.follows or 0)
        await builder.publish(manifest)
        replication = await self._replication(manifest)
        pruned = await self._prune(manifest)
        report = self._report(manifest, changes, published=True, pruned=pruned)
        return replace(report, replication=replication)

    async def dry_run(self, current: CurrentGeneration) -> IngestReport:
        changes = await self._scan(current, DryRunTarget())
        check_budget(self._tools.cost(changes.unpaid_tokens), self._options.max_cost)
        gate = self._options.gate.dry_run_result() if self._options.gate and changes.any else None
        report = self._report(current.manifest, changes, published=False)
        documents = report.documents + len(changes.added) - len(changes.removed)
        report = replace(report, documents=documents, chunks=changes.chunks, index_points=0)
        return replace(report, gate=gate)

    async def _judge(self, manifest: Manifest, current: CurrentGeneration) -> GateResult | None:
        gate = self._options.gate
        if gate is None:
            return None
        return await judge(gate, manifest, current.manifest, self._tools, self._report_progress)

    async def _scan(self, current: CurrentGeneration, target: ChangeTarget) -> PlannedChanges:
        options, tools = self._options, self._tools
        before = current.manifest
        if before is not None and not options.rebuild:
            check_same_settings(before, tools.embedder.fingerprint, tools.chunker, tools.terms.name)
        if before is not None and options.update:
            self._keep_other_sources(before)
        reread = options.rebuild or (before is not None and before.sites != self._params.sites)
        links = LinkCheck() if options.check_links else None
        scan = SourceScan(current, target, tools, self._params.now, reread=reread, links=links)
        await scan.read(self._sources, self._report_progress)
        if not options.allow_shrink and not options.update:
            check_named(scan.missing, options.is_unnamed)
            gone = (*scan.missing, *scan.changes.removed, *scan.changes.emptied)
            check_shrinking(current.documents.keys(), gone)
            check_not_fewer(current.lost_documents, len(scan.changes.added))
        if not options.update:
            await scan.remove_missing()
        check_not_empty(scan.changes)
        return scan.changes

    async def _replication(self, manifest: Manifest) -> Replication | None:
        try:
            return await self._tools.index.replication(manifest.ref)
        except StoreError as error:  # it is published, whether or not this can be known
            _log.warning("can't check the replicas of %s: %s", manifest.ref, error)
            return None

    async def _prune(self, manifest: Manifest) -> tuple[int, ...]:
        """Remove old generations; the next run retries those that can't be removed now."""
        keep = self._options.keep_generations
        return await self._drop(await surplus_of(manifest, keep, self._tools.catalogs))

    async def _drop(self, surplus: Sequence[GenerationRef]) -> tuple[int, ...]:
        try:
            for ref in surplus:
                await drop(ref, self._tools.index, self._tools.catalogs)
        except StoreError as error:
            _log.warning("can't remove old generations: %s", error)
            return ()
        return tuple(sorted(ref.number for ref in surplus))

    def _report(
        self,
        manifest: Manifest | None,
        changes: PlannedChanges,
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
            index_points=manifest.chunks if manifest else 0,  # verified to be equal
            new_chunks=len(changes.new_chunks),
            new_tokens=changes.new_tokens,
            embedded=embedder.embedded - self._embedded_before,
            from_cache=embedder.reused - self._reused_before,
            failures=tuple(changes.failures),
            left_out=tuple(changes.left_out),
            warnings=tuple(changes.warnings),
            unread=dict(sorted(changes.unread.items())),
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
            "no source given; pass a folder of documentation, or a website with --site"
        )
    names = [source.name for source in sources]
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise InputError(
            f"two sources have the same name: {', '.join(sorted(duplicates))}. Pages are "
            "identified by the folder's name and their path in it, so rename one of the folders"
        )
