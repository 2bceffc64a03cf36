"""A generation as a zip archive that can be imported into any kind of store.

    manifest.json              the generation's manifest
    pages/000000.jsonl         a document and its chunks in each line
    pages/000000.f32           the vectors of those chunks: float32, little-endian, row by row
    contents.json              the archive's format, and each other file's size and SHA-256

`contents.json` is written last, so an archive without it is incomplete. All checks run before the
import, because an archive may be damaged or malicious. Nothing is unpacked to disk.
"""

import hashlib
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from surefind.adapters.files.archive_checks import PageChecks, check_manifest
from surefind.adapters.files.data_folder import FULL_ERRORS, replacing
from surefind.errors import FormatTooNew, InputError, StoreError, StoreFull, SurefindError
from surefind.model import ChunkRecord, Document, Manifest
from surefind.ports import Matrix, MovedPage

FORMAT = 1
_CONTENTS, _MANIFEST = "contents.json", "manifest.json"
_CHUNKS_A_PART = 2000
_BLOCK = 2**20
_MAX_LISTING_BYTES = 16 * 2**20
MAX_PAGE_BYTES = 512 * 2**20
"""The limit for one page with its chunks, and for their vectors: a page is held in memory."""
_BOMB_BYTES, _BOMB_RATIO = 2**30, 100
_VECTOR_TYPE = np.dtype("<f4")
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1 | 0x40
_END, _END_BYTES = b"PK\x05\x06", 22
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    ValueError,
    RuntimeError,
    OverflowError,
    MemoryError,
)
"""What the standard library raises for an invalid zip archive."""


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    records: tuple[ChunkRecord, ...]


@dataclass(frozen=True, slots=True)
class _File:
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True)
class _Listing:
    files: dict[str, _File]


_LISTINGS: TypeAdapter[_Listing] = TypeAdapter(_Listing)
_MANIFESTS: TypeAdapter[Manifest] = TypeAdapter(Manifest)
_LINES: TypeAdapter[_Line] = TypeAdapter(_Line)


