"""Examines an installation: whether its parts are available, compatible and intact.

An examination only reads. Its findings suggest repairs for `doctor_repair`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from surefind.errors import StoreChanged, StoreError, SurefindError, UnknownGeneration
from surefind.model import GenerationRef, Manifest
from surefind.ports import CatalogStore, EmbeddingCache, IndexStore, StoreFacts, Vector
from surefind.services.encoding.bm25 import ENGLISH_ONLY
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.index_building import Progress, ReportProgress
from surefind.services.generations.integrity import (
    IndexDamaged,
    ReadingReport,
    checked_pages,
    read_through,
)
from surefind.services.maintenance.doctor_findings import (
    CheckFinding,
    CheckSeverity,
    Examination,
    GenerationState,
    Remedy,
    Repair,
)

_MAX_CLOCK_SKEW_S = 60.0


@dataclass(frozen=True, slots=True)
class _Collection:
    """`lost_pointer` is the error if the pointer to the published generation can't be read."""

    name: str
    generations: Sequence[GenerationState]
    lost_pointer: StoreChanged | None

    @property
    def current(self) -> GenerationState | None:
        return next((state for state in self.generations if state.current), None)


@dataclass(frozen=True, slots=True)
class _Verification:
    """The result of reading a complete generation, and the first damage found."""

    ref: GenerationRef
    summary: str = ""
    error: SurefindError | None = None
    index_only: bool = False

    @property
    def damaged(self) -> bool:
        return isinstance(self.error, StoreChanged | UnknownGeneration)


