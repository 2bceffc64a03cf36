"""Parses the blocks of an AsciiDoc document into Markdown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from surefind.errors import InputError
from surefind.text.formats.asciidoc.attributes import ENTRY, Attributes
from surefind.text.formats.asciidoc.inline import Inline
from surefind.text.formats.asciidoc.lists import ListItem, item_of
from surefind.text.formats.asciidoc.table_cells import table
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.writer import fenced, guarded

SECTION = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)$")
_ATTRIBUTE_LINE = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\][ \t]*$")
_ANCHOR_LINE = re.compile(r"\[\[([^\]\[,]*)(?:,[ \t]*(.*))?\]\][ \t]*$")
_TITLE = re.compile(r"\.(\.?[^ \t.].*)$")
_DELIMITER = re.compile(
    r"(-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|/{4,}|--|[|,:!]={3,}|`{3,}.*)[ \t]*$"
)
_UNDERLINE = re.compile(r"(=+|-+|~+|\^+|\++)[ \t]*$")
_UNDERLINES = "=-~^+"
_BLOCK_MACRO = re.compile(r"([a-z_][\w-]*)::([^\s\[]*)\[(.*)\][ \t]*$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(.*)$")
_ADMONITIONS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})
_NAMED = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^,]*))(?:,|$)")
_SHORTHAND = re.compile(r"([.#%]?)([^.#%]+)")
_CALLOUT = re.compile(
    r"(?:(?://|#|--|;;|<!--)[ \t]?)?<!?(?:--)?(\d{1,4}|\.)(?:--)?>(?=[ \t]*(?:<!?|$)|-->)"
)
_BREAKS = frozenset({"'''", "<<<", "---", "***", "- - -", "* * *"})
_WITH_ATTRIBUTES = re.compile(r"(?<!-)(?:attributes|normal|\ba\b)")
_DIRECTIVES = frozenset({"include", "ifdef", "ifndef", "ifeval", "endif"})  # they were escaped
_MAX_DEPTH = 16
_VERBATIM_STYLES = {"source", "listing", "literal", "verse", "pass", "stem", "latexmath"}
_VERBATIM_STYLES |= {"asciimath", "plantuml", "mermaid", "ditaa", "graphviz", "a2s", "subs"}


@dataclass(slots=True)
class _BlockOptions:
    style: str = ""
    language: str = ""
    title: str = ""
    anchor: str = ""
    positional: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class SectionTitle:
    """`source` is the title as written; `anchor` is explicit. Discrete ones open no section."""

    level: int
    source: str
    anchor: str = ""
    is_discrete: bool = False


class BlockParser:
    """Yields section titles and blocks. Blocks within blocks are parsed up to a depth."""

    def __init__(
        self, lines: Sequence[str], attributes: Attributes, inline: Inline, depth: int = 0
    ) -> None:
        self._lines = lines
        self._at = 0
        self._attributes = attributes
        self._inline = inline
        self._depth = depth
        self._options = _BlockOptions()
        self.anchors: list[str] = []

    def parse(self) -> Iterator[SectionTitle | str]:
        while self._at < len(self._lines):
            found = self._next()
            if found:
                yield found

    # --- one block ---

    def _next(self) -> SectionTitle | str | None:
        line = self._lines[self._at]
        if not line.strip():
            self._at += 1
            return None
        if self._metadata(line):
            return None
        options, self._options = self._options, _BlockOptions()
        section = self._section(line, options)
        if section is not None:
            return section
        body = self._block(line, options)
        title = self._text(options.title) if options.title and body else ""
        self._register(options, title)
        return f"{title}\n\n{body}" if title else body

    def _register(self, options: _BlockOptions, title: str) -> None:
        if options.anchor:
            self.anchors.append(options.anchor)
            self._inline.name(options.anchor, title)

    def _metadata(self, line: str) -> bool:
        """Comments, attribute entries, block attributes and titles of blocks."""
        if line.startswith("//") and not line.startswith("///"):
            self._at += 1
        elif re.fullmatch(r"/{4,}[ \t]*", line):
            self._delimited(line.rstrip())
        elif line.startswith(":") and (entry := ENTRY.match(line)):
            self._at += 1
            self._attributes.set(entry[1], self._continued(entry[2] or ""))
        elif line.startswith("[[") and (anchor := _ANCHOR_LINE.match(line)):
            self._at += 1
            self._options.anchor = anchor[1].strip()
            self._inline.name(self._options.anchor, (anchor[2] or "").strip())
        elif line.startswith("[") and _ATTRIBUTE_LINE.match(line):
            self._at += 1
            _read_options(self._attributes.expand(line.strip()[1:-1]), self._options)
        elif (
            line.startswith(".") and not self._is_delimiter(line) and (title := _TITLE.match(line))
        ):
            self._at += 1
            self._options.title = title[1]
        else:
            return False
        return True

    def _continued(self, value: str) -> str:
        """An attribute's value goes on after a backslash at the end of a line."""
        parts = []
        while value.endswith(" \\") and self._at < len(self._lines):
            parts.append(value[:-2].removesuffix(" +").strip())
            value = self._lines[self._at].strip()
            self._at += 1
        return " ".join([*parts, value])

    def _section(self, line: str, options: _BlockOptions) -> SectionTitle | None:
        discrete = options.style in {"discrete", "float"}
        if self._depth and not discrete:
            return None
        found = SECTION.match(line) if line[0] in "=#" else None
        if found is not None:
            self._at += 1
            level, title = len(found[1]) - 1, found[2]
        elif self._is_underlined(line):
            level = _UNDERLINES.index(self._lines[self._at + 1][0])
            title = line.strip()
            self._at += 2
        else:
            return None
        offset = self._attributes.get("leveloffset", "0")
        moved = int(offset) if re.fullmatch(r"[-+]?\d", offset) else 0
        level = max(0, min(5, level + moved))
        return SectionTitle(level, title.rstrip(), options.anchor, discrete)

    def _is_underlined(self, line: str) -> bool:
        if self._at + 1 >= len(self._lines) or not re.search(r"\w", line) or line[0] in " \t.[":
            return False
        under = self._lines[self._at + 1].rstrip()
        return (
            _UNDERLINE.match(under) is not None
            and abs(len(under) - len(line.rstrip())) <= 1
            and len(under) > 1
            and item_of(line) is None
        )

    def _block(self, line: str, options: _BlockOptions) -> str:
        if self._is_delimiter(line):
            return self._delimited_block(line.rstrip(), options)
        if line.rstrip() in _BREAKS:
            self._at += 1
            return ""
        macro = _BLOCK_MACRO.match(line)
        if macro is not None and macro[1] not in _DIRECTIVES and item_of(line) is None:
            self._at += 1
            return self._macro(macro)
        if item_of(line) is not None:
            return self._list()
        return self._paragraph(line, options)

    def _macro(self, macro: re.Match[str]) -> str:
        name, target, listed = macro.groups()
        if name in {"image", "video", "audio"}:
            alternative = listed.split(",")[0].strip().strip('"')
            return guarded(self._text(alternative)) if "=" not in alternative else ""
        if name == "toc":
            return ""
        return guarded(self._text(listed)) if target else ""

    # --- delimited blocks ---

    def _is_delimiter(self, line: str) -> bool:
        return line[:1] in set("-=*_.+/|,:!`") and _DELIMITER.match(line) is not None

    def _delimited(self, mark: str) -> list[str]:
        """The lines up to the same mark; an unclosed block extends to the end."""
        closing = "```" if mark.startswith("```") else mark
        closing = mark[: len(mark) - len(mark.lstrip("`"))] if mark[0] == "`" else closing
        start = self._at + 1
        end = start
        while end < len(self._lines) and self._lines[end].rstrip() != closing:
            end += 1
        self._at = min(end + 1, len(self._lines))
        return list(self._lines[start:end])

    def _delimited_block(self, mark: str, options: _BlockOptions) -> str:
        inner = self._delimited(mark)
        sign = mark[0]
        if sign == "/" or options.style == "comment":
            return ""
        if sign in "|,:!":
            return self._table(inner, sign, options)
        if sign == "`":
            options.language = mark.strip("`").strip() or options.language
        if sign == "+" and options.style in {"", "pass"}:
            return _from_html("\n".join(inner))
        verbatim = sign in ".`+" or (sign == "-" and mark != "--")
        if options.style == "verse":
            return self._verse(inner, options)
        if verbatim or options.style in _VERBATIM_STYLES:
            return self._listing(inner, options)
        return self._labelled(inner, options)

    def _listing(self, lines: Sequence[str], options: _BlockOptions) -> str:
        if _WITH_ATTRIBUTES.search(options.named.get("subs", "")):
            lines = [self._attributes.expand(line) for line in lines]
        return _code(lines, options.language)

    def _labelled(self, lines: Sequence[str], options: _BlockOptions) -> str:
        """The blocks of an example, a quote or an admonition, after its label."""
        blocks = self._nested(lines)
        if options.style.upper() in _ADMONITIONS:
            label = options.style.capitalize()
            first = blocks[0] if blocks else ""
            prose = first and first[0].isalnum()
            blocks[:1] = [f"{label}: {first}"] if prose else [f"{label}:", *blocks[:1]]
        if options.style in {"quote", "verse"}:
            blocks += self._source_of_quote(options)
        return "\n\n".join(blocks)

    def _source_of_quote(self, options: _BlockOptions) -> list[str]:
        given = (*options.positional[1:3], options.named.get("attribution", ""))
        given = (*given, options.named.get("citetitle", ""))
        names = [self._text(name) for name in given if name]
        return [f"— {', '.join(names)}"] if names else []

    def _verse(self, lines: Sequence[str], options: _BlockOptions) -> str:
        text = self._prose("\n".join(lines).strip("\n"))
        return "\n\n".join([text, *self._source_of_quote(options)])

    def _nested(self, lines: Sequence[str]) -> list[str]:
        if self._depth >= _MAX_DEPTH:
            return [self._prose("\n".join(lines))] if any(map(str.strip, lines)) else []
        parser = BlockParser(lines, self._attributes, self._inline, self._depth + 1)
        found = [
            self._text(one.source) if isinstance(one, SectionTitle) else one
            for one in parser.parse()
        ]
        self.anchors += parser.anchors
        return found

    def _table(self, lines: Sequence[str], sign: str, options: _BlockOptions) -> str:
        def cell(text: str, style: str) -> str:
            if style in {"l", "m"}:
                return f"`{' '.join(text.split())}`" if text.strip() else ""
            if style == "a" or "\n" in text:
                return " ".join(" ".join(self._nested(text.split("\n"))).split())
            return " ".join(self._text(text).split())

        return table(lines, options.named, sign, cell)

    # --- lists ---

    def _list(self) -> str:
        """A list with its nested lists, and the blocks attached to its items."""
        written: list[str] = []
        kinds: list[str] = []
        numbers: list[int] = []
        while self._at < len(self._lines):
            item = item_of(self._lines[self._at])
            if item is None:
                break
            self._at += 1
            if item.kind in kinds:
                del kinds[kinds.index(item.kind) + 1 :]
                del numbers[len(kinds) :]
            else:
                kinds.append(item.kind)
                numbers.append(0)
            numbers[-1] += 1
            self._write_item(item, numbers[-1], min(len(kinds) - 1, _MAX_DEPTH), written)
            if not self._list_goes_on():
                break
        return "\n".join(written)

    def _write_item(self, item: ListItem, number: int, depth: int, written: list[str]) -> None:
        margin = "   " * depth
        lines = [item.text, *map(str.strip, self._lines_of_item())]
        text = self._text("\n".join(lines).strip())
        if item.term:
            written += [margin + self._text(item.term)]
            marker = ": "
        else:
            marker = f"{number}. " if item.is_ordered else "- "
        inner = margin + " " * len(marker)
        words = text.split("\n")
        if text or not item.term:
            written.append(f"{margin}{marker}{words[0]}".rstrip())
            written += [inner + line for line in words[1:]]
        for block in self._attached(has_text=bool(text)):
            first = marker if item.term and not text else ""
            text = text or block
            shown = block.split("\n")
            if first:
                written.append(f"{margin}{first}{shown[0]}")
            else:
                written += ["", inner + shown[0]]
            written += [(inner + line).rstrip() for line in shown[1:]]

    def _lines_of_item(self) -> Iterator[str]:
        """The lines up to the next item or block."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip() or line.rstrip() == "+" or self._starts_block(line):
                return
            self._at += 1
            if not line.startswith("//"):
                yield line

    def _starts_block(self, line: str) -> bool:
        return bool(
            item_of(line)
            or self._is_delimiter(line)
            or (line[0] == "[" and (_ATTRIBUTE_LINE.match(line) or _ANCHOR_LINE.match(line)))
        )

    def _attached(self, *, has_text: bool) -> Iterator[str]:
        """Blocks after a `+`, and indented paragraphs after a blank line."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.rstrip() == "+":
                self._at += 1
                block = self._attached_block()
                if block:
                    yield block
                continue
            following = self._after_blanks()
            if following is None or not self._lines[following].strip():
                return
            text = self._lines[following]
            indented = text[0] in " \t" and item_of(text) is None
            plain = not has_text and following > self._at and self._is_plain(text)
            if following == self._at or not (indented or plain):
                return
            self._at = following
            lines = list(self._lines_of_item())
            yield _code(lines, "") if has_text else self._prose("\n".join(map(str.strip, lines)))
            has_text = True

    def _is_plain(self, line: str) -> bool:
        """A paragraph after a term without text is its description."""
        return not (self._starts_block(line) or SECTION.match(line) or line[0] in ".:/")

    def _attached_block(self) -> str:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and not self._metadata(line):
                break
            if not line.strip():
                self._at += 1
        else:
            return ""
        options, self._options = self._options, _BlockOptions()
        title = f"{self._text(options.title)}\n\n" if options.title else ""
        self._register(options, title.strip())
        line = self._lines[self._at]
        if item_of(line) is not None and self._depth < _MAX_DEPTH:
            return ""
        return title + self._block(line, options)

    def _after_blanks(self) -> int | None:
        at = self._at
        while at < len(self._lines) and not self._lines[at].strip():
            at += 1
        return at if at < len(self._lines) else None

    def _list_goes_on(self) -> bool:
        """Whether another item follows, after blank lines and comments."""
        at = self._at
        while at < len(self._lines):
            line = self._lines[at]
            if line.strip() and not (line.startswith("//") and not line.startswith("///")):
                break
            if line.startswith("//-"):
                return False
            at += 1
        else:
            return False
        if item_of(self._lines[at]) is None:
            return False
        self._at = at
        return True

    # --- paragraphs ---

    def _paragraph(self, line: str, options: _BlockOptions) -> str:
        literal = line[0] in " \t" and not options.style
        lines = [line]
        self._at += 1
        while self._at < len(self._lines):
            following = self._lines[self._at]
            if (
                not following.strip()
                or following.rstrip() == "+"
                or self._ends_paragraph(following)
            ):
                break
            lines.append(following)
            self._at += 1
        if literal or options.style in _VERBATIM_STYLES - {"verse"}:
            return self._listing(lines, options)
        lines = [one for one in lines if not one.startswith("//") or one.startswith("///")]
        if options.style == "comment":
            return ""
        if options.style == "verse":
            return self._verse(lines, options)
        label = _ADMONITION.match(lines[0]) if lines else None
        if label is not None:
            return self._prose("\n".join([f"{label[1].capitalize()}: {label[2]}", *lines[1:]]))
        text = self._prose("\n".join(one.strip() for one in lines))
        if options.style.upper() in _ADMONITIONS:
            text = f"{options.style.capitalize()}: {text}"
        if options.style == "quote":
            text = "\n\n".join([text, *self._source_of_quote(options)])
        return text

    def _ends_paragraph(self, line: str) -> bool:
        if line[0] == "[":
            return bool(_ATTRIBUTE_LINE.match(line) or _ANCHOR_LINE.match(line))
        return self._is_delimiter(line)

    def _text(self, text: str) -> str:
        return self._inline.convert(text)

    def _prose(self, text: str) -> str:
        return "\n".join(map(guarded, self._text(text).split("\n")))


