"""Are the parts reachable, do they fit each other, and is everything still as it was written?

Looking changes nothing. What can be repaired is listed with how; each repair stands for itself, so
you can stop in between and continue later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import StoreChanged, StoreError, SurefindError, UnknownGeneration
from surefind.model import ChunkRecord, GenerationRef, Manifest
from surefind.ports import (
    CatalogStore,
    EmbeddingCache,
    IndexStore,
    Matrix,
    StoreFacts,
    Vector,
    VerifiedFiles,
)
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.generations.generations import drop
from surefind.services.generations.index_building import Progress, ReportProgress
from surefind.services.generations.integrity import (
    IndexDamaged,
    ReadingReport,
    checked_pages,
    read_through,
    verify,
)
from surefind.services.generations.transfer import TransferTarget, pages_of

_CLOCKS_APART_S = 60.0


class CheckSeverity(StrEnum):
    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


class Remedy(StrEnum):
    """What a repair does.

    DROP removes what nobody reads. REBUILD makes the index again from the catalog's texts. PUBLISH
    writes a pointer that was lost. CLEAN removes damaged vectors from the embedding cache.
    """

    DROP = "drop"
    REBUILD = "rebuild"
    PUBLISH = "publish"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Repair:
    """`ref` is None where it concerns no generation."""

    remedy: Remedy
    ref: GenerationRef | None

    def __str__(self) -> str:
        if self.remedy is Remedy.DROP:
            return f"drop what there is of generation {self.ref}"
        if self.remedy is Remedy.PUBLISH:
            return f"publish generation {self.ref}, the newest one that is whole"
        if self.remedy is Remedy.CLEAN:
            return "remove the damaged vectors from the embedding cache"
        return f"build the index of generation {self.ref} again from its catalog, and publish that"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """`away` says that a store or a service did not answer, or won't."""

    subject: str
    severity: CheckSeverity
    message: str
    repair: Repair | None = None
    away: bool = False


