"""A generation as one file: a zip archive that any surefind reads into any of its stores.

    manifest.json              what made the generation
    pages/000000.jsonl         a document and its chunks in each line
    pages/000000.f32           the vectors of those chunks: float32, little-endian, row by row
    contents.json              the archive's format, and each other file's size and SHA-256

`contents.json` is written last: an archive without it was cut short. All is checked before
anything of it is used.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from surefind.errors import FormatTooNew, InputError, StoreError
from surefind.model import ChunkRecord, Document, Manifest
from surefind.ports import MovedPage

FORMAT = 1
_CONTENTS, _MANIFEST = "contents.json", "manifest.json"
_CHUNKS_A_PART = 2000
_BLOCK = 2**20
_LARGEST_CONTENTS = 64 * 2**20
_VECTOR_TYPE = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    records: tuple[ChunkRecord, ...]


_MANIFESTS: TypeAdapter[Manifest] = TypeAdapter(Manifest)
_LINES: TypeAdapter[_Line] = TypeAdapter(_Line)


async def write_archive(
    path: Path,
    manifest: Manifest,
    pages: AsyncIterator[MovedPage],
    written: Callable[[int], None],
) -> None:
    """Whole, or not at all. `written` hears of the chunks so far."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _writing(path), scratch.open("wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                writer = _Writer(archive)
                writer.add(_MANIFEST, _MANIFESTS.dump_json(manifest, indent=2))
                async for page in pages:
                    writer.put(page)
                    written(writer.chunks)
                writer.finish()
            stream.flush()
            os.fsync(stream.fileno())
        with _writing(path):
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


class _Writer:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._contents: dict[str, dict[str, Any]] = {}
        self._parts = 0
        self._lines: list[bytes] = []
        self._vectors: list[bytes] = []
        self._waiting = 0
        self.chunks = 0

    def add(self, name: str, content: bytes) -> None:
        self._archive.writestr(name, content)
        digest = hashlib.sha256(content).hexdigest()
        self._contents[name] = {"bytes": len(content), "sha256": digest}

    def put(self, page: MovedPage) -> None:
        self._lines.append(_LINES.dump_json(_Line(page.document, page.records)))
        self._vectors.append(page.vectors.astype(_VECTOR_TYPE).tobytes())
        self._waiting += len(page.records)
        self.chunks += len(page.records)
        if self._waiting >= _CHUNKS_A_PART:
            self._write_part()

    def finish(self) -> None:
        if self._lines:
            self._write_part()
        content = {"format": FORMAT, "files": self._contents}
        self._archive.writestr(_CONTENTS, json.dumps(content, indent=2))

    def _write_part(self) -> None:
        name = f"pages/{self._parts:06d}"
        self.add(f"{name}.jsonl", b"\n".join(self._lines))
        self.add(f"{name}.f32", b"".join(self._vectors))
        self._parts += 1
        self._lines, self._vectors, self._waiting = [], [], 0


class Archive:
    """An archive that was checked from end to end when it was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._reading() as archive:
            self._files = self._checked(archive)
            self.manifest = _parsed(_MANIFESTS, archive.read(_MANIFEST), path)

    async def pages(self) -> AsyncIterator[MovedPage]:
        parts = sorted(name for name in self._files if name.endswith(".jsonl"))
        for name in parts:
            for page in self._part(name):
                yield page

    def _part(self, name: str) -> list[MovedPage]:
        with self._reading() as archive:
            lines = archive.read(name).splitlines()
            numbers = archive.read(f"{name.removesuffix('.jsonl')}.f32")
        width = self.manifest.embedder.dimensions
        vectors = np.frombuffer(numbers, dtype=_VECTOR_TYPE).astype(np.float32)
        read = [_parsed(_LINES, line, self._path) for line in lines]
        if len(vectors) != width * sum(len(line.records) for line in read):
            raise InputError(f"{self._path}: {name} has other vectors than chunks; export it again")
        pages, start = [], 0
        for line in read:
            end = start + width * len(line.records)
            matrix = vectors[start:end].reshape(len(line.records), width)
            pages.append(MovedPage(line.document, line.records, matrix))
            start = end
        return pages

    def _checked(self, archive: zipfile.ZipFile) -> Mapping[str, Any]:
        files = self._contents(archive)
        for name, wanted in files.items():
            digest, size = hashlib.sha256(), 0
            with archive.open(name) as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    size += len(block)
                    if size > wanted["bytes"]:
                        break
            if (size, digest.hexdigest()) != (wanted["bytes"], wanted["sha256"]):
                raise InputError(
                    f"{self._path} is damaged: {name} is not what was exported; export it again"
                )
        if _MANIFEST not in files:
            raise InputError(f"{self._path} has no manifest; export it again")
        return files

    def _contents(self, archive: zipfile.ZipFile) -> Mapping[str, Any]:
        try:
            if archive.getinfo(_CONTENTS).file_size > _LARGEST_CONTENTS:
                raise InputError(f"{self._path} is no archive of surefind: {_CONTENTS} is too long")
            content = json.loads(archive.read(_CONTENTS))
            written, files = int(content["format"]), dict(content["files"])
            sizes = {name: (int(f["bytes"]), str(f["sha256"])) for name, f in files.items()}
        except KeyError as error:
            raise InputError(
                f"{self._path} was cut short, or is no archive of surefind: {error} is missing"
            ) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{self._path} is no archive of surefind: {_CONTENTS} can't be read ({error})"
            ) from error
        if written > FORMAT:
            raise FormatTooNew(
                f"{self._path} was written by a newer surefind (format {written}, this one knows "
                f"{FORMAT}); upgrade surefind"
            )
        return {name: {"bytes": size, "sha256": sha} for name, (size, sha) in sizes.items()}

    @contextmanager
    def _reading(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                yield archive
        except FileNotFoundError as error:
            raise InputError(f"there is no file {self._path}") from error
        except (zipfile.BadZipFile, EOFError, zipfile.LargeZipFile, KeyError) as error:
            raise InputError(
                f"{self._path} was cut short, or is no archive of surefind ({error}); "
                "export it again"
            ) from error
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error.strerror or error}") from error


def _parsed(adapter: TypeAdapter[Any], content: bytes, path: Path) -> Any:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(
            f"{path} holds what this surefind can't read ({first['msg']}); export it again"
        ) from error


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path} can't be written: {error.strerror or error}; name another file"
        ) from error
