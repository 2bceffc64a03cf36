"""Computes the URLs that Hugo gives to the pages of a site."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import Self

from surefind.model import AnchorRule, PageLocation, SkippedPage
from surefind.text.front_matter import split_front_matter
from surefind.text.sites.addresses import address_key, addresses_below, encode_uri
from surefind.text.sites.config_files import CONFIG_SUFFIXES, read_config
from surefind.text.sites.hugo.anchors import anchor_rule
from surefind.text.sites.hugo.config import HugoConfig, Language
from surefind.text.sites.hugo.permalinks import (
    PageNames,
    dated_name,
    day_of,
    expand_pattern,
    file_path,
    url_part,
)
from surefind.text.sites.hugo.shortcodes import expand_shortcodes, translations
from surefind.text.sites.mkdocs.includes import Inclusions
from surefind.text.sites.mkdocs.includes import ReadFile as ReadText
from surefind.text.sites.parsing.containers import without_containers
from surefind.text.sites.parsing.globs import glob_expression

CONTENT_SUFFIXES = frozenset({".md", ".markdown", ".html", ".htm"})
_BRANCH, _LEAF = "_index", "index"
_CASCADING = frozenset({"build", "draft", "expirydate", "headless", "publishdate", "date"})
_BLOCK_ATTRIBUTES = re.compile(r"[ \t>]*\{:?[ \t]*(?:[.#][\w-]|[\w-]+=)[^{}]*\}[ \t]*")
_LONG_FENCES = re.compile(
    r"\A-{4,}[ \t]*\n(.*?\n)-{3,}[ \t]*$", re.DOTALL | re.MULTILINE
)  # Hugo reads three dashes only
ReadFile = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class _ContentPage:
    """A page in the content tree: `folder` and `stem` without suffix and language."""

    folder: str
    stem: str
    language: Language

    @property
    def path(self) -> str:
        """Its path in the site, such as `/docs/install`."""
        is_bundle = self.stem in {_BRANCH, _LEAF}
        return f"/{self.folder}" if is_bundle else "/" + posixpath.join(self.folder, self.stem)


@dataclass(frozen=True, slots=True)
class _Cascade:
    """Front matter that a section gives to its pages, or to those that `pattern` matches."""

    folder: str
    language: str
    pattern: re.Pattern[str] | None
    values: Mapping[str, object]

    def applies_to(self, page: _ContentPage) -> bool:
        inside = not self.folder or f"{page.folder}/".startswith(f"{self.folder}/")
        same = self.language in {"", page.language.code}
        return inside and same and (self.pattern is None or bool(self.pattern.fullmatch(page.path)))


class _Around:
    """What shortcodes of a page may name."""

    def __init__(
        self,
        site: "HugoSite",
        page: _ContentPage,
        front_matter: Mapping[str, object],
        read: ReadText,
    ) -> None:
        self._site = site
        self._language = page.language.code
        self._front_matter = _lower(front_matter)
        self._read = read

    def folders(self) -> tuple[str, ...]:
        content = self._site.content_folders(self._language)
        below = [f"{folder}/{name}" for name in ("includes", "examples") for folder in content]
        return (*content, *below, "", "assets", "static")

    def parameter(self, name: str) -> str:
        value = self._front_matter.get(name.lower())
        if value is None:
            value = self._site.site_parameter(name)
        return str(value) if isinstance(value, str | int | float) else ""

    @property
    def anchors(self) -> AnchorRule:
        return self._site.anchors

    def translation(self, key: str) -> str:
        return self._site.texts(self._language, self._read).get(key, "")

    def template(self, name: str) -> str:
        folders = ("layouts/_shortcodes", "layouts/shortcodes")
        found = (self._read(f"{folder}/{name}.html") for folder in folders)
        return next((text for text in found if text is not None), "")


class HugoSite:
    """A Hugo site; `notes` lists the parts of its config that were not understood.

    `pages` are all known site paths, and `read` gives the text of one: bundles and sections decide
    about the pages in them. Pages of the future are skipped, by the date `today`.
    """

    name = "hugo"

    def __init__(
        self,
        config: HugoConfig,
        base_url: str | None,
        pages: Collection[str] = (),
        read: ReadFile = lambda _: None,
        today: date | None = None,
    ) -> None:
        self._config = config
        self._base_url = base_url
        self._languages = config.languages()
        self._default = next(iter(self._languages.values()))
        self._mounts = config.mounts()
        self._ignored = config.ignored_files()
        self._permalinks = config.permalinks()
        self._lower = not config.flag("disablepathtolower")
        self._today = today or datetime.now(UTC).date()
        self._off = frozenset(name.lower() for name in config.names("disablekinds"))
        attributes = config.table("markup", "goldmark", "parser", "attribute")
        self._has_attributes = attributes.get("block") is True
        self._aliases: dict[str, str] = {}
        self._texts: dict[str, Mapping[str, str]] = {}
        self._bundles: set[str] = set()
        self._sections: set[str] = set()
        self._cascades = list(self._of_config())
        for page in sorted(pages):
            self._add_neighbour(page, read)
        self._cascades.sort(key=lambda cascade: -len(cascade.folder))
        self.anchors = anchor_rule(config)
        if not self._root_url(self._default):
            config.notes.append(
                "the config has no plain `baseURL`; URLs are relative to the site's root."
            )

    @classmethod
    def from_config(
        cls, text: str, base_url: str | None = None, *, pages: Collection[str] = ()
    ) -> Self:
        """A site whose config is the text of a `hugo.toml`."""
        return cls(HugoConfig({"hugo.toml": text}), base_url, pages)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._config.notes))

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage:
        page = self._page(site_path)
        if isinstance(page, SkippedPage):
            return page
        values = self._values(page, front_matter)
        reason = self._left_out(page, values)
        if reason:
            return SkippedPage(reason)
        url = self._url(page, values)
        for alias in _names(values.get("aliases")):
            at = posixpath.join(f"/{page.language.prefix}{page.folder}", alias)
            self._aliases[address_key(self._absolute(at, page.language))] = url
        locale = page.language.code if len(self._languages) > 1 else ""
        return PageLocation(url, locale=locale)

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        found = addresses_below(self._root_url(self._default), link, page_url)
        return tuple(self._aliases.get(address_key(url), url) for url in found)

    def with_included(
        self, site_path: str, text: str, read: ReadText
    ) -> tuple[str, tuple[str, ...]]:
        """(the page with the text of its shortcodes, warnings)."""
        page = self._page(site_path)
        if isinstance(page, SkippedPage):
            return text, ()
        text = _LONG_FENCES.sub(r"---\n\1---", text)
        front_matter, body = split_front_matter(text)
        inclusions = Inclusions(site_path, read)
        around = _Around(self, page, front_matter, read)
        body = expand_shortcodes(body, around, inclusions)
        if "{" in body or "[!" in body:
            body = without_containers(body, self._line, colons=False)
        return text[: len(text) - len(split_front_matter(text)[1])] + body, inclusions.warnings

    def _line(self, line: str) -> str | None:
        """Attributes of a block, on a line below it, are not text."""
        return None if self._has_attributes and _BLOCK_ATTRIBUTES.fullmatch(line) else line

    def content_folders(self, language: str) -> list[str]:
        """The folders of content in a language, then those of the default one."""
        codes = (language, self._default.code)
        mounts = [m for code in codes for m in self._mounts if m.language in {code, ""}]
        return list(dict.fromkeys(mount.source for mount in mounts))

    def site_parameter(self, name: str) -> object:
        return self._config.table("params").get(name.lower())

    def texts(self, language: str, read: ReadText) -> Mapping[str, str]:
        """The translations of the site, read once."""
        found = self._texts.get(language)
        if found is None:
            found = {}
            for code in dict.fromkeys((self._default.code, language)):
                for path in (f"i18n/{code}", f"i18n/{code}/{code}"):
                    for suffix in CONFIG_SUFFIXES:
                        text = read(path + suffix)
                        values = read_config(text, suffix) if text is not None else None
                        found |= translations(values or {})
            self._texts[language] = found
        return found

    # --- the content tree -------------------------------------------------------------------

    def _page(self, site_path: str) -> _ContentPage | SkippedPage:
        mount, path = next(
            ((mount, path) for mount in self._mounts if (path := mount.path_of(site_path))),
            (None, None),
        )
        if mount is None or path is None:
            folders = " or ".join(dict.fromkeys(mount.source for mount in self._mounts))
            return SkippedPage(f"it is not in the content folder {folders}")
        if any(pattern.search(f"/{site_path}") for pattern in self._ignored):
            return SkippedPage("the config ignores it")
        if PurePosixPath(path).suffix.lower() not in CONTENT_SUFFIXES:
            return SkippedPage("it is not a content page")
        folder, name = posixpath.split(path)
        stem, language = posixpath.splitext(name)[0], mount.language
        before, dot, code = stem.rpartition(".")
        if dot and code.lower() in self._languages and len(self._languages) > 1:
            stem, language = before, code.lower()
        if language and language not in self._languages:
            return SkippedPage(f"the site does not build the language {language}")
        return _ContentPage(folder, stem, self._languages.get(language, self._default))

    def _add_neighbour(self, site_path: str, read: ReadFile) -> None:
        stem = PurePosixPath(site_path).name.split(".")[0]
        if stem not in {_BRANCH, _LEAF}:
            return
        page = self._page(site_path)
        if isinstance(page, SkippedPage):
            return
        if page.stem == _LEAF and page.folder:
            self._bundles.add(page.folder)
        if page.stem == _BRANCH:
            self._sections.add(page.folder)
            text = read(site_path)
            if text is not None and "cascade" in text:
                values = _lower(split_front_matter(text)[0]).get("cascade")
                self._cascades += _cascades(values, page.folder, page.language.code)

    def _of_config(self) -> Iterator[_Cascade]:
        yield from _cascades(self._config.values.get("cascade"), "", "")

    # --- what is published ------------------------------------------------------------------

    def _values(self, page: _ContentPage, front_matter: Mapping[str, object]) -> dict[str, object]:
        """The front matter of a page with what its sections pass on; the nearest wins."""
        values = dict(_lower(front_matter))
        for cascade in self._cascades:
            if cascade.applies_to(page):
                values = {**cascade.values, **values}
        return values

    def _left_out(self, page: _ContentPage, values: Mapping[str, object]) -> str:
        """Why a page is not published; empty if it is."""
        bundle = self._bundle_above(page)
        if bundle:
            return f"it is a part of the page /{bundle} and has no address of its own"
        if values.get("draft") is True and not self._config.flag("builddrafts"):
            return "it is a draft"
        build = values.get("build") or values.get("_build")
        rendered = build.get("render") if isinstance(build, dict) else None
        if values.get("headless") is True or rendered in {"never", "link", False}:
            return "the site does not render it"
        kind = "page" if page.stem != _BRANCH else "section" if page.folder else "home"
        if kind in self._off:
            return f"the config disables pages of the kind {kind}"
        return self._out_of_time(values)

    def _out_of_time(self, values: Mapping[str, object]) -> str:
        published = day_of(values.get("publishdate")) or day_of(values.get("date"))
        if published and published > self._today and not self._config.flag("buildfuture"):
            return f"it will be published on {published}"
        expires = day_of(values.get("expirydate"))
        if expires and expires <= self._today and not self._config.flag("buildexpired"):
            return f"it expired on {expires}"
        return ""

    def _bundle_above(self, page: _ContentPage) -> str:
        """The leaf bundle that a page is a resource of."""
        folders = [page.folder, *map(str, PurePosixPath(page.folder).parents)]
        if page.stem == _LEAF:
            folders = folders[1:]
        if page.stem == _BRANCH and page.folder in self._bundles:
            folders = folders[1:]
        return next((folder for folder in folders if folder in self._bundles), "")

    # --- URLs -------------------------------------------------------------------------------

    def _url(self, page: _ContentPage, values: Mapping[str, object]) -> str:
        written = values.get("url")
        if isinstance(written, str) and written:
            return self._written_url(written, page, values)
        pattern = self._pattern(page)
        path = pattern and expand_pattern(pattern, self._names(page, values), lower=self._lower)
        if pattern and path is None:
            self._config.notes.append(f"the permalink {pattern[:60]} has an unknown token.")
        if not path:
            path = self._path(page, values)
        ugly = self._is_ugly(page) and page.stem != _BRANCH
        path = path.rstrip("/") + (".html" if ugly else "/")
        return self._absolute(f"/{page.language.prefix}{path.lstrip('/')}", page.language)

    def _written_url(self, url: str, page: _ContentPage, values: Mapping[str, object]) -> str:
        """`url` of the front matter; without a leading slash it is below the language."""
        expanded = expand_pattern(url, self._names(page, values), lower=self._lower) or url
        rooted = expanded.startswith("/")
        path = posixpath.normpath("/" + expanded)
        is_file = "." in posixpath.basename(path) and not expanded.endswith("/")
        path = path if is_file or path == "/" else f"{path}/"
        prefix = "" if rooted else page.language.prefix
        return self._absolute(f"/{prefix}{path.lstrip('/')}", page.language)

    def _path(self, page: _ContentPage, values: Mapping[str, object]) -> str:
        path = file_path(page.path.strip("/"), lower=self._lower)
        slug = self._slug(page, values)
        if slug and path:
            path = posixpath.join(
                posixpath.dirname(path), url_part(slug, lower=self._lower).lstrip("/")
            )
        return f"/{path}"

    def _slug(self, page: _ContentPage, values: Mapping[str, object]) -> str:
        slug = values.get("slug")
        if isinstance(slug, str | int) and str(slug):
            return str(slug)
        return dated_name(page.stem)[1] if self._dates_in_names else ""

    @property
    def _dates_in_names(self) -> bool:
        dates = self._config.table("frontmatter").get("date")
        return isinstance(dates, list) and ":filename" in dates

    def _names(self, page: _ContentPage, values: Mapping[str, object]) -> PageNames:
        stem = posixpath.basename(page.path)
        day = day_of(values.get("date"))
        if day is None and self._dates_in_names:
            day = dated_name(stem)[0]
        return PageNames(
            stem=stem,
            title=str(values.get("title") or ""),
            slug=self._slug(page, values),
            sections=self._sections_of(page),
            date=day or day_of(values.get("publishdate")) or day_of(values.get("lastmod")),
        )

    def _sections_of(self, page: _ContentPage) -> tuple[str, ...]:
        """The folders above a page that are sections: the top one, and those with an index."""
        folder = page.folder if page.stem != _LEAF else posixpath.dirname(page.folder)
        names = folder.split("/") if folder else []
        return tuple(
            name
            for number, name in enumerate(names)
            if not number or "/".join(names[: number + 1]) in self._sections
        )

    def _pattern(self, page: _ContentPage) -> str:
        kind = "section" if page.stem == _BRANCH else "page"
        patterns = self._permalinks[kind]
        top = page.folder.split("/")[0].lower() if page.path != "/" else ""
        return patterns.get(top) or patterns.get("/", "")

    def _is_ugly(self, page: _ContentPage) -> bool:
        ugly = self._config.ugly_urls()
        if isinstance(ugly, bool):
            return ugly
        return ugly.get(page.folder.split("/")[0].lower()) is True

    def _root_url(self, language: Language) -> str:
        if self._base_url is not None:
            return self._base_url
        return language.base_url or self._config.text("baseurl", "")

    def _absolute(self, path: str, language: Language) -> str:
        return self._root_url(language).rstrip("/") + encode_uri(path).replace("#", "%23")


def _cascades(values: object, folder: str, language: str) -> Iterator[_Cascade]:
    for each in values if isinstance(values, list) else [values]:
        if not isinstance(each, dict):
            continue
        target = each.get("target") or each.get("_target")
        pattern = None
        if isinstance(target, dict):
            path = target.get("path")
            if not isinstance(path, str) or target.keys() - {"path"}:
                continue  # it depends on more than the path
            expression = glob_expression(path.lower(), braces=True)
            if expression is None:
                continue
            pattern = re.compile(expression, re.IGNORECASE)
        passed = {key: value for key, value in _lower(each).items() if key in _CASCADING}
        if passed:
            yield _Cascade(folder, language, pattern, passed)


def _lower(values: Mapping[str, object]) -> dict[str, object]:
    return {key.lower(): value for key, value in values.items()}


def _names(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item:
            yield item
