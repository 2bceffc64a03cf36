"""Gives each search the current generation, and the next one as soon as it is published."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from surefind.errors import StoreChanged, StoreError, UnknownGeneration
from surefind.model import ChunkRecord, GenerationRef, Manifest, point_id
from surefind.ports import CATALOG_PAUSE_S, Catalog, OpensIndex, PublishedCatalogs, VectorIndex
from surefind.services.encoding.circuit_breaker import CircuitBreaker
from surefind.services.generations.background_verification import (
    GenerationVerification,
    GenerationVerifier,
)
from surefind.services.generations.generation_words import GenerationWords
from surefind.services.generations.generations import current_number

_log = logging.getLogger(__name__)
_TRIES = 5
_READERS_KEPT = 1024
_RECORDS_KEPT = 8192  # about 20 MB, enough for most documentation


class OpenGeneration:
    """An open generation. `catalog` is None while the catalog is unavailable."""

    def __init__(
        self,
        manifest: Manifest,
        index: VectorIndex,
        catalog: Catalog | None,
        max_records: int = _RECORDS_KEPT,
    ) -> None:
        self._max_records = max_records
        self.manifest = manifest
        self.index = index
        self.catalog = catalog
        self.words = GenerationWords(manifest, lambda: self.catalog)
        self._known: dict[int, ChunkRecord] = {}
        self._catalog_breaker = CircuitBreaker("the catalog", pause_s=CATALOG_PAUSE_S)
        self._catalog_fails = False
        self._readers = 0
        self._retired = False
        self.verification: GenerationVerification | None = None

    def require_sound(self, *parts: str) -> None:
        """Raises StoreChanged if the background verification has found damage in these parts."""
        if self.verification is not None:
            self.verification.require_sound(*(parts or ("index", "catalog")))

    def require_catalog(self) -> Catalog:
        """The catalog, for reads that the index's copies can't serve."""
        if self.catalog is None:
            raise StoreError(
                "the catalog is unavailable, and this request needs it; `surefind doctor` shows why"
            )
        return self.catalog

    async def retire(self) -> None:
        """Close it when the last reader leaves."""
        self._retired = True
        if self.verification is not None:
            await self.verification.stop()
        await self.words.stop()
        await self._close_if_unused()

    def enter(self) -> None:
        self._readers += 1

    async def leave(self) -> None:
        self._readers -= 1
        await self._close_if_unused()

    async def records(self, point_ids: Sequence[UUID]) -> tuple[Mapping[UUID, ChunkRecord], bool]:
        """The records, and whether all came from the catalog; the others are the index's copies."""
        records: dict[UUID, ChunkRecord] = {}
        if self.catalog is not None:
            try:
                with self._catalog_breaker.watching(StoreError):
                    records.update(await self.catalog.by_point(point_ids))
                self._catalog_fails = False
            except StoreError as error:
                records.clear()
                if not self._catalog_fails:  # log once, not for every search
                    _log.warning("the catalog failed, using the index's copies instead: %s", error)
                self._catalog_fails = True
        missing: list[UUID] = []
        if len(records) < len(point_ids):
            missing = [point_id for point_id in point_ids if point_id not in records]
        if missing:
            records.update(await self.index.payloads(missing))
        return records, not missing

    async def numbered(self, numbers: Sequence[int]) -> tuple[list[ChunkRecord], bool]:
        """Like `records`, for the point numbers of a ranking, in order.

        Records from files are cached. Those from a server are not, so that an outage is noticed.
        """
        known = self._known
        missing = [number for number in numbers if number not in known]
        if not missing:
            return [known[number] for number in numbers], True
        held = {number: known[number] for number in numbers if number in known}
        read, whole = await self._read(missing)
        if whole and self.catalog is not None and self.catalog.is_fixed:
            if len(known) + len(read) > self._max_records:
                known.clear()
            known.update(read)
        held.update(read)
        return [held[number] for number in numbers], whole

    async def _read(self, numbers: Sequence[int]) -> tuple[dict[int, ChunkRecord], bool]:
        point_ids = await self.index.point_ids(numbers)
        records, whole = await self.records(point_ids)
        try:
            held = [records[point] for point in point_ids]
        except KeyError as error:
            raise StoreChanged(
                f"neither catalog nor index has the record of point {error.args[0]} of "
                f"{self.manifest.ref}; `surefind doctor` shows what is missing"
            ) from error
        return dict(zip(numbers, held, strict=True)), whole

    async def _close_if_unused(self) -> None:
        if self._retired and not self._readers:
            await self.index.close()
            if self.catalog is not None:
                await self.catalog.close()


