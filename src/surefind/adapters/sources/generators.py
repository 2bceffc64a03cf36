"""Finds the sites of Sphinx, mdBook, VitePress, Starlight and Nextra by their configurations."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from surefind.adapters.sources.site_files import (
    MARKDOWN_SUFFIXES,
    SiteFolder,
    fingerprint_of,
    pages_below,
    read_text,
    upwards,
)
from surefind.model import UrlStyle
from surefind.text.sites.mdbook.addresses import MdBookSite, source_folder
from surefind.text.sites.nextra.addresses import NextraSite
from surefind.text.sites.sphinx.addresses import SphinxSite
from surefind.text.sites.sphinx.config import SphinxConfig
from surefind.text.sites.sphinx.titles import Titles
from surefind.text.sites.starlight.addresses import StarlightSite
from surefind.text.sites.vitepress.addresses import VitePressSite

_READTHEDOCS = (".readthedocs.yaml", ".readthedocs.yml", "readthedocs.yml")
_DIRHTML = re.compile(r"builder:\s*['\"]?(?:dirhtml|htmldir)\b|-[bM]\s*dirhtml\b")
_SCRIPTS = ("ts", "js", "mts", "mjs", "cjs", "cts")
_MARKDOWN = frozenset({".md"})


def find_generator(
    root: Path, base_url: str | None, url_style: UrlStyle | None
) -> SiteFolder | None:
    """The site whose configuration is in this folder; None if there is none."""
    finders: Iterable[Callable[[Path, str | None, UrlStyle | None], SiteFolder | None]]
    finders = (_sphinx, _mdbook, _vitepress, _starlight, _nextra)
    found = (finder(root, base_url, url_style) for finder in finders)
    return next(filter(None, found), None)


def _sphinx(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    if not (root / "conf.py").is_file():
        return None
    text = read_text(root / "conf.py")
    config = SphinxConfig(text)
    if not config.is_sphinx:
        return None
    directories = _builds_directories(root) if url_style is None else url_style == "directory"
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


def _mdbook(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    if not (root / "book.toml").is_file():
        return None
    text = read_text(root / "book.toml")
    path = root / source_folder(text) / "SUMMARY.md"
    summary = read_text(path) if path.is_file() else None
    site = MdBookSite(text, summary, base_url, url_style=url_style)
    return SiteFolder(
        root,
        site,
        fingerprint_of("mdbook", text, summary, base_url, url_style),
        _MARKDOWN,
        site.notes,
        with_included=site.with_included,
    )


def _vitepress(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    config = _script(root / ".vitepress", "config") or _script(root / ".vitepress/config", "index")
    if config is None:
        return None
    text = read_text(config)
    site = VitePressSite(text, base_url, url_style=url_style)
    return SiteFolder(
        root,
        site,
        fingerprint_of("vitepress", text, base_url, url_style),
        _MARKDOWN,
        site.notes,
        with_included=site.with_included,
    )


def _starlight(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    config = _script(root, "astro.config")
    text = read_text(config) if config is not None else ""
    if "@astrojs/starlight" not in text:
        return None
    site = StarlightSite(text, base_url, url_style=url_style)
    return SiteFolder(
        root,
        site,
        fingerprint_of("starlight", text, base_url, url_style),
        MARKDOWN_SUFFIXES,
        site.notes,
        with_included=site.with_included,
    )


def _nextra(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    config = _script(root, "next.config")
    text = read_text(config) if config is not None else ""
    if "nextra" not in text:
        return None
    site = NextraSite(text, base_url, url_style=url_style)
    return SiteFolder(
        root,
        site,
        fingerprint_of("nextra", text, base_url, url_style),
        MARKDOWN_SUFFIXES,
        site.notes,
        markdown_is_mdx=True,
    )


def _script(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}.{ending}" for ending in _SCRIPTS)
    return next((path for path in paths if path.is_file()), None)
