"""Checks whether a documents table in PostgreSQL fits the chunks of a collection."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefind.errors import InputError, StoreError
from surefind.mapping.records import record_of
from surefind.model import Connection
from surefind.ports import ChunkTable, ForeignPoint


@dataclass(frozen=True, slots=True)
class CandidateTable:
    """A table that may be joined. If the user `named` it, a misfit is an error."""

    name: str
    table: ChunkTable
    named: bool


@dataclass(frozen=True, slots=True)
class TableJoin:
    """`lacking` are the ids of the sampled chunks that have no row in the table."""

    name: str
    place: str
    rows: int
    sampled: int
    lacking: tuple[str, ...]

    def __str__(self) -> str:
        rows = f"{self.place}: {self.rows} rows"
        if not self.lacking:
            return f"{rows}, one for each of {self.sampled} sampled chunks"
        lacking = f"{len(self.lacking)} of {self.sampled} sampled chunks, such as {self.lacking[0]}"
        return f"{rows}, but none for {lacking}"


async def join_of(table: ChunkTable, name: str, chunk_ids: Sequence[str]) -> TableJoin:
    """Raises StoreError if the table can't be read, or lacks a column of the contract."""
    await table.require_columns()
    joined = await table.joined(chunk_ids)
    lacking = tuple(chunk_id for chunk_id in chunk_ids if chunk_id not in joined.found)
    return TableJoin(name, table.place, joined.rows, len(chunk_ids), lacking)


async def join_if_it_fits(
    candidate: CandidateTable, points: Sequence[ForeignPoint], connection: Connection
) -> tuple[TableJoin | None, str]:
    """(the join, or the reason why there is none)."""
    chunk_ids = [record_of(point.id, point.payload, connection).chunk.id for point in points]
    try:
        join = await join_of(candidate.table, candidate.name, chunk_ids)
    except StoreError as error:
        if candidate.named:
            raise
        return None, str(error)
    if len(join.lacking) < len(chunk_ids):
        return join, ""
    reason = (
        f"{join}; name the table whose chunk_id holds these ids, or map the payload key that holds "
        "the table's ids: --map id=KEY"
    )
    if candidate.named:
        raise InputError(f"--documents-table: {reason}")
    return None, reason