async def chunks_named(chunk_ids: Collection[str], generation: OpenGeneration) -> list[ChunkRecord]:
    """The records of the known chunk IDs. In connected collections, only the catalog maps IDs."""
    if generation.manifest.connected is None:
        records, _ = await generation.records([point_id(chunk_id) for chunk_id in chunk_ids])
        return list(records.values())
    if generation.catalog is None:
        return []
    return list((await generation.catalog.named(list(chunk_ids))).values())


class CollectionReader:
    """Reads a collection; every lease is of the generation that is current at that time."""

    def __init__(
        self,
        collection: str,
        index: OpensIndex,
        catalogs: PublishedCatalogs,
        pause_s: float = CATALOG_PAUSE_S,
        pinned: Manifest | None = None,
        verifier: GenerationVerifier | None = None,
        words_after_s: float | None = None,
    ) -> None:
        """`pause_s` is the time between attempts to reach an unavailable catalog.

        `pinned` is the only generation to read, published or not. `verifier` checks open
        generations in the background. The words of a generation are read in the background
        `words_after_s` after it was opened.
        """
        self._verifier = verifier
        self._words_after_s = words_after_s
        self.collection = collection
        self._pinned = pinned
        self._pause_s = pause_s
        self._next_retry = 0.0
        self._index = index
        self._catalogs = catalogs
        self._open: OpenGeneration | None = None
        self._token: object = None
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[OpenGeneration]:
        generation = await self.enter()
        try:
            yield generation
        finally:
            await generation.leave()

    async def enter(self) -> OpenGeneration:
        """The current generation; it stays open until `leave` is called."""
        generation = await self._current()
        generation.require_sound()
        generation.enter()
        return generation

    async def _sound(self, *parts: str) -> OpenGeneration | None:
        """The open generation, if any; if it is damaged, its replacement."""
        opened = self._open
        try:
            if opened is not None:
                opened.require_sound(*parts)
        except StoreError:
            opened = await self._current()
            opened.require_sound(*parts)
        return opened

    @property
    def in_use(self) -> bool:
        return self._open is not None or self._opening.locked()

    async def check_index(self) -> None:
        """Raises SurefindError if the index can't be searched now, also because of the catalog."""
        opened = await self._sound()
        failure: StoreError | None = None
        if opened is not None:
            opened.enter()
            try:
                await opened.index.count()
            except StoreError as error:
                failure = error  # it may have been replaced; the lease below opens the new one
            else:
                return
            finally:
                await opened.leave()
        async with self.lease() as generation:
            if failure is not None and generation is opened:
                raise failure  # asking it again would count as another failure
            await generation.index.count()

    async def check_catalog(self) -> None:
        """Raises SurefindError if the catalog can't be read now. Ignores the index."""
        opened = await self._sound("catalog")
        if opened is not None and opened.catalog is not None:
            opened.enter()
            try:
                await opened.catalog.check()
            finally:
                await opened.leave()
            return
        catalog = await self._catalogs.open(GenerationRef(self.collection, await self._number()))
        try:
            await catalog.check()
        finally:
            await catalog.close()

    async def close(self) -> None:
        if self._open is not None:
            await self._open.retire()
            self._open = None

    async def _current(self) -> OpenGeneration:
        token = await self._find_token()
        if self._open is not None and self._token == token:
            await self._retry_catalog(self._open)
            return self._open
        async with self._opening:
            return await self._reopen(_TRIES)

    async def _retry_catalog(self, generation: OpenGeneration) -> None:
        """Reopen an unavailable catalog, even if nothing new was published.

        One failure is enough to pause. The circuit breaker of an open catalog pauses as long, but
        only after several failures in a row, because a single read may fail by chance.
        """
        if generation.catalog is not None or time.monotonic() < self._next_retry:
            return
        self._next_retry = time.monotonic() + self._pause_s
        try:
            generation.catalog = await self._open_catalog(generation.manifest.ref)
        except (StoreError, UnknownGeneration) as error:
            _log.warning("the catalog is still unavailable: %s", error)

    async def _reopen(self, tries: int) -> OpenGeneration:
        """Open the current generation. Tokens identify pointers, because numbers can recur."""
        token = await self._find_token()
        if self._open is not None and self._token == token:
            return self._open
        number = await self._number()
        try:
            opened = await self._open_generation(GenerationRef(self.collection, number))
        except (StoreError, UnknownGeneration):
            # It may have been replaced and removed since its number was read.
            if tries == 1 or token == await self._find_token():
                raise
            return await self._reopen(tries - 1)
        if self._verifier is not None:
            opened.verification = self._verifier.start(opened.manifest.ref, self._is_current(token))
        if self._words_after_s is not None:
            opened.words.start(self._words_after_s)
        before, self._open, self._token = self._open, opened, token
        if before is not None:
            _log.info("%s: now reading generation %d", self.collection, number)
            await before.retire()
        return opened

    def _is_current(self, token: object) -> Callable[[], Awaitable[bool]]:
        async def is_current() -> bool:
            return await self._find_token() == token

        return is_current

    async def _find_token(self) -> object:
        return self._pinned or await self._catalogs.token(self.collection)

    async def _number(self) -> int:
        if self._pinned is not None:
            return self._pinned.number
        return await current_number(self.collection, self._catalogs)

    async def _open_generation(self, ref: GenerationRef) -> OpenGeneration:
        manifest = self._pinned or await self._catalogs.manifest(ref)
        index = await self._index.open(ref)
        try:
            _check_complete(manifest, await index.count())
            return OpenGeneration(manifest, index, await self._open_catalog(ref))
        except (StoreError, UnknownGeneration):
            await index.close()
            raise

    async def _open_catalog(self, ref: GenerationRef) -> Catalog | None:
        try:
            return await self._catalogs.open(ref)
        except StoreError as error:
            if self._pinned is None:
                await self._catalogs.manifest(ref)  # raises if the generation was removed
            _log.warning("the catalog is unavailable, using the index's copies instead: %s", error)
            self._next_retry = time.monotonic() + self._pause_s
            return None


