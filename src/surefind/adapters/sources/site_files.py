"""What a folder of a site is: its pages, its configuration files and the repository around it."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from surefind.errors import InputError
from surefind.ports import Site
from surefind.text.sites.mkdocs.includes import ReadFile

MARKDOWN_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
PRUNED = frozenset({"node_modules", "__pycache__", "site-packages"})

WithIncluded = Callable[[str, str, ReadFile], tuple[str, tuple[str, ...]]]
"""(site path, text of the page, file reader) -> (text with includes expanded, warnings)."""


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """`root` is the folder that site paths are relative to."""

    root: Path
    site: Site
    fingerprint: str
    suffixes: frozenset[str]
    notes: tuple[str, ...] = ()
    unread_folders: frozenset[str] = frozenset()  # templates and output, below the root
    markdown_is_mdx: bool = False
    with_included: WithIncluded | None = None

    @property
    def project(self) -> Path:
        """The repository of the site, else its own folder: no include leads out of it."""
        above = (folder for folder in upwards(self.root) if (folder / ".git").exists())
        return next(above, self.root)


def upwards(folder: Path) -> Iterator[Path]:
    for root in (folder, *folder.parents):
        yield root
        if (root / ".git").exists():
            return


def pages_below(root: Path, suffixes: frozenset[str] = MARKDOWN_SUFFIXES) -> list[str]:
    """Every page of a site, because neighbours can affect whether a page is published."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [n for n in folders if not n.startswith(".") and n not in PRUNED]
        found += [Path(folder) / n for n in names if Path(n).suffix.lower() in suffixes]
    return sorted(path.relative_to(root).as_posix() for path in found)


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def fingerprint_of(kind: str, *parts: str | None) -> str:
    whole = "\0".join(part or "" for part in parts)
    return f"{kind} {hashlib.sha256(whole.encode()).hexdigest()[:16]}"
