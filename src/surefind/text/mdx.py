"""MDX becomes Markdown: the words stay in their order, the program around them goes.

One pass finds what is not text (`_Scanner`), tags without a partner are given back to the text
(`_balanced`), and what is left is put together again line by line (`_Page`). Nothing here looks
at a character more than a few times, whatever the page: what could not be closed is remembered.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate

from surefind.text.front_matter import split_front_matter

_STRING = r"""'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+"|`(?:[^`\\]++|\\.)*+`"""
_JAVASCRIPT = re.compile(rf"[^\\'\"`{{}}/()\[\]\n]++|\\.|{_STRING}|(?<!:)//[^\n]*|/\*|.", re.DOTALL)
_LITERAL = re.compile(rf"\s*+(?:{_STRING})(?:\s*+\+\s*+(?:{_STRING}))*+\s*+", re.DOTALL)
_LITERAL_PART = re.compile(_STRING, re.DOTALL)
_NAMES = r"\{[^{}]{0,5000}\}"
# Strict about their shape: a paragraph may begin with the word "import" too.
_MODULE = re.compile(
    rf"""import\s*(?:['"]|(?:type\s+)?(?:[\w$]+|\*\s*as\s+[\w$]+|{_NAMES})
         (?:\s*,\s*(?:\*\s*as\s+[\w$]+|{_NAMES}))?\s*from\s*['"])
    |export\s+(?:default\s+(?:(?:async|class|function|new)\b|[(\[{{<'"`\d]|[\w$.]+\s*(?:;|$|\(|=>))
      |(?:const|let|var)\s+(?:[\w$]+\s*[:=]|[{{\[])
      |(?:async\s+)?function\s*\*?\s*[\w$]*\s*[(<]
      |(?:abstract\s+)?class\s+[\w$]+\s*(?:[{{<]|extends\b|implements\b)
      |(?:type|interface|enum)\s+[\w$]+\s*(?:[={{<]|extends\b)
      |{_NAMES}|\*\s*(?:as\s+[\w$]+\s*)?from\s*['"])""",
    re.VERBOSE | re.MULTILINE,
)
_UNFINISHED = ("=", "=>", ",", "+", ":", "?", "&", "|", ".", "from")
_GOES_ON = re.compile(r"[ \t]*(?:[.?:|&+)\]}]|from\b)")
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
_PROGRAM = re.compile(r"\n|=>|</?[A-Za-z>]")  # an expression that is no short name or formula
_BLOCK_BORDER = re.compile(r"\n[ \t>]*(?:$|`{3}|~{3}|#|:::|\||[-+*][ \t])", re.MULTILINE)
_MISREAD = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|`{3}|~{3}|(?:=+|-+)[ \t]*$|<(?:[!?]|pre\b))")
_BLANK = re.compile(r"[ \t]*$", re.MULTILINE)
_SPACES = re.compile(r"[ \t]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")

_NEAR = 200
_PROSE_PROPS = {"title", "label", "alt", "summary", "description"}
_VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
_INSIDE_WORDS = {"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong"}
_INSIDE_WORDS |= {"sub", "sup", "u", "wbr"}


def strip_mdx(text: str) -> str:
    """Markdown with every word a reader of the page sees; what is no MDX stays as it is.

    Code stays byte for byte, but for the indentation of the JSX element around it: an element's
    content is moved to the element's own column, since in MDX indented text is no code.
    """
    start = len(text) - len(split_front_matter(text)[1])
    return text[:start] + _without(text[start:], jsx=True)


def strip_comments(text: str) -> str:
    """Markdown without its HTML comments; those in code stay, and so does one never closed."""
    return _without(text, jsx=False)


def guarded(line: str) -> str:
    """The line, with a backslash where a Markdown reader would take it for more than words."""
    if _MISREAD.match(line) is None:
        return line
    words = line.lstrip()
    return line[: len(line) - len(words)] + "\\" + words


def fenced(code: str, language: str = "") -> str:
    """The code between fences that are longer than any inside it."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _without(text: str, *, jsx: bool) -> str:
    cuts, pairs = _balanced(_Scanner(text, jsx=jsx).cuts())
    if not cuts:
        return text
    page = _Page()
    position = 0
    for cut in sorted([*cuts, *_dedents(text, pairs)], key=lambda cut: cut.start):
        if cut.start >= position:  # else it is the indentation inside of something that is gone
            page.keep(text[position : cut.start])
            page.replace(cut)
            position = cut.end
    page.keep(text[position:])
    return page.text()


@dataclass(frozen=True, slots=True)
class _Cut:
    """A span that is no text, and the words that stand there instead."""

    start: int
    end: int
    words: str = ""
    tag: str = ""
    role: str = ""  # "open" and "close" look for each other; "indent" is white space only


class _JavaScript:
    """Finds where braces and statements end, past strings, templates and comments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int | None] = {}
        self._last_comment_end = text.rfind("*/")
        self._counts_brackets = True

    def end_of_braces(self, opening: int) -> int | None:
        """The offset after the closing brace; None where there is none."""
        if opening in self._ends:
            return self._ends[opening]
        unclosed: list[int] = []
        position, lexeme = opening, "{"
        while lexeme:
            position, lexeme = self._next(position)
            if lexeme == "{":
                known = self._ends.get(position - 1, 0)
                if known is None:
                    break
                if known:
                    position = known
                else:
                    unclosed.append(position - 1)
            elif lexeme == "}":
                self._ends[unclosed.pop()] = position
                if not unclosed:
                    return position
        self._ends.update(dict.fromkeys(unclosed))
        return None

    def end_of_statement(self, start: int) -> int | None:
        """The end of the line it ends on; None where a brace is never closed."""
        depth, before, position, lexeme = 0, "", start, " "
        while lexeme:
            position, lexeme = self._next(position)
            if lexeme == "{":
                end = self.end_of_braces(position - 1)
                if end is None:
                    return None
                position, before = end, "}"
            elif lexeme == "\n" and (depth <= 0 or not self._counts_brackets):
                if self._is_over(before, position):
                    return position - 1
            elif lexeme.strip():
                depth += (lexeme in {"(", "["}) - (lexeme in {")", "]"})
                before = lexeme.rstrip()
        if depth > 0 and self._counts_brackets:
            self._counts_brackets = False  # text in JSX may hold a lone bracket: braces decide
            return self.end_of_statement(start)
        return len(self._text)

    def _is_over(self, before: str, next_line: int) -> bool:
        if _BLANK.match(self._text, next_line):
            return True
        return not before.endswith(_UNFINISHED) and not _GOES_ON.match(self._text, next_line)

    def _next(self, position: int) -> tuple[int, str]:
        match = _JAVASCRIPT.match(self._text, position)
        if match is None:
            return position, ""
        if match.group() == "/*" and match.end() <= self._last_comment_end:
            return self._text.index("*/", match.end()) + 2, " "
        return match.end(), match.group()


class _Scanner:
    """Finds the spans that are no text, in order."""

    def __init__(self, text: str, *, jsx: bool, lines: bool = True) -> None:
        self._text = text
        self._jsx = jsx
        self._lines = lines  # a title is scanned for what stands inside a line only
        self._code = _JavaScript(text)
        self._cuts: list[_Cut] = []
        self._ticks: dict[int, list[int]] = defaultdict(list)  # where backtick runs of a length are
        for run in re.finditer("`+", text):
            self._ticks[len(run.group())].append(run.start())
        self._borders = [border.start() for border in _BLOCK_BORDER.finditer(text)]
        self._last_embedded = {name: text.rfind(f"</{name}") for name in ("script", "style")}
        self._last_html_comment = text.rfind("-->")
        self._line = 0
        self._admonitions = 0
        self._unwrapped: dict[int, int] = {}  # closing fences of code blocks that are MDX

    def cuts(self) -> list[_Cut]:
        position = 0
        while position < len(self._text):
            self._line = position
            after = self._whole_line(position) if self._lines else None
            position = self._to_next_line(position) if after is None else after
        return self._cuts

    def _cut(self, start: int, end: int, words: str = "", tag: str = "", role: str = "") -> int:
        self._cuts.append(_Cut(start, end, words, tag, role))
        return end

    def _whole_line(self, start: int) -> int | None:
        """Where to go on, if the line is more than a line of text."""
        if start in self._unwrapped:
            return self._cut(start, self._unwrapped[start])
        fence = _FENCE.match(self._text, start)
        if fence is not None:
            return self._fence(fence)
        if not self._jsx:
            return None
        if _MODULE.match(self._text, start) and self._may_begin(start):
            end = self._code.end_of_statement(start)
            return None if end is None else self._cut(start, end)
        admonition = _ADMONITION.match(self._text, start)
        return None if admonition is None else self._admonition(admonition)

    def _may_begin(self, start: int) -> bool:
        """Statements do not break into a paragraph."""
        previous = self._text.rfind("\n", 0, max(0, start - 1)) + 1
        line = self._text[previous:start].strip()
        after_cut = bool(self._cuts) and self._cuts[-1].end == start - 1
        return not line or line.startswith(("#", "```")) or after_cut

    def _fence(self, opening: re.Match[str]) -> int:
        prefix, fence, information = opening.groups()
        closing = rf"^[ \t>]*{fence[0]}{{{len(fence)},}}[ \t]*$"
        if ">" in prefix:  # a quote ends its code with itself
            closing += r"|^(?![ \t]*>)"
        end = re.compile(closing, re.MULTILINE).search(self._text, opening.end() + 1)
        if information.strip() == "mdx-code-block" and self._jsx and end is not None:
            self._unwrapped[end.start()] = end.end()
            return self._cut(*opening.span())
        return len(self._text) if end is None else end.end()

    def _admonition(self, line: re.Match[str]) -> int | None:
        """The kind and the title stay, as a line: whoever reads the passage should know that it
        is a warning, and questions use the words of titles. It costs a lexeme or two.
        """
        kind, rest = line.group(3), line.group(4).strip()
        opens = bool(kind) or rest.startswith("{")
        if not opens and (rest or not self._admonitions):
            return None
        self._admonitions += 1 if opens else -1
        title = ""
        if rest.startswith("["):
            title = rest[1 : rest.rindex("]")] if "]" in rest else rest[1:]
        elif not rest.startswith("{"):  # else it holds a class or an id
            title = rest
        words = [(kind or "").replace("-", " ").capitalize(), _inline(title)]
        return self._cut(line.end(1), line.end(), ": ".join(word for word in words if word))

    def _to_next_line(self, position: int) -> int:
        handlers = {"<": self._angle, "{": self._brace, "`": self._tick, "\\": self._escape}
        while (special := _SPECIAL.search(self._text, position)) is not None:
            if special.group() == "\n":
                return special.end()
            position = handlers[special.group()](special.start())
        return len(self._text)

    def _escape(self, start: int) -> int:
        if self._text.startswith("#", self._line) and _ESCAPED_ID.match(self._text, start):
            return self._cut(start, start + 1)
        return start + 1 if self._text.startswith("\n", start + 1) else start + 2

    def _tick(self, start: int) -> int:
        """Past a code span, or past backticks that open none in their paragraph."""
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
        """Docusaurus takes a comment at the end of a heading for its id."""
        is_id = self._text.startswith("#", self._line) and _HEADING_ID.fullmatch(comment)
        return f"{{{comment.strip()}}}" if is_id and _BLANK.match(self._text, end) else ""

    def _tag(self, start: int) -> int:
        opening = _TAG_NAME.match(self._text, start)
        if opening is None:
            return start + 1
        closing, name = opening.group(1), opening.group(2) or ""
        props: dict[str, str] = {}
        end = self._attributes(opening.end(), props)
        if end is None:
            return start + 1
        if closing:
            return self._cut(start, end, tag=name, role="close")
        words = _prose(name, props)
        if self._text[end - 2] == "/" or name in _VOID:
            return self._cut(start, end, words, name)
        self._cut(start, end, words, name, "open")
        if end <= self._last_embedded.get(name, -1):
            return self._cut(end, self._text.index(f"</{name}", end))
        return end

    def _attributes(self, position: int, props: dict[str, str]) -> int | None:
        """The offset after the tag; None where it is no tag."""
        while True:
            position = self._past_space(position)
            for ending in (">", "/>"):
                if self._text.startswith(ending, position):
                    return position + len(ending)
            value = None
            attribute = _ATTRIBUTE.match(self._text, position)
            if attribute is not None:
                value, position = attribute.group(1), attribute.end()
            if self._text.startswith("{", position):
                end = self._code.end_of_braces(position)
                if end is None:
                    return None
                value = _literal(self._text[position + 1 : end - 1])
                position = end
            elif attribute is None:
                return None
            elif value is not None:
                value = html.unescape(value[1:-1])
            if attribute is not None and value is not None:
                props.setdefault(re.split(r"[\s=]", attribute.group())[0], value)

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
        words = _literal(inside)
        if words is not None:
            return self._cut(start, end, words)
        # `{id}` in a sentence may be a placeholder that a reader sees: doubt keeps it.
        if _PROGRAM.search(inside) or self._is_alone(start, end):
            return self._cut(start, end)
        return end

    def _is_alone(self, start: int, end: int) -> bool:
        """Whether nothing but tags stands beside it on its line."""
        before = self._text[max(0, start - _NEAR) : start].rstrip(" \t")
        after = _SPACES.match(self._text, end)
        following = self._text[after.end() : after.end() + 1] if after else ""
        return before[-1:] in {"", "\n", ">"} and following in {"", "\n", "<"}


