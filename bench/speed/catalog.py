"""What the metadata join costs where the catalog is in PostgreSQL, and how that grows.

First a dense search at top_k 20 over surefind's own documentation, with the local embedder: with
records from PostgreSQL, beside the same search with records from a dictionary. Then the join alone,
of 20 points chosen at random, in a catalog of 1,000,000 chunks beside one of 10,000. Both sides
take turns, question by question, and who comes first takes turns too.

The server is the one of the tests, on this machine, or the one that SUREFIND_TEST_DATABASE_URL
names.
"""

import argparse
import asyncio
import hashlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

from bench.support.folders import RESULTS, ROOT
from support.fakes import MemoryCatalogStore
from support.fakes.catalogs import MemoryCatalog
from support.postgres import PostgresService, running
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.adapters.postgres.connection import Database
from surefind.adapters.postgres.generations import PostgresCatalogStore
from surefind.bootstrap import Application, IngestRequest
from surefind.model import ChunkRecord, GenerationRef, Mode, Query
from surefind.services.generations.readers import Readers
from surefind.services.search.search import Searcher
from surefind.settings import load

TOP_K, REPEATS = 20, 300
SMALL, LARGE = 10_000, 1_000_000
FILL = """
    INSERT INTO {s}.document
    SELECT %(id)s, 'docs/' || page || '.md', 'https://docs.example.com/' || page, 'page-' || page,
           'Page ' || page, '', '', md5(page::text), '', '{{}}', '{{}}', ''
    FROM generate_series(0, %(rows)s / 10 - 1) AS page;
"""
FILL_CHUNKS = """
    INSERT INTO {s}.chunk
    SELECT %(id)s, md5(n::text)::uuid, 'chunk-' || n, 'docs/' || n / 10 || '.md', n %% 10, 0, 256,
           repeat(md5(n::text), 8), ARRAY['Page ' || n / 10, 'Section ' || n %% 10], '',
           'section-' || n %% 10, 64, 40, md5(n::text), false, 'text', now()
    FROM generate_series(0, %(rows)s - 1) AS n;
"""


class Remembered(MemoryCatalog):
    """A catalog with all records in memory: the join without a database."""

    def __init__(self, records: Mapping[UUID, ChunkRecord]) -> None:
        super().__init__({}, MemoryCatalogStore())
        self._at_hand = records

    async def by_point(self, point_ids: Sequence[UUID]) -> Mapping[UUID, ChunkRecord]:
        return {point: self._at_hand[point] for point in point_ids}


class RememberedStore(MemoryCatalogStore):
    remembered: Remembered

    async def open(self, ref: GenerationRef) -> MemoryCatalog:  # noqa: ARG002 - there is one
        return self.remembered


async def in_turns(
    one: Callable[[int], Awaitable[object]], other: Callable[[int], Awaitable[object]]
) -> tuple[list[float], list[float]]:
    """Milliseconds of both, question by question."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(-20, REPEATS):
        for side in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            await (one, other)[side](number)
            if number >= 0:
                times[side].append(1000 * (time.perf_counter() - started))
    return times


async def measure_join(service: PostgresService, schema: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        settings = load(data_dir=folder, database_url=service.url, database_schema=schema)
        application = Application(settings, print)
        await application.ingesting.ingest(IngestRequest(paths=[ROOT / "docs"]))
        embedder = BgeSmallEmbedder(locate(None, settings.cache_dir, print))
        async with application.parts.reader.lease() as generation:
            assert generation.catalog is not None
            records = {one.chunk.point_id: one async for one in generation.catalog.chunks()}
            alone = RememberedStore(pointers={"docs": 1})
            alone.sealed[generation.manifest.ref] = generation.manifest
            alone.remembered = Remembered(records)
        joined = Searcher(application.parts.readers, embedder, application.parts.terms)
        bare = Searcher(Readers(application.parts.index, alone), embedder, application.parts.terms)
        chance = random.Random(7)
        texts = [one.chunk.text.split() for one in records.values() if one.chunk.tokens > 30]

        def question() -> Query:
            words = chance.choice(texts)
            start = chance.randrange(max(1, len(words) - 10))
            return Query(" ".join(words[start : start + 10]), top_k=TOP_K, mode=Mode.DENSE)

        questions = [question() for _ in range(REPEATS + 20)]
        with_join, without = await in_turns(
            lambda number: joined.search(questions[number]),
            lambda number: bare.search(questions[number]),
        )
        await application.close()
        await embedder.close()
    return statistics.median(with_join), statistics.median(without)


async def filled(service: PostgresService, schema: str, rows: int) -> PostgresCatalogStore:
    store = PostgresCatalogStore(Database(service.url, schema))
    await store.create(GenerationRef("docs", 1), None)
    database = Database(service.url, schema)
    async with database.transaction() as connection:
        for statement in (FILL, FILL_CHUNKS):
            await database.execute(connection, statement, {"id": 1, "rows": rows})
    async with database.transaction() as connection:
        await database.execute(connection, "ANALYZE {s}.chunk, {s}.document")
    await database.close()
    return store


async def measure_growth(
    service: PostgresService, schemas: tuple[str, str], large: int
) -> tuple[float, float]:
    stores = [
        await filled(service, schema, rows)
        for schema, rows in zip(schemas, (SMALL, large), strict=True)
    ]
    catalogs = [await store.open(GenerationRef("docs", 1)) for store in stores]
    chance = random.Random(7)

    def points(rows: int) -> list[UUID]:
        numbers = chance.sample(range(rows), TOP_K)
        return [UUID(hashlib.md5(str(number).encode()).hexdigest()) for number in numbers]

    async def ask(side: int, rows: int) -> None:
        found = await catalogs[side].by_point(points(rows))
        assert len(found) == TOP_K

    few, many = await in_turns(lambda _: ask(0, SMALL), lambda _: ask(1, large))
    for store in stores:
        await store.close()
    return statistics.median(few), statistics.median(many)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=LARGE, help="of the large catalog")
    rows = parser.parse_args().rows
    with (
        running() as service,
        service.schema() as own,
        service.schema() as small,
        service.schema() as large,
    ):
        joined, bare = asyncio.run(measure_join(service, own))
        few, many = asyncio.run(measure_growth(service, (small, large), rows))
    report = f"""# The catalog in PostgreSQL

Medians of {REPEATS}, in milliseconds. `make bench-catalog` measures it again.

| | | ms | ratio | allowed |
|---|---|---|---|---|
| dense search, top_k {TOP_K} | without the join | {bare:.2f} | | |
| | with the join | {joined:.2f} | {joined / bare:.2f} | 1.15 |
| the join of {TOP_K} points | {SMALL:,} chunks | {few:.2f} | | |
| | {rows:,} chunks | {many:.2f} | {many / few:.2f} | 2.00 |
"""
    print(report)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "catalog.md").write_text(report)
    if joined / bare > 1.15 or many / few > 2:
        sys.exit("slower than is allowed")


if __name__ == "__main__":
    main()
