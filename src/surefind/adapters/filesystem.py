"""A folder of Markdown, or one file, as a source."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

from surefind.errors import InputError
from surefind.model import PageFailure, SourcePage

SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
_PAGES_AT_ONCE = 16  # a thread costs more than reading a small file
_PRUNED = frozenset({"node_modules", "__pycache__"})


def sources_of(paths: Iterable[Path]) -> list["FolderSource"]:
    """One source per folder given, and one per folder that files were given of."""
    files: dict[Path, list[Path]] = {}
    sources = []
    for path in dict.fromkeys(paths):
        _check(path)
        if path.is_dir():
            sources.append(FolderSource(path.resolve()))
        else:
            files.setdefault(path.resolve().parent, []).append(path.resolve())
    return sources + [FolderSource(root, chosen) for root, chosen in files.items()]


def _check(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path} does not exist; name a folder of Markdown or a Markdown file")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} can't be read: give yourself the right to")
    if path.is_file() and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path} is no Markdown file ({', '.join(sorted(SUFFIXES))})")


class FolderSource:
    """A page's identity is the folder's own name and the path below it: `docs/guide/install.md`.

    So it is the same from whichever directory the command is run.
    """

    def __init__(self, root: Path, files: Sequence[Path] | None = None) -> None:
        """All Markdown below `root`, or just `files`, which lie in it."""
        self._root = root
        self._chosen = files

    @property
    def name(self) -> str:
        return self._root.name or "root"

    async def pages(self) -> AsyncIterator[SourcePage | PageFailure]:
        paths = await asyncio.to_thread(lambda: sorted(self._files()))
        for start in range(0, len(paths), _PAGES_AT_ONCE):
            some = paths[start : start + _PAGES_AT_ONCE]
            for page in await asyncio.to_thread(self._read_all, some):
                yield page

    def _files(self) -> Iterator[Path]:
        if self._chosen is not None:
            yield from self._chosen
            return
        for folder, folders, names in os.walk(self._root):  # follows no link: no loop
            folders[:] = [n for n in folders if not n.startswith(".") and n not in _PRUNED]
            for name in names:
                path = Path(folder) / name
                if path.suffix.lower() in SUFFIXES and not name.startswith("."):
                    yield path

    def _read_all(self, paths: Sequence[Path]) -> list[SourcePage | PageFailure]:
        return [self._read(path) for path in paths]

    def _read(self, path: Path) -> SourcePage | PageFailure:
        site_path = path.relative_to(self._root).as_posix()
        source_path = f"{self.name}/{site_path}"
        if not source_path.isprintable():
            shown = os.fsencode(source_path).decode("utf-8", "replace")
            return PageFailure(shown, "its name holds bytes that are no text; rename it")
        try:
            return SourcePage(source_path, site_path, path.read_bytes())
        except OSError as error:
            return PageFailure(source_path, f"it can't be read: {error.strerror}")