class Examiner:
    """Examines surefind's own stores, and then the connected collections.

    `analyzer` names the configured lexical analyzer. Each of `connected` examines one connected
    collection. `cache` opens the embedding cache, if there is one.
    """

    def __init__(
        self,
        index: IndexStore,
        catalogs: CatalogStore,
        embedder: Callable[[], Awaitable[CachedEmbedder]],
        analyzer: str,
        connected: Sequence[Callable[[], Awaitable[list[CheckFinding]]]] = (),
        cache: Callable[[], EmbeddingCache | None] = lambda: None,
    ) -> None:
        self._index = index
        self._catalogs = catalogs
        self._embedder = embedder
        self._analyzer = analyzer
        self._connected = connected
        self._cache = cache

    async def examine(
        self, report: ReportProgress = lambda _: None, *, quick: bool = False
    ) -> Examination:
        """Read everything once; with `quick`, only count the chunks of index and catalog."""
        findings = [
            *await _check_store("catalog", self._catalogs.facts),
            *await _check_store("index", self._index.facts),
            await self._check_embedder(),
        ]
        if not quick:
            findings += await self._check_cache(report)
        generations: list[GenerationState] = []
        if not any(finding.unavailable and finding.subject != "embedder" for finding in findings):
            try:
                for collection in await self._collections():
                    generations += collection.generations
                    findings += await self._check_collection(collection, report, quick=quick)
            except StoreError as error:
                findings.append(
                    CheckFinding("collections", CheckSeverity.PROBLEM, str(error), unavailable=True)
                )
        if self._connected and not generations:  # reading connected collections needs no ingest
            findings = [
                finding for finding in findings if finding.severity is not CheckSeverity.WARNING
            ]
        for examine in self._connected:
            findings += await examine()
        return Examination(tuple(findings), tuple(generations))

    async def _check_embedder(self) -> CheckFinding:
        try:
            embedder = await self._embedder()
            vector = await embedder.embed_query("Is the embedder available?")
        except SurefindError as error:
            return CheckFinding("embedder", CheckSeverity.PROBLEM, str(error), unavailable=True)
        message = f"{embedder.fingerprint}: embedded a test query in {len(vector)} dimensions"
        return CheckFinding("embedder", CheckSeverity.FINE, message)

    async def _check_cache(self, report: ReportProgress) -> list[CheckFinding]:
        clean = Repair(Remedy.CLEAN, None)
        try:
            cache = self._cache()
            if cache is None:
                return []
            report(Progress("reading the embedding cache", 0))
            try:
                checked = await cache.check(repair=False)
            finally:
                await cache.close()
        except StoreError as error:
            message = f"{error}; unreadable entries are embedded again when needed"
            return [CheckFinding("cache", CheckSeverity.WARNING, message, clean)]
        if not checked.damaged:
            message = f"all {checked.entries} cached vectors are intact"
            return [CheckFinding("cache", CheckSeverity.FINE, message)]
        message = (
            f"{checked.damaged} of {checked.entries} cached vectors are damaged; they are ignored "
            "and embedded again when needed"
        )
        return [CheckFinding("cache", CheckSeverity.WARNING, message, clean)]

    async def _collections(self) -> list[_Collection]:
        indexed = set(await self._index.held())
        names = {*await self._catalogs.collections(), *(ref.collection for ref in indexed)}
        collections = []
        for name in sorted(names):
            current, lost_pointer = None, None
            try:
                current = await self._catalogs.current(name)
            except StoreChanged as error:
                lost_pointer = error
            cataloged = dict.fromkeys(await self._catalogs.unfinished(name), "unfinished")
            cataloged.update(dict.fromkeys(await self._catalogs.complete(name), "complete"))
            refs = {*cataloged, *(ref for ref in indexed if ref.collection == name)}
            generations = [
                GenerationState(
                    ref, cataloged.get(ref, "unknown"), ref in indexed, ref.number == current
                )
                for ref in sorted(refs, key=lambda ref: ref.number)
            ]
            collections.append(_Collection(name, generations, lost_pointer))
        return collections

    async def _check_collection(
        self, collection: _Collection, report: ReportProgress, *, quick: bool
    ) -> list[CheckFinding]:
        verified = {
            state.ref: _Verification(state.ref) if quick else await self._verify(state.ref, report)
            for state in collection.generations
            if state.cataloged == "complete" and state.indexed
        }
        intact = [ref for ref, verification in verified.items() if verification.error is None]
        findings = []
        if current := collection.current:
            findings += await self._check_current(current, verified.get(current.ref), intact)
        for state in collection.generations:
            findings += _mismatches(state)
        for state in collection.generations:
            if state.ref in verified and not state.current:
                findings += _unpublished(verified[state.ref])
        if current is None and (collection.lost_pointer is not None or intact):
            findings.append(await self._unpointed(collection, intact))
        return findings

    async def _unpointed(
        self, collection: _Collection, intact: Sequence[GenerationRef]
    ) -> CheckFinding:
        """Report that nothing is published, or that the pointer can't be read."""
        newest = None
        for ref in intact:
            gate = (await self._catalogs.manifest(ref)).gate
            if gate is None or not gate.held:
                newest = ref
        publish = Repair(Remedy.PUBLISH, newest) if newest else None
        severity = CheckSeverity.PROBLEM if newest else CheckSeverity.WARNING
        message = "no generation is published; `surefind generations rollback --to N` publishes one"
        if collection.lost_pointer is not None:
            severity, message = CheckSeverity.PROBLEM, str(collection.lost_pointer)
        return CheckFinding(collection.name, severity, message, publish)

    # --- reading a generation -------------------------------------------------------------------

    async def _verify(self, ref: GenerationRef, report: ReportProgress) -> _Verification:
        """Verify checksums; stores without checksums are compared with each other."""
        reading = ReadingReport(ref, report)
        try:
            cataloged = await self._catalogs.verify(ref, reading)
        except SurefindError as error:
            return _Verification(ref, error=error)
        try:
            indexed = await self._index.verify(ref, reading)
            if cataloged is not None and indexed is not None:
                total = cataloged + indexed
                megabytes = f"{total.bytes / 2**20:.1f} MB"
                summary = f"the checksums of {total.files} files ({megabytes}) match"
                return _Verification(ref, summary)
        except SurefindError as error:
            return _Verification(ref, error=error, index_only=True)
        try:
            chunks = await self._compare_stores(ref, report)
        except SurefindError as error:
            return _Verification(ref, error=error, index_only=isinstance(error, IndexDamaged))
        return _Verification(ref, f"the texts and vectors of all {chunks} chunks were compared")

    async def _compare_stores(self, ref: GenerationRef, report: ReportProgress) -> int:
        manifest = await self._catalogs.manifest(ref)
        cache = self._cache()

        async def embedded_before(passages: Sequence[str]) -> Mapping[str, Vector]:
            if cache is None:
                return {}
            try:
                return await cache.read(manifest.embedder, "passage", passages)
            except StoreError:
                return {}  # reported with the cache

        try:
            return await read_through(
                manifest, self._index, self._catalogs, report, embedded_before
            )
        finally:
            if cache is not None:
                await cache.close()

    # --- the published generation ---------------------------------------------------------------

    async def _check_current(
        self,
        state: GenerationState,
        verification: _Verification | None,
        intact: Sequence[GenerationRef],
    ) -> list[CheckFinding]:
        name = state.ref.collection
        if state.cataloged == "unfinished":
            return []  # reported as a mismatch
        if verification is not None and verification.error is not None:
            return [_damage(verification, intact)]
        try:
            manifest = await self._catalogs.manifest(state.ref)
        except (StoreError, UnknownGeneration) as error:
            return [CheckFinding(name, CheckSeverity.PROBLEM, str(error))]
        findings = await self._check_compatibility(manifest)
        if verification is not None:
            findings.insert(0, await self._check_counts(manifest, verification.summary))
        return [*findings, *await self._check_replication(manifest.ref)]

    async def _check_replication(self, ref: GenerationRef) -> list[CheckFinding]:
        try:
            found = await self._index.replication(ref)
        except StoreError as error:
            message = f"the replicas of generation {ref.number} can't be checked: {error}"
            return [CheckFinding(ref.collection, CheckSeverity.WARNING, message)]
        if found is None:
            return []
        message = f"generation {ref.number} has {found}"
        if found.is_complete:
            return [CheckFinding(ref.collection, CheckSeverity.FINE, message)]
        message += "; bring the missing nodes back, and the server restores the replicas"
        return [CheckFinding(ref.collection, CheckSeverity.WARNING, message)]

    async def _check_counts(self, manifest: Manifest, summary: str) -> CheckFinding:
        name, rebuild = manifest.collection, Repair(Remedy.REBUILD, manifest.ref)
        try:
            catalog = await self._catalogs.open(manifest.ref)
            try:
                await checked_pages(manifest, catalog)
            finally:
                await catalog.close()
        except StoreError as error:
            unavailable = not isinstance(error, StoreChanged)
            return CheckFinding(name, CheckSeverity.PROBLEM, str(error), unavailable=unavailable)
        try:
            index = await self._index.open(manifest.ref)
            try:
                indexed = await index.count()
            finally:
                await index.close()
        except StoreError as error:
            return CheckFinding(name, CheckSeverity.PROBLEM, str(error), rebuild)
        if indexed != manifest.chunks:
            message = (
                f"the index holds {indexed} points for the {manifest.chunks} chunks of generation "
                f"{manifest.number}"
            )
            return CheckFinding(name, CheckSeverity.PROBLEM, message, rebuild)
        message = (
            f"generation {manifest.number} is intact: {manifest.documents} pages, "
            f"{manifest.chunks} chunks in index and catalog"
        )
        return CheckFinding(
            name, CheckSeverity.FINE, f"{message}; {summary}" if summary else message
        )

    async def _check_compatibility(self, manifest: Manifest) -> list[CheckFinding]:
        findings = []
        try:
            configured = (await self._embedder()).fingerprint
        except SurefindError:
            configured = manifest.embedder  # reported with the embedder
        if configured != manifest.embedder:
            message = (
                f"it was built with the embedder {manifest.embedder}, but {configured} is "
                "configured: configure the original embedder, or ingest again with --rebuild"
            )
            findings.append(CheckFinding(manifest.collection, CheckSeverity.PROBLEM, message))
        if manifest.lexical.analyzer != self._analyzer:
            old = manifest.lexical.analyzer
            limit = (
                "its words are analyzed as English"
                if old == ENGLISH_ONLY
                else "only dense search works"
            )
            message = (
                f"it was built with the lexical analyzer {old}, but this version of surefind uses "
                f"{self._analyzer}: {limit} until you ingest again with --rebuild"
            )
            findings.append(CheckFinding(manifest.collection, CheckSeverity.WARNING, message))
        return findings