@dataclass(frozen=True, slots=True)
class GenerationSides:
    """One generation on both sides: what the catalog knows of it, and whether the index has it."""

    ref: GenerationRef
    cataloged: str
    indexed: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Examination:
    findings: tuple[CheckFinding, ...]
    sides: tuple[GenerationSides, ...]

    @property
    def repairs(self) -> list[Repair]:
        found = (finding.repair for finding in self.findings)
        return list(dict.fromkeys(repair for repair in found if repair is not None))

    @property
    def sound(self) -> bool:
        return not any(finding.severity is CheckSeverity.PROBLEM for finding in self.findings)

    @property
    def away(self) -> bool:
        return any(finding.away for finding in self.findings)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was read of a complete generation, or what is wrong with it."""

    ref: GenerationRef
    read: str = ""
    error: SurefindError | None = None
    index_only: bool = False

    @property
    def damaged(self) -> bool:
        return isinstance(self.error, StoreChanged | UnknownGeneration)


class Doctor:
    def __init__(
        self,
        index: IndexStore,
        catalogs: CatalogStore,
        embedder: Callable[[], Awaitable[CachedEmbedder]],
        terms: Bm25Encoder,
        version: str,
        others: Sequence[Callable[[], Awaitable[list[CheckFinding]]]] = (),
        cache: Callable[[], EmbeddingCache | None] = lambda: None,
    ) -> None:
        """The stores are surefind's own; `others` examine collections that something else fills.

        `cache` opens the embedding cache, where there is one.
        """
        self._others = others
        self._index = index
        self._catalogs = catalogs
        self._embedder = embedder
        self._terms = terms
        self._version = version
        self._cache = cache

    async def examine(
        self, report: ReportProgress = lambda _: None, *, quick: bool = False
    ) -> Examination:
        """Everything is read once; with `quick`, index and catalog are only counted."""
        findings = [
            *await _of_store("catalog", self._catalogs.facts),
            *await _of_store("index", self._index.facts),
            await self._of_embedder(),
        ]
        if not quick:
            findings += await self._of_cache(report)
        sides: list[GenerationSides] = []
        if not any(finding.away and finding.subject != "embedder" for finding in findings):
            try:
                for name, lost, of_it in await self._collections():
                    sides += of_it
                    findings += await self._of_collection(name, lost, of_it, report, quick=quick)
            except StoreError as error:
                findings.append(
                    CheckFinding("collections", CheckSeverity.PROBLEM, str(error), away=True)
                )
        if self._others and not sides:  # no ingest is needed to read connected collections
            findings = [
                finding for finding in findings if finding.severity is not CheckSeverity.WARNING
            ]
        for examine in self._others:
            findings += await examine()
        return Examination(tuple(findings), tuple(sides))

    async def repair(self, repair: Repair, report: ReportProgress) -> None:
        """An index that is missing comes as a new generation, and the old one goes."""
        if repair.ref is None:
            await self._clean()
            return
        if repair.remedy is Remedy.PUBLISH:
            await self._publish(repair.ref)
            return
        if repair.remedy is Remedy.REBUILD:
            await self._rebuild(repair.ref, report)
        async with self._catalogs.writing("ingest"):
            if await self._catalogs.current(repair.ref.collection) == repair.ref.number:
                raise StoreError(
                    f"generation {repair.ref} is what readers see by now; it is kept. Look again"
                )
            await drop(repair.ref, self._index, self._catalogs)

    # --- looking ------------------------------------------------------------------------------

    async def _of_embedder(self) -> CheckFinding:
        try:
            embedder = await self._embedder()
            vector = await embedder.embed_query("Is anybody there?")
        except SurefindError as error:
            return CheckFinding("embedder", CheckSeverity.PROBLEM, str(error), away=True)
        message = f"{embedder.fingerprint} answers with {len(vector)} numbers"
        return CheckFinding("embedder", CheckSeverity.FINE, message)

    async def _of_cache(self, report: ReportProgress) -> list[CheckFinding]:
        clean = Repair(Remedy.CLEAN, None)
        try:
            cache = self._cache()
            if cache is None:
                return []
            report(Progress("reading the embedding cache", 0))
            try:
                found = await cache.check(repair=False)
            finally:
                await cache.close()
        except StoreError as error:
            message = f"{error}; what can't be read is embedded again"
            return [CheckFinding("cache", CheckSeverity.WARNING, message, clean)]
        if not found.damaged:
            message = f"all {found.entries} embedded passages were read"
            return [CheckFinding("cache", CheckSeverity.FINE, message)]
        message = (
            f"{found.damaged} of {found.entries} embedded passages are damaged; they are ignored, "
            "and embedded again when they are needed"
        )
        return [CheckFinding("cache", CheckSeverity.WARNING, message, clean)]

    async def _collections(self) -> list[tuple[str, StoreChanged | None, list[GenerationSides]]]:
        """Each with its generations, and the error where its pointer can't be read."""
        held = set(await self._index.held())
        names = {*await self._catalogs.collections(), *(ref.collection for ref in held)}
        found = []
        for name in sorted(names):
            current, lost = None, None
            try:
                current = await self._catalogs.current(name)
            except StoreChanged as error:
                lost = error
            known = dict.fromkeys(await self._catalogs.unfinished(name), "unfinished")
            known.update(dict.fromkeys(await self._catalogs.complete(name), "complete"))
            here = {ref for ref in held if ref.collection == name}
            sides = [
                GenerationSides(ref, known.get(ref, "unknown"), ref in here, ref.number == current)
                for ref in sorted({*known, *here}, key=lambda ref: ref.number)
            ]
            found.append((name, lost, sides))
        return found

    async def _of_collection(
        self,
        name: str,
        lost: StoreChanged | None,
        sides: Sequence[GenerationSides],
        report: ReportProgress,
        *,
        quick: bool,
    ) -> list[CheckFinding]:
        verdicts = {
            side.ref: _Verdict(side.ref) if quick else await self._read(side.ref, report)
            for side in sides
            if side.cataloged == "complete" and side.indexed
        }
        whole = [ref for ref, verdict in verdicts.items() if verdict.error is None]
        findings = [finding for side in sides if (finding := _of_side(side)) is not None]
        findings += _of_earlier(
            [verdicts[s.ref] for s in sides if s.ref in verdicts and not s.current]
        )
        current = [side for side in sides if side.current]
        if current:
            side = current[0]
            return [*await self._of_current(side, verdicts.get(side.ref), whole), *findings]
        if lost is not None or whole:
            findings.append(await self._of_pointer(name, lost, whole))
        return findings

    async def _of_pointer(
        self, name: str, lost: StoreChanged | None, whole: Sequence[GenerationRef]
    ) -> CheckFinding:
        newest = None
        for ref in whole:
            gate = (await self._catalogs.manifest(ref)).gate
            if gate is None or not gate.held:
                newest = ref
        publish = Repair(Remedy.PUBLISH, newest) if newest else None
        if lost is not None:
            return CheckFinding(name, CheckSeverity.PROBLEM, str(lost), publish)
        message = "nothing is published; `surefind generations rollback --to N` does it"
        return CheckFinding(
            name, CheckSeverity.PROBLEM if newest else CheckSeverity.WARNING, message, publish
        )

    async def _read(self, ref: GenerationRef, report: ReportProgress) -> _Verdict:
        """By checksums; where there are none, all contents are read and compared."""
        read = ReadingReport(ref, report)
        try:
            cataloged = await self._catalogs.verify(ref, read)
        except SurefindError as error:
            return _Verdict(ref, error=error)
        try:
            indexed = await self._index.verify(ref, read)
            if cataloged is not None and indexed is not None:
                return _Verdict(ref, _told(cataloged + indexed))
        except SurefindError as error:
            return _Verdict(ref, error=error, index_only=True)
        try:
            chunks = await self._read_through(ref, report)
        except SurefindError as error:
            return _Verdict(ref, error=error, index_only=isinstance(error, IndexDamaged))
        return _Verdict(ref, f"the texts and vectors of {chunks} passages read and compared")

    async def _read_through(self, ref: GenerationRef, report: ReportProgress) -> int:
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

    async def _of_current(
        self, side: GenerationSides, verdict: _Verdict | None, whole: Sequence[GenerationRef]
    ) -> list[CheckFinding]:
        name = side.ref.collection
        if side.cataloged == "unfinished":
            return []  # reported as a side
        if verdict is not None and verdict.error is not None:
            return [_of_damage(verdict, whole)]
        try:
            manifest = await self._catalogs.manifest(side.ref)
        except (StoreError, UnknownGeneration) as error:
            return [CheckFinding(name, CheckSeverity.PROBLEM, str(error))]
        findings = await self._of_making(manifest)
        if verdict is not None:
            findings.insert(0, await self._of_counts(manifest, verdict.read))
        return findings

    async def _of_counts(self, manifest: Manifest, read: str) -> CheckFinding:
        name, rebuild = manifest.collection, Repair(Remedy.REBUILD, manifest.ref)
        try:
            catalog = await self._catalogs.open(manifest.ref)
            try:
                await checked_pages(manifest, catalog)
            finally:
                await catalog.close()
        except StoreError as error:
            away = not isinstance(error, StoreChanged)
            return CheckFinding(name, CheckSeverity.PROBLEM, str(error), away=away)
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
            f"generation {manifest.number} is whole: {manifest.documents} pages, "
            f"{manifest.chunks} chunks in index and catalog"
        )
        return CheckFinding(name, CheckSeverity.FINE, f"{message}; {read}" if read else message)

    async def _of_making(self, manifest: Manifest) -> list[CheckFinding]:
        findings = []
        try:
            configured = (await self._embedder()).fingerprint
        except SurefindError:
            configured = manifest.embedder  # told already
        if configured != manifest.embedder:
            message = (
                f"it was made with {manifest.embedder}, the configured embedder is {configured}: "
                "configure the one that made it, or ingest again with --rebuild"
            )
            findings.append(CheckFinding(manifest.collection, CheckSeverity.PROBLEM, message))
        if manifest.lexical.analyzer != self._terms.name:
            message = (
                f"its words were read by the rules {manifest.lexical.analyzer}, those of this "
                f"surefind are {self._terms.name}: only dense searches work until it is ingested "
                "again with --rebuild"
            )
            findings.append(CheckFinding(manifest.collection, CheckSeverity.WARNING, message))
        return findings

    # --- repairing ----------------------------------------------------------------------------

    async def _clean(self) -> None:
        cache = self._cache()
        if cache is not None:
            try:
                await cache.check(repair=True)
            finally:
                await cache.close()

    async def _publish(self, ref: GenerationRef) -> None:
        async with self._catalogs.writing("ingest"):
            await verify(ref, self._index, self._catalogs, lambda _: None)
            await self._catalogs.point_to(ref)
            await self._index.published(ref)

    async def _rebuild(self, ref: GenerationRef, report: ReportProgress) -> None:
        """As a new generation: readers go on with what there is until it is whole."""
        manifest, embedder = await self._catalogs.manifest(ref), await self._embedder()
        if embedder.fingerprint != manifest.embedder:
            raise StoreError(
                f"the index of {ref} was made with {manifest.embedder}, the configured embedder is "
                f"{embedder.fingerprint}; configure the one that made it, and run it again"
            )
        stores = TransferTarget(self._index, self._catalogs, self._terms, self._version)
        catalog = await self._catalogs.open(ref)

        async def vectors(records: Sequence[ChunkRecord]) -> Matrix:
            return await embedder.embed_passages([record.chunk.passage for record in records])

        try:
            await stores.receive(
                ref.collection, manifest, lambda: pages_of(catalog, vectors), report
            )
        finally:
            await catalog.close()


