"""Finds the site that a folder of documentation belongs to, by its configuration file."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from surefind.errors import InputError
from surefind.ports import Site
from surefind.text.formats.registry import SUFFIXES
from surefind.text.sites.config_files import CONFIG_SUFFIXES
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.hugo.addresses import CONTENT_SUFFIXES, HugoSite
from surefind.text.sites.hugo.config import CONFIG_FOLDERS, CONFIG_NAMES, HugoConfig
from surefind.text.sites.mkdocs.addresses import MkDocsSite
from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.plain import PlainSite, ReaderSite

_DOCUSAURUS = tuple(f"docusaurus.config.{ending}" for ending in ("js", "ts", "mjs", "cjs", "mts"))
MARKDOWN_SUFFIXES = frozenset({".md", ".mdx", ".markdown"})
PRUNED = frozenset({"node_modules", "__pycache__", "site-packages"})
_MKDOCS = ("mkdocs.yml", "mkdocs.yaml")

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
        above = (folder for folder in _upwards(self.root) if (folder / ".git").exists())
        return next(above, self.root)


def find_site(folder: Path, collection: str, base_url: str | None) -> SiteFolder:
    """Use the nearest configuration in the folder or above it, within one repository."""
    for root in _upwards(folder):
        for name in _DOCUSAURUS:
            if (root / name).is_file():
                return _docusaurus(root, root / name, base_url)
        for name in _MKDOCS:
            if (root / name).is_file():
                return _mkdocs(root, root / name, base_url)
        hugo = _hugo(root, base_url)
        if hugo is not None:
            return hugo
    if base_url is not None:
        return SiteFolder(folder, PlainSite(base_url), f"plain {base_url}", SUFFIXES)
    return SiteFolder(
        folder, ReaderSite(collection, folder.name), f"unpublished {collection}", SUFFIXES
    )


def _upwards(folder: Path) -> Iterator[Path]:
    for root in (folder, *folder.parents):
        yield root
        if (root / ".git").exists():
            return


def _docusaurus(root: Path, config: Path, base_url: str | None) -> SiteFolder:
    text, versions = _read(config), root / "versions.json"
    versions_text = _read(versions) if versions.is_file() else None
    others = {
        path.name.removesuffix("_versions.json"): _read(path)
        for path in sorted(root.glob("*_versions.json"))
    }
    pages = _pages(root)
    site = DocusaurusSite.from_config(
        text, versions_text, base_url=base_url, instance_versions=others, pages=pages
    )
    parts = (text, versions_text, *others.values(), base_url)
    fingerprint = _fingerprint("docusaurus", *parts)
    return SiteFolder(root, site, fingerprint, MARKDOWN_SUFFIXES, site.notes, markdown_is_mdx=True)


def _mkdocs(root: Path, config: Path, base_url: str | None) -> SiteFolder:
    text, pages = _read(config), _pages(root)
    site = MkDocsSite.from_config(text, base_url, pages=pages)
    fingerprint = _fingerprint("mkdocs", text, base_url)
    return SiteFolder(
        root,
        site,
        fingerprint,
        MARKDOWN_SUFFIXES,
        site.notes,
        with_included=site.with_included,
    )


def _hugo(root: Path, base_url: str | None) -> SiteFolder | None:
    """The Hugo site of a folder; None if it has no configuration of Hugo."""
    found = [name for name in CONFIG_NAMES if (root / name).is_file()][:1]
    for folder in CONFIG_FOLDERS:
        paths = sorted((root / folder).glob("*")) if (root / folder).is_dir() else []
        found += [f"{folder}/{p.name}" for p in paths if p.suffix in CONFIG_SUFFIXES]
    if not found:
        return None
    texts = {name: _read(root / name) for name in found}
    config = HugoConfig(texts)
    if not config.is_hugo:
        return None
    passed_on: list[str] = []

    def read(site_path: str) -> str:
        text = _read(root / site_path)
        passed_on.append(text if "cascade" in text else "")
        return text

    site = HugoSite(config, base_url, _pages(root, CONTENT_SUFFIXES), read)
    fingerprint = _fingerprint("hugo", *texts.values(), *filter(None, passed_on), base_url)
    return SiteFolder(
        root,
        site,
        fingerprint,
        CONTENT_SUFFIXES,
        site.notes,
        unread_folders=config.folders_without_pages(),
    )


def _pages(root: Path, suffixes: frozenset[str] = MARKDOWN_SUFFIXES) -> list[str]:
    """Every page of a site, because neighbours can affect whether a page is published."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [n for n in folders if not n.startswith(".") and n not in PRUNED]
        found += [Path(folder) / n for n in names if Path(n).suffix.lower() in suffixes]
    return sorted(path.relative_to(root).as_posix() for path in found)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error


def _fingerprint(kind: str, *parts: str | None) -> str:
    whole = "\0".join(part or "" for part in parts)
    return f"{kind} {hashlib.sha256(whole.encode()).hexdigest()[:16]}"