def _literal(inside: str) -> str | None:
    """The text of a string, or of several added up; None for any other expression."""
    if _LITERAL.fullmatch(inside) is None:
        return None
    return "".join(
        _ESCAPE.sub(_unescaped, part.group()[1:-1]) for part in _LITERAL_PART.finditer(inside)
    )


def _unescaped(escape: re.Match[str]) -> str:
    number, character = escape.groups()
    return chr(int(number, 16)) if number else {"n": "\n", "t": "\t"}.get(character, character)


def _prose(name: str, props: dict[str, str]) -> str:
    if name == "TabItem":  # a tab without a label shows its value
        props = {"label": props.get("label") or props.get("value", "")}
    said = (" ".join(value.split()) for prop, value in props.items() if prop in _PROSE_PROPS)
    return ": ".join(dict.fromkeys(words for words in said if words))


def _inline(title: str) -> str:
    cuts, _ = _balanced(_Scanner(title, jsx=True, lines=False).cuts())
    pieces, position = [], 0
    for cut in cuts:
        pieces += [title[position : cut.start], cut.words]
        position = cut.end
    return " ".join("".join([*pieces, title[position:]]).split())


def _balanced(found: list[_Cut]) -> tuple[list[_Cut], list[tuple[_Cut, _Cut]]]:
    """Without the tags that have no partner: they are text, like the `<T>` of `List<T>`."""
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
    return [cut for number, cut in enumerate(found) if number not in text], pairs


