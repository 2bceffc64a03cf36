"""Verifies open generations slowly in the background, and records damage."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from surefind.errors import StoreChanged, SurefindError
from surefind.model import GenerationRef
from surefind.ports import IndexStore, PublishedCatalogs

_log = logging.getLogger(__name__)


class VerificationPace(NamedTuple):
    """Verification starts `delay_s` after opening, and reads for `share` of the time.

    A command that runs a single search ends before the delay does. After `reading_s` of reading, it
    pauses.
    """

    delay_s: float = 2.0
    share: float = 0.1
    reading_s: float = 0.002


class GenerationVerifier:
    """Verifies one generation at a time, even if several collections are open."""

    def __init__(
        self, index: IndexStore, catalogs: PublishedCatalogs, pace: VerificationPace
    ) -> None:
        self.index = index
        self.catalogs = catalogs
        self.pace = pace
        self.turn = asyncio.Lock()

    def start(
        self, ref: GenerationRef, is_current: Callable[[], Awaitable[bool]]
    ) -> GenerationVerification:
        return GenerationVerification(self, ref, is_current)


class GenerationVerification:
    """A pass over the files of a generation; `stop` ends it within a block."""

    def __init__(
        self,
        verifier: GenerationVerifier,
        ref: GenerationRef,
        is_current: Callable[[], Awaitable[bool]],
    ) -> None:
        """`is_current` distinguishes damage from a generation that was replaced and removed."""
        self._verifier = verifier
        self._ref = ref
        self._is_current = is_current
        self._found: dict[str, str] = {}
        self._stopped = threading.Event()
        self._resumed = 0.0
        self._reading = False
        self._task = asyncio.create_task(self._run())

    def require_sound(self, *parts: str) -> None:
        """Raises StoreChanged if damage was found in one of the parts, `index` or `catalog`."""
        for part in parts:
            if part in self._found:
                raise StoreChanged(self._found[part])

    @property
    def reading(self) -> bool:
        return self._reading and not self.finished

    @property
    def finished(self) -> bool:
        return self._task.done()

    async def stop(self) -> None:
        self._stopped.set()
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            await asyncio.sleep(self._verifier.pace.delay_s)
            async with self._verifier.turn:
                await self._verify()
        finally:
            self._stopped.set()  # the worker thread does not see a cancelled task

    async def _verify(self) -> None:
        stores = (("catalog", self._verifier.catalogs), ("index", self._verifier.index))
        for part, store in stores:
            self._resumed = time.monotonic()
            try:
                await store.verify(self._ref, self._pause)
            except StoreChanged as error:
                if not await self._is_current():
                    return
                self._found[part] = str(error)
                _log.error("generation %s: %s", self._ref, error)
            except SurefindError as error:
                _log.info("can't verify generation %s: %s", self._ref, error)

    def _pause(self, _read_bytes: int) -> None:
        """Called by the reading thread after each block."""
        self._reading = True
        worked_s = time.monotonic() - self._resumed
        if worked_s >= self._verifier.pace.reading_s:
            self._stopped.wait(worked_s * (1 / self._verifier.pace.share - 1))
            self._resumed = time.monotonic()
        if self._stopped.is_set():
            raise _Stopped


class _Stopped(Exception):  # noqa: N818 - not an error
    """Ends the reading thread."""
