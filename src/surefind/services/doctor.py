"""Are the parts reachable, do they fit each other, and do index and catalog hold the same?

Nothing is changed by looking. What can be put right is told with how; each repair stands for
itself, so whoever stops in between goes on later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefind.errors import StoreError, SurefindError, UnknownGeneration
from surefind.model import ChunkRecord, GenerationRef, Manifest
from surefind.ports import CatalogStore, IndexStore, Matrix, StoreFacts
from surefind.services.building import Report
from surefind.services.embedding import CachedEmbedder
from surefind.services.generations import drop
from surefind.services.lexical import TermReader
from surefind.services.moving import Destination, pages_of

_CLOCKS_APART_S = 60.0


class Gravity(StrEnum):
    FINE = "fine"
    WARNING = "warning"
    PROBLEM = "problem"


class Remedy(StrEnum):
    """DROP removes what nobody reads. REBUILD makes the index anew from the catalog's texts."""

    DROP = "drop"
    REBUILD = "rebuild"


@dataclass(frozen=True, slots=True)
class Repair:
    remedy: Remedy
    ref: GenerationRef

    def __str__(self) -> str:
        if self.remedy is Remedy.DROP:
            return f"drop what there is of generation {self.ref}"
        return f"build the index of generation {self.ref} anew from the catalog, and publish that"


@dataclass(frozen=True, slots=True)
class Finding:
    """`away` says that a store or a service did not answer, or won't."""

    subject: str
    gravity: Gravity
    message: str
    repair: Repair | None = None
    away: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """One generation on both sides: what the catalog knows of it, and whether the index has it."""

    ref: GenerationRef
    cataloged: str
    indexed: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Examination:
    findings: tuple[Finding, ...]
    sides: tuple[Side, ...]

    @property
    def repairs(self) -> list[Repair]:
        found = (finding.repair for finding in self.findings)
        return list(dict.fromkeys(repair for repair in found if repair is not None))

    @property
    def sound(self) -> bool:
        return not any(finding.gravity is Gravity.PROBLEM for finding in self.findings)

    @property
    def away(self) -> bool:
        return any(finding.away for finding in self.findings)


