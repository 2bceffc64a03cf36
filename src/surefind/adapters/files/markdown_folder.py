"""Writes llms.txt and the Markdown of the pages into a folder."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from surefind.adapters.files.data_folder import storing, write_atomically
from surefind.errors import InputError

_SHOWN = 3


class MarkdownFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def prepare(self, names: Iterable[str], *, force: bool) -> None:
        """Create the folder. InputError if files exist that may not be overwritten."""
        await asyncio.to_thread(self._prepare, names, force)

    async def write(self, name: str, text: str) -> None:
        """Readers see the old file or the new one."""
        await asyncio.to_thread(self._write, name, text)

    def _prepare(self, names: Iterable[str], force: bool) -> None:  # noqa: FBT001 - own caller
        if self._folder.exists() and not self._folder.is_dir():
            raise InputError(f"{self._folder} is a file; name a folder")
        existing = [name for name in names if (self._folder / name).exists()]
        if existing and not force:
            more = f" and {len(existing) - _SHOWN} more" if len(existing) > _SHOWN else ""
            raise InputError(
                f"{self._folder} already has {', '.join(existing[:_SHOWN])}{more}; name another "
                "folder, or use --force to overwrite them"
            )
        with storing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode("utf-8", "replace").decode())
