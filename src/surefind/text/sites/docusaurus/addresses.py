"""Computes the URLs that Docusaurus 3 gives to the Markdown files of a site.

Decisions where its documentation is silent: `unlisted` pages are skipped, as in the site's own
search, and so are pages whose URL Docusaurus refuses to build. `_category_` files never change the
URL of a page, so they are not read.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self
from urllib.parse import quote, urlsplit

from surefind.model import PageLocation, SkippedPage
from surefind.text.anchors import DOCUSAURUS
from surefind.text.sites.addresses import addresses_below, encode_uri
from surefind.text.sites.docusaurus.options import DocusaurusSettings, Locale, Plugin, join_paths
from surefind.text.sites.parsing.globs import glob_expression

_CURRENT = "current"
_VERSIONED = re.compile(r"(?:(.+)_)?versioned_docs/version-([^/]+)/(.+)")
_LOCALIZED = re.compile(r"([^/]+)/docusaurus-plugin-content-(docs|blog|pages)(?:-([^/]+))?/(.+)")
_LOCALIZED_DOC = re.compile(r"(?:version-([^/]+)|current)/(.+)")
_NOT_A_PREFIX = re.compile(r"[0-9]+[-_.][0-9]+")  # a date or a version: 2021-11-x, 7.0-x
_NUMBER_PREFIX = re.compile(r"[0-9]+\s*[-_.]+\s*([^-_.\s].*)")
_PAGE_INDEX = re.compile(r"(?:^|(?<=/))index\.mdx?$", re.IGNORECASE)
_BROWSERS_KEEP = "!$%&'()*+,-./:;=@[]^_|~"
_ENCODE_URI_KEEPS = ";,/?:@&=+$-_.!~*'()#"
_REFUSED = re.compile(r"//|.*[\x00-\x1f\\?#]|.* \Z|.*/\.\.?(?:/|\Z)", re.DOTALL)

_MADE_BY_THE_SITE = re.compile(r"(?:category|tags)(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class _Source:
    """The location of a page: `path` is relative to its version's folder. Pages have no version."""

    plugin: Plugin
    version: str
    locale: Locale
    path: str
    translated: bool


