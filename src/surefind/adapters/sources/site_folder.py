"""Finds the site that a folder of documentation belongs to, by its configuration file."""

import os
import re
from dataclasses import replace
from pathlib import Path

from surefind.adapters.sources.generators import find_generator
from surefind.adapters.sources.nearby_sites import nearby_site
from surefind.adapters.sources.site_files import (
    MARKDOWN_SUFFIXES,
    SiteFolder,
    fingerprint_of,
    pages_below,
    read_text,
    repository_of,
    upwards,
)
from surefind.model import UrlStyle
from surefind.text.formats.registry import SUFFIXES
from surefind.text.sites.config_files import CONFIG_SUFFIXES
from surefind.text.sites.docusaurus.addresses import DocusaurusSite
from surefind.text.sites.docusaurus.options import DocusaurusSettings
from surefind.text.sites.docusaurus.partials import with_partials
from surefind.text.sites.hugo.addresses import CONTENT_SUFFIXES, HugoSite
from surefind.text.sites.hugo.config import CONFIG_FOLDERS, CONFIG_NAMES, HugoConfig
from surefind.text.sites.mkdocs.addresses import MkDocsSite
from surefind.text.sites.mkdocs.config import MkDocsConfig, inherited_config
from surefind.text.sites.plain import PlainSite, ReaderSite

_DOCUSAURUS = tuple(f"docusaurus.config.{ending}" for ending in ("js", "ts", "mjs", "cjs", "mts"))
_MAX_INHERITED = 10
_MKDOCS = ("mkdocs.yml", "mkdocs.yaml")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?")


def find_site(
    folder: Path, collection: str, base_url: str | None, url_style: UrlStyle | None = None
) -> SiteFolder:
    """Use the nearest configuration in the folder or above it, within one repository.

    Otherwise, that of a site below or beside the folder which is made of the folder's pages.
    """
    for root in upwards(folder):
        site = _site_at(root, base_url, url_style)
        if site is not None:
            return site
    found = nearby_site(folder, lambda root: _site_at(root, base_url, url_style))
    if isinstance(found, SiteFolder):
        return found
    if base_url is not None:
        plain = PlainSite(base_url, url_style)
        return SiteFolder(folder, plain, plain.fingerprint, SUFFIXES)
    reader = ReaderSite(collection, folder.name)
    return SiteFolder(folder, reader, f"unpublished {collection}", SUFFIXES, found)


def _site_at(root: Path, base_url: str | None, url_style: UrlStyle | None) -> SiteFolder | None:
    """The site whose configuration is in this folder."""
    for name in _DOCUSAURUS:
        if (root / name).is_file():
            return _docusaurus(root, root / name, base_url)
    for name in _MKDOCS:
        if (root / name).is_file():
            return _mkdocs(root, root / name, base_url)
    found = _hugo(root, base_url) or find_generator(root, base_url, url_style)
    return found or _translated(root, base_url)


def _docusaurus(root: Path, config: Path, base_url: str | None) -> SiteFolder:
    text, versions = read_text(config), root / "versions.json"
    versions_text = read_text(versions) if versions.is_file() else None
    others = {
        path.name.removesuffix("_versions.json"): read_text(path)
        for path in sorted(root.glob("*_versions.json"))
    }
    settings = DocusaurusSettings(text, base_url)
    outer = _outer_folders(root, settings)
    pages = pages_below(root, outer=outer)
    site = DocusaurusSite.from_settings(settings, versions_text, others, pages)
    parts = (text, versions_text, *others.values(), base_url)
    return SiteFolder(
        root,
        site,
        fingerprint_of("docusaurus", *parts),
        MARKDOWN_SUFFIXES,
        site.notes,
        markdown_is_mdx=True,
        with_included=with_partials,
        outer=outer,
    )


def _outer_folders(root: Path, settings: DocusaurusSettings) -> tuple[Path, ...]:
    """The content folders outside the site's own, such as `../docs`.

    They are in the same repository; without one, they are neighbours of the site's folder.
    """
    project, found = repository_of(root) or root.parent, []
    for plugin in settings.plugins:
        folder = Path(os.path.normpath(root / plugin.path))
        if plugin.kind == "blog" or folder.is_relative_to(root) or not folder.is_dir():
            continue
        if folder.resolve().is_relative_to(project) and folder != project:
            found.append(folder)
        else:
            settings.notes.append(
                f"the {plugin.kind} folder {plugin.path} is outside the project and was not read."
            )
    return tuple(dict.fromkeys(found))


def _mkdocs(root: Path, config: Path, base_url: str | None) -> SiteFolder:
    text, pages = read_text(config), pages_below(root)
    above, notes = _inherited(root, config, text)
    site = MkDocsSite.from_config(text, base_url, inherited=above, pages=pages)
    fingerprint = fingerprint_of("mkdocs", text, *above, base_url)
    return SiteFolder(
        root,
        site,
        fingerprint,
        MARKDOWN_SUFFIXES,
        (*notes, *site.notes),
        with_included=site.with_included,
    )


def _translated(root: Path, base_url: str | None) -> SiteFolder | None:
    """MkDocs: a folder of translations without a configuration uses that of a language beside it.

    For `docs/de`, that is `docs/en/mkdocs.yml`, if its `extra.alternate` names the German site.
    """
    if _LANGUAGE.fullmatch(root.name) is None:
        return None
    configs = (path for name in _MKDOCS for path in sorted(root.parent.glob(f"*/{name}")))
    for config in configs:
        text = read_text(config)
        above, _ = _inherited(config.parent, config, text)
        address = MkDocsConfig(text, *above).address_of_language(root.name)
        if address:
            found = _mkdocs(root, config, address if base_url is None else base_url)
            note = f"using the configuration of ../{config.parent.name}; it names {address}."
            return replace(found, notes=(note, *found.notes))
    return None


def _inherited(root: Path, config: Path, text: str) -> tuple[list[str], list[str]]:
    """(the texts of the configs that `INHERIT` names, notes); they are in the same repository."""
    project, found = repository_of(root) or root, list[str]()
    while (name := inherited_config(text)) and len(found) < _MAX_INHERITED:
        config = (config.parent / name).resolve()
        if not config.is_relative_to(project.resolve()) or not config.is_file():
            return found, [f"`INHERIT` names {name}, which is missing or outside the project."]
        text = read_text(config)
        found.append(text)
    return found, []


def _hugo(root: Path, base_url: str | None) -> SiteFolder | None:
    """The Hugo site of a folder; None if it has no configuration of Hugo."""
    found = [name for name in CONFIG_NAMES if (root / name).is_file()][:1]
    for folder in CONFIG_FOLDERS:
        paths = sorted((root / folder).glob("*")) if (root / folder).is_dir() else []
        found += [f"{folder}/{p.name}" for p in paths if p.suffix in CONFIG_SUFFIXES]
    if not found:
        return None
    texts = {name: read_text(root / name) for name in found}
    config = HugoConfig(texts)
    if not config.is_hugo:
        return None
    passed_on: list[str] = []

    def read(site_path: str) -> str:
        text = read_text(root / site_path)
        passed_on.append(text if "cascade" in text else "")
        return text

    site = HugoSite(config, base_url, pages_below(root, CONTENT_SUFFIXES), read)
    fingerprint = fingerprint_of("hugo", *texts.values(), *filter(None, passed_on), base_url)
    return SiteFolder(
        root,
        site,
        fingerprint,
        CONTENT_SUFFIXES,
        site.notes,
        with_included=site.with_included,
        unread_folders=config.folders_without_pages(),
    )
