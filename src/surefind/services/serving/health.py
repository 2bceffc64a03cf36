"""Which parts work: each is asked on its own, and nothing is embedded."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass

from surefind.errors import SurefindError, UnknownCollection
from surefind.services.encoding.circuit_breaker import CircuitBreaker
from surefind.services.generations.readers import CollectionReader

PATIENCE_S = 4.0
"""A part that has not answered by then is down. Load balancers rarely wait for more than 5 s."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """`embedder` is False only if a real call to it has failed and none has succeeded since."""

    index: bool
    catalog: bool
    embedder: bool


class HealthCheck:
    """Says in the log when a part goes down or comes back, not at every call."""

    def __init__(
        self, reader: CollectionReader, embedding: CircuitBreaker, patience_s: float = PATIENCE_S
    ) -> None:
        self._reader = reader
        self._embedding = embedding
        self._patience_s = patience_s
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
            return  # it has answered: nothing is ingested yet

    async def _works(self, part: str, check: Awaitable[None]) -> bool:
        reason = ""
        try:
            async with asyncio.timeout(self._patience_s):
                await check
        except SurefindError as error:
            reason = str(error)
        except TimeoutError:
            reason = f"no answer within {self._patience_s:g} s"
        if reason and part not in self._down:
            _log.warning("health: the %s is down: %s", part, reason)
            self._down.add(part)
        elif not reason and part in self._down:
            _log.warning("health: the %s is up again", part)
            self._down.remove(part)
        return not reason
