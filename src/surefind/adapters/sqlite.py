"""SQLite: a generation's catalog is one file beside its index, immutable once it is sealed."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from surefind.adapters.catalog_rows import (
    MANIFESTS,
    manifest_of,
)
from surefind.adapters.layout import DataFolder, storing, sync_folder, write_atomically
from surefind.adapters.sqlite_catalog import SqliteCatalog, SqliteCatalogWriter
from surefind.errors import StoreError, UnknownGeneration
from surefind.model import (
    GenerationRef,
    Manifest,
)
from surefind.ports import StoreFacts

_FILE, _MANIFEST, _POINTER = "catalog.sqlite", "manifest.json", "CURRENT"


class SqliteCatalogStore:
    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
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
            return int(path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(
                f"the pointer {path} can't be read ({error}); "
                "`surefind generations rollback --to N` writes it anew"
            ) from error

    async def token(self, collection: str) -> object:
        """Microseconds, so that every search may ask."""
        pointer = self._pointers.get(collection)
        if pointer is None:
            pointer = str(self._folder.collection(collection) / _POINTER)
            self._pointers[collection] = pointer
        try:
            found = os.stat(pointer)  # noqa: PTH116 - a Path would cost more than the look
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        path = self._folder.generation(ref) / _MANIFEST
        try:
            return manifest_of(path.read_bytes(), path)
        except FileNotFoundError as error:
            raise UnknownGeneration(
                f"collection {ref.collection!r} has no generation {ref.number}; "
                "`surefind generations list` shows those it has"
            ) from error
        except OSError as error:
            raise StoreError(f"the manifest {path} can't be read: {error.strerror}") from error

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
        return SqliteCatalog(self._path(ref))

    async def seal(self, manifest: Manifest) -> None:
        folder = self._folder.generation(manifest.ref)
        with storing(folder):
            sync_folder(folder)
            write_atomically(
                folder / _MANIFEST, MANIFESTS.dump_json(manifest, indent=2).decode() + "\n"
            )

    async def point_to(self, ref: GenerationRef) -> None:
        await self.manifest(ref)
        path = self._folder.collection(ref.collection) / _POINTER
        with storing(path):
            write_atomically(path, f"{ref.number}\n")

    async def drop(self, ref: GenerationRef) -> None:
        """The manifest first: what is left when this is cut short is unfinished, not wrong."""
        folder = self._folder.generation(ref)
        with storing(folder):
            (folder / _MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)

    @asynccontextmanager
    async def writing(self, purpose: str) -> AsyncIterator[None]:
        with self._folder.held(purpose):
            yield

    async def require_writing(self) -> None:
        """The lock is this process's for as long as it lives."""

    async def close(self) -> None:
        """Each catalog closes its own file."""

    def _path(self, ref: GenerationRef) -> Path:
        return self._folder.generation(ref) / _FILE

    def _sealed(self, ref: GenerationRef) -> bool:
        return (self._folder.generation(ref) / _MANIFEST).exists()

    def _refs(self, collection: str) -> list[GenerationRef]:
        folder = self._folder.collection(collection)
        names = (path.name for path in folder.glob("[0-9]*") if path.name.isdigit())
        return [GenerationRef(collection, number) for number in sorted(map(int, names))]