async def _check_store(
    subject: str, read_facts: Callable[[], Awaitable[StoreFacts]]
) -> list[CheckFinding]:
    try:
        facts = await read_facts()
    except SurefindError as error:
        return [CheckFinding(subject, CheckSeverity.PROBLEM, str(error), unavailable=True)]
    findings = [CheckFinding(subject, CheckSeverity.FINE, f"{facts.name}: {facts.version}")]
    findings += [
        CheckFinding(subject, CheckSeverity.WARNING, warning) for warning in facts.warnings
    ]
    if facts.clock_ahead_s is not None and abs(facts.clock_ahead_s) > _MAX_CLOCK_SKEW_S:
        direction = "ahead of" if facts.clock_ahead_s > 0 else "behind"
        message = (
            f"its clock is {abs(facts.clock_ahead_s):.0f} s {direction} this machine's, so the "
            "times of generations and runs may be misleading; synchronize both clocks"
        )
        findings.append(CheckFinding(subject, CheckSeverity.WARNING, message))
    return findings


def _damage(verification: _Verification, intact: Sequence[GenerationRef]) -> CheckFinding:
    """Damage of the published generation. The remedy depends on the damaged store."""
    name, number = verification.ref.collection, verification.ref.number
    message = str(verification.error)
    if not verification.damaged:
        return CheckFinding(name, CheckSeverity.PROBLEM, message, unavailable=True)
    message = f"generation {number}: {message}"
    if verification.index_only:
        rebuild = Repair(Remedy.REBUILD, verification.ref)
        return CheckFinding(name, CheckSeverity.PROBLEM, message, rebuild)
    earlier = [ref.number for ref in intact if ref.number < number]
    if earlier:
        message += f"; generation {earlier[-1]} is intact"
    return CheckFinding(name, CheckSeverity.PROBLEM, message)