class DocusaurusSite:
    """A Docusaurus site; `notes` lists the parts of its config that are computed and thus unknown.

    Without a config, `docs/`, `versioned_docs/` and `i18n/` have their usual meaning; all other
    pages belong to a docs folder that is ingested directly and served at the root.
    """

    name = "docusaurus"
    anchors = DOCUSAURUS

    def __init__(
        self,
        settings: DocusaurusSettings,
        versions: Mapping[str, tuple[str, ...]],
        pages: Collection[str],
    ) -> None:
        self._settings = settings
        self._versions = {
            plugin.id: _site_versions(plugin, versions.get(plugin.id, ()))
            for plugin in settings.plugins
            if plugin.kind == "docs"
        }
        self._versioned = {name for name, found in versions.items() if found}
        self._pages = frozenset(pages)
        self._globs = dict(_globs(settings))

    @classmethod
    def from_config(
        cls,
        config_text: str | None,
        versions_text: str | None = None,
        *,
        base_url: str | None = None,
        instance_versions: Mapping[str, str] | None = None,
        pages: Collection[str] = (),
    ) -> Self:
        """`base_url` replaces the config's `url` and `baseUrl`.

        `versions_text` is `versions.json`, `instance_versions` maps the ids of other docs
        instances to their `<id>_versions.json`. If `pages` contains every site path, pages that
        a translation into the default locale replaces are skipped.
        """
        settings = DocusaurusSettings(config_text, base_url)
        return cls.from_settings(settings, versions_text, instance_versions or {}, pages)

    @classmethod
    def from_settings(
        cls,
        settings: DocusaurusSettings,
        versions_text: str | None,
        instance_versions: Mapping[str, str],
        pages: Collection[str],
    ) -> Self:
        texts = {"default": versions_text, **instance_versions}
        versions = {
            name: _version_names(text, settings.notes)
            for name, text in texts.items()
            if text is not None
        }
        return cls(settings, versions, pages)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._settings.notes))

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage:
        source = self._translated(site_path) or self._untranslated(site_path)
        if isinstance(source, SkippedPage):
            return source
        reason = next(self._reasons(source, front_matter), None)
        if reason is not None:
            return SkippedPage(reason)
        if source.plugin.kind == "pages":
            return self._at(source, _page_slug(source.path, front_matter))
        slug = _doc_slug(source, front_matter)
        if isinstance(slug, SkippedPage):
            return slug
        return self._at(source, slug, self._versions[source.plugin.id][source.version])

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return _link_addresses(self._settings, self._versions, link, page_url)

    def _translated(self, site_path: str) -> _Source | SkippedPage | None:
        folder = f"{self._settings.translations}/"
        match = _LOCALIZED.fullmatch(site_path.removeprefix(folder))
        if match is None or not site_path.startswith(folder):
            return None
        locale = self._settings.locale(match.group(1))
        if locale is None:
            return SkippedPage(f"the site does not build the locale {match.group(1)}")
        kind, instance, path = match.group(2), match.group(3) or "default", match.group(4)
        version = _CURRENT
        if kind == "docs":
            doc = _LOCALIZED_DOC.fullmatch(path)
            if doc is None:
                return SkippedPage("it does not belong to a version of the translated docs")
            version, path = doc.group(1) or _CURRENT, doc.group(2)
        for plugin in self._settings.plugins:
            if (plugin.kind, plugin.id) == (kind, instance):
                return _Source(plugin, version, locale, path, translated=True)
        return SkippedPage(f"the site has no {kind} instance {instance}")

    def _untranslated(self, site_path: str) -> _Source | SkippedPage:
        locale = self._settings.named(self._settings.default_locale)
        match = _VERSIONED.fullmatch(site_path)
        if match:
            instance, version, path = match.group(1) or "default", match.group(2), match.group(3)
            for plugin in self._settings.plugins:
                if (plugin.kind, plugin.id) == ("docs", instance):
                    return _Source(plugin, version, locale, path, translated=False)
        homes = [
            plugin
            for plugin in self._settings.plugins
            if not plugin.path or site_path.startswith(f"{plugin.path}/")
        ]
        if not homes:
            return SkippedPage("the site does not build pages from its folder")
        home = max(homes, key=lambda plugin: len(plugin.path))
        path = site_path[len(home.path) :].lstrip("/")
        return _Source(home, _CURRENT, locale, path, translated=False)

    def _reasons(self, source: _Source, front_matter: Mapping[str, object]) -> Iterator[str]:
        """Why the site does not publish the page."""
        plugin = source.plugin
        if plugin.kind == "blog":
            yield "blog pages are skipped"
        if plugin.kind == "docs" and source.version not in self._versions[plugin.id]:
            yield f"the site does not include the docs version {source.version}"
        if not any(self._matches(item, source.path, unknown=True) for item in plugin.include):
            yield f"the {plugin.kind} plugin does not include it"
        for pattern in plugin.exclude:
            if self._matches(pattern, source.path, unknown=False):
                yield f"the {plugin.kind} plugin excludes {pattern}"
        if any(part.startswith(".") for part in source.path.split("/")):
            yield "it is hidden: its path has a name that begins with a dot"
        for key in ("draft", "unlisted"):
            if str(front_matter.get(key)).lower() == "true":
                yield f"its front matter says {key}"
        if not source.translated and self._translation_of(source) in self._pages:
            yield "its translation for the default locale is served instead"

    def _translation_of(self, source: _Source) -> str:
        plugin = source.plugin
        folder = f"docusaurus-plugin-content-{plugin.kind}"
        if plugin.id != "default":
            folder += f"-{plugin.id}"
        if plugin.kind == "docs":
            version = source.version
            folder += f"/{version if version == _CURRENT else f'version-{version}'}"
        return f"{self._settings.translations}/{source.locale.folder}/{folder}/{source.path}"

    def _matches(self, pattern: str, path: str, *, unknown: bool) -> bool:
        glob = self._globs.get(pattern)
        return unknown if glob is None else glob.fullmatch(path) is not None

    def _at(self, source: _Source, slug: str, version_path: str = "") -> PageLocation:
        base, slash = source.locale.base, self._settings.trailing_slash
        path = join_paths(base, source.plugin.route, version_path, slug)
        if slug.endswith("/") and path != "/":
            path += "/"
        if slash is not None and path not in {"/", base}:
            path = path.rstrip("/") + "/" * slash
        versioned = source.plugin.kind == "docs" and source.plugin.id in self._versioned
        return PageLocation(
            source.locale.origin + encode_uri(path),
            version=source.version if versioned else "",
            locale=source.locale.name if self._settings.many_locales else "",
        )


