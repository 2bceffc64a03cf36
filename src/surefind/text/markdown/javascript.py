"""Finds the ends of braces, statements and strings in JavaScript, without executing it."""

import re

STRING = r"""'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+"|`(?:[^`\\]++|\\.)*+`"""
_JAVASCRIPT = re.compile(rf"[^\\'\"`{{}}/()\[\]\n]++|\\.|{STRING}|(?<!:)//[^\n]*|/\*|.", re.DOTALL)
_LITERAL = re.compile(rf"\s*+(?:{STRING})(?:\s*+\+\s*+(?:{STRING}))*+\s*+", re.DOTALL)
_LITERAL_PART = re.compile(STRING, re.DOTALL)
_NAMES = r"\{[^{}]{0,5000}\}"
# Strict, because a paragraph may also start with the word "import".
_MODULE = re.compile(
    rf"""import\s*(?:['"]|(?:type\s+)?(?:[\w$]+|\*\s*as\s+[\w$]+|{_NAMES})
         (?:\s*,\s*(?:\*\s*as\s+[\w$]+|{_NAMES}))?\s*from\s*['"])
    |export\s+(?:declare\s+)?(?:default\s+(?:(?:async|class|function|new)\b|[(\[{{<'"`\d]|[\w$.]+\s*(?:;|$|\(|=>))
      |(?:const|let|var)\s+(?:[\w$]+\s*[:=;]|[{{\[])
      |(?:async\s+)?function\s*\*?\s*[\w$]*\s*[(<]
      |(?:abstract\s+)?class\s+[\w$]+\s*(?:[{{<]|extends\b|implements\b)
      |(?:type|interface|(?:const\s+)?enum|namespace)\s+[\w$.]+\s*(?:[={{<]|extends\b)
      |(?:type\s*)?{_NAMES}|(?:type\s*)?\*\s*(?:as\s+[\w$]+\s*)?from\s*['"])""",
    re.VERBOSE | re.MULTILINE,
)
_UNFINISHED = ("=", "=>", ",", "+", ":", "?", "&", "|", ".", "from")
_GOES_ON = re.compile(r"[ \t]*(?:[.?:|&+)\]}]|from\b)")
_BLANK = re.compile(r"[ \t]*$", re.MULTILINE)
_STEPS = 20  # steps per character of the page; complex real pages need two
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def opens_module_statement(text: str, start: int) -> bool:
    """Whether an import or export statement starts here."""
    return _MODULE.match(text, start) is not None


class TooComplex(Exception):  # noqa: N818 - not an error: the page is parsed in another way
    """Finding the ends of the braces would take too long for the length of the page."""


class JavaScript:
    """Finds where braces and statements end, past strings, templates and comments.

    A hostile page could cause repeated scans, so the number of steps is limited.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int | None] = {}
        self._last_comment_end = text.rfind("*/")
        self._counts_brackets = True
        self._steps_left = _STEPS * (len(text) + 1000)

    def end_of_braces(self, opening: int) -> int | None:
        """The offset after the closing brace; None if there is none."""
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
        """The end of the statement's last line; None if a brace is never closed."""
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
            self._counts_brackets = (
                False  # JSX text may contain unmatched brackets: count braces only
            )
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
        self._steps_left -= match.end() - position
        if self._steps_left < 0:
            raise TooComplex
        if match.group() == "/*" and match.end() <= self._last_comment_end:
            return self._text.index("*/", match.end()) + 2, " "
        return match.end(), match.group()


def literal(inside: str) -> str | None:
    """The value of a string or a concatenation of strings; None for any other expression."""
    if _LITERAL.fullmatch(inside) is None:
        return None
    return "".join(
        _ESCAPE.sub(_unescaped, part.group()[1:-1]) for part in _LITERAL_PART.finditer(inside)
    )


def _unescaped(escape: re.Match[str]) -> str:
    number, character = escape.groups()
    return chr(int(number, 16)) if number else {"n": "\n", "t": "\t"}.get(character, character)
