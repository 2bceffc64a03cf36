"""What an audit looks for in each point. Tables are samples by hash once they are full."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np

from surefind.ports import Matrix, Vector
from surefind.services.maintenance.digests import DigestCheck

V = TypeVar("V")

SHORT, LONG = 20, 8000
_EXAMPLES = 5
_TABLE = 500_000
_SUSPECTS = 200
_BITS = 64
_UNIT = 1e-3


@dataclass(frozen=True, slots=True)
class AuditedPoint:
    """One point, in the words of the checks. `missing` are roles that others have; `embedded` is
    what its vector should have been made from.
    """

    point: UUID
    label: str
    text: str
    embedded: str
    url: str
    document: str
    position: int | None
    digest: str
    vector: Vector | None
    missing: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """How many were met, and the first of them."""

    check: str
    severity: str
    message: str
    count: int = 0
    examples: tuple[str, ...] = ()

    def meet(self, label: str) -> None:
        self.count += 1
        if len(self.examples) < _EXAMPLES:
            self.examples = (*self.examples, label)


class SampledTable(Generic[V]):
    """A table that never holds more than so many keys: when it is full, half of all keys, by their
    hash, are not looked at any more. What is counted in it is worth `scale` times as much.
    """

    def __init__(self, most: int = _TABLE) -> None:
        self._most = most
        self._held: dict[int, V] = {}
        self.scale = 1

    def takes(self, key: int) -> bool:
        return key % self.scale == 0

    def get(self, key: int) -> V | None:
        return self._held.get(key)

    def put(self, key: int, value: V) -> None:
        self._held[key] = value
        while len(self._held) > self._most:
            self.scale *= 2
            self._held = {one: held for one, held in self._held.items() if self.takes(one)}

    def values(self) -> Iterator[V]:
        yield from self._held.values()


@dataclass(slots=True)
class _Document:
    label: str
    count: int = 0
    least: int = 2**62
    most: int = -1


@dataclass(slots=True)
class _Same:
    """A text: where it was first seen, and how often again, there and elsewhere.

    `document` is None if the payload does not say; `unplaced` counts the copies that can't be
    compared for that reason.
    """

    document: int | None
    label: str
    here: int = 0
    elsewhere: int = 0
    unplaced: int = 0


@dataclass
class Checks:
    """Fed with rows, asked for tallies at the end."""

    NEAR_COPY = 0.9999

    dimensions: int
    positions: bool = True
    table: int = _TABLE
    suspects: list[tuple[UUID, UUID, tuple[str, str]]] = field(default_factory=list)
    suspects_left: int = 0

    def __post_init__(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._texts: SampledTable[_Same] = SampledTable(self.table)
        self._documents: SampledTable[_Document] = SampledTable(self.table)
        self._signatures: SampledTable[tuple[int, UUID, str]] = SampledTable(self.table)
        self._digests = DigestCheck()
        self._missing: Counter[str] = Counter()
        self._rows = 0
        self._units = self._others = 0
        planes = np.random.default_rng(7).standard_normal((self.dimensions, _BITS))
        self._planes: Matrix = planes.astype(np.float32)
        self._powers = (1 << np.arange(_BITS, dtype=np.uint64)).astype(np.uint64)

    def add(self, rows: Sequence[AuditedPoint]) -> None:
        self._rows += len(rows)
        for row in rows:
            self._missing.update(row.missing)
            self._text(row)
            self._url(row)
            self._place(row)
            self._digests.add(row.label, row.text, row.digest)
        self._vectors(rows)

    # --- texts ----------------------------------------------------------------------------------

    def _text(self, row: AuditedPoint) -> None:
        length = len(row.text.strip())
        if not length:
            self._meet("text", "problem", "points have no text", row)
            return
        if length < SHORT:
            self._meet("text", "warning", f"texts have fewer than {SHORT} characters", row)
        if length > LONG:
            message = f"texts have more than {LONG} characters: most models cut them"
            self._meet("text", "warning", message, row)
        key = _hashed(row.text)
        if not self._texts.takes(key):
            return
        held = self._texts.get(key)
        document = _hashed(row.document) if row.document else None
        if held is None:
            self._texts.put(key, _Same(document, row.label))
        elif held.document is None or document is None:
            held.unplaced += 1
        elif held.document == document:
            held.here += 1
        else:
            held.elsewhere += 1

    def _url(self, row: AuditedPoint) -> None:
        if row.url:
            fault = _fault_of(row.url)
            if fault:
                severity = "warning" if fault.startswith("addresses of") else "problem"
                self._meet("url", severity, fault, row, row.url[:80])

    def _place(self, row: AuditedPoint) -> None:
        if not self.positions or row.position is None or not row.document:
            return
        key = _hashed(row.document)
        if self._documents.takes(key):
            held = self._documents.get(key) or _Document(row.document)
            held.count += 1
            held.least, held.most = min(held.least, row.position), max(held.most, row.position)
            self._documents.put(key, held)

    # --- vectors --------------------------------------------------------------------------------

    def _vectors(self, rows: Sequence[AuditedPoint]) -> None:
        usable: list[AuditedPoint] = []
        for row in rows:
            vector = row.vector
            if vector is None:
                self._meet("vector", "problem", "points have no vector: nothing finds them", row)
            elif vector.shape != (self.dimensions,):
                self._meet("vector", "problem", "vectors have another size", row)
            elif not np.isfinite(vector).all():
                self._meet("vector", "problem", "vectors hold a number that is not finite", row)
            elif not vector.any():
                self._meet("vector", "problem", "vectors are all zeros", row)
            else:
                usable.append(row)
        if usable:
            self._alike(usable)

    def _alike(self, rows: Sequence[AuditedPoint]) -> None:
        matrix = np.stack([row.vector for row in rows if row.vector is not None])
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
        unit = int((np.abs(lengths - 1.0) <= _UNIT).sum())
        self._units += unit
        self._others += len(rows) - unit
        scaled = (matrix / lengths[:, None]).astype(np.float32)
        signs = (scaled @ self._planes > 0).astype(np.uint64)
        for row, signature in zip(rows, (signs * self._powers).sum(axis=1), strict=True):
            self._suspect(row, int(signature))

    def _suspect(self, row: AuditedPoint, signature: int) -> None:
        if not self._signatures.takes(signature):
            return
        text = _hashed(row.text)
        held = self._signatures.get(signature)
        if held is None:
            self._signatures.put(signature, (text, row.point, row.label))
        elif held[0] != text and row.text:
            if len(self.suspects) < _SUSPECTS:
                self.suspects.append((held[1], row.point, (held[2], row.label)))
            else:
                self.suspects_left += 1

    # --- the end --------------------------------------------------------------------------------

    def tallies(self, *, mapped: bool) -> list[Tally]:
        """`mapped` says whether the collection has texts at all."""
        found = [tally for tally in self._tallies.values() if mapped or tally.check != "text"]
        found += self._copies()
        found += self._gaps()
        found += self._digests.tallies(Tally)
        for role, count in sorted(self._missing.items()):
            if role != "text":
                message = f"points have no {role} ({count / self._rows:.1%} of all)"
                found.append(Tally("roles", "warning", message, count))
        if self._others:
            mixed = self._units > 0
            message = "vectors are not of length 1" + (", while others are" if mixed else "")
            found.append(Tally("vector", "warning" if mixed else "note", message, self._others))
        return found

    def _copies(self) -> list[Tally]:
        again = Tally("copies", "problem", "texts occur more than once in one document")
        elsewhere = Tally("copies", "warning", "texts occur in another document too")
        unplaced = Tally("copies", "warning", "texts occur more than once; no document is known")
        for same in self._texts.values():
            if same.here:
                again.meet(same.label)
                again.count += same.here - 1
            if same.elsewhere:
                elsewhere.meet(same.label)
                elsewhere.count += same.elsewhere - 1
            if same.unplaced:
                unplaced.meet(same.label)
                unplaced.count += same.unplaced - 1
        tallies = (again, elsewhere, unplaced)
        return [self._scaled(tally, self._texts) for tally in tallies if tally.count]

    def _gaps(self) -> list[Tally]:
        gaps = Tally("positions", "warning", "documents have gaps between their positions")
        twice = Tally("positions", "warning", "documents have a position more than once")
        for held in self._documents.values():
            room = held.most - held.least + 1
            if held.count < room:
                gaps.meet(held.label)
            elif held.count > room:
                twice.meet(held.label)
        return [self._scaled(tally, self._documents) for tally in (gaps, twice) if tally.count]

    def _scaled(self, tally: Tally, table: SampledTable[V]) -> Tally:
        if table.scale > 1:
            tally.count *= table.scale
            tally.message += f" (estimated from 1 in {table.scale})"
        return tally

    def _meet(
        self, check: str, severity: str, message: str, row: AuditedPoint, example: str | None = None
    ) -> None:
        tally = self._tallies.get(message)
        if tally is None:
            tally = self._tallies[message] = Tally(check, severity, message)
        tally.meet(example or row.label)


def _hashed(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


def _fault_of(url: str) -> str:
    """Of its shape alone: nobody is asked whether the page is there."""
    if any(character.isspace() for character in url.strip()) or url != url.strip():
        return "addresses have spaces"
    try:
        address = urlsplit(url)
        address.port  # noqa: B018 - it is read, and may be none
    except ValueError:
        return "addresses can't be read"
    if address.scheme in {"http", "https"}:
        if not address.hostname:
            return "addresses have no host"
        local = address.hostname in {"localhost", "127.0.0.1", "0.0.0.0"}  # noqa: S104
        return "addresses of one's own machine: nobody else can open them" if local else ""
    if address.scheme == "file":
        return "addresses of files: nobody else can open them"
    return "" if url.startswith("/") else "addresses are none: neither https://… nor /…"