async def write_archive(
    path: Path,
    manifest: Manifest,
    pages: AsyncIterator[MovedPage],
    written: Callable[[int], None],
    max_page_bytes: int = MAX_PAGE_BYTES,
) -> None:
    """Write an archive completely or not at all. `written` receives the chunk count so far."""
    with (
        _writing(path),
        replacing(path) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        writer = _Writer(archive, max_page_bytes)
        writer.add(_MANIFEST, _MANIFESTS.dump_json(manifest, indent=2))
        async for page in pages:
            writer.put(page)
            written(writer.chunks)
        writer.finish()


class _Writer:
    def __init__(self, archive: zipfile.ZipFile, max_page_bytes: int) -> None:
        self._archive = archive
        self._max_page_bytes = max_page_bytes
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
        line = _LINES.dump_json(_Line(page.document, page.records))
        vectors = page.vectors.astype(_VECTOR_TYPE).tobytes()
        if max(len(line), len(vectors)) > self._max_page_bytes:
            raise InputError(
                f"page {page.document.source_path} is too large to export: the limit is "
                f"{self._max_page_bytes / 2**20:.0f} MB; split it and ingest again"
            )
        self._lines.append(line)
        self._vectors.append(vectors)
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
    """An archive; opening it checks it completely."""

    def __init__(self, path: Path, max_page_bytes: int = MAX_PAGE_BYTES) -> None:
        self._path = path
        self._max_page_bytes = max_page_bytes
        _check_file(path)
        with self._reading() as archive:
            self._files = _listed(archive)
            _check_sizes(archive, path.stat().st_size)
            for name in self._files:
                with self._open(archive, name) as stream:
                    while stream.read(_BLOCK):
                        pass
            self.manifest = _parsed(_MANIFESTS, archive.read(_MANIFEST), _MANIFEST)
            check_manifest(self.manifest)
            self._check_vectors()
            checks = PageChecks(self.manifest)
            for page in self._pages(archive):
                checks.check(page)
            checks.finish()

    async def pages(self) -> AsyncIterator[MovedPage]:
        with self._reading() as archive:
            for page in self._pages(archive):
                yield page

    def _pages(self, archive: zipfile.ZipFile) -> Iterator[MovedPage]:
        """Read the pages, holding one at a time in memory."""
        width = self.manifest.embedder.dimensions
        for part in sorted(name for name in self._files if name.endswith(".jsonl")):
            numbers = f"{part.removesuffix('.jsonl')}.f32"
            with self._open(archive, part) as lines, self._open(archive, numbers) as vectors:
                while line := lines.readline(self._max_page_bytes + 1):
                    self._check_size(part, len(line))
                    parsed = _parsed(_LINES, line, part)
                    vector_bytes = len(parsed.records) * width * _VECTOR_TYPE.itemsize
                    self._check_size(part, vector_bytes)
                    matrix = _rows(vectors.read(vector_bytes), len(parsed.records), width)
                    yield MovedPage(parsed.document, parsed.records, matrix)
                if vectors.read(1):
                    raise InputError(f"{numbers} has more vectors than {part} has chunks")

    def _check_size(self, part: str, size: int) -> None:
        if size > self._max_page_bytes:
            raise InputError(f"a page in {part} is larger than any exported page")

    def _check_vectors(self) -> None:
        held = sum(file.bytes for name, file in self._files.items() if name.endswith(".f32"))
        chunks, width = self.manifest.chunks, self.manifest.embedder.dimensions
        if held != chunks * width * _VECTOR_TYPE.itemsize:
            raise InputError(
                f"its vectors have {held} bytes, which does not match the {chunks} vectors of "
                f"{width} dimensions in its manifest"
            )

    def _open(self, archive: zipfile.ZipFile, name: str) -> io.BufferedReader:
        return io.BufferedReader(_Verified(archive.open(name), name, self._files[name]), _BLOCK)

    @contextmanager
    def _reading(self) -> Iterator[zipfile.ZipFile]:
        """Turn every problem with the file into an InputError that names it."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                yield archive
        except FormatTooNew as error:
            raise FormatTooNew(f"{self._path} {error}") from error
        except InputError as error:
            raise InputError(
                f"{self._path} was rejected: {error}. Nothing was imported; export it again"
            ) from error
        except SurefindError:
            raise
        except _BROKEN as error:
            raise InputError(
                f"{self._path} is damaged or not a surefind archive "
                f"({str(error) or type(error).__name__}). Nothing was imported; export it again"
            ) from error
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error.strerror or error}") from error


class _Verified(io.RawIOBase):
    """A file of the archive; reading its end raises InputError if the checksum differs."""

    def __init__(self, stream: IO[bytes], name: str, wanted: _File) -> None:
        self._stream = stream
        self._name = name
        self._wanted = wanted
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{self._name} is damaged") from error
        self._digest.update(block)
        if not block and self._digest.hexdigest() != self._wanted.sha256:
            raise InputError(f"{self._name} is damaged")
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _check_file(path: Path) -> None:
    """Check before opening, because a pipe would block; an archive must end with its directory."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
            raise InputError(f"{path} is {kind}; use a file written by `surefind export`")
        if not found.st_size:
            raise InputError(f"{path} is empty; export it again")
        with path.open("rb") as stream:
            begins = stream.read(4)
            stream.seek(-min(_END_BYTES, found.st_size), os.SEEK_END)
            ends = stream.read()
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist; use a file written by `surefind export`"
        ) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    if begins[:2] != b"PK":
        raise InputError(
            f"{path} is not a surefind archive; use a file written by `surefind export`"
        )
    if not (ends.startswith(_END) and ends.endswith(b"\0\0")):
        raise InputError(
            f"{path} is truncated or has extra data at its end. Nothing was imported; "
            "export it again"
        )


