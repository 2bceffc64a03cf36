"""Archives that are damaged or hostile: refused with the reason, before anything is written."""

import asyncio
import hashlib
import json
import os
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefind.adapters.files.archive import Archive, write_archive
from surefind.bootstrap import Application
from surefind.errors import FormatTooNew, InputError
from surefind.model import GenerationRef
from surefind.services.generations.index_building import both_stores
from surefind.services.generations.transfer import kept_in, pages_of
from surefind.settings import load
from unit.installation import PAGES, Installation

FRONT = "---\nlevel: 3\ntags: [a, b]\n---\n# Größe\n\nwörds with ümlauts"
CONTENTS = "contents.json"
FLIPS = 120


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("exported")

    async def export() -> None:
        home, ref = Installation(folder / "here"), GenerationRef("docs", 1)
        await home.ingest({**PAGES, "größe.md": FRONT, "empty.md": ""})
        manifest = await home.catalogs.manifest(ref)
        async with both_stores(ref, home.index, home.catalogs) as (index, catalog):
            pages = pages_of(catalog, kept_in(index))
            await write_archive(folder / "docs.surefind", manifest, pages, lambda _: None)
        await home.close()

    asyncio.run(export())
    return (folder / "docs.surefind").read_bytes()


@pytest.fixture
def archive(tmp_path: Path, exported: bytes) -> Path:
    path = tmp_path / "docs.surefind"
    path.write_bytes(exported)
    return path


async def content_of(archive: Archive) -> list[tuple[object, ...]]:
    return [(page.document, page.records, page.vectors.tobytes()) async for page in archive.pages()]


def state_of(folder: Path) -> list[tuple[object, ...]]:
    found = [(path, path.lstat()) for path in sorted(folder.rglob("*"))]
    return [
        (path, told.st_ino, told.st_size, 0 if path.is_dir() else told.st_mtime_ns)
        for path, told in found
    ]


# --- damage -----------------------------------------------------------------------------------


async def test_a_flipped_byte_is_refused_or_does_not_matter(tmp_path: Path, archive: Path) -> None:
    """Through the whole file, more of them where zip keeps its own structures."""
    there = Installation(tmp_path / "there")
    await there.ingest(PAGES)
    await there.close()
    whole, chance = archive.read_bytes(), random.Random(20261118)
    content, before = await content_of(Archive(archive)), state_of(there.root)
    application = Application(load(data_dir=there.root))
    places = {*range(40), *range(len(whole) - FLIPS, len(whole))}
    places.update(chance.randrange(len(whole)) for _ in range(FLIPS))
    refused = 0
    for place in sorted(places):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        archive.write_bytes(flipped)
        try:
            found = await content_of(Archive(archive))
        except InputError:
            refused += 1
            with pytest.raises(InputError, match=archive.name):
                await application.transfer.import_archive(archive, None, lambda _: None)
            assert state_of(there.root) == before, f"byte {place}"
        else:
            assert found == content, f"byte {place}"
    assert refused > FLIPS
    await application.close()


async def test_every_byte_that_is_cut_off_or_added_is_noticed(archive: Path) -> None:
    whole = archive.read_bytes()
    shortened = [whole[:length] for length in range(0, len(whole), max(1, len(whole) // 60))]
    for content in (*shortened, whole + b"\n", whole + whole, b"#!/bin/sh\n" + whole):
        archive.write_bytes(content)
        with pytest.raises(InputError):
            Archive(archive)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"PK"), "truncated"),
        (lambda path: path.write_bytes(b"PK\x03\x04"), "truncated"),
        (lambda path: path.write_bytes(b"no archive at all"), "not a surefind archive"),
        (Path.mkdir, "is a folder"),
        (a_pipe, "not a regular file"),
        (lambda _: None, "does not exist"),
    ],
)
def test_other_files_are_not_taken_for_archives(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    make(tmp_path / "x.surefind")
    with pytest.raises(InputError, match=reason) as refusal:
        Archive(tmp_path / "x.surefind")
    assert "x.surefind" in str(refusal.value)


# --- the zip file -----------------------------------------------------------------------------


def unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, files: dict[str, bytes], **options: Any) -> None:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def signed(files: dict[str, bytes]) -> dict[str, bytes]:
    """With a listing that fits, as whoever forges an archive would write it."""
    held = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if name != CONTENTS
    }
    return {**files, CONTENTS: json.dumps({"format": 1, "files": held}).encode()}


