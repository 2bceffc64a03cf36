"""Checks of an archive before import: all values are in bounds and consistent.

An archive may come from anywhere, and its hashes do not prove who wrote it. Each check raises
InputError with the reason; `Archive` adds the file name.
"""

import hashlib
import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import numpy as np

from surefind.adapters.files.data_folder import check_name
from surefind.adapters.qdrant.point_numbers import number_of
from surefind.errors import InputError
from surefind.model import (
    CONTENT_TYPES,
    Attribute,
    Chunk,
    ChunkRecord,
    Document,
    Manifest,
    is_link,
)
from surefind.ports import MovedPage

MAX_DIMENSIONS = 2**16
_MAX_INTEGER = 2**31 - 1  # the range of every catalog's integer columns
_MAX_EXACT = 2**53  # the exact range of JSON numbers, which filters use
_MAX_ID_LENGTH = 50
_MAX_ATTRIBUTE_NAME = 200
_NORM_TOLERANCE = 0.01
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_manifest(manifest: Manifest) -> None:
    check_name(manifest.collection)
    if manifest.connected is not None:
        raise InputError("it describes a connected collection, which is never exported")
    for name, text in _strings(manifest, "manifest"):
        if _CONTROL.search(text):
            raise InputError(f"{name} contains control characters")
    _check_moment("the manifest", manifest.created_at)
    _check_numbers(manifest)
    if not 1 <= manifest.embedder.dimensions <= MAX_DIMENSIONS:
        raise InputError(f"its vectors have {manifest.embedder.dimensions} dimensions")
    for field in manifest.fields:
        if not field.kinds:
            raise InputError(f"field {field.name[:80]!r} has no kinds")


def _check_numbers(manifest: Manifest) -> None:
    for name, number in _numbers(manifest, "manifest"):
        if not math.isfinite(number):
            raise InputError(f"{name} is {number}, not a finite number")
        if isinstance(number, int) and not 0 <= number <= _MAX_INTEGER:
            raise InputError(f"{name} is out of range")
    if manifest.number < 1:
        raise InputError("manifest.number is out of range")
    if manifest.lexical.mean_terms <= 0:
        raise InputError(f"manifest.lexical.mean_terms is {manifest.lexical.mean_terms}")


