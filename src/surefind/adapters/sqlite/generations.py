"""Generations in SQLite: the catalog is one file per generation, immutable once sealed."""

import asyncio
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from surefind.adapters.catalog_rows import manifest_of, written_manifest
from surefind.adapters.files.checksums import (
    CHECKED_ON_OPEN_BYTES,
    damaged,
    has_checksum,
    lists_beside,
)
from surefind.adapters.files.data_folder import (
    MANIFEST,
    DataFolder,
    storing,
    sync_folder,
    write_atomically,
)
from surefind.adapters.sqlite.catalog import SqliteCatalog, SqliteCatalogWriter, checksums_of
from surefind.errors import StoreChanged, UnknownGeneration
from surefind.model import (
    GenerationRef,
    Manifest,
)
from surefind.ports import ReadBytes, StoreFacts, VerifiedFiles

_FILE, _POINTER = "catalog.sqlite", "CURRENT"
_WRITTEN_POINTER = re.compile(rb"(\d+)(?: ([0-9a-f]{8}))?\n?")


class SqliteCatalogStore:
    def __init__(
        self, folder: DataFolder, checked_on_open_bytes: int = CHECKED_ON_OPEN_BYTES
    ) -> None:
        self._folder = folder
        self._checked_on_open_bytes = checked_on_open_bytes
        self._pointers: dict[str, str] = {}

    async def facts(self) -> StoreFacts:
        return StoreFacts(f"in {self._folder.root}", f"SQLite {sqlite3.sqlite_version}")

    async def identity(self) -> str:
        return self._folder.identity()

    async def collections(self) -> list[str]:
        root = self._folder.root / "collections"
        return sorted(path.parent.name for path in root.glob(f"*/{_POINTER}"))

    async def current(self, collection: str) -> int | None:
        path = self._folder.collection(collection) / _POINTER
        try:
            return _pointed_to(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreChanged(
                f"the pointer {path} can't be read ({error}); `surefind doctor --repair` or "
                "`surefind generations rollback --to N` restores it"
            ) from error

    async def token(self, collection: str) -> object:
        """Takes microseconds, so every search can call it."""
        pointer = self._pointers.get(collection)
        if pointer is None:
            pointer = str(self._folder.collection(collection) / _POINTER)
        try:
            found = os.stat(pointer)  # noqa: PTH116 - a Path would take longer than the call
        except OSError:
            return None
        self._pointers[collection] = pointer
        return (found.st_ino, found.st_mtime_ns)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        path = self._folder.generation(ref) / MANIFEST
        try:
            manifest = manifest_of(path.read_bytes(), path)
        except FileNotFoundError as error:
            raise UnknownGeneration(
                f"collection {ref.collection!r} has no generation {ref.number}; "
                "`surefind generations list` lists the existing ones"
            ) from error
        except OSError as error:
            raise damaged(path, f"it can't be read: {error.strerror}") from error
        if manifest.ref != ref:
            raise damaged(path, f"it belongs to generation {manifest.ref}")
        return manifest

    async def manifests(self, collection: str) -> list[Manifest]:
        return [await self.manifest(ref) for ref in await self.complete(collection)]

    async def complete(self, collection: str) -> list[GenerationRef]:
        return [ref for ref in self._refs(collection) if self._sealed(ref)]

    async def unfinished(self, collection: str) -> list[GenerationRef]:
        return [ref for ref in self._refs(collection) if not self._sealed(ref)]

    async def next_ref(self, collection: str) -> GenerationRef:
        last = max((ref.number for ref in self._refs(collection)), default=0)
        return GenerationRef(collection, last + 1)

    async def create(
        self, ref: GenerationRef, copy_of: GenerationRef | None
    ) -> SqliteCatalogWriter:
        path = self._path(ref)
        with storing(path):
            path.parent.mkdir(parents=True)
            if copy_of is not None:
                shutil.copyfile(self._path(copy_of), path)
        return SqliteCatalogWriter(path, empty=copy_of is None)

    async def open(self, ref: GenerationRef) -> SqliteCatalog:
        return SqliteCatalog(self._path(ref), self._checked_on_open_bytes)

    async def verify(self, ref: GenerationRef, read: ReadBytes) -> VerifiedFiles | None:
        manifest = self._folder.generation(ref) / MANIFEST
        await self.manifest(ref)
        with storing(manifest):
            content = manifest.read_bytes()
        found = await asyncio.to_thread(checksums_of(self._path(ref)).verify, None, read)
        if found is None or not has_checksum(content, manifest):
            return None
        return found + VerifiedFiles(1, len(content))

    async def seal(self, manifest: Manifest) -> None:
        """The first seal records the checksum lists; later, a list may be missing unnoticed."""
        path = self._folder.generation(manifest.ref) / MANIFEST
        with storing(path.parent):
            sealed = await self.manifest(manifest.ref) if path.exists() else None
            lists = sealed.checksums if sealed else lists_beside(path)
            manifest = replace(manifest, checksums=lists)
            sync_folder(path.parent)
            write_atomically(path, written_manifest(manifest, indent=2))

    async def point_to(self, ref: GenerationRef) -> None:
        await self.manifest(ref)
        path = self._folder.collection(ref.collection) / _POINTER
        with storing(path):
            write_atomically(path, _pointer_to(ref.number))

    async def unpublish(self, collection: str) -> None:
        path = self._folder.collection(collection) / _POINTER
        with storing(path):
            path.unlink(missing_ok=True)
            sync_folder(path.parent)

    async def drop(self, ref: GenerationRef) -> None:
        """Remove the manifest first: an interrupted removal leaves an unfinished generation."""
        folder = self._folder.generation(ref)
        with storing(folder):
            (folder / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)

    @asynccontextmanager
    async def writing(self, purpose: str) -> AsyncIterator[None]:
        with self._folder.held(purpose):
            yield

    async def require_writing(self) -> None:
        """Nothing to check: the process holds the lock until it exits."""

    async def close(self) -> None:
        """Nothing to close: each catalog closes its own file."""

    def _path(self, ref: GenerationRef) -> Path:
        return self._folder.generation(ref) / _FILE

    def _sealed(self, ref: GenerationRef) -> bool:
        return (self._folder.generation(ref) / MANIFEST).exists()

    def _refs(self, collection: str) -> list[GenerationRef]:
        folder = self._folder.collection(collection)
        names = (path.name for path in folder.glob("[0-9]*") if path.name.isdigit())
        return [GenerationRef(collection, number) for number in sorted(map(int, names))]


def _pointer_to(number: int) -> str:
    """Includes a checksum, because a flipped bit could name another existing generation."""
    return f"{number} {zlib.crc32(b'%d' % number):08x}\n"


def _pointed_to(content: bytes) -> int:
    """Parse the pointer; earlier surefind versions wrote the number only."""
    found = _WRITTEN_POINTER.fullmatch(content)
    if found is None or (found[2] and int(found[2], 16) != zlib.crc32(found[1])):
        raise ValueError("it is damaged")
    return int(found[1])
