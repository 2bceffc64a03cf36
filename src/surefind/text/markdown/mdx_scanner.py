"""Finds the non-text spans of an MDX page: tags, expressions, statements and comments."""

import html
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from surefind.text.markdown.javascript import (
    STRING,
    JavaScript,
    literal,
    opens_module_statement,
)
from surefind.text.markdown.mdx_props import Props, may_show, shown

_FENCE = re.compile(
    r"([ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)",
    re.MULTILINE,
)
_ADMONITION = re.compile(r"([ \t>]*)(:{3,})[ \t]*([A-Za-z][\w-]*)?([^\n]*)$", re.MULTILINE)
_SPECIAL = re.compile(r"[\\`<{\n]")
_TAG_NAME = re.compile(r"<(/?)(?:([A-Za-z][\w:.-]*)(?=[\s/>{])|(?=>))")
_ATTRIBUTE = re.compile(
    r"""[A-Za-z_$@:][\w$@:.-]*(?:\s*=\s*(?:("[^"]*"|'[^']*')|(?=\{)|[^\s"'`{}<>=]+))?"""
)
_HEADING_ID = re.compile(r"\s*#\S+\s*")
_ESCAPED_ID = re.compile(r"\\\{#[^\s{}]+\}[ \t]*$", re.MULTILINE)
_PROGRAM = re.compile(r"\n|=>|</?[A-Za-z>]")  # an expression longer than a short name or formula
_BLOCK_BORDER = re.compile(r"\n[ \t>]*(?:$|`{3}|~{3}|#|:::|\||[-+*][ \t])", re.MULTILINE)
_BLANK = re.compile(r"[ \t]*$", re.MULTILINE)
_SPACES = re.compile(r"[ \t]*")

_NEAR = 200
_SHORT = 60
_CONSTANT = re.compile(
    rf"\bexport\s+const\s+([\w$]+)(?:\s*:\s*string)?\s*=\s*({STRING})", re.DOTALL
)
_PLACEHOLDER = re.compile(r"\$\{\s*([\w$]+)\s*\}")
_MARKERS = re.compile(r"(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*")
_ANY_TAG = re.compile(r"<[^<>]*>")
_VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass(frozen=True, slots=True)
class RemovedSpan:
    """A non-text span, and its replacement."""

    start: int
    end: int
    words: str = ""
    tag: str = ""
    # "open" and "close" form pairs; "text" and "code" are paragraphs, without a span, of a tag;
    # "module" is a statement; "indent" is white space
    role: str = ""