def _check_complete(manifest: Manifest, points: int) -> None:
    """The engine opens even a partial index; an empty result must never hide that."""
    if points != manifest.chunks:
        raise StoreError(
            f"the index of {manifest.ref} has only {points} of {manifest.chunks} chunks; rebuild "
            "it with `surefind ingest`"
        )


class Leases:
    """Leases of several collections at once. A class, which is faster than a generator."""

    def __init__(self, readers: Sequence[tuple[str, CollectionReader]]) -> None:
        self._readers = readers
        self._held: dict[str, OpenGeneration] = {}

    async def __aenter__(self) -> Mapping[str, OpenGeneration]:
        try:
            for name, reader in self._readers:
                self._held[name] = await reader.enter()
        except BaseException:
            await self.__aexit__()
            raise
        return self._held

    async def __aexit__(self, *_error: object) -> None:
        for generation in self._held.values():
            await generation.leave()


class Readers:
    """The readers of all collections, each opened on first use.

    `pinned` is the only generation of its collection to read, published or not.
    """

    def __init__(
        self,
        index: OpensIndex,
        catalogs: PublishedCatalogs,
        pinned: Manifest | None = None,
        verifier: GenerationVerifier | None = None,
        words_after_s: float | None = None,
    ) -> None:
        """`verifier` checks open generations for damage in the background.

        Their words are read in the background `words_after_s` after they were opened.
        """
        self._verifier = verifier
        self._words_after_s = words_after_s
        self._index = index
        self._catalogs = catalogs
        self._pinned = pinned
        self._readers: dict[str, CollectionReader] = {}

    def of(self, collection: str) -> CollectionReader:
        if collection not in self._readers:
            if len(self._readers) >= _READERS_KEPT:
                self._forget_unused()
            pinned = self._pinned
            self._readers[collection] = CollectionReader(
                collection,
                self._index,
                self._catalogs,
                pinned=pinned if pinned and pinned.collection == collection else None,
                verifier=self._verifier,
                words_after_s=self._words_after_s,
            )
        return self._readers[collection]

    def _forget_unused(self) -> None:
        """Clients can name any number of collections that do not exist."""
        self._readers = {name: one for name, one in self._readers.items() if one.in_use}

    def lease(self, collections: Sequence[str]) -> Leases:
        return Leases([(name, self.of(name)) for name in collections])

    async def close(self) -> None:
        for reader in self._readers.values():
            await reader.close()
