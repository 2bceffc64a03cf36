"""A store in a hurry, on a Qdrant server that misbehaves when it is told to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contract.indexes.index_contents import DIMENSIONS, TEXTS
from support.fakes import WordEmbedder
from surefind.adapters.qdrant.server.calls import ServerAddress
from surefind.adapters.qdrant.server.store import QdrantIndexStore
from surefind.adapters.remote_calls import CallPolicy, RetryPolicy
from surefind.errors import (
    StoreError,
)
from surefind.ports import DenseQuery

KEY, READING_KEY = "the-key-that-nobody-may-see", "a-key-for-reading"
HASTY = RetryPolicy(
    tries=3, first_pause_s=0.001, longest_pause_s=0.01, longest_wait_s=0.5, concurrency=4
)
PROBE = DenseQuery(WordEmbedder(DIMENSIONS).embed(TEXTS[0]), 3)


class Opened:
    def __init__(self, url: str, **options: Any) -> None:
        self.told: list[str] = []
        self.place = ServerAddress(
            url, options.pop("key", KEY), timeout_s=options.pop("timeout_s", 5.0)
        )
        self.policy = CallPolicy(self.told.append, ingesting=HASTY, searching=HASTY)
        self.options = options

    async def owner(self) -> str:
        return "c" * 32

    @asynccontextmanager
    async def store(self) -> AsyncIterator[QdrantIndexStore]:
        store = QdrantIndexStore(self.place, self.policy, self.owner, **self.options)
        try:
            yield store
        finally:
            await store.close()


async def fails_with(
    kind: type[StoreError], match: str, opened: Opened, *, secret: str = KEY
) -> None:
    async with opened.store() as store:
        with pytest.raises(kind, match=match) as raised:
            await store.require_room(0, 0)
    said = f"{raised.value}{raised.value.__cause__}"
    assert secret not in said
    assert type(raised.value) is kind