def _dedents(text: str, pairs: list[tuple[_Cut, _Cut]]) -> list[_Cut]:
    """What moves the content of each element to the column of its tag."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines]
    change = [0] * (len(lines) + 1)
    for opening, closing in pairs:
        tag_line = bisect_right(starts, opening.start) - 1
        first = bisect_right(starts, opening.end)
        last = bisect_right(starts, closing.start) - 1
        if opening.start != starts[tag_line] + indents[tag_line]:
            continue
        while first < last and not lines[first].strip():
            first += 1
        deeper = indents[first] - indents[tag_line] if first < last else 0
        if deeper > 0:
            change[first] += deeper
            change[last] -= deeper
    moved = accumulate(change)
    return [
        _Cut(start, start + min(shift, indent), role="indent")
        for start, indent, shift in zip(starts, indents, moved, strict=False)
        if shift and indent
    ]


def _joined(before: str, words: str) -> str:
    """Words that a tag kept apart stay apart, and by one space only."""
    if before.isalnum() and words[0].isalnum():
        return f" {words}"
    return words[1:] if before == words[0] == " " else words


class _Page:
    """Puts the text together again, and leaves no holes where lines are gone."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._swallows = False  # a line is gone: the blank line after it may go too
        self._after_label = False
        self._begin_line()

    def _begin_line(self, *, touched: bool = False) -> None:
        self._parts: list[str] = []
        self._blank = True
        self._touched = touched
        self._led = touched  # it began with what is no text
        self._labels = False
        self._breaks = False  # a label stands alone
        self._gap = False

    def keep(self, piece: str) -> None:
        first, *rest = piece.split("\n")
        self._write(first)
        for line in rest:
            self._end_line()
            self._begin_line()
            self._write(line)

    def replace(self, cut: _Cut) -> None:
        if cut.role == "indent":
            return
        self._touched = True
        self._led = self._led or self._blank
        if "\n" in cut.words:
            self._write_code(cut.words.strip("\n"))
            return
        leads = self._blank
        if cut.tag and cut.words and not leads and not self._parts[-1][-1].isspace():
            self._write(" ")
        self._write(cut.words)
        joins = cut.tag in _INSIDE_WORDS if not cut.words else not cut.tag
        self._gap = self._gap or not joins
        if leads and cut.words.strip():
            self._labels = True
            self._breaks = cut.role == "open"

    def _write(self, words: str) -> None:
        if not words:
            return
        if self._breaks and words.strip():
            self._end_line()
            self._begin_line(touched=True)
        if self._gap and self._parts:
            words = _joined(self._parts[-1][-1], words)
        self._gap = False
        self._blank = self._blank and not words.strip()
        if words:
            self._parts.append(words)

    def _write_code(self, code: str) -> None:
        if not self._blank:
            self._end_line()
        self._lines.extend(fenced(code).split("\n"))
        self._begin_line(touched=True)

    def _end_line(self) -> None:
        line = "".join(self._parts)
        is_blank = not line.strip()
        after_blank = not self._lines or not self._lines[-1].strip()
        if is_blank and (self._touched or self._swallows):
            self._swallows = True
            if not after_blank:
                self._lines.append("")
        else:
            if self._after_label and _UNDERLINE.match(line):
                self._lines.append("")
            line = line.rstrip() if self._touched else line
            self._lines.append(guarded(line) if self._led else line)
            self._swallows = False
        self._after_label = self._labels

    def text(self) -> str:
        self._end_line()
        return "\n".join(self._lines)
