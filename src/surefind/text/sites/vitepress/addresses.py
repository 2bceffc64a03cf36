"""Computes the URLs that VitePress gives to Markdown files, and expands what they include."""

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import AnchorRule, PageLocation, SkippedPage
from surefind.text.anchors import attribute_list
from surefind.text.front_matter import split_front_matter
from surefind.text.markdown.protected_spans import protected_spans
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions, ReadFile
from surefind.text.sites.parsing.containers import without_containers
from surefind.text.sites.parsing.globs import glob_expression
from surefind.text.sites.parsing.javascript_config import JavaScriptConfig
from surefind.text.sites.parsing.regions import line_range, region

_COMBINING = re.compile("[\u0300-\u036f]")
_CONTROLS = re.compile(r"[\x00-\x1f]")
_SIGNS = re.compile(r"[\s~`!@#$%^&*()\-_+=\[\]{}|\\;:\"'\u201c\u201d\u2018\u2019<>,.?/]+")
_DYNAMIC = re.compile(r"\[[^\]/]+\]")
_INCLUDE = re.compile(r"<!--\s*@include:\s*([^\n]{1,500}?)\s*-->")
_PART = re.compile(r"(?:#([\w.-]+))?(?:\{(\d*),?(\d*)\})?$")
_CODE = re.compile(
    r"( {0,3})<<<[ \t]*(\S[^\n{\[]{0,500}?)[ \t]*(?:\{([^{}]*)\})?[ \t]*(?:\[(.*)\])?$"
)
_LANGUAGE = re.compile(r"[a-z][\w+-]*", re.IGNORECASE)
_COMPONENT = re.compile(r"<(/?)([A-Z]\w*|[a-z]\w*-[\w-]+)((?:\s[^<>]*)?)>")
_SHOWN = re.compile(r"\b(?:text|title)=\"([^\"]*)\"")
_INTERPOLATION = re.compile(r"\{\{((?:[^{}]|\{(?!\{)|\}(?!\})){0,500})\}\}")
_INLINE_CODE = re.compile(r"`{1,2}(?!`)")
_FIELD = re.compile(r"\s*\$frontmatter\.(\w+)\s*")
_SCRIPT = re.compile(
    r"^<(script|style|template)\b[^<>]*>.*?^</\1>[ \t]*$", re.MULTILINE | re.DOTALL
)
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_PARAMETER = re.compile(r":([A-Za-z_]\w*)(\(\.\*\)|\*)?")
_MAX_PATTERN = 200
_CONTENTS = re.compile(r"\[\[toc\]\][ \t]*$", re.IGNORECASE)