class Doctor:
    def __init__(
        self,
        index: IndexStore,
        catalogs: CatalogStore,
        embedder: Callable[[], Awaitable[CachedEmbedder]],
        terms: TermReader,
        version: str,
    ) -> None:
        self._index = index
        self._catalogs = catalogs
        self._embedder = embedder
        self._terms = terms
        self._version = version

    async def examine(self) -> Examination:
        findings = [
            *await _of_store("catalog", self._catalogs.facts),
            *await _of_store("index", self._index.facts),
            await self._of_embedder(),
        ]
        sides: list[Side] = []
        if not any(finding.away and finding.subject != "embedder" for finding in findings):
            try:
                sides = await self._sides()
                for name in sorted({side.ref.collection for side in sides}):
                    of_it = [side for side in sides if side.ref.collection == name]
                    findings += await self._of_collection(name, of_it)
            except StoreError as error:
                findings.append(Finding("collections", Gravity.PROBLEM, str(error), away=True))
        return Examination(tuple(findings), tuple(sides))

    async def repair(self, repair: Repair, report: Report) -> None:
        """The index that is missing comes as a new generation, and the old one goes."""
        if repair.remedy is Remedy.REBUILD:
            await self._rebuild(repair.ref, report)
        async with self._catalogs.writing("ingest"):
            if await self._catalogs.current(repair.ref.collection) == repair.ref.number:
                raise StoreError(
                    f"generation {repair.ref} is what readers see by now; it is kept. Look again"
                )
            await drop(repair.ref, self._index, self._catalogs)

    # --- looking ------------------------------------------------------------------------------

    async def _of_embedder(self) -> Finding:
        try:
            embedder = await self._embedder()
            vector = await embedder.embed_query("Is anybody there?")
        except SurefindError as error:
            return Finding("embedder", Gravity.PROBLEM, str(error), away=True)
        message = f"{embedder.fingerprint} answers with {len(vector)} numbers"
        return Finding("embedder", Gravity.FINE, message)

    async def _sides(self) -> list[Side]:
        held = set(await self._index.held())
        names = {*await self._catalogs.collections(), *(ref.collection for ref in held)}
        sides: list[Side] = []
        for name in sorted(names):
            current = await self._catalogs.current(name)
            known = dict.fromkeys(await self._catalogs.unfinished(name), "unfinished")
            known.update(dict.fromkeys(await self._catalogs.complete(name), "complete"))
            here = {ref for ref in held if ref.collection == name}
            sides += [
                Side(ref, known.get(ref, "unknown"), ref in here, ref.number == current)
                for ref in sorted({*known, *here}, key=lambda ref: ref.number)
            ]
        return sides

    async def _of_collection(self, name: str, sides: Sequence[Side]) -> list[Finding]:
        findings = [finding for side in sides if (finding := _of_side(side)) is not None]
        current = [side for side in sides if side.current]
        if not current:
            if any(side.cataloged == "complete" for side in sides):
                message = "nothing is published; `surefind generations rollback --to N` does it"
                findings.append(Finding(name, Gravity.WARNING, message))
            return findings
        return [*await self._of_current(name, current[0]), *findings]

    async def _of_current(self, name: str, side: Side) -> list[Finding]:
        try:
            manifest = await self._catalogs.manifest(side.ref)
        except (StoreError, UnknownGeneration) as error:
            return [Finding(name, Gravity.PROBLEM, str(error))]
        findings = await self._of_making(manifest)
        if side.indexed:
            findings.insert(0, await self._of_counts(manifest))
        return findings

    async def _of_counts(self, manifest: Manifest) -> Finding:
        name, rebuild = manifest.collection, Repair(Remedy.REBUILD, manifest.ref)
        try:
            catalog = await self._catalogs.open(manifest.ref)
            try:
                cataloged = await catalog.count()
            finally:
                await catalog.close()
        except StoreError as error:
            return Finding(name, Gravity.PROBLEM, str(error), away=True)
        if cataloged != manifest.chunks:
            message = (
                f"the catalog holds {cataloged} of the {manifest.chunks} chunks of generation "
                f"{manifest.number}; roll back, or ingest again with --rebuild"
            )
            return Finding(name, Gravity.PROBLEM, message)
        try:
            index = await self._index.open(manifest.ref)
            try:
                indexed = await index.count()
            finally:
                await index.close()
        except StoreError as error:
            return Finding(name, Gravity.PROBLEM, str(error), rebuild)
        if indexed != manifest.chunks:
            message = (
                f"the index holds {indexed} points for the {manifest.chunks} chunks of generation "
                f"{manifest.number}"
            )
            return Finding(name, Gravity.PROBLEM, message, rebuild)
        message = (
            f"generation {manifest.number} is whole: {manifest.documents} pages, "
            f"{manifest.chunks} chunks in index and catalog"
        )
        return Finding(name, Gravity.FINE, message)

    async def _of_making(self, manifest: Manifest) -> list[Finding]:
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
            findings.append(Finding(manifest.collection, Gravity.PROBLEM, message))
        if manifest.lexical.analyzer != self._terms.name:
            message = (
                f"its words were read by the rules {manifest.lexical.analyzer}, those of this "
                f"surefind are {self._terms.name}: only dense searches work until it is ingested "
                "again with --rebuild"
            )
            findings.append(Finding(manifest.collection, Gravity.WARNING, message))
        return findings

    # --- putting right ------------------------------------------------------------------------

    async def _rebuild(self, ref: GenerationRef, report: Report) -> None:
        """As a new generation: readers go on with what there is until it is whole."""
        manifest, embedder = await self._catalogs.manifest(ref), await self._embedder()
        if embedder.fingerprint != manifest.embedder:
            raise StoreError(
                f"the index of {ref} was made with {manifest.embedder}, the configured embedder is "
                f"{embedder.fingerprint}; configure the one that made it, and run it again"
            )
        stores = Destination(self._index, self._catalogs, self._terms, self._version)
        catalog = await self._catalogs.open(ref)

        async def vectors(records: Sequence[ChunkRecord]) -> Matrix:
            return await embedder.embed_passages([record.chunk.passage for record in records])

        try:
            await stores.receive(
                ref.collection, manifest, lambda: pages_of(catalog, vectors), report
            )
        finally:
            await catalog.close()


async def _of_store(subject: str, facts: Callable[[], Awaitable[StoreFacts]]) -> list[Finding]:
    try:
        told = await facts()
    except SurefindError as error:
        return [Finding(subject, Gravity.PROBLEM, str(error), away=True)]
    findings = [Finding(subject, Gravity.FINE, f"{told.name}: {told.version}")]
    findings += [Finding(subject, Gravity.WARNING, warning) for warning in told.warnings]
    if told.clock_ahead_s is not None and abs(told.clock_ahead_s) > _CLOCKS_APART_S:
        direction = "ahead of" if told.clock_ahead_s > 0 else "behind"
        message = (
            f"its clock is {abs(told.clock_ahead_s):.0f} s {direction} this machine's: set both by "
            "a time server, or the times of generations and runs mislead"
        )
        findings.append(Finding(subject, Gravity.WARNING, message))
    return findings


def _of_side(side: Side) -> Finding | None:
    """What the two sides do not agree on."""
    name, number = side.ref.collection, side.ref.number
    if side.cataloged == "unfinished":
        message = f"generation {number} was never finished: a run died, or is under way"
        return Finding(name, Gravity.WARNING, message, Repair(Remedy.DROP, side.ref))
    if side.cataloged == "unknown":
        message = f"the index has a generation {number} that the catalog does not know"
        return Finding(name, Gravity.WARNING, message, Repair(Remedy.DROP, side.ref))
    if not side.indexed and side.current:
        message = f"the index of generation {number}, which readers see, is missing"
        return Finding(name, Gravity.PROBLEM, message, Repair(Remedy.REBUILD, side.ref))
    if not side.indexed:
        message = f"the index of generation {number} is missing: nobody can go back to it"
        return Finding(name, Gravity.WARNING, message, Repair(Remedy.DROP, side.ref))
    return None
