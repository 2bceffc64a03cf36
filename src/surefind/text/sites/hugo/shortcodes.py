"""Turns the shortcodes of a Hugo page into the text that they surround or include.

The templates of shortcodes are never executed. Paired ones keep their text, with a label for notes
and tabs. Those that name a file of the site are replaced by the file. Others are dropped, unless
their parameters have text that templates usually show.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from surefind.model import AnchorRule
from surefind.text.front_matter import split_front_matter
from surefind.text.markdown.heading_attributes import with_ids
from surefind.text.markdown.writer import fenced
from surefind.text.sites.hugo.anchors import UNKNOWN
from surefind.text.sites.mkdocs.includes import IncludeFolder, Inclusions

_BORDER = re.compile(r"\{\{([<%])|([>%])\}\}")
_ENDS = {"<": ">", "%": "%"}
_CALL = re.compile(r"\s*(/?)\s*([\w./-]*[\w.-])\s*")
_ARGUMENT = re.compile(
    r"(?:([\w-]+)\s*=\s*)?(?:\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`|([^\s\"`=][^\s\"`]*))", re.DOTALL
)
_ESCAPED = re.compile(r"\s*/\*(.*)\*/(/?)\s*", re.DOTALL)
_MAX_CALL = 20_000
_MAX_INDENT = 200
_LABELLED = {
    *("alert", "admonition", "attention", "callout", "caution", "danger", "hint", "important"),
    *("info", "note", "notice", "tip", "warning"),
}
_HIDDEN = {"comment"}
_CODE = {"code", "code-toggle", "codeblock", "highlight", "mermaid"}
_LINKS = {"ref", "relref"}
_TITLED = ("title", "header", "heading", "summary", "name", "label", "caption")
_SHOWN = ("text", "title", "caption", "alt")
_POSITIONAL = {"details", "expand", "collapse", "tab"}
_FILE_NAMED = ("file", "path", "include")
_INCLUDES = re.compile(r"include|code|example|file|import|partial|read|sample|snippet")
_SUFFIX = re.compile(r"\.[a-z]\w*")
_MARKDOWN = {".md", ".markdown", ".html", ".htm"}
_PICTURES = {".avif", ".gif", ".ico", ".jpeg", ".jpg", ".mp4", ".pdf", ".png", ".svg", ".webp"}
_ESCAPES = re.compile(r"[&<>'\"]")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_EXPLICIT_ID = re.compile(r"\{[^{}]*#[^{}]*\}[ \t]*$")
_CONTENT = re.compile(r"\.Content\b")
_TEXT = re.compile(r"[\w*_\[!\"'(<`]")
_FENCE = re.compile(r"[ \t]*(?:`{3}|~{3})")


class Surroundings(Protocol):
    """What the site knows around a page."""

    @property
    def anchors(self) -> AnchorRule:
        """The rule of the site's headings."""

    def folders(self) -> Sequence[str]:
        """The folders that names of included files are relative to."""

    def parameter(self, name: str) -> str:
        """A parameter of the page or of the site; empty if it is unknown."""

    def translation(self, key: str) -> str:
        """A text of the site in the page's language; empty if it is unknown."""

    def template(self, name: str) -> str:
        """The source of a shortcode's template; empty if it is unknown."""


@dataclass(slots=True)
class _ShortcodeCall:
    """One `{{< name arguments >}}`. A paired opening knows its closing one.

    `is_rendered` means that its output is HTML; that of `{{% name %}}` is Markdown of the page.
    """

    start: int
    end: int
    name: str
    is_rendered: bool = False
    closes: bool = False
    alone: bool = False
    literal: str | None = None
    positional: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    closing: int | None = None

    @property
    def kind(self) -> str:
        return self.name.rpartition("/")[2].lower()

    def first(self, *names: str) -> str:
        return next((self.named[name] for name in names if self.named.get(name)), "")


def expand_shortcodes(text: str, around: Surroundings, inclusions: Inclusions) -> str:
    """Replace every shortcode, also in code, as Hugo does."""
    if "{{<" not in text and "{{%" not in text:
        return text
    return _PageExpansion(text, around, inclusions).expanded()