class VitePressSite:
    """A VitePress site; `notes` lists the parts of its config that were not understood."""

    name = "vitepress"

    def __init__(
        self, config_text: str, base_url: str | None = None, *, url_style: str | None = None
    ) -> None:
        """`url_style` replaces `cleanUrls`: `html`, `bare` or `directory`."""
        self._config = config = JavaScriptConfig(config_text, "the config")
        folder = posixpath.normpath(config.text("srcDir", "."))
        self._folder = "" if folder == "." else f"{folder}/"
        host = config.table("sitemap").get("hostname")
        if base_url is None:
            base = config.text("base", "/").strip("/")
            root = host.rstrip("/") if isinstance(host, str) else ""
            base_url = f"{root}/{base}" if base else root
            if not root:
                config.notes.append(
                    "the config has no plain `sitemap.hostname`; URLs are relative to the host."
                )
        self._base_url = base_url
        clean = config.flag("cleanUrls", default=False)
        self._style = url_style or ("bare" if clean else "html")
        self._rewrites = {
            key: value for key, value in config.table("rewrites").items() if isinstance(value, str)
        }
        expressions = (glob_expression(each, braces=True) for each in config.texts("srcExclude"))
        self._excluded = [re.compile(each) for each in expressions if each is not None]
        self.anchors = AnchorRule(attribute_list, slug)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._config.notes))

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - it does not affect URLs
    ) -> PageLocation | SkippedPage:
        if not site_path.startswith(self._folder):
            return SkippedPage(f"it is not in the source folder {self._folder.rstrip('/')}")
        path = site_path.removeprefix(self._folder)
        if not path.endswith(".md"):
            return SkippedPage("it is not a Markdown page")
        if any(pattern.fullmatch(path) for pattern in self._excluded):
            return SkippedPage("the config excludes it")
        if _DYNAMIC.search(path):
            return SkippedPage("it is a template of many pages, which the site computes")
        path = self._rewritten(path)
        return PageLocation(f"{self._base_url.rstrip('/')}/{quote(styled(path, self._style))}")

    def with_included(
        self, site_path: str, text: str, read: ReadFile
    ) -> tuple[str, tuple[str, ...]]:
        start = len(text) - len(split_front_matter(text)[1])
        inclusions = Inclusions(site_path, read)
        body = _Includes(inclusions, self._folder).expanded(text[start:], site_path)
        body = _interpolated(_SCRIPT.sub("", body), split_front_matter(text)[0])
        return text[:start] + without_containers(body, _plain), inclusions.warnings

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url)

    def _rewritten(self, path: str) -> str:
        if path in self._rewrites:
            return self._rewrites[path]
        for source, target in self._rewrites.items():
            found = _pattern(source).fullmatch(path) if len(source) < _MAX_PATTERN else None
            if found is not None and found.groupdict():
                values = found.groupdict()
                return _PARAMETER.sub(partial(_value, values), target)
        return path


def _interpolated(text: str, front_matter: Mapping[str, object]) -> str:
    """`{{ $frontmatter.version }}` becomes the value; what Vue computes is dropped.

    Vue reads code spans, too, but no fenced code.
    """
    if "{{" not in text or "v-pre" in text:
        return text
    borders = [0, *(border for span in protected_spans(text) for border in span), len(text)]
    pieces = [text[start:end] for start, end in pairwise(borders)]

    def shown(expression: re.Match[str]) -> str:
        name = _FIELD.fullmatch(expression[1])
        value = front_matter.get(name[1]) if name else None
        return str(value) if isinstance(value, str | int | float) else ""

    def replaced(piece: str) -> str:
        words = _INTERPOLATION.sub(shown, piece)
        return words if words.strip("` ") or not piece.strip() else ""

    return "".join(
        piece if number % 2 and not _INLINE_CODE.match(piece) else replaced(piece)
        for number, piece in enumerate(pieces)
    )


def _value(values: Mapping[str, str], name: re.Match[str]) -> str:
    return values.get(name[1], "")


def _pattern(source: str) -> re.Pattern[str]:
    """`packages/:name/:rest*` as an expression with named groups."""
    parts, end, known = "", 0, set[str]()
    for name in _PARAMETER.finditer(source):
        parts += re.escape(source[end : name.start()])
        group = ".*" if name[2] else "[^/]+"
        parts += f"(?P<{name[1]}>{group})" if name[1] not in known else group
        known.add(name[1])
        end = name.end()
    return re.compile(parts + re.escape(source[end:]))


def styled(path: str, style: str) -> str:
    """The address of a Markdown file: `a/b.html`, `a/b` or `a/b/`; that of an index is `a/`."""
    page = PurePosixPath(path)
    if page.stem == "index":
        return "" if str(page.parent) == "." else f"{page.parent}/"
    name = str(page.with_suffix(""))
    return {"html": f"{name}.html", "directory": f"{name}/"}.get(style, name)


def slug(title: str) -> str:
    """The anchor of a heading, as `@mdit-vue/shared` makes it."""
    plain = _COMBINING.sub("", unicodedata.normalize("NFKD", title))
    plain = _SIGNS.sub("-", _CONTROLS.sub("", plain)).strip("-")
    return (f"_{plain}" if plain[:1].isdigit() and plain[:1].isascii() else plain).lower()


