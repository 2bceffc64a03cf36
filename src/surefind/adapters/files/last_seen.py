"""Remembers the last known state of a remote catalog, for when it is unavailable.

Open generations stay open. A process that starts while the catalog is unavailable reads the last
manifest from a file, so that it can search with the index alone.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from pathlib import Path

from surefind.adapters.catalog_rows import manifest_of, written_manifest
from surefind.adapters.files.data_folder import DataFolder, write_atomically
from surefind.errors import StoreError
from surefind.model import GenerationRef, Manifest
from surefind.ports import CATALOG_PAUSE_S, Catalog, PublishedCatalogs, ReadBytes, VerifiedFiles

_log = logging.getLogger(__name__)
_FILE = "last-seen.json"


class LastSeenCatalogs:
    """`pause_s` is the time between two attempts to reach an unavailable catalog.

    Manifests are stored in `folder` only if its parent `home` exists, so that read-only commands
    create no folders.
    """

    def __init__(
        self,
        catalogs: PublishedCatalogs,
        folder: DataFolder,
        home: Path,
        pause_s: float = CATALOG_PAUSE_S,
    ) -> None:
        self._catalogs = catalogs
        self._folder = folder
        self._home = home
        self._pause_s = pause_s
        self._tokens: dict[str, object] = {}
        self._unavailable_until = 0.0
        self._asking: set[str] = set()

    async def token(self, collection: str) -> object:
        """During a query, and for a while after a failure, callers get the last token."""
        known = collection in self._tokens
        if known and (collection in self._asking or self._is_unavailable):
            return self._tokens[collection]
        self._asking.add(collection)
        try:
            self._tokens[collection] = await self._catalogs.token(collection)
        except StoreError as error:
            self._unavailable_until = time.monotonic() + self._pause_s
            if not known:
                remembered = self._remembered(collection)
                if remembered is None:
                    raise
                self._tokens[collection] = ("last seen", remembered.number)
            else:  # opening a generation reports the failure
                _log.warning("using the last known generation: %s", error)
        finally:
            self._asking.discard(collection)
        return self._tokens[collection]

    async def current(self, collection: str) -> int | None:
        remembered = self._remembered(collection)
        if remembered is not None and self._is_unavailable:
            return remembered.number
        try:
            return await self._catalogs.current(collection)
        except StoreError:
            if remembered is None:
                raise
            return remembered.number

    async def manifest(self, ref: GenerationRef) -> Manifest:
        remembered = self._remembered(ref.collection)
        if remembered is None or remembered.ref != ref:
            remembered = None
        elif self._is_unavailable:
            return remembered
        try:
            manifest = await self._catalogs.manifest(ref)
        except StoreError:
            if remembered is None:
                raise
            return remembered
        if manifest != remembered:
            self._remember(manifest)
        return manifest

    async def open(self, ref: GenerationRef) -> Catalog:
        return await self._catalogs.open(ref)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        return await self._catalogs.verify(ref, read)

    @property
    def _is_unavailable(self) -> bool:
        return time.monotonic() < self._unavailable_until

    def _remembered(self, collection: str) -> Manifest | None:
        try:
            return manifest_of(self._path(collection).read_bytes(), self._path(collection))
        except (OSError, StoreError):
            return None

    def _remember(self, manifest: Manifest) -> None:
        """Best effort: a write failure is ignored."""
        path = self._path(manifest.collection)
        with suppress(OSError):
            if self._home.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, written_manifest(manifest))

    def _path(self, collection: str) -> Path:
        return self._folder.collection(collection) / _FILE
