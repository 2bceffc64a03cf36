"""What a folder of a site is: its pages, its configuration files and the repository around it."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
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
    """`root` is the folder that site paths are relative to.

    `outer` are folders of pages outside it; their site paths start with `../`.
    """

    root: Path
    site: Site
    fingerprint: str
    suffixes: frozenset[str]
    notes: tuple[str, ...] = ()
    unread_folders: frozenset[str] = frozenset()  # templates and output, below the root
    markdown_is_mdx: bool = False
    with_included: WithIncluded | None = None
    outer: tuple[Path, ...] = ()

    @property
    def project(self) -> Path:
        """The repository of the site, else the folder of its pages: no include leads out of it."""
        return repository_of(self.root) or Path(os.path.commonpath((self.root, *self.outer)))

    def site_path(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.root)).as_posix()


def repository_of(folder: Path) -> Path | None:
    return next((root for root in upwards(folder) if (root / ".git").exists()), None)


def upwards(folder: Path) -> Iterator[Path]:
    for root in (folder, *folder.parents):
        yield root
        if (root / ".git").exists():
            return


def pages_below(
    root: Path, suffixes: frozenset[str] = MARKDOWN_SUFFIXES, outer: Iterable[Path] = ()
) -> list[str]:
    """The site paths of all pages, because neighbours can affect whether a page is published."""
    found = (path for folder in (root, *outer) for path in page_files(folder, suffixes))
    return sorted(Path(os.path.relpath(path, root)).as_posix() for path in found)


def page_files(root: Path, suffixes: frozenset[str] = MARKDOWN_SUFFIXES) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = [n for n in folders if not n.startswith(".") and n not in PRUNED]
        yield from (Path(folder, n) for n in names if Path(n).suffix.lower() in suffixes)


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def fingerprint_of(kind: str, *parts: str | None) -> str:
    whole = "\0".join(part or "" for part in parts)
    return f"{kind} {hashlib.sha256(whole.encode()).hexdigest()[:16]}"
