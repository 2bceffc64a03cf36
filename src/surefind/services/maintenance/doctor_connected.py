"""Examines a connected collection. surefind only reads it, so nothing is repaired."""

from collections.abc import Awaitable, Callable, Sequence

from surefind.errors import InputError, StoreError, SurefindError, UnknownCollection
from surefind.mapping.records import record_of, text_in
from surefind.model import CollectionFacts, Role
from surefind.ports import ChunkTable, Embedder, ForeignPoint, PointFields
from surefind.services.connected.collection import ConnectedCollection
from surefind.services.connected.model_identity import ModelVerdict, identify
from surefind.services.connected.sampling import SAMPLE, sample
from surefind.services.connected.table_join import join_of
from surefind.services.maintenance.doctor_findings import CheckFinding, CheckSeverity


class ConnectedExaminer:
    """`table` opens the `documents` table that is joined to the collection, if there is one."""

    def __init__(
        self,
        collection: ConnectedCollection,
        embedder: Callable[[], Awaitable[Embedder]],
        table: Callable[[], ChunkTable] | None = None,
    ) -> None:
        self._collection = collection
        self._connection = collection.connection
        self._embedder = embedder
        self._table = table

    async def __call__(self) -> list[CheckFinding]:
        try:
            facts = await self._collection.fresh_facts()
            if changed := self._changed(facts):
                return [self._problem(changed)]
            fields = PointFields(vector=self._connection.space.name)
            points = await sample(self._collection.foreign, facts, fields, SAMPLE)
        except UnknownCollection as error:
            return [self._problem(str(error))]
        except StoreError as error:
            return [self._problem(str(error), unavailable=True)]
        findings = [self._check_texts(facts, points), await self._check_model(facts, points)]
        if self._table is not None:
            findings.append(await self._check_join(self._table, points))
        return findings

    def _changed(self, facts: CollectionFacts) -> str:
        try:
            self._collection.check_space(facts)
        except StoreError as error:
            return str(error)
        return ""

    def _check_texts(self, facts: CollectionFacts, points: Sequence[ForeignPoint]) -> CheckFinding:
        mapping = self._connection.mapping
        if not points:
            return self._warning("the collection has no points, so searches return nothing")
        mapped = ", ".join(role for role in Role if mapping.has(role))
        textless = [point for point in points if not text_in(point.payload, mapping)]
        if not textless or not mapping.has(Role.TEXT):
            return self._fine(f"connected: {facts.points} points; mapped: {mapped or 'nothing'}")
        remap = f"run `surefind connect --collection {self._connection.collection}` to map it again"
        keys = " or ".join(mapping.of(Role.TEXT))
        if len(textless) == len(points):
            return self._problem(
                f"none of {len(points)} sampled points has a text in {keys}; {remap}"
            )
        example = record_of(textless[0].id, textless[0].payload, self._connection).chunk.id
        return self._warning(
            f"{len(textless)} of {len(points)} sampled points have no text in {keys}, such as "
            f"{example}; `surefind audit` counts them all, or {remap}"
        )

    async def _check_model(
        self, facts: CollectionFacts, points: Sequence[ForeignPoint]
    ) -> CheckFinding:
        connection = self._connection
        try:
            embedder = await self._embedder()
            if connection.embedder is None:
                identity = await identify(
                    points, connection.mapping, connection.space, embedder, facts
                )
                if identity.verdict is ModelVerdict.OTHER:
                    return self._problem(identity.reason)
                if identity.verdict is ModelVerdict.SAME:
                    return self._fine(identity.reason)
                return self._warning(identity.reason)
        except SurefindError as error:
            return self._problem(f"its vectors could not be checked: {error}", unavailable=True)
        if connection.embedder != embedder.fingerprint:
            return self._problem(
                f"it was connected with the embedder {connection.embedder}, but "
                f"{embedder.fingerprint} is configured: configure the original embedder, or "
                "connect the collection again"
            )
        return self._fine(
            f"the configured embedder is the one it was connected with, {connection.embedder}; "
            "`surefind audit` compares the vectors with their texts"
        )

    async def _check_join(
        self, open_table: Callable[[], ChunkTable], points: Sequence[ForeignPoint]
    ) -> CheckFinding:
        records = [record_of(point.id, point.payload, self._connection) for point in points]
        chunk_ids = [record.chunk.id for record in records]
        try:
            table = open_table()
            try:
                join = await join_of(table, table.place, chunk_ids)
            finally:
                await table.close()
        except InputError as error:  # the setting itself is wrong, so every search fails
            return self._problem(str(error))
        except StoreError as error:
            return self._problem(f"searches use payloads instead of its documents table: {error}")
        if not join.lacking:
            return self._fine(f"joined: {join}")
        if len(join.lacking) == len(chunk_ids):
            return self._problem(
                f"{join}: correct documents_table, or connect again with --map id=KEY, where KEY "
                "holds the table's chunk_id"
            )
        return self._warning(f"{join}: searches use their payloads until the rows are added")

    def _fine(self, message: str) -> CheckFinding:
        return CheckFinding(self._connection.name, CheckSeverity.FINE, message)

    def _warning(self, message: str) -> CheckFinding:
        return CheckFinding(self._connection.name, CheckSeverity.WARNING, message)

    def _problem(self, message: str, *, unavailable: bool = False) -> CheckFinding:
        return CheckFinding(
            self._connection.name, CheckSeverity.PROBLEM, message, unavailable=unavailable
        )