def _globs(settings: DocusaurusSettings) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The supported patterns; others are ignored and reported in the notes."""
    patterns = [item for plugin in settings.plugins for item in plugin.include + plugin.exclude]
    for pattern in dict.fromkeys(patterns):
        special = pattern.startswith("!") or "(" in pattern
        expression = None if special else glob_expression(pattern, braces=True)
        if expression is None:
            settings.notes.append(f"the pattern {pattern[:60]} is not supported and was ignored.")
        else:
            below = (
                "" if set("*?{[") & set(pattern) else "(?:/.*)?"
            )  # a folder name matches everything below it
            yield pattern, re.compile(expression + below)


def _version_names(text: str, notes: list[str]) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return tuple(names)
    notes.append("versions.json is not a list of names: assuming that the docs have no versions.")
    return ()


def _site_versions(plugin: Plugin, names: tuple[str, ...]) -> dict[str, str]:
    """The URL path of each published version."""
    names = names if plugin.versioning else ()
    if plugin.with_current and _CURRENT not in names:
        names = (_CURRENT, *names)
    if plugin.only_versions:
        names = tuple(name for name in names if name in plugin.only_versions)
    released = next((name for name in names if name != _CURRENT), _CURRENT)
    last = plugin.last_version or released
    paths = {name: "next" if name == _CURRENT else name for name in names}
    paths.update({last: ""} if last in paths else {})
    return {name: plugin.version_paths.get(name, path) for name, path in paths.items()}


def _doc_slug(source: _Source, front_matter: Mapping[str, object]) -> str | SkippedPage:
    """The slug below the version's path; it ends with a slash for the index of a folder."""
    path = PurePosixPath(source.path)
    prefixes = source.plugin.number_prefixes and front_matter.get("parse_number_prefixes", True)
    folders = [_without_prefix(name) if prefixes else name for name in path.parts[:-1]]
    name = _text(front_matter.get("id")) or (_without_prefix(path.stem) if prefixes else path.stem)
    if "/" in name:
        return SkippedPage(f"its id {name} has a slash, which Docusaurus refuses")
    own = _text(front_matter.get("slug"))
    if own.startswith("/"):
        slug = own
    elif not own and path.stem.lower() in {"index", "readme", path.parent.name.lower()}:
        slug = _resolve(folders, "")
    else:
        slug = _resolve(folders, own or name)
    if _REFUSED.match(slug) or quote(slug, safe=_BROWSERS_KEEP) not in {
        slug,
        quote(slug, safe=_ENCODE_URI_KEEPS),
    }:
        return SkippedPage(f"its slug {slug} is not a valid URL path, which Docusaurus refuses")
    return slug


def _without_prefix(name: str) -> str:
    """`01-intro` becomes `intro`; dates and versions stay: `2021-11-intro`, `7.0-intro`."""
    match = None if _NOT_A_PREFIX.match(name) else _NUMBER_PREFIX.fullmatch(name)
    return match.group(1) if match else name


def _resolve(folders: list[str], relative: str) -> str:
    """Resolve a link like a browser; `..` never leaves the root."""
    found: list[str] = []
    steps = [*folders, *relative.split("/")]
    for step in steps:
        if step == "..":
            del found[-1:]
        elif step not in {".", ""}:
            found.append(step)
    slug = "/" + "/".join(found)
    return f"{slug}/" if found and steps[-1] in {"", ".", ".."} else slug


def _page_slug(path: str, front_matter: Mapping[str, object]) -> str:
    own = _text(front_matter.get("slug"))
    if own:
        return own
    route = _PAGE_INDEX.sub("", path)
    if route == path:
        route = str(PurePosixPath(path).with_suffix(""))
    return quote(f"/{route}", safe="/-_.!~*'()")


def _text(value: object) -> str:
    """Front matter may have numbers as names: `id: 2` is the name `2`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


# --- links ---

Versions = Mapping[str, Mapping[str, str]]
"""Docs instance id -> version -> URL path."""


def _link_addresses(
    settings: DocusaurusSettings, versions: Versions, link: str, page_url: str
) -> tuple[str, ...]:
    locale = _locale_of(settings, page_url)
    if link.startswith("/"):
        path = link if link.startswith(locale.base) else join_paths(locale.base, link)
        link = locale.origin + path
    home = _area(settings, versions, locale, page_url)
    return tuple(
        url
        for url in addresses_below(locale.origin + locale.base, link, page_url)
        if (area := _area(settings, versions, locale, url)) is not None
        and (area == home or (home is None and len(versions[area[0]]) == 1))
    )


def _locale_of(settings: DocusaurusSettings, page_url: str) -> Locale:
    own = [item for item in settings.locales if page_url.startswith(item.origin + item.base)]
    return max(own, key=lambda item: len(item.base), default=settings.locales[0])


def _area(
    settings: DocusaurusSettings, versions: Versions, locale: Locale, url: str
) -> tuple[str, str] | None:
    """The docs instance and version that a URL belongs to."""
    below = urlsplit(url).path.removeprefix(locale.base).strip("/")
    homes = [
        (plugin, route)
        for plugin in settings.plugins
        if not (route := plugin.route.strip("/")) or f"{below}/".startswith(f"{route}/")
    ]
    docs_last = sorted(homes, key=lambda home: (len(home[1]), home[0].kind == "docs"))
    if not docs_last or docs_last[-1][0].kind != "docs":
        return None
    plugin, route = docs_last[-1]
    rest = below[len(route) :].strip("/")
    folders = [(path.strip("/"), version) for version, path in versions[plugin.id].items()]
    within = [one for one in folders if not one[0] or f"{rest}/".startswith(f"{one[0]}/")]
    folder, version = max(within, key=lambda one: len(one[0]), default=("", None))
    made = _MADE_BY_THE_SITE.match(rest[len(folder) :].strip("/"))
    return None if version is None or made else (plugin.id, version)