class _PageExpansion:
    def __init__(self, text: str, around: Surroundings, inclusions: Inclusions) -> None:
        self._text = text
        self._around = around
        self._inclusions = inclusions
        self._done: list[str] = []
        self._line = ""  # the start of the current line

    def expanded(self) -> str:
        calls = _paired(list(_calls(self._text)))
        position, closings = 0, dict[int, _ShortcodeCall]()
        skipped_to = 0
        for number, call in enumerate(calls):
            if call.start < skipped_to:
                continue
            self._keep(self._text[position : call.start])
            position = call.end
            if call.literal is not None:
                self._keep(call.literal)
            elif call.closes:
                self._close(closings.get(number), call)
            elif call.closing is None:
                self._alone(call)
            else:
                closing = calls[call.closing]
                if call.kind in _HIDDEN:
                    position = skipped_to = closing.end
                elif _holds_code(call) and not _FENCE.match(self._text, self._after_line(call)):
                    self._code(call, self._text[call.end : closing.start].strip("\n"))
                    position = skipped_to = closing.end
                else:
                    closings[call.closing] = call
                    self._label(call)
        self._keep(self._text[position:])
        return _headings("".join(self._done))

    def _after_line(self, call: _ShortcodeCall) -> int:
        """The first character of the content on the next line."""
        end = call.end
        while self._text[end : end + 1] in {"\n", " "} and self._text[end : end + 1]:
            end += 1
        return end

    def _keep(self, words: str) -> None:
        if words:
            self._done.append(words)
            _, border, line = words.rpartition("\n")
            self._line = (line if border else self._line + line)[:_MAX_INDENT]

    def _alone(self, call: _ShortcodeCall) -> None:
        if call.kind in _LINKS:
            self._keep(call.first("path") or next(iter(call.positional), ""))
            return
        file = self._file_of(call)
        if file:
            included = self._included(file, call)
            if included is not None:
                self._block(included)
                return
        words = self._words(call)
        # Hugo makes the anchor before it renders the shortcode.
        self._keep(words + self._unknown() if call.is_rendered and words else words)

    def _words(self, call: _ShortcodeCall) -> str:
        """The text that a template shows: of a parameter, a translation or an argument."""
        if call.kind == "param":
            return self._around.parameter(call.first("name") or next(iter(call.positional), ""))
        shown = call.first(*_SHOWN)
        if shown:
            return shown
        if call.named.get("term_id"):
            return call.named["term_id"].replace("-", " ")
        for argument in call.positional[:1]:
            words = self._around.translation(f"{argument}_{call.kind}")
            escapes = _ESCAPES.search(words) and "safeHTML" not in self._around.template(call.kind)
            if words and not escapes:
                return words
            if words:  # an escaped sign becomes a part of the anchor
                return words + self._unknown()
        return self._unknown()

    def _unknown(self) -> str:
        return UNKNOWN if _HEADING.match(self._line) else ""

    def _file_of(self, call: _ShortcodeCall) -> str:
        name = call.first(*_FILE_NAMED)
        if not name and _INCLUDES.search(call.kind):
            name = next(iter(call.positional), "")
        suffix = PurePosixPath(name).suffix.lower()
        is_text = _SUFFIX.fullmatch(suffix) and suffix not in _PICTURES
        return name if is_text and "://" not in name and " " not in name else ""

    def _included(self, file: str, call: _ShortcodeCall) -> str | None:
        bases = [IncludeFolder(folder) for folder in self._around.folders()]
        beside = [IncludeFolder(beside_page=True)]
        lines = self._inclusions.take(file.lstrip("/"), beside + bases)
        if lines is None:
            return ""
        try:
            text = "\n".join(lines)
            if PurePosixPath(file).suffix.lower() in _MARKDOWN and "code" not in call.kind:
                body = split_front_matter(text)[1].strip("\n")
                body = expand_shortcodes(body, self._around, self._inclusions)
                apart = call.is_rendered or _CONTENT.search(self._around.template(call.name))
                return with_ids(body, self._around.anchors) if apart else body
            return fenced(text.strip("\n"), _language(call) or PurePosixPath(file).suffix[1:])
        finally:
            self._inclusions.close()

    def _block(self, text: str) -> None:
        """Write lines with the indentation of the current one."""
        margin = self._line
        indent = margin[: len(margin) - len(margin.lstrip(" "))]
        if margin.strip():
            self._keep("\n" if "\n" in text else "")
        lines = text.split("\n")
        self._keep(f"\n{indent}".join(lines) if "\n" in text or not margin.strip() else text)

    def _code(self, call: _ShortcodeCall, code: str) -> None:
        label = self._label_words(call) if call.kind not in _CODE else ""
        if label:
            indent = " " * (len(self._line) - len(self._line.lstrip(" ")))
            self._keep(f"{label}\n\n{indent}")
        self._block(fenced(code, _language(call)))

    def _label_words(self, call: _ShortcodeCall) -> str:
        title = call.first(*_TITLED)
        if not title and call.kind in _POSITIONAL:
            title = next(iter(call.positional), "")
        name = ""
        if call.kind in _LABELLED:
            name = self._around.translation(call.kind) or call.kind.capitalize()
        return ": ".join(dict.fromkeys(filter(None, (name.rstrip(":"), title))))

    def _label(self, call: _ShortcodeCall) -> None:
        """The kind and title of a note or a tab, on a line of its own above the text."""
        words = self._label_words(call)
        if not words:
            return
        after = self._after_line(call)
        inline = "\n" not in self._text[call.end : after]
        joins = inline or _TEXT.match(self._text, after) is not None
        joins = joins and not _FENCE.match(self._text, after)
        margin = self._line
        indent = " " * (len(margin) - len(margin.lstrip(" ")))
        self._keep(words + (f"\n{indent}" if inline else "" if joins else "\n"))

    def _close(self, opening: _ShortcodeCall | None, call: _ShortcodeCall) -> None:
        """Text that follows on the line of a closing shortcode begins a paragraph."""
        label = opening is not None and (opening.kind in _LABELLED)
        rest = self._text[call.end : call.end + 1]
        if label and rest not in {"", "\n"} and "\n" in "".join(self._done[-2:]):
            self._keep("\n\n")


