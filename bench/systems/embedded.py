"""surefind, embedded: everything as it is by default.

Questions come with precomputed vectors, so a simple embedder replaces the model. Everything else is
the same as in `surefind.aopen()` and `surefind.open()`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.support.dataset import TOP, Dataset
from bench.support.stored import Prepared, build, number_of
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
from surefind.adapters.sqlite.generations import SqliteCatalogStore
from surefind.bootstrap import Application, IngestRequest
from surefind.interfaces.library.portal import Portal
from surefind.model import Mode, Query
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.generations.readers import Readers
from surefind.services.search.search import Searcher
from surefind.settings import load

_DEEP = 100


class Surefind:
    def build(self, dataset: Dataset, store: Path) -> None:
        folder = DataFolder(store)
        folder.prepare()
        asyncio.run(build(folder, dataset))

    async def open_soon(self, dataset: Dataset, store: Path) -> None:
        folder = DataFolder(store)
        readers = Readers(EdgeIndexStore(folder), SqliteCatalogStore(folder))
        self._searcher = Searcher(readers, Prepared(dataset), Bm25Encoder(Bm25Analyzer()))
        self._questions = dataset.questions

    async def search_soon(self, question: int, mode: str) -> list[int]:
        query = Query(self._questions[question], top_k=TOP, mode=Mode(mode))
        result = await self._searcher.search(query)
        return [number_of(hit.record) for hit in result.hits]

    def ingest(self, pages: Path, store: Path) -> dict[str, int]:
        async def run() -> dict[str, int]:
            application = Application(load(data_dir=store))
            report = await application.ingesting.ingest(IngestRequest(paths=[pages]))
            await application.close()
            return {"chunks": report.chunks, "embedded": report.embedded}

        return asyncio.run(run())

    def find(self, store: Path, questions: Sequence[str], mode: str) -> list[list[str]]:
        async def run() -> list[list[str]]:
            application = Application(load(data_dir=store))
            found = []
            for question in questions:
                query = Query(question, top_k=_DEEP, mode=Mode(mode))
                result = await application.searching.search(query)
                paths = [hit.record.chunk.source_path for hit in result.hits]
                found.append([path.partition("/")[2] for path in paths])
            await application.close()
            return found

        return asyncio.run(run())


class SynchronousSurefind:
    """One event loop in a thread of its own answers all callers."""

    def __init__(self) -> None:
        self._inner = Surefind()

    def build(self, dataset: Dataset, store: Path) -> None:
        self._inner.build(dataset, store)

    def open(self, dataset: Dataset, store: Path) -> None:
        self._portal = ExitStack().enter_context(Portal())  # open for the life of the process
        self._portal.call(self._inner.open_soon, dataset, store)

    def search(self, question: int, mode: str) -> list[int]:
        return self._portal.call(self._inner.search_soon, question, mode)
