"""Golden sets on disk: YAML, JSON Lines and text files, BEIR folders, TREC topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from surefind.adapters.files.data_folder import write_atomically
from surefind.adapters.files.near_paths import hint_for
from surefind.errors import InputError
from surefind.evaluation.golden.golden_set import (
    MAX_BYTES,
    GoldenSet,
    read_questions,
)
from surefind.evaluation.golden.judged_sets import (
    judged_set,
    read_beir_queries,
    read_qrels,
    read_topics,
)
from surefind.evaluation.golden.other_tools import read_any_lines, read_any_yaml, read_csv

_READERS: Mapping[str, Callable[[str, bytes], GoldenSet]] = {
    ".yaml": read_any_yaml,
    ".yml": read_any_yaml,
    ".json": read_any_yaml,  # JSON is a subset of YAML here
    ".jsonl": read_any_lines,
    ".ndjson": read_any_lines,
    ".csv": read_csv,
    ".txt": read_questions,
    "": read_questions,
}
_BEIR_QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")


def read_golden(path: Path, qrels: Path | None = None) -> GoldenSet:
    """Read a file by its suffix; with `qrels`, the file has topics."""
    if qrels is not None:
        topics = read_topics(path.name, content_of(path))
        return judged_set(path.name, topics, read_qrels(qrels.name, content_of(qrels)))
    if path.is_dir():
        return _beir(path)
    if not path.exists():
        hint = hint_for(path)
        raise InputError(
            f"{path} does not exist{hint}{'' if hint else ';'} `surefind golden init` writes tests "
            "to start with"
        )
    reader = _READERS.get(path.suffix.casefold())
    if reader is None:
        known = ", ".join(suffix for suffix in _READERS if suffix)
        raise InputError(
            f"{path}: unknown file type; use a BEIR folder or a file that ends in {known}, or add "
            "--qrels for topics"
        )
    return reader(path.name, content_of(path))


def _beir(folder: Path) -> GoldenSet:
    qrels = next((folder / name for name in _BEIR_QRELS if (folder / name).exists()), None)
    if not (folder / "queries.jsonl").exists() or qrels is None:
        raise InputError(f"{folder}: a BEIR folder needs queries.jsonl, and qrels.tsv or qrels/")
    queries = read_beir_queries("queries.jsonl", content_of(folder / "queries.jsonl"))
    return judged_set(folder.resolve().name, queries, read_qrels(qrels.name, content_of(qrels)))


def write_golden(path: Path, content: bytes, *, is_new: bool) -> None:
    """Write atomically. If `is_new`, an existing file is an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # write the target of a symlink and keep the link
        if is_new and target.exists():
            raise InputError(f"{path} already exists; use another name, or --force")
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
        write_atomically(target, content.decode(), mode)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}; it is unchanged") from error


def content_of(path: Path) -> bytes:
    """Read a file; huge files are rejected unread, pipes once they exceed the limit."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(
                f"{path.name} has {path.stat().st_size:,} bytes; at most "
                f"{MAX_BYTES:,} are allowed; split it"
            )
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
