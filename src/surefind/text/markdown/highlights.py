"""Removes comments that only tell a site which lines of code to highlight."""

import re

_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_SIGN = "highlight-"
_COMMENT = re.compile(
    r"[ \t>]*(?:(?://|#|--|%|;)[ \t]*highlight-(?:next-line|start|end)"
    r"|(?:/\*|\{/\*|<!--)[ \t]*highlight-(?:next-line|start|end)[ \t]*(?:\*/\}?|-->))[ \t]*"
)
_NUMBERS = re.compile(r"\{[\d,\s-]+\}")
_MARK_SIGN = "[!code "
_MARK = re.compile(
    r"[ \t]*(?://|#|--|%|;|<!--|/\*)[ \t]*\[!code [^\]\n]{1,40}\][ \t]*(?:-->|\*/)?[ \t]*$"
)


def without_highlights(text: str) -> str:
    """In fenced code: `// highlight-next-line` (Docusaurus), `// [!code focus]` (VitePress)."""
    if _SIGN not in text and _MARK_SIGN not in text:
        return text
    lines: list[str] = []
    fence = ""
    numbered = False  # the opening names lines, so Docusaurus shows such comments
    for line in text.split("\n"):
        if not fence:
            mark = _FENCE.match(line)
            fence = mark[1] if mark is not None else ""
            numbered = mark is not None and _NUMBERS.search(line) is not None
            lines.append(line)
            continue
        words = line.strip(" \t>")
        if words.startswith(fence) and not words.strip(fence[0]):
            fence = ""
        if not numbered and _SIGN in line and _COMMENT.fullmatch(line):
            continue
        lines.append(_MARK.sub("", line) if _MARK_SIGN in line else line)
    return "\n".join(lines)
