"""The words of an open generation, read from its catalog when a search needs them.

Reading takes about 50 microseconds per passage, so a process that stays open reads them in the
background before a search does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from surefind.errors import StoreError
from surefind.model import Manifest
from surefind.ports import Catalog
from surefind.services.encoding.vocabulary import Vocabulary

MAX_CHUNKS = 50_000
"""The words of a larger collection would take seconds to read, and are not used."""
DELAY_S = 1.0
"""A command that runs a single search ends before."""
_CHUNKS_PER_TURN = 50


class GenerationWords:
    """Reads the words once, and forgets them with the generation."""

    def __init__(
        self,
        manifest: Manifest,
        catalog: Callable[[], Catalog | None],
        max_chunks: int = MAX_CHUNKS,
    ) -> None:
        """`catalog` gives the catalog, or None while it is unavailable."""
        self._catalog = catalog
        self._are_used = not manifest.connected and manifest.chunks <= max_chunks
        self._known: Vocabulary | None = None
        self.found: set[tuple[str, ...]] = set()
        """Words that the index has, each with the languages by which it was analyzed."""
        self._reading = asyncio.Lock()
        self._stopped = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def known(self) -> Vocabulary | None:
        """The words, if they have been read."""
        return self._known

    @property
    def are_used(self) -> bool:
        """False if the collection belongs to another program, or has too many passages."""
        return self._are_used

    async def read(self) -> Vocabulary | None:
        """The words; None if they are not used, or can't be read now."""
        return await self._read(asyncio.Event()) if self._are_used else None

    def start(self, delay_s: float) -> None:
        """Read the words in the background, after a delay."""
        if self._are_used:
            self._task = asyncio.create_task(self._read_later(delay_s))

    async def stop(self) -> None:
        """End the background reading."""
        self._stopped.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _read_later(self, delay_s: float) -> None:
        try:
            await asyncio.wait_for(self._stopped.wait(), delay_s)
        except TimeoutError:
            await self._read(self._stopped)

    async def _read(self, stopped: asyncio.Event) -> Vocabulary | None:
        async with self._reading:
            catalog = self._catalog()
            if self._known is None and catalog is not None:
                try:
                    self._known = await _vocabulary_of(catalog, stopped)
                except StoreError:  # the index can still answer
                    return None
            return self._known


async def _vocabulary_of(catalog: Catalog, stopped: asyncio.Event) -> Vocabulary | None:
    vocabulary = Vocabulary()
    count = 0
    async for record in catalog.chunks():
        vocabulary.add(record.chunk.passage)
        count += 1
        if count % _CHUNKS_PER_TURN == 0:
            await asyncio.sleep(0)  # other searches get a turn
            if stopped.is_set():
                return None
    return vocabulary
