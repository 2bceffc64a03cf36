"""API keys, health checks and the server's lock on the data folder."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surefind.adapters.sqlite.query_log import QueryLogWriter
    from surefind.bootstrap.parts import Parts
    from surefind.ports import TokenBuckets
    from surefind.services.serving.health import HealthCheck
    from surefind.services.serving.keys import Keyring, Keys
    from surefind.services.serving.worker import Worker


class Serving:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @cached_property
    def keys(self) -> Keys:
        """Creates, lists and revokes keys."""
        from surefind.adapters.files.key_file import KeyFile
        from surefind.services.serving.keys import Keys

        return Keys(KeyFile(self._parts.folder))

    @cached_property
    def keyring(self) -> Keyring:
        """Checks the keys of requests."""
        from surefind.adapters.files.key_file import KeyFile
        from surefind.services.serving.keys import Keyring

        return Keyring(KeyFile(self._parts.folder))

    @cached_property
    def health(self) -> HealthCheck:
        from surefind.services.serving.health import HealthCheck

        return HealthCheck(self._parts.reader, self._parts.embedding_breaker)

    def buckets(self, worker: Worker) -> TokenBuckets:
        """Where the rate limits of all workers are counted."""
        from surefind.adapters.files.shared_buckets import SharedBuckets
        from surefind.services.serving.rate_limiter import BucketsInMemory

        if worker.shared is None:
            return BucketsInMemory()
        return SharedBuckets(worker.shared / "rates")

    @cached_property
    def query_log(self) -> QueryLogWriter | None:
        """Logs searches in the background, if the settings ask for it."""
        from surefind.adapters.sqlite.query_log import QueryLogWriter

        if not self._parts.settings.query_log:
            return None
        return QueryLogWriter(self._parts.query_log_file)

    async def close(self) -> None:
        """Write the rest of the query log."""
        if self.__dict__.get("query_log") is not None:
            await asyncio.to_thread(self.__dict__["query_log"].close)

    def lock(self) -> AbstractContextManager[None]:
        """Allow one server per data folder. A read-only folder has no lock."""
        folder = self._parts.folder
        return nullcontext() if folder.read_only else folder.held("serve")
