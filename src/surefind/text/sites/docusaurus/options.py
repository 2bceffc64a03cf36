"""The options of a Docusaurus site that affect page URLs, with their defaults."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from urllib.parse import urlsplit

from surefind.text.sites.docusaurus.config import SPREAD, UNREAD, read_config

_EXCLUDED = (
    "**/_*.{js,jsx,ts,tsx,md,mdx}",
    "**/_*/**",
    "**/*.test.{js,jsx,ts,tsx}",
    "**/__tests__/**",
)
_CONTENT_PLUGIN = re.compile(r"(?:@docusaurus/plugin-)?content-(docs|blog|pages)")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One instance of the docs, pages or blog plugin, with Docusaurus' defaults."""

    kind: str
    path: str
    route: str
    id: str = "default"
    include: tuple[str, ...] = ("**/*.{md,mdx}",)
    exclude: tuple[str, ...] = _EXCLUDED
    number_prefixes: bool = True
    versioning: bool = True
    with_current: bool = True
    last_version: str = ""
    only_versions: tuple[str, ...] = ()
    version_paths: Mapping[str, str] = field(default_factory=dict)


_DEFAULTS = {
    "docs": Plugin("docs", "docs", "docs"),
    "pages": Plugin("pages", "src/pages", "/"),
    "blog": Plugin("blog", "blog", "blog"),
}


class _Options:
    """Typed access to one object of the config; notes every fallback to a default."""

    def __init__(self, values: object, where: str, notes: list[str]) -> None:
        self.values: dict[str, object] = values if isinstance(values, dict) else {}
        self._where, self._notes = where, notes
        if values is UNREAD or SPREAD in self.values:
            notes.append(f"`{where.rstrip('.')}` is computed; its values are not fully known.")

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key)
        return value if isinstance(value, str) else self._fall_back(key, value, default)

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.values.get(key)
        return value if isinstance(value, bool) else self._fall_back(key, value, default)

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.values.get(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return self._fall_back(key, value, default)

    def inner(self, key: str) -> "_Options":
        return _Options(self.values.get(key), f"{self._where}{key}.", self._notes)

    def items(self, key: str) -> list[object]:
        value = self.values.get(key)
        found = value if isinstance(value, list) else []
        if value is UNREAD or UNREAD in found:
            self._notes.append(f"`{key}` has computed items; docs added there are not known.")
        return found

    def _fall_back(self, key: str, value: object, default: T) -> T:
        if value is not None:
            self._notes.append(f"`{self._where}{key}` is not a plain value; using {default!r}.")
        return default


@dataclass(frozen=True, slots=True)
class Locale:
    """`base` starts and ends with a slash; `folder` is below the translations folder."""

    name: str
    folder: str
    origin: str
    base: str


class DocusaurusSettings:
    """The options of a config that affect URLs."""

    def __init__(self, config_text: str | None, base_url: str | None) -> None:
        values, notes = ({}, ()) if config_text is None else read_config(config_text)
        self.notes = list(notes)
        self._options = _Options(values, "", self.notes)
        slash = values.get("trailingSlash")
        self.trailing_slash = None if slash is None else self._options.flag("trailingSlash")
        self._origin, self._base = self._address(base_url)
        self._own_address = base_url is None
        self._i18n = self._options.inner("i18n")
        self.translations = _folder(self._i18n.text("path", "i18n"))
        self.default_locale = self._i18n.text("defaultLocale", "en")
        self.any_locale = UNREAD in (written := self._i18n.values.get("locales"), *_list(written))
        self._locales = self._i18n.texts("locales", (self.default_locale,))
        self.many_locales = self.any_locale or len(self._locales) > 1
        if config_text is None:
            root = replace(_DEFAULTS["docs"], path="", route="/")
            self.plugins: tuple[Plugin, ...] = (_DEFAULTS["docs"], root)
        else:
            self.plugins = tuple(self._plugins(readable=bool(values)))

    @property
    def locales(self) -> tuple[Locale, ...]:
        """The configured locales, the default one first."""
        names = dict.fromkeys((self.default_locale, *self._locales))
        return tuple(self.named(name) for name in names)

    def locale(self, folder: str) -> Locale | None:
        """The locale of a translations folder; None if the site has no such locale."""
        names = (*self._locales, folder) if self.any_locale else self._locales
        return next((item for item in map(self.named, names) if item.folder == folder), None)

    def named(self, locale: str) -> Locale:
        quiet: list[str] = []
        own = _Options(_dict(self._i18n.values.get("localeConfigs")).get(locale), "", quiet)
        base = self._base if locale == self.default_locale else f"{join_paths(self._base, locale)}/"
        origin = self._origin
        if self._own_address:
            base = f"{join_paths(own.text('baseUrl', base))}/".replace("//", "/")
            origin = own.text("url", origin).rstrip("/")
        return Locale(locale, _folder(own.text("path", locale)), origin, base)

    def _address(self, base_url: str | None) -> tuple[str, str]:
        if base_url is not None:
            split = urlsplit(base_url)
            origin = f"{split.scheme}://{split.netloc}" if split.scheme else ""
            return origin, f"{join_paths(split.path)}/".replace("//", "/")
        origin = self._options.text("url", "").rstrip("/")
        if not origin:
            self.notes.append(
                "the config has no plain `url`; URLs are relative to the site's root."
            )
        return origin, f"{join_paths(self._options.text('baseUrl', '/'))}/".replace("//", "/")

    def _plugins(self, *, readable: bool) -> Iterator[Plugin]:
        presets = self._options.items("presets")
        if not readable or self._options.values.get("presets") is UNREAD:
            presets = ["classic"]
        for preset in presets:
            name, options = _named(preset)
            if "classic" in str(name) or "docs" in options:
                for kind in _DEFAULTS:
                    if options.get(kind) is not False:
                        yield self._plugin(kind, options.get(kind), f"{kind}.")
        for plugin in self._options.items("plugins"):
            name, options = _named(plugin)
            match = _CONTENT_PLUGIN.fullmatch(str(name))
            if match:
                yield self._plugin(match.group(1), options, f"{name}.")

    def _plugin(self, kind: str, values: object, where: str) -> Plugin:
        default = _DEFAULTS[kind]
        options = _Options(values, where, self.notes)
        versions = options.inner("versions")
        return Plugin(
            kind,
            path=_folder(options.text("path", default.path)),
            route=options.text("routeBasePath", default.route),
            id=options.text("id", default.id),
            include=options.texts("include", default.include),
            exclude=options.texts("exclude", default.exclude),
            number_prefixes=options.flag("numberPrefixParser", default=True),
            versioning=not options.flag("disableVersioning", default=False),
            with_current=options.flag("includeCurrentVersion", default=True),
            last_version=options.text("lastVersion", ""),
            only_versions=options.texts("onlyIncludeVersions", ()),
            version_paths={
                name: path
                for name in versions.values
                if isinstance(path := _dict(versions.values[name]).get("path"), str)
            },
        )


def _named(entry: object) -> tuple[object, dict[str, object]]:
    """`'name'` or `['name', {options}]`."""
    if isinstance(entry, list):
        return (entry or [""])[0], _dict((*entry, None, None)[1])
    return entry, {}


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _folder(path: str) -> str:
    """`./docs/` becomes `docs`; the site's folder becomes the empty string."""
    return "" if (folder := posixpath.normpath(path)) == "." else folder


def join_paths(*parts: str) -> str:
    """Join paths with single slashes, with a leading and without a trailing one."""
    return "/" + "/".join(piece for part in parts for piece in part.split("/") if piece)
