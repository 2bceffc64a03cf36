"""Choosing hits: what counts as the same, whatever an engine ranks by."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.fakes import record
from surefind.model import ChunkRecord, Collapse, Query, Ranking
from surefind.services.search.ranking.fusion import Candidate, LegResults, dense_pool
from surefind.services.search.selection import choose

TEXT = "cats sleep on the warm roof of the old house until the evening comes and they get up"
ALIKE = (TEXT, TEXT + " slowly")


async def chosen(scores: list[float], cosines: list[float] | None) -> list[tuple[int, int]]:
    """The number of each that is shown, and how many count as the same."""
    records: list[ChunkRecord] = []
    for number, text in enumerate(ALIKE):
        one = record(number)
        chunk = replace(one.chunk, text=text, content_hash=f"{number:064x}")
        records.append(replace(one, chunk=chunk))

    async def fetch(candidates: Sequence[Candidate]) -> list[ChunkRecord]:
        return [records[candidate.point] for candidate in candidates]

    pool = dense_pool([LegResults("docs", Ranking([0, 1], scores, cosines), None)])
    query = Query("cats", collapse=Collapse.NEAR)
    hits = await choose(pool.candidates(), query, fetch)
    return [(one.candidate.point, len(one.also)) for one in hits]


@pytest.mark.parametrize(
    ("scores", "cosines"),
    [([0.91, 0.9], None), ([1731.0, 1730.2], [0.91, 0.9]), ([-2.5, -7.1], [0.91, 0.9])],
)
async def test_near_copies_have_alike_cosines_whatever_the_engine_ranks_by(
    scores: list[float], cosines: list[float] | None
) -> None:
    assert await chosen(scores, cosines) == [(0, 1)]


async def test_passages_with_other_cosines_are_not_compared() -> None:
    assert await chosen([0.91, 0.5], None) == [(0, 0), (1, 0)]
