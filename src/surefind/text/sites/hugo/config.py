"""Reads the configuration of a Hugo site, from one file or from the folder `config`."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from surefind.text.sites.config_files import CONFIG_SUFFIXES, read_config

_NAMES = ("hugo", "config")
CONFIG_NAMES = tuple(f"{name}{suffix}" for name in _NAMES for suffix in CONFIG_SUFFIXES)
"""The files that make a folder a Hugo site; Hugo reads the first one."""
CONFIG_FOLDERS = ("config/_default", "config/production")
# A regular expression of the config could take forever; these can't.
_MAX_PATTERN = 200
_MAX_REPEATS = 3
_OTHER_FOLDERS = {
    "archetypedir": "archetypes",
    "assetdir": "assets",
    "datadir": "data",
    "i18ndir": "i18n",
    "layoutdir": "layouts",
    "publishdir": "public",
    "resourcedir": "resources",
    "staticdir": "static",
    "themesdir": "themes",
}
_LANGUAGE = re.compile(r"[\w-]+")
_NESTED_REPEAT = re.compile(r"\)[*+{]")


@dataclass(frozen=True, slots=True)
class Language:
    """`prefix` is the first part of its URLs, such as `de/`; `base_url` is empty if shared."""

    code: str
    prefix: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the site that has content. `target` is its path in the content tree."""

    source: str
    target: str = ""
    language: str = ""

    def path_of(self, site_path: str) -> str | None:
        """The path in the content tree; None if the page is elsewhere."""
        if self.source and not site_path.startswith(f"{self.source}/"):
            return None
        below = site_path[len(self.source) + 1 :] if self.source else site_path
        return posixpath.join(self.target, below)