def _plain(line: str) -> str | None:
    """A line without tags of components; what a badge shows stays."""
    if _CONTENTS.match(line):
        return None
    if "<" not in line or not _COMPONENT.search(line):
        return line
    spans = [match.span() for match in _CODE_SPAN.finditer(line)]

    def shown(tag: re.Match[str]) -> str:
        if any(start <= tag.start() < end for start, end in spans):
            return tag[0]
        words = _SHOWN.search(tag[3])
        return f" {words[1]} " if words else ""

    cleaned = _COMPONENT.sub(shown, line)
    if line.startswith("#") and "{#" not in line:
        title = _COMPONENT.sub(
            lambda tag: tag[0] if any(a <= tag.start() < b for a, b in spans) else "", line
        )
        words = title.lstrip("#").replace("`", "").strip()
        return f"{' '.join(cleaned.split())} {{#{slug(words)}}}"
    return cleaned if cleaned.strip() else None


class _Includes:
    """`<!--@include: file{1,3}-->` is replaced by Markdown, `<<< file#region` by code."""

    def __init__(self, inclusions: Inclusions, folder: str) -> None:
        self._inclusions = inclusions
        self._folder = folder.rstrip("/")

    def expanded(self, text: str, file: str) -> str:
        if "<!--" in text and "@include" in text:
            text = _INCLUDE.sub(lambda found: self._included(found[1], file), text)
        if "<<<" in text:
            lines = (self._code(line, file) for line in text.split("\n"))
            text = "\n".join(lines)
        return text

    def _included(self, written: str, file: str) -> str:
        part = _PART.search(written)
        name = written[: part.start()] if part else written
        taken = self._taken(name, file)
        if taken is None:
            return ""
        lines, path = taken
        if part and part[2] is not None:
            lines = line_range(lines, part[2], part[3] or ("" if "," in part[0] else part[2]))
        if part and part[1]:
            lines = self._part(lines, part[1], name)
        text = split_front_matter("\n".join(lines))[1]
        text = self.expanded(text, path)
        self._inclusions.close()
        return text

    def _part(self, lines: list[str], name: str, file: str) -> list[str]:
        """A region, or the section below the heading with this anchor."""
        found = region(lines, name) or _section(lines, name)
        if found is None:
            self._inclusions.warn(file, "which has no such region")
        return found or []

    def _code(self, line: str, file: str) -> str:
        found = _CODE.match(line) if "<<<" in line else None
        if found is None:
            return line
        name, _, part = found[2].partition("#")
        taken = self._taken(name, file)
        if taken is None:
            return ""
        lines, _ = taken
        self._inclusions.close()
        if part:
            lines = self._part(lines, part, name)
        while lines and not lines[-1].strip():
            lines.pop()
        written = _LANGUAGE.search(found[3] or "")
        language = written[0] if written else name.rpartition(".")[2]
        title = f" [{found[4]}]" if found[4] else ""
        marks = "`" * max(
            3, 1 + max((len(run) for run in re.findall("`+", "".join(lines))), default=0)
        )
        return "\n".join((f"{marks}{language}{title}", *lines, marks))

    def _taken(self, name: str, file: str) -> tuple[list[str], str] | None:
        """The lines of a file, and its path relative to the site's folder."""
        if name.startswith("@"):
            path = posixpath.normpath(posixpath.join(self._folder, name[1:].lstrip("/")))
        else:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
        lines = self._inclusions.take(path, (IncludeFolder(),))
        return None if lines is None else (lines, path)


def _section(lines: list[str], anchor: str) -> list[str] | None:
    level, found = 0, list[str]()
    for line in lines:
        marks = len(line) - len(line.lstrip("#"))
        if marks and line[marks : marks + 1] == " ":
            if level and marks <= level:
                return found
            title, declared = attribute_list(line.lstrip("#").strip())
            if not level and (declared or slug(title)) == anchor:
                level = marks
        if level:
            found.append(line)
    return found or None
