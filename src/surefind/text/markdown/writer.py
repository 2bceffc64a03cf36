"""Writes Markdown: escaped lines, fenced code and nested blocks."""

import re

_MISREAD = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|`{3}|~{3}|(?:=+|-+)[ \t]*$|<(?:[!?]|pre\b))")
_MAX_DEPTH = 12  # of lists and quotes; deeper ones are shown at this depth


def guarded(line: str) -> str:
    """Escape a line that a Markdown parser would treat as markup."""
    if _MISREAD.match(line) is None:
        return line
    words = line.lstrip()
    return line[: len(line) - len(words)] + "\\" + words


def fenced(code: str, language: str = "") -> str:
    """Fence code with more backticks than it contains."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


class MarkdownWriter:
    """Writes blocks in sequence, inside the open lists and quotes."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._markers: list[
            tuple[str, str]
        ] = []  # for the first line of an item, for its other lines
        self._fresh = 0  # number of innermost markers not yet written
        self._close = False  # the next block follows without a blank line

    def open(self, marker: str, *, close: bool = False) -> None:
        self._markers.append((marker, marker if marker == "> " else " " * len(marker)))
        self._fresh += 1
        self._close = close or self._close

    def shut(self) -> None:
        self._markers.pop()
        self._fresh = max(0, self._fresh - 1)
        self._close = False

    def block(self, lines: list[str]) -> None:
        if self._lines and not self._close:
            self._lines.append(self._margin(show_fresh=False).rstrip())
        for line in lines:
            self._lines.append((self._margin(show_fresh=True) + line).rstrip())
            self._fresh = 0
        self._close = False

    def stay_close(self, *, close: bool = True) -> None:
        self._close = close

    def _margin(self, *, show_fresh: bool) -> str:
        written = len(self._markers) - self._fresh
        margin = [other for _, other in self._markers[: min(written, _MAX_DEPTH)]]
        if show_fresh:
            margin += [marker for marker, _ in self._markers[written:_MAX_DEPTH]]
        return "".join(margin)

    def text(self) -> str:
        return "\n".join([*self._lines, ""]) if self._lines else ""