async def _of_store(subject: str, facts: Callable[[], Awaitable[StoreFacts]]) -> list[CheckFinding]:
    try:
        told = await facts()
    except SurefindError as error:
        return [CheckFinding(subject, CheckSeverity.PROBLEM, str(error), away=True)]
    findings = [CheckFinding(subject, CheckSeverity.FINE, f"{told.name}: {told.version}")]
    findings += [CheckFinding(subject, CheckSeverity.WARNING, warning) for warning in told.warnings]
    if told.clock_ahead_s is not None and abs(told.clock_ahead_s) > _CLOCKS_APART_S:
        direction = "ahead of" if told.clock_ahead_s > 0 else "behind"
        message = (
            f"its clock is {abs(told.clock_ahead_s):.0f} s {direction} this machine's: set both by "
            "a time server, or the times of generations and runs mislead"
        )
        findings.append(CheckFinding(subject, CheckSeverity.WARNING, message))
    return findings


def _told(read: VerifiedFiles) -> str:
    return f"{read.files} files with {read.bytes / 2**20:.1f} MB read, all as they were written"


def _of_damage(verdict: _Verdict, whole: Sequence[GenerationRef]) -> CheckFinding:
    """Of the generation that readers see: what helps depends on which side is damaged."""
    name, number = verdict.ref.collection, verdict.ref.number
    if not verdict.damaged:
        return CheckFinding(name, CheckSeverity.PROBLEM, str(verdict.error), away=True)
    if verdict.index_only:
        rebuild = Repair(Remedy.REBUILD, verdict.ref)
        return CheckFinding(
            name, CheckSeverity.PROBLEM, f"generation {number}: {verdict.error}", rebuild
        )
    earlier = [ref.number for ref in whole if ref.number < number]
    back = f"; generation {earlier[-1]} is whole" if earlier else ""
    return CheckFinding(name, CheckSeverity.PROBLEM, f"generation {number}: {verdict.error}{back}")