def _from_html(text: str) -> str:
    try:
        return html_to_markdown(text).text
    except InputError:  # nested too deeply
        return ""


def _code(lines: Sequence[str], language: str) -> str:
    """A listing without its margin; callouts become (1), as on the page."""
    margin = min((len(one) - len(one.lstrip()) for one in lines if one.strip()), default=0)
    text = "\n".join(_callouts(one[margin:].rstrip()) for one in lines).strip("\n")
    return fenced(text, language) if text.strip() else ""


def _callouts(line: str) -> str:
    return _CALLOUT.sub(lambda found: f"({found[1]})", line) if ">" in line else line


def _read_options(text: str, options: _BlockOptions) -> None:
    """Read `style#id.role%option,second,name=value`."""
    for found in _NAMED.finditer(text):
        value = next((group for group in found.groups()[1:] if group is not None), "")
        options.named[found[1]] = value.strip()
    positional = [part.strip() for part in _NAMED.sub("", text).split(",")]
    options.positional = tuple(positional)
    for sign, word in _SHORTHAND.findall(positional[0]):
        if sign == "#":
            options.anchor = word.strip()
        elif sign == "%":
            options.flags.add(word.strip())
        elif not sign:
            options.style = word.strip()
    options.anchor = options.named.get("id", options.anchor)
    second = positional[1] if len(positional) > 1 else ""
    if options.style == "source" or (not options.style and second):
        options.language = options.named.get("language", second)
        options.style = options.style or "source"
