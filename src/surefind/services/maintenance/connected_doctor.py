"""What `surefind doctor` says about a connected collection: nothing here can be repaired by us."""

from collections.abc import Awaitable, Callable, Sequence

from surefind.errors import InputError, StoreError, SurefindError, UnknownCollection
from surefind.mapping.records import record_of, text_in
from surefind.model import CollectionFacts, Role
from surefind.ports import ChunkTable, Embedder, ForeignPoint, PointFields
from surefind.services.connected.collection import ConnectedCollection
from surefind.services.connected.connect import join_of
from surefind.services.connected.model_identity import ModelVerdict, identify
from surefind.services.connected.sampling import SAMPLE, sample
from surefind.services.maintenance.doctor import CheckFinding, CheckSeverity


class ConnectedDoctor:
    """`table` opens the `documents` table whose rows are joined to its chunks, if there is one."""

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
            wanted = PointFields(vector=self._connection.space.name)
            points = await sample(self._collection.foreign, facts, wanted, SAMPLE)
        except UnknownCollection as error:
            return [self._problem(str(error))]
        except StoreError as error:
            return [self._problem(str(error), away=True)]
        findings = [self._texts(facts, points), await self._vectors(facts, points)]
        if self._table is not None:
            findings.append(await self._rows(self._table, points))
        return findings

    def _changed(self, facts: CollectionFacts) -> str:
        try:
            self._collection.check_space(facts)
        except StoreError as error:
            return str(error)
        return ""

    def _texts(self, facts: CollectionFacts, points: Sequence[ForeignPoint]) -> CheckFinding:
        mapping = self._connection.mapping
        if not points:
            return self._warning("it has no points: no search finds anything")
        mapped = ", ".join(role for role in Role if mapping.has(role))
        without = [one for one in points if not text_in(one.payload, mapping)]
        if not without or not mapping.has(Role.TEXT):
            return self._fine(f"connected: {facts.points} points; mapped: {mapped or 'nothing'}")
        again = f"`surefind connect --collection {self._connection.collection}` maps it again"
        keys = " or ".join(mapping.of(Role.TEXT))
        if len(without) == len(points):
            return self._problem(
                f"none of {len(points)} sampled points has a text in {keys}; {again}"
            )
        example = record_of(without[0].id, without[0].payload, self._connection).chunk.id
        return self._warning(
            f"{len(without)} of {len(points)} sampled points have no text in {keys}, such as "
            f"{example}; `surefind audit` lists them, {again}"
        )

    async def _vectors(
        self, facts: CollectionFacts, points: Sequence[ForeignPoint]
    ) -> CheckFinding:
        connection = self._connection
        try:
            embedder = await self._embedder()
            if connection.embedder is None:
                found = await identify(
                    points, connection.mapping, connection.space, embedder, facts
                )
                if found.verdict is ModelVerdict.OTHER:
                    return self._problem(found.reason)
                sure = found.verdict is ModelVerdict.SAME
                return self._fine(found.reason) if sure else self._warning(found.reason)
        except SurefindError as error:
            return self._problem(f"nobody can tell whether its vectors fit: {error}", away=True)
        if connection.embedder != embedder.fingerprint:
            return self._problem(
                f"it was connected with {connection.embedder}, the configured embedder is "
                f"{embedder.fingerprint}: configure the one that made its vectors, or connect it "
                "again"
            )
        return self._fine(
            f"it was connected with {connection.embedder}, the configured embedder; "
            "`surefind audit` compares its vectors with their texts"
        )

    async def _rows(
        self, open_table: Callable[[], ChunkTable], points: Sequence[ForeignPoint]
    ) -> CheckFinding:
        records = [record_of(one.id, one.payload, self._connection) for one in points]
        names = [record.chunk.id for record in records]
        try:
            table = open_table()
            try:
                join = await join_of(table, table.place, names)
            finally:
                await table.close()
        except InputError as error:  # the setting itself is wrong: nothing is searched then
            return self._problem(str(error))
        except StoreError as error:
            return self._problem(f"payloads stand in for its documents table: {error}")
        if not join.lacking:
            return self._fine(f"joined: {join}")
        if len(join.lacking) == len(names):
            return self._problem(
                f"{join}: correct documents_table, or connect again with --map id=KEY, the key "
                "that holds the table's chunk_id"
            )
        return self._warning(f"{join}: their payloads stand in until the rows are added")

    def _fine(self, message: str) -> CheckFinding:
        return CheckFinding(self._connection.name, CheckSeverity.FINE, message)

    def _warning(self, message: str) -> CheckFinding:
        return CheckFinding(self._connection.name, CheckSeverity.WARNING, message)

    def _problem(self, message: str, *, away: bool = False) -> CheckFinding:
        return CheckFinding(self._connection.name, CheckSeverity.PROBLEM, message, away=away)