class HugoConfig:
    """Typed access to a config; `notes` lists every fallback to a default.

    `files` maps paths below the site's folder to texts. Keys are lowercased, as in Hugo.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self.notes: list[str] = []
        self._files = tuple(files)
        self.values: dict[str, object] = {}
        for path in sorted(files, key=_precedence):
            values = read_config(files[path], PurePosixPath(path).suffix)
            if values is None:
                self.notes.append(f"{path} can't be read as a mapping; it was ignored.")
                continue
            name = PurePosixPath(path).stem.lower()
            if name in _NAMES:
                _merge(self.values, _lowercased(values))
            elif "." not in name:  # `params.fr.toml` is about one language
                _merge(self.values, {name: _lowercased(values)})

    @property
    def is_hugo(self) -> bool:
        """`config.toml` is also the name of other tools' files."""
        if any(not path.startswith("config.") for path in self._files):
            return True
        return bool({"baseurl", "contentdir", "theme", "module", "markup"} & self.values.keys())

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            self.notes.append(f"`{key}` is not plain text; using {default!r}.")
        return value if isinstance(value, str) else default

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.values.get(key)
        return value if isinstance(value, bool) else default

    def names(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key)
        listed = value if isinstance(value, list) else [value]
        return tuple(item for item in listed if isinstance(item, str))

    def table(self, *keys: str) -> Mapping[str, object]:
        """A nested mapping: `table("markup", "goldmark")`; empty if there is none."""
        found: object = self.values
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def languages(self) -> dict[str, Language]:
        """Languages by code; the default one is first."""
        default = self.text("defaultcontentlanguage", "en").lower()
        off = {name.lower() for name in self.names("disablelanguages")}
        in_subfolder = self.flag("defaultcontentlanguageinsubdir")
        found = {default: Language(default, f"{default}/" if in_subfolder else "")}
        for code, options in self.table("languages").items():
            values = options if isinstance(options, dict) else {}
            if code in off or values.get("disabled") is True:
                continue
            base_url = values.get("baseurl")
            own = base_url if isinstance(base_url, str) else ""
            prefix = "" if own or (code == default and not in_subfolder) else f"{code}/"
            found[code] = Language(code, prefix, own)
        return found

    def mounts(self) -> tuple[Mount, ...]:
        """The content folders, the most specific first."""
        found = list(self._module_mounts())
        if not found:
            found.append(Mount(_folder(self.text("contentdir", "content"))))
        for code, options in self.table("languages").items():
            folder = options.get("contentdir") if isinstance(options, dict) else None
            if isinstance(folder, str):
                found.insert(0, Mount(_folder(folder), language=code))
        return tuple(sorted(found, key=lambda mount: -len(mount.source)))

    def folders_without_pages(self) -> frozenset[str]:
        """Folders of templates and output, such as `layouts` and `public`."""
        own = {_folder(self.text(key, default)) for key, default in _OTHER_FOLDERS.items()}
        content = {mount.source.partition("/")[0] for mount in self.mounts()}
        return frozenset(own - content)

    def ignored_files(self) -> tuple[re.Pattern[str], ...]:
        found = []
        for pattern in self.names("ignorefiles"):
            repeats = sum(map(pattern.count, "*+{"))
            slow = repeats > _MAX_REPEATS or _NESTED_REPEAT.search(pattern)
            if len(pattern) > _MAX_PATTERN or slow:
                self.notes.append(f"the pattern {pattern[:60]} is not supported and was ignored.")
                continue
            try:
                found.append(re.compile(pattern))
            except re.error:
                self.notes.append(f"the pattern {pattern[:60]} is invalid and was ignored.")
        return tuple(found)

    def permalinks(self) -> dict[str, dict[str, str]]:
        """Patterns by kind (`page` or `section`) and section."""
        found: dict[str, dict[str, str]] = {"page": {}, "section": {}}
        for name, value in self.table("permalinks").items():
            if isinstance(value, str):
                found["page"][name] = value
            elif isinstance(value, dict) and name in found:
                patterns = value.items()
                found[name] |= {key: text for key, text in patterns if isinstance(text, str)}
        return found

    def ugly_urls(self) -> bool | Mapping[str, object]:
        value = self.values.get("uglyurls")
        return value if isinstance(value, bool | dict) else False

    def _module_mounts(self) -> Iterator[Mount]:
        mounts = self.table("module").get("mounts")
        for mount in mounts if isinstance(mounts, list) else ():
            values = mount if isinstance(mount, dict) else {}
            source, target = values.get("source"), values.get("target")
            if not (isinstance(source, str) and isinstance(target, str)):
                continue
            top, _, below = target.strip("/").partition("/")
            if top == "content":
                yield Mount(_folder(source), below, _language_of(values))


def _language_of(mount: Mapping[str, object]) -> str:
    """The language of `lang`, or of `sites.matrix.languages` if that names one."""
    found = mount.get("lang")
    if found is None:
        found = mount
        for key in ("sites", "matrix", "languages"):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
    return found.lower() if isinstance(found, str) and _LANGUAGE.fullmatch(found) else ""


def _precedence(path: str) -> tuple[int, bool, str]:
    """Later files win; in a folder, `hugo.toml` comes before `params.toml`."""
    parent, stem = str(PurePosixPath(path).parent), PurePosixPath(path).stem
    rank = CONFIG_FOLDERS.index(parent) + 1 if parent in CONFIG_FOLDERS else 0
    return rank, stem not in _NAMES, path


def _lowercased(value: object) -> dict[str, object]:
    """Lowercase the keys on all levels."""
    if not isinstance(value, dict):
        return {}
    return {
        str(key).lower(): _lowercased(inner)
        if isinstance(inner, dict)
        else [_lowercased(item) if isinstance(item, dict) else item for item in inner]
        if isinstance(inner, list)
        else inner
        for key, inner in value.items()
    }


def _merge(values: dict[str, object], more: Mapping[str, object]) -> None:
    for key, value in more.items():
        old = values.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        else:
            values[key] = value


def _folder(path: str) -> str:
    folder = posixpath.normpath(path.strip("/") or ".")
    return "" if folder == "." else folder