def _holds_code(call: _ShortcodeCall) -> bool:
    """A shortcode of code, or a tab that names the language of its code."""
    return call.kind in _CODE or (call.kind == "tab" and bool(call.first("codelang", "lang")))


def _language(call: _ShortcodeCall) -> str:
    given = call.first("language", "lang", "codelang")
    if given or call.kind != "highlight":
        return given
    return next(iter(call.positional), "")


def _calls(text: str) -> Iterator[_ShortcodeCall]:
    opening: re.Match[str] | None = None
    for border in _BORDER.finditer(text):
        if border[1]:
            opening = border
            continue
        if opening is None or border[2] != _ENDS[opening[1]]:
            continue
        start, after = opening.start(), border.end()
        inside = text[opening.end() : border.start()]
        opening = None
        if len(inside) > _MAX_CALL:
            continue
        escaped = _ESCAPED.fullmatch(inside)
        if escaped is not None:
            literal = f"{text[start : start + 3]}{escaped[1]}{escaped[2]}{border[0]}"
            yield _ShortcodeCall(start, after, "", literal=literal)
            continue
        call = _parsed(inside, start, after)
        if call is not None:
            call.is_rendered = border[2] == ">"
            yield call


def _parsed(inside: str, start: int, end: int) -> _ShortcodeCall | None:
    """The name and arguments between the braces; None if there is no name."""
    named = _CALL.match(inside)
    if named is None:
        return None
    call = _ShortcodeCall(start, end, named[2], closes=bool(named[1]))
    for argument in _ARGUMENT.finditer(inside, named.end()):
        value = next((part for part in argument.groups()[1:] if part is not None), "")
        if argument[2] is not None:
            value = value.replace('\\"', '"')
        if argument[1]:
            call.named.setdefault(argument[1].lower(), value.strip())
        elif value == "/":
            call.alone = True
        else:
            call.positional.append(value.strip())
    return call


def _paired(calls: list[_ShortcodeCall]) -> list[_ShortcodeCall]:
    """Connect openings and closings; others stand alone."""
    waiting: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        if call.literal is not None or call.alone:
            continue
        if not call.closes:
            waiting.setdefault(call.name, []).append(number)
        elif waiting.get(call.name):
            calls[waiting[call.name].pop()].closing = number
    return calls


def _headings(text: str) -> str:
    """Headings with text of an unknown template have an unknown anchor."""
    if UNKNOWN not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if UNKNOWN in line:
            words = line.replace(UNKNOWN, "").rstrip()
            known = _EXPLICIT_ID.search(words) is not None
            lines[number] = words if known else f"{words} {{#{UNKNOWN}}}"
    return "\n".join(lines)


def translations(values: Mapping[str, object]) -> dict[str, str]:
    """The texts of a file of `i18n` by key."""
    found = {}
    for key, value in values.items():
        text = value.get("other") if isinstance(value, Mapping) else value
        if isinstance(text, str):
            found[key] = " ".join(text.split())
    return found
