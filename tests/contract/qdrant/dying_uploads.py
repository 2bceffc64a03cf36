"""An upload into a Qdrant server that dies on the way, and what is left of it there."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.embedders.rude_server import HASTY
from support.qdrant.service import Service
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.schema import CollectionShape
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy
from surefind.errors import StoreError
from surefind.ports import UnfinishedIndex
from surefind.services.generations.index_building import Progress
from surefind.services.generations.readers import Readers
from unit.installation import Crash, Installation

PAGES = {f"{n:02}.md": f"---\nlevel: {n}\n---\n# Page {n}\n\nall of page {n}" for n in range(40)}
FIRST = "docs--0001"
POINTS = r"PUT .*/points$"
BEGUN = UnfinishedIndex("the same making", datetime(2026, 1, 1, tzinfo=UTC))


class Home(Installation):
    """With its index in the server; eight chunks travel at a time."""

    def settle(self, service: Service, shape: CollectionShape | None = None) -> "Home":
        self.told: list[str] = []
        self.asks: int | None = None
        self.service = service
        policy = CallPolicy(self.told.append, ingesting=HASTY, searching=HASTY)
        self.index = QdrantIndexStore(
            ServerAddress(service.url),
            policy,
            self.catalogs.identity,
            shape,
            guard=self.require_place,
        )
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2
        return self

    async def dies(self, after: int = 24, pages: dict[str, str] | None = None) -> None:
        """Without a word, when so many chunks have been written."""
        with pytest.raises(Crash):
            await self.ingest(pages or PAGES, on_progress=at(after, crash))
        await self.is_gone()

    async def is_gone(self) -> None:
        """As a process that died: its lines are closed, and what it had sent has arrived."""
        await self.index.close()
        rested = 0
        while rested < 3:
            rested = 0 if self.service.lines else rested + 1
            await asyncio.sleep(0.02)
        self.settle(self.service)

    async def require_place(self) -> None:
        """`asks` are answered, then the place is lost; None for never."""
        if self.asks is not None:
            self.asks -= 1
            if self.asks < 0:
                raise StoreError("the one writer's place was lost")

    async def close(self) -> None:
        await super().close()
        await self.index.close()


def at(done: int, act: Any) -> Any:
    def report(progress: Progress) -> None:
        if progress.stage in {"embedding", "moving"} and progress.done >= done:
            act()

    return report


def crash() -> None:
    raise Crash


def written(service: Service) -> int:
    """Points that have travelled since the last time this was asked."""
    sent = [one.body for one in service.requests if re.search(POINTS, one.line)]
    service.requests.clear()
    return sum(len(body["points"]) for body in sent if body)