class Scanner:
    """Finds the non-text spans, in order."""

    def __init__(self, text: str, *, jsx: bool, lines: bool = True) -> None:
        self._text = text
        self._jsx = jsx
        self._lines = lines  # for a title, scan only inline syntax
        self._code = JavaScript(text)
        self._cuts: list[RemovedSpan] = []
        self._ticks: dict[int, list[int]] = defaultdict(
            list
        )  # positions of backtick runs by length
        for run in re.finditer("`+", text):
            self._ticks[len(run.group())].append(run.start())
        self._borders = [border.start() for border in _BLOCK_BORDER.finditer(text)]
        self._last_embedded = {name: text.rfind(f"</{name}") for name in ("script", "style")}
        self._last_html_comment = text.rfind("-->")
        self._handlers = {
            "<": self._angle,
            "{": self._brace,
            "`": self._tick,
            "\\": self._escape,
        }
        self._line = 0
        self._admonitions = 0
        self._constants: dict[str, str] = {}
        self.left_out: list[str] = []  # what may have been visible, in order
        self._unwrapped: dict[int, int] = {}  # closing fences of code blocks that are MDX

    def cuts(self) -> list[RemovedSpan]:
        position = 0
        while position < len(self._text):
            self._line = position
            after = self._whole_line(position) if self._lines else None
            position = self._to_next_line(position) if after is None else after
        return self._cuts

    def _cut(self, start: int, end: int, words: str = "", tag: str = "", role: str = "") -> int:
        self._cuts.append(RemovedSpan(start, end, words, tag, role))
        return end

    def _whole_line(self, start: int) -> int | None:
        """The position to continue from, if the line is not plain text."""
        if start in self._unwrapped:
            return self._cut(start, self._unwrapped[start])
        fence = _FENCE.match(self._text, start)
        if fence is not None:
            return self._fence(fence)
        if not self._jsx:
            return None
        if opens_module_statement(self._text, start) and self._may_begin(start):
            end = self._code.end_of_statement(start)
            return None if end is None else self._statement(start, end)
        admonition = _ADMONITION.match(self._text, start)
        return None if admonition is None else self._admonition(admonition)

    def _statement(self, start: int, end: int) -> int:
        """Constants are shown where the page names them."""
        for constant in _CONSTANT.finditer(self._text, start, end):
            value = self._literal(constant[2])
            if value is not None:
                self._constants[constant[1]] = value
        return self._cut(start, end, role="module")

    def _literal(self, inside: str) -> str | None:
        """The value of an expression that is a string or a constant."""
        value = literal(inside)
        if value is None:
            return self._constants.get(inside.strip())
        if "${" not in inside or not self._constants:
            return value
        return _PLACEHOLDER.sub(lambda name: self._constants.get(name[1], name[0]), value)

    def _may_begin(self, start: int) -> bool:
        """Statements can't interrupt a paragraph."""
        previous = self._text.rfind("\n", 0, max(0, start - 1)) + 1
        line = self._text[previous:start].strip()
        after_cut = bool(self._cuts) and self._cuts[-1].end == start - 1
        return not line or line.startswith(("#", "```")) or after_cut

    def _fence(self, opening: re.Match[str]) -> int:
        prefix, fence, information = opening.groups()
        closing = rf"^[ \t>]*{fence[0]}{{{len(fence)},}}[ \t]*$"
        if ">" in prefix:  # the end of a quote ends its code
            closing += r"|^(?![ \t]*>)"
        end = re.compile(closing, re.MULTILINE).search(self._text, opening.end() + 1)
        if information.strip() == "mdx-code-block" and self._jsx and end is not None:
            self._unwrapped[end.start()] = end.end()
            return self._cut(*opening.span())
        return len(self._text) if end is None else end.end()

    def _admonition(self, line: re.Match[str]) -> int | None:
        """Keep the kind and title as a line: readers should see that a passage is a warning, and
        queries use the words of titles.
        """
        kind, rest = line.group(3), line.group(4).strip()
        opens = bool(kind) or rest.startswith("{")
        if not opens and (rest or not self._admonitions):
            return None
        self._admonitions += 1 if opens else -1
        title = ""
        if rest.startswith("["):
            title = rest[1 : rest.rindex("]")] if "]" in rest else rest[1:]
        elif not rest.startswith("{"):  # else it has a class or an id
            title = rest
        words = [(kind or "").replace("-", " ").capitalize(), _inline(title)]
        return self._cut(line.end(1), line.end(), ": ".join(word for word in words if word))

    def _to_next_line(self, position: int) -> int:
        while (special := _SPECIAL.search(self._text, position)) is not None:
            if special.group() == "\n":
                return special.end()
            position = self._handlers[special.group()](special.start())
        return len(self._text)

    def _escape(self, start: int) -> int:
        if self._text.startswith("#", self._line) and _ESCAPED_ID.match(self._text, start):
            return self._cut(start, start + 1)
        return start + 1 if self._text.startswith("\n", start + 1) else start + 2

    def _tick(self, start: int) -> int:
        """Skip a code span, or backticks that do not start one."""
        end = start
        while self._text.startswith("`", end):
            end += 1
        runs = self._ticks[end - start]
        place = bisect_left(runs, end)
        border = bisect_left(self._borders, end)
        limit = self._borders[border] if border < len(self._borders) else len(self._text)
        if place < len(runs) and runs[place] < limit:
            return runs[place] + end - start
        return end

    def _angle(self, start: int) -> int:
        if self._text.startswith("<!--", start):
            if start + 4 > self._last_html_comment:
                return start + 4
            end = self._text.index("-->", start + 4) + 3
            comment = self._text[start + 4 : end - 3]
            return self._cut(start, end, self._heading_id(comment, end))
        return self._tag(start) if self._jsx else start + 1

    def _heading_id(self, comment: str, end: int) -> str:
        """Docusaurus uses a comment at the end of a heading as its id."""
        is_id = self._text.startswith("#", self._line) and _HEADING_ID.fullmatch(comment)
        return f"{{{comment.strip()}}}" if is_id and _BLANK.match(self._text, end) else ""

    def _tag(self, start: int) -> int:
        opening = _TAG_NAME.match(self._text, start)
        if opening is None:
            return start + 1
        closing, name = opening.group(1), opening.group(2) or ""
        props = Props()
        end = self._attributes(opening.end(), props)
        if end is None:
            return start + 1
        if closing:
            return self._cut(start, end, tag=name, role="close")
        alone = self._text[end - 2] == "/" or name in _VOID
        found = shown(name, props)
        if found.texts and self._is_inline(name, start, end):
            found = found.without_texts(name)
        self._cut(start, end, found.label, name, "" if alone else "open")
        for is_code, text in found.texts:
            self._cut(end, end, text, role="code" if is_code else "text")
        self.left_out += found.left_out
        if not alone and end <= self._last_embedded.get(name, -1):
            return self._cut(end, self._text.index(f"</{name}", end))
        return end

    def _is_inline(self, name: str, start: int, end: int) -> bool:
        """Whether text before or after an element is on its lines."""
        if not self._lines:
            return True
        before = self._text[max(self._line, self._cuts[-1].end if self._cuts else 0) : start]
        if _MARKERS.fullmatch(before) is None:
            return True
        after = self._text[end : end + _NEAR].partition("\n")[0]  # of a long line, the start
        return bool(_ANY_TAG.sub("", after.rpartition(f"</{name}>")[2]).strip())

    def _attributes(self, position: int, props: Props) -> int | None:
        """The offset after the tag; None if it is not a tag."""
        while True:
            position = self._past_space(position)
            for ending in (">", "/>"):
                if self._text.startswith(ending, position):
                    return position + len(ending)
            value = expression = None
            attribute = _ATTRIBUTE.match(self._text, position)
            if attribute is not None:
                value, position = attribute.group(1), attribute.end()
            if self._text.startswith("{", position):
                end = self._code.end_of_braces(position)
                if end is None:
                    return None
                expression = self._text[position + 1 : end - 1]
                value = self._literal(expression)
                position = end
            elif attribute is None:
                return None
            elif value is not None:
                value = html.unescape(value[1:-1])
            if attribute is not None and (value is not None or expression is not None):
                props.add(re.split(r"[\s=]", attribute.group())[0], value, expression or "")

    def _past_space(self, position: int) -> int:
        while self._text[position : position + 1].isspace():
            position += 1
        return position

    def _brace(self, start: int) -> int:
        end = self._code.end_of_braces(start) if self._jsx else None
        if end is None:
            return start + 1
        inside = self._text[start + 1 : end - 1].strip()
        if inside.startswith("/*") and inside.endswith("*/"):
            is_id = self._heading_id(inside[2:-2], end)
            return end if is_id else self._cut(start, end)
        words = self._literal(inside)
        if words is not None:
            return self._cut(start, end, words)
        if self._heading_id(inside, end):  # even after a tag
            return end
        # `{id}` in a sentence may be a visible placeholder, so keep it.
        if _PROGRAM.search(inside) or self._is_alone(start, end):
            if may_show(inside):
                self.left_out.append(f"{{{_shortened(inside)}}}")
            return self._cut(start, end)
        return end

    def _is_alone(self, start: int, end: int) -> bool:
        """Whether its line has only tags besides it."""
        before = self._text[max(0, start - _NEAR) : start].rstrip(" \t")
        after = _SPACES.match(self._text, end)
        following = self._text[after.end() : after.end() + 1] if after else ""
        return before[-1:] in {"", "\n", ">"} and following in {"", "\n", "<"}


