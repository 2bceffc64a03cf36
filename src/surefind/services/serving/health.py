"""Checks each part separately, without embedding anything."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from surefind.errors import SurefindError, UnknownCollection
from surefind.services.encoding.circuit_breaker import CircuitBreaker
from surefind.services.generations.readers import CollectionReader

TIMEOUT_S = 4.0
"""A part that takes longer counts as down. Load balancers rarely wait more than 5 s."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """`embedder` is False only if its last real call failed recently."""

    index: bool
    catalog: bool
    embedder: bool


class HealthCheck:
    """Logs when a part goes down or comes back, not at every check."""

    def __init__(
        self, reader: CollectionReader, embedding: CircuitBreaker, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._reader = reader
        self._embedding = embedding
        self._timeout_s = timeout_s
        self._down: set[str] = set()

    async def __call__(self) -> Health:
        index, catalog = await asyncio.gather(
            self._works("index", self._reader.check_index()),
            self._works("catalog", self._catalog()),
        )
        return Health(index, catalog, embedder=not self._embedding.failing)

    async def _catalog(self) -> None:
        try:
            await self._reader.check_catalog()
        except UnknownCollection:
            return  # the catalog works, but is empty

    async def _works(self, part: str, check: Awaitable[None]) -> bool:
        reason = ""
        try:
            async with asyncio.timeout(self._timeout_s):
                await check
        except SurefindError as error:
            reason = str(error)
        except TimeoutError:
            reason = f"no answer within {self._timeout_s:g} s"
        if reason and part not in self._down:
            _log.warning("health: the %s is down: %s", part, reason)
            self._down.add(part)
        elif not reason and part in self._down:
            _log.warning("health: the %s is back up", part)
            self._down.remove(part)
        return not reason