class PageChecks:
    """Checks the pages of one archive in turn."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._paths: set[str] = set()
        self._points = array("Q")

    def check(self, page: MovedPage) -> None:
        path = page.document.source_path
        if path in self._paths:
            raise InputError(f"page {path} occurs twice")
        self._paths.add(path)
        _check_document(page.document)
        for position, record in enumerate(page.records):
            _check_record(page.document, record, position)
            self._points.append(number_of(record.chunk.point_id))
        norms = np.linalg.norm(page.vectors.astype(np.float64), axis=1)
        for record, norm in zip(page.records, norms, strict=True):
            if not abs(norm - 1) <= _NORM_TOLERANCE:  # also true for NaN
                raise InputError(
                    f"the vector of chunk {record.chunk.id} has length {norm:.3g} instead of 1"
                )

    def finish(self) -> None:
        found = len(self._paths), len(self._points)
        if found != (self._manifest.documents, self._manifest.chunks):
            raise InputError(
                f"it has {found[0]} pages with {found[1]} chunks, but its manifest says "
                f"{self._manifest.documents} with {self._manifest.chunks}"
            )
        if len(np.unique(np.asarray(self._points, dtype=np.uint64))) != len(self._points):
            raise InputError("two of its chunks have the same id")


def _check_document(document: Document) -> None:
    where = f"page {document.source_path[:200]!r}"
    if not document.source_path:
        raise InputError("a page has no source path")
    for name in ("source_path", "url", "slug", "version", "locale"):
        if _CONTROL.search(getattr(document, name)):
            raise InputError(f"{where}: its {name} contains control characters")
    if not is_link(document.url):
        raise InputError(
            f"{where}: its url {document.url[:80]!r} is neither http(s) nor relative, so it is "
            "not safe as a link"
        )
    for name, text in _strings(document, "page"):
        if "\0" in text:
            raise InputError(f"{where}: {name} contains a NUL character")
    for name, number in _numbers(document.front_matter, "front matter"):
        if not math.isfinite(number):
            raise InputError(f"{where}: {name} is {number}, not a finite number")
    for key, value in document.attributes.items():
        _check_attribute(where, key, value)


def _check_attribute(where: str, key: str, value: Attribute) -> None:
    if _CONTROL.search(key) or '"' in key or len(key) > _MAX_ATTRIBUTE_NAME:
        raise InputError(f"{where}: {key[:80]!r} is not a valid attribute name")
    for name, number in _numbers(value, f"attribute {key}"):
        if not math.isfinite(number) or _is_inexact(number):
            raise InputError(f"{where}: {name} is out of range")


def _check_record(document: Document, record: ChunkRecord, position: int) -> None:
    chunk = record.chunk
    if not (chunk.id.isprintable() and chunk.id.strip() and len(chunk.id) <= _MAX_ID_LENGTH):
        raise InputError(
            f"page {document.source_path}: a chunk's id must have 1 to {_MAX_ID_LENGTH} printable "
            f"characters, not {chunk.id[:80]!r}"
        )
    where = f"chunk {chunk.id}"
    if chunk.position != position:
        raise InputError(f"{where}: its position is {chunk.position} instead of {position}")
    _check_moment(where, record.created_at)
    for name, text in _strings(chunk, "chunk"):
        if "\0" in text:
            raise InputError(f"{where}: {name} contains a NUL character")
    for name, number in (("tokens", chunk.tokens), ("term_count", record.term_count)):
        if not 0 <= number <= _MAX_INTEGER:
            raise InputError(f"{where}: its {name} is out of range")
    _check_text(where, document, chunk)
    if record.point is not None or record.payload is not None or record.flaws or record.assumed:
        raise InputError(f"{where}: it comes from a connected collection, which is never exported")
    for name in ("source_path", "url", "slug", "title", "version", "locale", "attributes"):
        holder = chunk if name == "source_path" else record
        if getattr(holder, name) != getattr(document, name):
            raise InputError(f"{where}: its {name} differs from its page's")


def _check_text(where: str, document: Document, chunk: Chunk) -> None:
    if not 0 <= chunk.start <= chunk.end <= len(document.text):
        raise InputError(f"{where}: its offsets are outside the text of its page")
    if not chunk.text.strip():
        raise InputError(f"{where}: its text is blank")
    if chunk.text != document.text[chunk.start : chunk.end]:
        raise InputError(f"{where}: its text differs from the text of its page")
    if hashlib.sha256(chunk.text.encode()).hexdigest() != chunk.content_hash:
        raise InputError(f"{where}: its text does not match its hash")
    if chunk.content_type not in CONTENT_TYPES:
        raise InputError(f"{where}: its content_type is {chunk.content_type[:80]!r}")


def _check_moment(where: str, moment: datetime) -> None:
    if moment.tzinfo is None or not 1970 <= moment.year < 9999:
        raise InputError(f"{where}: its created_at has no time zone")


def _is_inexact(number: float) -> bool:
    return isinstance(number, int) and abs(number) >= _MAX_EXACT


def _strings(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every string in a nested value, with its location."""
    return ((where, held) for where, held in _leaves(value, name) if isinstance(held, str))


def _numbers(value: Any, name: str) -> Iterator[tuple[str, int | float]]:
    """Every number in a nested value, with its location."""
    for where, held in _leaves(value, name):
        if isinstance(held, int | float) and not isinstance(held, bool):
            yield where, held


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every leaf, keys included, with its location."""
    if is_dataclass(value):
        for field in fields(value):
            yield from _leaves(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield name, key
            yield from _leaves(held, f"{name}.{ascii(str(key)[:80])[1:-1]}")
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _leaves(held, name)
    else:
        yield name, value