def bzip2(path: Path) -> None:
    packed(path, unpacked(path), compression=zipfile.ZIP_BZIP2)


def lzma(path: Path) -> None:
    packed(path, unpacked(path), compression=zipfile.ZIP_LZMA)


def _patched(path: Path, at: dict[bytes, int], value: int) -> None:
    """Two bytes of every header, by the header's mark."""
    content = bytearray(path.read_bytes())
    for mark, offset in at.items():
        start = content.find(mark)
        while start >= 0:
            struct.pack_into("<H", content, start + offset, value)
            start = content.find(mark, start + 4)
    path.write_bytes(content)


def encrypted(path: Path) -> None:
    _patched(path, {b"PK\x01\x02": 8, b"PK\x03\x04": 6}, 1)


def unknown_method(path: Path) -> None:
    _patched(path, {b"PK\x01\x02": 10, b"PK\x03\x04": 8}, 99)


def newer_zip(path: Path) -> None:
    _patched(path, {b"PK\x01\x02": 6, b"PK\x03\x04": 4}, 250)


def twice(path: Path) -> None:
    files = unpacked(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("manifest.json", b"{}")


def linked(path: Path) -> None:
    files = unpacked(path)
    link = zipfile.ZipInfo("pages/000001.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    packed(path, files)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")


def with_member(name: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        packed(path, {**unpacked(path), name: b"x"})

    return change


def with_listed(name: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        packed(path, signed({**unpacked(path), name: b"x"}))

    return change


def overlapping(path: Path) -> None:
    files = unpacked(path)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.getinfo("manifest.json").compress_size = path.stat().st_size * 2


def crowded(path: Path) -> None:
    packed(path, {**unpacked(path), **{f"pages/{number}": b"" for number in range(20_000)}})


def nested(path: Path) -> None:
    packed(path, {"docs.surefind": path.read_bytes()})


def nested_part(path: Path) -> None:
    packed(path, signed({**unpacked(path), "pages/000000.jsonl": path.read_bytes()}))


def without(name: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        files = unpacked(path)
        del files[name]
        packed(path, files)

    return change


def bomb(path: Path) -> None:
    """It says how much it would unpack to."""
    files = unpacked(path)
    listing = json.loads(files[CONTENTS])
    listing["files"]["manifest.json"]["bytes"] = 5 * 2**40
    files[CONTENTS] = json.dumps(listing).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.getinfo("manifest.json").file_size = 5 * 2**40


def hidden_bomb(path: Path) -> None:
    """It unpacks to more than it says."""
    files = unpacked(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            longer = b" " * 2**26 if name == "manifest.json" else b""
            archive.writestr(name, content + longer)
            archive.getinfo(name).file_size = len(content)


def large_listing(path: Path) -> None:
    files = unpacked(path)
    packed(
        path,
        {**files, CONTENTS: files[CONTENTS] + b" " * 2**24},
        compression=zipfile.ZIP_DEFLATED,
    )


def large_manifest(path: Path) -> None:
    files = unpacked(path)
    files["manifest.json"] += b" " * 2**24
    packed(path, signed(files), compression=zipfile.ZIP_DEFLATED)


def unlisted_bytes(path: Path) -> None:
    files = unpacked(path)
    files["manifest.json"] += b" " * 100
    packed(path, files)


def other_byte(path: Path) -> None:
    files = unpacked(path)
    numbers = files["pages/000000.f32"]
    files["pages/000000.f32"] = bytes([numbers[0] ^ 1]) + numbers[1:]
    packed(path, files)


def listing(content: bytes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        packed(path, {**unpacked(path), CONTENTS: content})

    return change


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (bzip2, "uses compression method 12"),
        (lzma, "uses compression method 14"),
        (unknown_method, "uses compression method 99"),
        (newer_zip, "not a surefind archive"),
        (encrypted, "is encrypted"),
        (twice, "two files with the same name"),
        (linked, "pages/000001.jsonl', which is not part of an export"),
        (with_member("../../evil"), "'../../evil', which is not part of an export"),
        (with_listed("../../evil"), "'../../evil', which is not part of an export"),
        (with_listed("/etc/passwd"), "'/etc/passwd', which is not part of an export"),
        (with_listed("pages/000000.jsonl/"), "which is not part of an export"),
        (with_listed("pages/000007.jsonl"), "lacks pages/000001"),
        (with_listed("x\x1b[2J"), "'x\\x1b[2J', which is not part of an export"),
        (overlapping, "its files overlap"),
        (crowded, "which is not part of an export"),
        (nested, "has no contents.json"),
        (nested_part, "pages/000000.jsonl has invalid content"),
        (without(CONTENTS), "truncated"),
        (without("manifest.json"), "lacks manifest.json"),
        (without("pages/000000.f32"), "lacks pages/000000.f32"),
        (bomb, "would unpack to 5,120 GB"),
        (hidden_bomb, "damaged"),
        (large_listing, "too large for an export"),
        (large_manifest, "too large for an export"),
        (unlisted_bytes, "size of manifest.json differs"),
        (other_byte, "pages/000000.f32 is damaged"),
        (listing(b"{"), "not valid JSON"),
        (listing(b"[" * 100_000), "not valid JSON"),
        (listing(b"\xff\xfe"), "not valid JSON"),
        (listing(b"[1]"), "names an unknown format"),
        (listing(b'{"format": 1e999}'), "names an unknown format"),
        (listing(b'{"format": 0, "files": {}}'), "names an unknown format"),
        (listing(b'{"format": 1}'), "files: Field required"),
        (listing(b'{"format": 1, "files": [1, 2]}'), "files: Input should be an object"),
        (listing(b'{"format": 1, "files": {"a": {"bytes": -1, "sha256": ""}}}'), "files.a.bytes"),
    ],
)
def test_a_zip_file_that_no_export_writes_is_refused(
    archive: Path, damage: Callable[[Path], None], reason: str
) -> None:
    damage(archive)
    with pytest.raises(InputError) as refusal:
        Archive(archive)
    assert reason in str(refusal.value)
    assert str(refusal.value).endswith("Nothing was imported; export it again")
    assert str(refusal.value).isprintable()


def test_a_newer_archive_asks_for_a_newer_surefind(archive: Path) -> None:
    listing(b'{"format": 2, "parts": []}')(archive)
    with pytest.raises(FormatTooNew, match=r"docs\.surefind was written by a newer .* upgrade"):
        Archive(archive)


# --- forged content ---------------------------------------------------------------------------


class Forged:
    """The content of an archive to be changed; written with sizes and checksums that fit."""

    def __init__(self, path: Path) -> None:
        files = unpacked(path)
        self.manifest = json.loads(files["manifest.json"])
        self.lines = [json.loads(line) for line in files["pages/000000.jsonl"].splitlines()]
        width = self.manifest["embedder"]["dimensions"]
        numbers = np.frombuffer(files["pages/000000.f32"], "<f4").reshape(-1, width)
        self.vectors = numbers.copy()
        self.replaced: list[tuple[bytes, bytes]] = []
        self.tail = b""

    @property
    def page(self) -> dict[str, Any]:
        """One with several chunks."""
        return next(line for line in self.lines if line["document"]["title"] == "Guide")

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page["records"][1]
        return found

    @property
    def chunk(self) -> dict[str, Any]:
        found: dict[str, Any] = self.record["chunk"]
        return found

    def of_page(self, name: str, value: object) -> None:
        """For the page and all of its chunks."""
        for held in (self.page["document"], *self.page["records"]):
            held[name] = value

    def write(self, path: Path) -> None:
        lines = b"\n".join(json.dumps(line).encode() for line in self.lines)
        manifest = json.dumps(self.manifest).encode()
        for old, new in self.replaced:
            assert old in lines or old in manifest
            lines, manifest = lines.replace(old, new), manifest.replace(old, new)
        vectors = self.vectors.astype("<f4").tobytes() + self.tail
        files = {
            "manifest.json": manifest,
            "pages/000000.jsonl": lines,
            "pages/000000.f32": vectors,
        }
        packed(path, signed(files))


def _set(where: str, name: str, value: object) -> Callable[[Forged], None]:
    def change(forged: Forged) -> None:
        getattr(forged, where)[name] = value

    return change


def _of_page(name: str, value: object) -> Callable[[Forged], None]:
    return lambda forged: forged.of_page(name, value)


def _raw(marked: str, name: str, raw: bytes) -> Callable[[Forged], None]:
    """A value that json can't spell."""

    def change(forged: Forged) -> None:
        if marked == "page":
            forged.of_page(name, "MARK")
        else:
            getattr(forged, marked)[name] = "MARK"
        forged.replaced.append((b'"MARK"', raw))

    return change


def other_text(forged: Forged) -> None:
    """The page says the same: only the hash can tell."""
    chunk, document = forged.chunk, forged.page["document"]
    text = chunk["text"].replace("installer", "UNinstall")
    assert len(text) == len(chunk["text"])
    assert text != chunk["text"]
    chunk["text"] = text
    document["text"] = document["text"][: chunk["start"]] + text + document["text"][chunk["end"] :]


def other_than_page(forged: Forged) -> None:
    forged.chunk["text"] = "something else"
    forged.chunk["content_hash"] = hashlib.sha256(b"something else").hexdigest()


def vector(value: float) -> Callable[[Forged], None]:
    def change(forged: Forged) -> None:
        forged.vectors[1] = value

    return change


def one_number(value: float) -> Callable[[Forged], None]:
    def change(forged: Forged) -> None:
        forged.vectors[1, 3] = value

    return change


def same_id_in_page(forged: Forged) -> None:
    forged.chunk["id"] = forged.page["records"][0]["chunk"]["id"]


def same_id_elsewhere(forged: Forged) -> None:
    others = (line for line in forged.lines if line["records"] and line is not forged.page)
    forged.chunk["id"] = next(others)["records"][0]["chunk"]["id"]


def page_twice(forged: Forged) -> None:
    forged.lines.append(forged.lines[0])


def page_missing(forged: Forged) -> None:
    forged.lines = [line for line in forged.lines if line["records"]]


def vector_missing(forged: Forged) -> None:
    forged.vectors = forged.vectors[:-1]


def odd_length(forged: Forged) -> None:
    forged.tail = b"\x00"


def one_chunk_less(forged: Forged) -> None:
    """Sizes fit the manifest, chunks don't."""
    forged.page["records"].pop()


def one_chunk_more(forged: Forged) -> None:
    forged.lines[-1]["records"] *= 2


def other_dimensions(forged: Forged) -> None:
    forged.manifest["embedder"]["dimensions"] += 1


def no_dimensions(forged: Forged) -> None:
    forged.manifest["embedder"]["dimensions"] = 0


def infinite_mean(forged: Forged) -> None:
    forged.manifest["lexical"]["mean_terms"] = "MARK"
    forged.replaced.append((b'"MARK"', b"1e999"))


def no_mean(forged: Forged) -> None:
    forged.manifest["lexical"]["mean_terms"] = 0


def blank_text(forged: Forged) -> None:
    """A newline of the page, with the hash of a newline."""
    forged.chunk["start"] = forged.page["document"]["text"].index("\n")
    forged.chunk["end"] = forged.chunk["start"] + 1
    forged.chunk["text"] = "\n"
    forged.chunk["content_hash"] = hashlib.sha256(b"\n").hexdigest()


LINKS = ("javascript:alert(1)", "java\tscript:alert(1)", " JavaScript:x", "data:text/html,x")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_text, "its text does not match its hash"),
        (other_than_page, "its text differs from the text of its page"),
        (vector(0), "has length 0 instead of 1"),
        (vector(np.nan), "has length nan"),
        (one_number(np.nan), "has length nan"),
        (one_number(np.inf), "has length inf"),
        (one_number(3e38), "has length 3e+38"),
        (vector_missing, "its vectors have "),
        (odd_length, "its vectors have "),
        (other_dimensions, "its vectors have "),
        (no_dimensions, "have 0 dimensions"),
        (one_chunk_less, "more vectors than"),
        (one_chunk_more, "fewer vectors than chunks"),
        (page_twice, "occurs twice"),
        (page_missing, "but its manifest says"),
        (same_id_in_page, "two of its chunks have the same id"),
        (same_id_elsewhere, "two of its chunks have the same id"),
        *((_of_page("url", url), "neither http(s) nor relative") for url in (LINKS[0], LINKS[3])),
        *((_of_page("url", url), "url") for url in LINKS[1:3]),
        (
            _set("record", "url", "https://elsewhere.example.com/"),
            "its url differs from its page's",
        ),
        (_of_page("title", 5), "title: Input should be a valid string"),
        (_of_page("slug", "a\x1b[2Jb"), "its slug contains control characters"),
        (_of_page("title", "a\0b"), "page.title contains a NUL character"),
        (_set("chunk", "heading_path", ["a\0b"]), "chunk.heading_path contains a NUL character"),
        (_set("manifest", "source_digest", "\x1b[2J"), "manifest.source_digest contains control"),
        (_set("chunk", "id", ""), "must have 1 to 50 printable characters"),
        (_set("chunk", "id", "x" * 51), "must have 1 to 50 printable characters"),
        (_set("chunk", "id", "a\nb"), "must have 1 to 50 printable characters"),
        (_set("chunk", "id", "  "), "must have 1 to 50 printable characters"),
        (blank_text, "its text is blank"),
        (_set("chunk", "content_type", "text/html"), "its content_type is 'text/html'"),
        (_set("manifest", "fields", [{"name": "level", "kinds": []}]), "'level' has no kinds"),
        (_set("chunk", "position", 0), "its position is 0 instead of 1"),
        (_set("chunk", "position", 7), "its position is 7 instead of 1"),
        (_set("chunk", "position", -1), "its position is -1 instead of 1"),
        (_set("chunk", "position", "1"), "position: Input should be a valid integer"),
        (_raw("chunk", "position", b"1" + b"0" * 400), "instead of 1"),
        (_raw("chunk", "position", b"1" + b"0" * 9000), "number out of range"),
        (_set("chunk", "tokens", 2**63), "its tokens is out of range"),
        (_set("record", "term_count", -1), "its term_count is out of range"),
        (_set("chunk", "start", -5), "offsets are outside the text"),
        (_set("chunk", "end", 10**9), "offsets are outside the text"),
        (_set("record", "created_at", "2026-01-01T00:00:00"), "has no time zone"),
        (_set("record", "created_at", "yesterday"), "created_at: Input should be a valid datetime"),
        (_raw("chunk", "context", b'"\\ud800"'), "has invalid content"),
        (_raw("chunk", "context", b'"\xff"'), "has invalid content"),
        (_raw("page", "attributes", b'{"level": NaN}'), "attribute level is out of range"),
        (_of_page("attributes", {"level": 2**60}), "attribute level is out of range"),
        (_of_page("attributes", {'a"b': "x"}), "is not a valid attribute name"),
        (_raw("page", "front_matter", b'{"a": [1, {"b": 1e999}]}'), "front matter.a.b is inf"),
        (_raw("page", "front_matter", b"[" * 5000 + b"]" * 5000), "recursion limit"),
        (_set("manifest", "collection", "../../evil"), "invalid collection name"),
        (_set("manifest", "documents", 4), "but its manifest says"),
        (_set("manifest", "documents", 2**40), "manifest.documents is out of range"),
        (_set("manifest", "chunks", -1), "manifest.chunks is out of range"),
        (_set("manifest", "created_at", "2026-01-01T00:00:00"), "has no time zone"),
        (infinite_mean, "manifest.lexical.mean_terms is inf"),
        (no_mean, "manifest.lexical.mean_terms is 0"),
        (_set("record", "flaws", ["text is missing"]), "comes from a connected collection"),
        (_set("record", "payload", {"chunk_text": "x"}), "comes from a connected collection"),
        (_set("record", "assumed", ["position"]), "comes from a connected collection"),
    ],
)
async def test_forged_content_is_refused_before_anything_is_written(
    tmp_path: Path, archive: Path, change: Callable[[Forged], None], reason: str
) -> None:
    forged = Forged(archive)
    change(forged)
    forged.write(archive)
    application = Application(load(data_dir=tmp_path / "data"))
    with pytest.raises(InputError) as refusal:
        await application.transfer.import_archive(archive, None, lambda _: None)
    assert reason in str(refusal.value)
    assert not (tmp_path / "data").exists()
    await application.close()


async def test_what_is_forged_without_a_change_is_imported(tmp_path: Path, archive: Path) -> None:
    """Else the tests above would show nothing."""
    before = await content_of(Archive(archive))
    Forged(archive).write(archive)
    assert await content_of(Archive(archive)) == before
    application = Application(load(data_dir=tmp_path / "data"))
    manifest = await application.transfer.import_archive(archive, None, lambda _: None)
    assert (manifest.documents, manifest.chunks) == (5, 6)
    await application.close()


async def test_a_page_too_large_to_be_read_again_is_not_exported(
    tmp_path: Path, archive: Path
) -> None:
    opened, new = Archive(archive), tmp_path / "new"
    with pytest.raises(InputError, match=r"page docs/.*\.md is too large to export"):
        await write_archive(new, opened.manifest, opened.pages(), lambda _: None, 2000)
    assert not new.exists()
    with pytest.raises(InputError, match="larger than any exported page"):
        Archive(archive, max_page_bytes=2000)
