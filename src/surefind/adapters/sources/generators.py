"""Finds the sites of Sphinx by their configuration files."""

import re
from pathlib import Path

from surefind.adapters.sources.site_files import (
    SiteFolder,
    fingerprint_of,
    pages_below,
    read_text,
    upwards,
)
from surefind.text.sites.sphinx.addresses import SphinxSite
from surefind.text.sites.sphinx.config import SphinxConfig
from surefind.text.sites.sphinx.titles import Titles

_DIRHTML = re.compile(r"builder:\s*['\"]?(?:dirhtml|htmldir)\b|-[bM]\s*dirhtml\b")
_READTHEDOCS = (".readthedocs.yaml", ".readthedocs.yml", "readthedocs.yml")


def find_generator(root: Path, base_url: str | None) -> SiteFolder | None:
    """The site whose configuration is in this folder; None if there is none."""
    return _sphinx(root, base_url)


def _sphinx(root: Path, base_url: str | None) -> SiteFolder | None:
    if not (root / "conf.py").is_file():
        return None
    text = read_text(root / "conf.py")
    config = SphinxConfig(text)
    if not config.is_sphinx:
        return None
    directories = _builds_directories(root)
    titles = Titles(pages_below(root, config.suffixes), lambda path: read_text(root / path))
    site = SphinxSite(config, base_url, directories=directories, titles=titles)
    return SiteFolder(
        root,
        site,
        fingerprint_of("sphinx", text, base_url, str(directories)),
        site.suffixes,
        site.notes,
        with_included=site.with_included,
    )


def _builds_directories(root: Path) -> bool:
    """Whether Read the Docs, or the Makefile, builds the site with `dirhtml`."""
    for folder in upwards(root):
        for name in _READTHEDOCS:
            if (folder / name).is_file():
                return _DIRHTML.search(read_text(folder / name)) is not None
    makefile = root / "Makefile"
    text = read_text(makefile) if makefile.is_file() else ""
    return _DIRHTML.search(text) is not None and "-b html" not in text
