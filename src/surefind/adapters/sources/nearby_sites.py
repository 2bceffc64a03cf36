"""Finds the site of a folder whose configuration is neither in the folder nor above it.

Repositories often keep the site beside its pages, such as `website/` beside `docs/`, or somewhere
below their root. Only the repository is searched; without one, the folder and its neighbours.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from surefind.adapters.sources.site_files import PRUNED, SiteFolder, page_files, upwards

_NOT_THE_SITE = frozenset(
    {"test", "tests", "__tests__", "example", "examples", "fixtures", "templates", "vendor"}
)
_MAX_DEPTH = 3
_MAX_FOLDERS = 2_000
_NAMED = 3

SiteAt = Callable[[Path], SiteFolder | None]


def nearby_site(folder: Path, site_at: SiteAt) -> SiteFolder | tuple[str, ...]:
    """The one site that most of the folder's pages belong to; else notes for the user."""
    below = [site for inner in _folders_below(folder) if (site := site_at(inner)) is not None]
    below = below if _hold_most_pages(below, folder) else []
    if len(below) > 1:
        named = ", ".join(_relative(site.root, folder) for site in below[:_NAMED])
        more = ", …" if len(below) > _NAMED else ""
        note = (
            f"it contains {len(below)} sites ({named}{more}); name one of their folders as the "
            "source to get links to its published pages."
        )
        return (note,)
    found = below[0] if below else _beside(folder, site_at)
    if found is None:
        return ()
    note = f"using the configuration of the site in {_relative(found.root, folder)}."
    return replace(found, notes=(note, *found.notes))


def _folders_below(folder: Path, depth: int = _MAX_DEPTH) -> Iterator[Path]:
    """Folders that may have a configuration, the nearest first."""
    level, left = [folder], _MAX_FOLDERS
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)][:left]
        left -= len(level)
        yield from level


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []  # it is named when the pages are read
    left_out = PRUNED | _NOT_THE_SITE
    return [folder / name for name in names if name[0] != "." and name.lower() not in left_out]


def _hold_most_pages(sites: Sequence[SiteFolder], folder: Path) -> bool:
    if not sites:
        return False
    homes = [home for site in sites for home in (site.root, *site.outer)]
    inside = [any(page.is_relative_to(home) for home in homes) for page in page_files(folder)]
    return 2 * sum(inside) > len(inside)


def _beside(folder: Path, site_at: SiteAt) -> SiteFolder | None:
    """A site of the repository whose configuration names this folder, or one around it."""
    above = list(upwards(folder))[1:]
    in_repository = bool(above) and (above[-1] / ".git").exists()
    for root in above if in_repository else above[:1]:
        for inner in _folders_below(root, _MAX_DEPTH - 1 if in_repository else 1):
            site = None if inner == folder else site_at(inner)
            if site is not None and any(folder.is_relative_to(home) for home in site.outer):
                return site
    return None


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
