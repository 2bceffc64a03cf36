"""What readers saw last of a catalog that is elsewhere, for when it is away.

An open generation stays open, and a process that starts while the catalog is away finds the last
manifest in a file, so that the index alone can answer.
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
    """`pause_s` lies between two questions to a catalog that did not answer.

    `home` is the folder that has to exist for anything to be remembered in `folder`, below it: who
    only looks something up leaves no folders behind.
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
        self._away_until = 0.0
        self._asking: set[str] = set()

    async def token(self, collection: str) -> object:
        """As long as one asks, and for a while after a failure, the others go by the last one."""
        known = collection in self._tokens
        if known and (collection in self._asking or self._away):
            return self._tokens[collection]
        self._asking.add(collection)
        try:
            self._tokens[collection] = await self._catalogs.token(collection)
        except StoreError as error:
            self._away_until = time.monotonic() + self._pause_s
            if not known:
                remembered = self._remembered(collection)
                if remembered is None:
                    raise
                self._tokens[collection] = ("last seen", remembered.number)
            else:  # whoever opens a generation now says so itself
                _log.warning("going by what was seen last: %s", error)
        finally:
            self._asking.discard(collection)
        return self._tokens[collection]

    async def current(self, collection: str) -> int | None:
        remembered = self._remembered(collection)
        if remembered is not None and self._away:
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
        elif self._away:
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
    def _away(self) -> bool:
        return time.monotonic() < self._away_until

    def _remembered(self, collection: str) -> Manifest | None:
        try:
            return manifest_of(self._path(collection).read_bytes(), self._path(collection))
        except (OSError, StoreError):
            return None

    def _remember(self, manifest: Manifest) -> None:
        """It only helps: where it can't be written, all is as it would be without it."""
        path = self._path(manifest.collection)
        with suppress(OSError):
            if self._home.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, written_manifest(manifest))

    def _path(self, collection: str) -> Path:
        return self._folder.collection(collection) / _FILE
