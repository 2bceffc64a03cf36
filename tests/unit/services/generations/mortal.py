"""An installation in memory whose runs die, and which can lose the one writer's place."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from support.fakes import MemoryCatalogStore, MemoryIndexStore
from surefind.errors import StoreError
from surefind.model import GenerationRef
from surefind.services.generations.index_building import Progress, ReportProgress
from surefind.services.generations.readers import Readers
from unit.installation import Crash, Installation

PAGES = {f"{n:02}.md": f"# Page {n}\n\nall of page {n}" for n in range(40)}
CHANGED = {**PAGES, **{f"{n:02}.md": f"# Page {n}\n\npage {n}: all of it" for n in range(16)}}
ONE, TWO, THREE = (GenerationRef("docs", number) for number in (1, 2, 3))


@dataclass
class OnePlace(MemoryCatalogStore):
    """`lost` says that another run has the place by now; `stuck`, that the pointer can't move."""

    lost: bool = False
    stuck: bool = False

    async def require_writing(self) -> None:
        if self.lost:
            raise StoreError("the one writer's place was lost")

    async def point_to(self, ref: GenerationRef) -> None:
        if self.stuck:
            raise StoreError("the pointer is stuck")
        await super().point_to(ref)


class Home(Installation):
    """Stores in memory, which die with nothing but the process."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.place = OnePlace()
        self.points = MemoryIndexStore()
        self.index, self.catalogs = self.points, self.place
        self.readers = Readers(self.index, self.catalogs)
        self.embedder.batch_size = 2

    async def dies(self, after: int, pages: dict[str, str] = PAGES) -> None:
        with pytest.raises(Crash):
            await self.ingest(pages, on_progress=at("embedding", crash, after))
        self.points.written = 0


def at(stage: str, act: Callable[[], object], done: int = 0) -> ReportProgress:
    def report(progress: Progress) -> None:
        if progress.stage == stage and progress.done >= done:
            act()

    return report


def crash() -> None:
    raise Crash
