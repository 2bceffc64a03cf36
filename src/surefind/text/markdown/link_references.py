"""Turns reference links into inline ones, because readers never see their definitions.

`[text][name]` with `[name]: https://example.com` below becomes `[text](https://example.com)`.
"""

import re
from collections.abc import Iterator

_DEFINITION = re.compile(
    r"([ \t>]{0,12})\[(?!\^)((?:[^\[\]\\]|\\.){1,999})\]:[ \t]*(?:<([^<>\n]*)>|(?!<)(\S+))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_TITLE = re.compile(r"[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\))[ \t]*$")
_MAY_DEFINE = re.compile(r"^[ \t>]{0,12}\[[^\]\n]{1,999}\]:", re.MULTILINE)
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_BORDER = re.compile(r"[ \t>]*(?:$|#{1,6}[ \t]|(?:[-*_][ \t]*){3,}$|[=-]+[ \t]*$)")
_LIST_ITEM = re.compile(r"[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]")
_NESTED = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.){0,999}\]){1,999}"
_LINK = re.compile(
    r"(?<!`)`[^`\n]+`(?!`)|(?<!`)``(?!`)[^\n]{1,500}?(?<!`)``(?!`)"  # code stays as it is
    rf"|\\.|(!?)\[(?!\^)({_NESTED})\](?:\[((?:[^\[\]\\]|\\.){{0,999}})\])?(?![\[(:])",
    re.DOTALL,
)
_CODE_INDENT = 4
_MAX_DEPTH = 3


def inline_references(text: str) -> str:
    """Code and references without a definition stay as they are."""
    if _MAY_DEFINE.search(text) is None:
        return text
    pieces = list(_pieces(text.split("\n")))
    targets: dict[str, str] = {}
    for kind, line in pieces:
        definition = _DEFINITION.match(line) if kind == "definition" else None
        if definition is not None:
            address = definition[3] if definition[3] is not None else definition[4]
            targets.setdefault(_key(definition[2]), address)
    if not targets:
        return text
    done: list[str] = []
    prose: list[str] = []
    for kind, line in (*pieces, ("code", "")):
        if kind == "prose":
            prose.append(line)
        elif kind == "code":
            if prose:
                done += _linked("\n".join(prose), targets).split("\n")
            prose = []
            done.append(line)
    return "\n".join(done[:-1])


def _pieces(lines: list[str]) -> Iterator[tuple[str, str]]:
    """(whether it is prose, code or a definition, line)."""
    fence = ""
    free = True  # a definition can't interrupt a paragraph
    in_list = after_definition = False
    for line in lines:
        opening = _FENCE.match(line)
        run = line.strip(" \t>")
        indented = line[:1] in " \t" and len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if fence:
            yield "code", line
            if run.startswith(fence) and not run.strip(fence[0]):
                fence, free = "", True
        elif opening is not None:
            fence = opening[1]
            yield "code", line
        elif after_definition and _TITLE.match(line):
            yield "definition", ""
        elif free and not in_list and run and indented and indented >= _CODE_INDENT:
            yield "code", line
        elif free and _DEFINITION.match(line):
            after_definition = True
            yield "definition", line
            continue
        else:
            yield "prose", line
            free = _BORDER.match(line) is not None
            in_list = bool(_LIST_ITEM.match(line)) or (in_list and (not run or bool(indented)))
        after_definition = False


def _key(label: str) -> str:
    return " ".join(label.casefold().split())


def _linked(text: str, targets: dict[str, str], depth: int = 0) -> str:
    def linked(found: re.Match[str]) -> str:
        image, shown, label = found.groups()
        if shown is None:
            return found[0]
        target = targets.get(_key(label or shown))
        inner = _linked(shown, targets, depth + 1) if "[" in shown and depth < _MAX_DEPTH else shown
        if target is None:
            return found[0] if inner == shown else found[0].replace(shown, inner, 1)
        address = f"<{target}>" if not target or re.search(r"[\s()]", target) else target
        return f"{image}[{inner}]({address})"

    return _LINK.sub(linked, text)