def _shortened(code: str) -> str:
    words = " ".join(code.split())
    return words if len(words) <= _SHORT else f"{words[:_SHORT]}…"


def _inline(title: str) -> str:
    if _SPECIAL.search(title) is None:
        return " ".join(title.split())
    cuts, _ = balanced(Scanner(title, jsx=True, lines=False).cuts())
    pieces, position = [], 0
    for cut in cuts:
        pieces += [title[position : cut.start], cut.words]
        position = cut.end
    return " ".join("".join([*pieces, title[position:]]).split())


def balanced(
    found: list[RemovedSpan],
) -> tuple[list[RemovedSpan], list[tuple[RemovedSpan, RemovedSpan]]]:
    """Drop unmatched tags, which are text, like the `<T>` of `List<T>`."""
    unclosed: list[int] = []
    waiting: Counter[str] = Counter()
    text: set[int] = set()
    pairs = []
    for number, cut in enumerate(found):
        if cut.role == "open":
            unclosed.append(number)
            waiting[cut.tag] += 1
        elif cut.role == "close" and not waiting[cut.tag]:
            text.add(number)
        elif cut.role == "close":
            while found[unclosed[-1]].tag != cut.tag:
                waiting[found[unclosed[-1]].tag] -= 1
                text.add(unclosed.pop())
            pairs.append((found[unclosed.pop()], cut))
            waiting[cut.tag] -= 1
    text.update(unclosed)
    return list(_kept(found, text)), pairs


def _kept(found: list[RemovedSpan], text: set[int]) -> Iterator[RemovedSpan]:
    is_kept = True
    for number, cut in enumerate(found):
        if cut.role not in {"text", "code"}:  # else the tag before it decides
            is_kept = number not in text
        if is_kept:
            yield cut