def _listed(archive: zipfile.ZipFile) -> Mapping[str, _File]:
    """The files of the archive: exactly the expected ones, each once and with the right size.

    File names are fixed, so path traversal is impossible.
    """
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise InputError("it has two files with the same name")
    for info in members.values():
        if info.flag_bits & _ENCRYPTED:
            raise InputError(f"{_short(info.filename)} is encrypted; exports never are")
        if info.compress_type not in _METHODS:
            raise InputError(
                f"{_short(info.filename)} uses compression method {info.compress_type}; "
                "exports never do"
            )
    files = _contents(archive, members)
    parts = sum(name.endswith(".jsonl") for name in files)
    numbered = (f"pages/{part:06d}.{kind}" for part in range(parts) for kind in ("jsonl", "f32"))
    for held, where in ((files.keys(), _CONTENTS), (members.keys() - {_CONTENTS}, "it")):
        wanted = {_MANIFEST, *numbered} if where == _CONTENTS else set(files)
        if missing := sorted(wanted - held):
            raise InputError(f"{where} lacks {missing[0]}")
        if strange := sorted(held - wanted):
            raise InputError(f"{where} names {_short(strange[0])}, which is not part of an export")
    for name, wanted_file in files.items():
        if members[name].file_size != wanted_file.bytes:
            raise InputError(f"the size of {name} differs from the size in {_CONTENTS}")
    return files


def _contents(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]
) -> Mapping[str, _File]:
    if _CONTENTS not in members:
        raise InputError(f"it has no {_CONTENTS}: it is truncated or not a surefind archive")
    if members[_CONTENTS].file_size > _MAX_LISTING_BYTES:
        raise InputError(f"{_CONTENTS} is too large for an export")
    listing = archive.read(_CONTENTS)
    try:
        content = from_json(listing)
    except ValueError as error:
        raise InputError(f"{_CONTENTS} is not valid JSON ({error})") from error
    written = content.get("format") if isinstance(content, dict) else None
    if not isinstance(written, int) or written < FORMAT:
        raise InputError(f"{_CONTENTS} names an unknown format")
    if written > FORMAT:
        raise FormatTooNew(
            f"was written by a newer surefind version (format {written}; this version supports "
            f"up to {FORMAT}); upgrade surefind"
        )
    return dict(_parsed(_LISTINGS, listing, _CONTENTS).files)


def _check_sizes(archive: zipfile.ZipFile, packed_bytes: int) -> None:
    """Reject zip bombs: vectors hardly compress, so real archives never grow a hundredfold."""
    if sum(info.compress_size for info in archive.infolist()) > packed_bytes:
        raise InputError("its files overlap")
    if min(info.header_offset for info in archive.infolist()):
        raise InputError("it has extra data at its beginning")
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > _BOMB_BYTES and unpacked > _BOMB_RATIO * packed_bytes:
        raise InputError(
            f"it would unpack to {unpacked / 2**30:,.0f} GB, {unpacked // packed_bytes} times its "
            "size, which is implausible"
        )
    if archive.getinfo(_MANIFEST).file_size > _MAX_LISTING_BYTES:
        raise InputError(f"{_MANIFEST} is too large for an export")


def _rows(numbers: bytes, rows: int, width: int) -> Matrix:
    if len(numbers) != rows * width * _VECTOR_TYPE.itemsize:
        raise InputError("it has fewer vectors than chunks")
    return np.frombuffer(numbers, dtype=_VECTOR_TYPE).astype(np.float32).reshape(rows, width)


def _parsed(adapter: TypeAdapter[Any], content: bytes, name: str) -> Any:
    try:
        return adapter.validate_json(content, strict=True)
    except ValidationError as error:
        raise InputError(f"{name} has invalid content ({_first(error)})") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(step)[:40] for step in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def _short(name: str) -> str:
    return ascii(name[:80])


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL_ERRORS:
            raise StoreFull(
                f"{path} can't be written: the disk is full. Nothing was exported; free some "
                "space, or use another disk"
            ) from error
        raise StoreError(
            f"{path} can't be written: {error.strerror or error}; use another file"
        ) from error
