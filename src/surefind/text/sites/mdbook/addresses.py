"""Computes the URLs that mdBook gives to the chapters of a book, and expands what they include."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from surefind.model import AnchorRule, PageLocation, SkippedPage
from surefind.text.anchors import attribute_list
from surefind.text.sites.addresses import addresses_below
from surefind.text.sites.config_files import read_config
from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions, ReadFile
from surefind.text.sites.parsing.containers import without_containers
from surefind.text.sites.parsing.regions import line_range

_TITLE = r"((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)"
_TARGET = r"<?([^()<>\n]*(?:\([^()\n]*\)[^()<>\n]*)*)>?"
_CHAPTER = re.compile(rf"\[{_TITLE}\]\({_TARGET}\)")
_HELPER = re.compile(
    r"(\\)?\{\{[ \t]*#(include|rustdoc_include|playground|playpen|title)"
    r"[ \t]+([^{}\n]{1,500}?)[ \t]*\}\}"
)
_ANCHOR = re.compile(r"ANCHOR(_END)?:\s*([\w_-]+)")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*(\w*)")
_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_MAX_CHAPTERS = 100_000


class MdBookSite:
    """A book; `notes` lists the parts of its configuration that were not understood."""

    name = "mdbook"

    def __init__(
        self,
        config_text: str,
        summary: str | None,
        base_url: str | None = None,
        *,
        url_style: str | None = None,
    ) -> None:
        """`summary` is the text of SUMMARY.md, which lists the chapters."""
        self.notes: tuple[str, ...] = ()
        values = read_config(config_text, ".toml")
        if values is None:
            self.notes = ("book.toml is not valid TOML; using defaults.",)
        book = _table(values or {}, "book")
        output = _table(_table(values or {}, "output"), "html")
        self._folder = f"{source_folder(config_text)}/".removeprefix("./")
        site_url = output.get("site-url")
        written = site_url if isinstance(site_url, str) else ""
        self._base_url = written if base_url is None else base_url
        if base_url is None and "://" not in written:
            self.notes += ("book.toml has no host; URLs are relative to it. Set base_url.",)
        self._chapters = _chapters(summary or "")
        if summary is None:
            self.notes += ("SUMMARY.md is missing, so no page is a chapter.",)
        self._first = next(iter(self._chapters), "")
        self._style = url_style or "html"
        smart = output.get("smart-punctuation", output.get("curly-quotes", True))
        self._title = str(book.get("title") or "")
        self.anchors = AnchorRule(_smart if smart is not False else attribute_list, _slug)

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - mdBook has no front matter
    ) -> PageLocation | SkippedPage:
        path = site_path.removeprefix(self._folder)
        if path not in self._chapters or not site_path.startswith(self._folder):
            return SkippedPage("SUMMARY.md does not list it")
        page = PurePosixPath(path)
        stem = "index" if page.stem.lower() == "readme" else page.stem
        if stem == "index":
            tail = "" if str(page.parent) == "." else f"{page.parent}/"
            tail += "index.html" if self._style == "html" else ""
        else:
            name = str(page.with_suffix(""))
            tail = {"html": f"{name}.html", "directory": f"{name}/"}.get(self._style, name)
        return PageLocation(f"{self._base_url.rstrip('/')}/{quote(tail)}")

    def with_included(
        self, site_path: str, text: str, read: ReadFile
    ) -> tuple[str, tuple[str, ...]]:
        inclusions = Inclusions(site_path, read)
        text = _Helpers(inclusions).expanded(text, site_path)
        return _without_hidden_lines(without_containers(text, colons=False)), inclusions.warnings

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        return addresses_below(self._base_url, link, page_url)


def source_folder(config_text: str) -> str:
    """The folder of the chapters, relative to book.toml."""
    src = _table(read_config(config_text, ".toml") or {}, "book").get("src")
    return posixpath.normpath(src) if isinstance(src, str) else "src"


def _table(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _chapters(summary: str) -> Mapping[str, str]:
    """Titles by path, in order."""
    found: dict[str, str] = {}
    for line in summary.split("\n")[:_MAX_CHAPTERS]:
        for title, target in _CHAPTER.findall(line) if "](" in line else ():
            if target.strip():
                found.setdefault(posixpath.normpath(unquote(target.strip())), title)
    return found


def _slug(title: str) -> str:
    return "".join(
        "-" if letter.isspace() else letter.lower()
        for letter in title
        if letter.isalnum() or letter in "_-" or letter.isspace()
    )


def _smart(title: str) -> tuple[str, str]:
    """With dashes as mdBook's smart punctuation shows them."""
    words, anchor = attribute_list(title)
    parts = _CODE_SPAN.split(words)
    parts[::2] = [part.replace("---", "\u2014").replace("--", "\u2013") for part in parts[::2]]
    return "".join(parts), anchor


class _Helpers:
    def __init__(self, inclusions: Inclusions) -> None:
        self._inclusions = inclusions

    def expanded(self, text: str, file: str) -> str:
        if "{{" not in text:
            return text
        return _HELPER.sub(lambda found: self._shown(found, file), text)

    def _shown(self, found: re.Match[str], file: str) -> str:
        if found[1]:
            return found[0][1:]
        if found[2] == "title":
            return ""
        written = found[3].split()[0] if found[2] in {"playground", "playpen"} else found[3]
        name, _, part = written.partition(":")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), name.strip()))
        lines = self._inclusions.take(path, (IncludeFolder(),))
        if lines is None:
            return ""
        while lines and not lines[-1].strip():
            lines.pop()
        chosen = self._part(lines, part, name)
        text = "\n".join(chosen)
        if found[2] == "include":
            text = self.expanded(text, path)
        self._inclusions.close()
        if found[2] in {"playground", "playpen"}:
            return f"```rust\n{text}\n```"
        return text

    def _part(self, lines: Sequence[str], part: str, name: str) -> list[str]:
        if not part:
            return list(lines)
        first, colon, last = part.partition(":")
        if first.isdecimal() or (not first and colon):
            return line_range(lines, first, last if colon else first)
        found: list[str] = []
        inside = False
        for line in lines:
            mark = _ANCHOR.search(line)
            if mark is None:
                found += [line] if inside else []
            elif mark[2] == part:
                inside = mark[1] is None
        if not found:
            self._inclusions.warn(name, "which has no such anchor")
        return found


def _without_hidden_lines(text: str) -> str:
    """Rust code without the lines that begin with `# `, which readers do not see."""
    if "```" not in text or "\n#" not in text:
        return text
    done: list[str] = []
    fence, rust = "", False
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            closes = line.strip(" \t>").startswith(fence) and not line.strip(" \t>").strip(fence[0])
            fence = "" if closes else fence
            words = line.lstrip()
            if rust and not closes and (words == "#" or words.startswith("# ")):
                continue
            shown = line.replace("##", "#", 1) if rust and words.startswith("##") else line
            done.append(shown)
            continue
        if mark is not None:
            fence, rust = mark[1], mark[2] == "rust"
        done.append(line)
    return "\n".join(done)