def _unpublished(verification: _Verification) -> list[CheckFinding]:
    name, number = verification.ref.collection, verification.ref.number
    if verification.error is not None:
        message = f"generation {number} (not published): {verification.error}"
        repair = Repair(Remedy.DROP, verification.ref) if verification.damaged else None
        return [CheckFinding(name, CheckSeverity.WARNING, message, repair)]
    if not verification.summary:
        return []
    message = f"generation {number} (not published) is intact: {verification.summary}"
    return [CheckFinding(name, CheckSeverity.FINE, message)]


def _mismatches(state: GenerationState) -> list[CheckFinding]:
    """Findings if catalog and index do not both have the complete generation."""
    name, number, drop = state.ref.collection, state.ref.number, Repair(Remedy.DROP, state.ref)
    if state.cataloged == "unfinished" and state.current:
        message = (
            f"the manifest of the published generation {number} is missing: run `surefind ingest` "
            "with the same sources, or `surefind generations rollback --to N`"
        )
        return [CheckFinding(name, CheckSeverity.PROBLEM, message)]
    if state.cataloged == "unfinished":
        message = f"generation {number} is unfinished: its ingest stopped, or is still running"
        return [CheckFinding(name, CheckSeverity.WARNING, message, drop)]
    if state.cataloged == "unknown":
        message = f"the index has a generation {number} that is missing from the catalog"
        return [CheckFinding(name, CheckSeverity.WARNING, message, drop)]
    if not state.indexed and state.current:
        message = f"the index of the published generation {number} is missing"
        rebuild = Repair(Remedy.REBUILD, state.ref)
        return [CheckFinding(name, CheckSeverity.PROBLEM, message, rebuild)]
    if not state.indexed:
        message = f"the index of generation {number} is missing, so you can't roll back to it"
        return [CheckFinding(name, CheckSeverity.WARNING, message, drop)]
    return []