def _of_earlier(verdicts: Sequence[_Verdict]) -> list[CheckFinding]:
    """Of the generations that readers don't see."""
    findings = []
    for verdict in verdicts:
        name, number = verdict.ref.collection, verdict.ref.number
        if verdict.error is None:
            if verdict.read:
                message = f"generation {number}, which readers don't see: {verdict.read}"
                findings.append(CheckFinding(name, CheckSeverity.FINE, message))
            continue
        message = f"generation {number}, which readers don't see: {verdict.error}"
        repair = Repair(Remedy.DROP, verdict.ref) if verdict.damaged else None
        findings.append(CheckFinding(name, CheckSeverity.WARNING, message, repair))
    return findings


def _of_side(side: GenerationSides) -> CheckFinding | None:
    """What the two sides do not agree on."""
    name, number = side.ref.collection, side.ref.number
    if side.cataloged == "unfinished" and side.current:
        message = (
            f"the manifest of generation {number}, which readers see, is missing: run `surefind "
            "ingest` with the same sources, or `surefind generations rollback --to N`"
        )
        return CheckFinding(name, CheckSeverity.PROBLEM, message)
    if side.cataloged == "unfinished":
        message = f"generation {number} was never finished: a run died, or is under way"
        return CheckFinding(name, CheckSeverity.WARNING, message, Repair(Remedy.DROP, side.ref))
    if side.cataloged == "unknown":
        message = f"the index has a generation {number} that the catalog does not know"
        return CheckFinding(name, CheckSeverity.WARNING, message, Repair(Remedy.DROP, side.ref))
    if not side.indexed and side.current:
        message = f"the index of generation {number}, which readers see, is missing"
        return CheckFinding(name, CheckSeverity.PROBLEM, message, Repair(Remedy.REBUILD, side.ref))
    if not side.indexed:
        message = f"the index of generation {number} is missing: nobody can go back to it"
        return CheckFinding(name, CheckSeverity.WARNING, message, Repair(Remedy.DROP, side.ref))
    return None
