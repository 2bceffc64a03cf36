"""Replaces `::: package.name` by what mkdocstrings shows of the object, from its source.

No module is imported: sources are read as syntax trees. Every object gets a heading with the
anchor that mkdocstrings gives it, its signature and its docstring.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import yaml

from surefind.text.markdown.writer import fenced
from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.parsing.docstring_sections import DocstringSection, sections_of
from surefind.text.sites.parsing.python_modules import FoundObject, Modules
from surefind.text.sites.parsing.python_objects import (
    FUNCTION,
    decorators,
    docstring_of,
    members_of,
    signature_of,
    unquoted,
)

MARK = "\ue0fd"
"""The mark of anchors that mkdocstrings makes: they take no part in the numbering of headings."""
_REFERENCE = re.compile(r"(#{1,6}[ \t]*)?:::[ \t]*([\w.]+)[ \t]*$")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*$")
_SAFE_FILTER = re.compile(r"(!?)([\w^$\[\]|]{1,80})")
_USUAL_FILTERS = ("!^_[^_]",)
_MAX_OPTIONS = 5_000
_MAX_DEPTH = 5
_MAX_OBJECTS = 2_000
_DEEPEST = 6
_SHORT = 90
_ATTRIBUTES, _CLASSES, _FUNCTIONS = range(3)


def with_docstrings(
    text: str, options: Mapping[str, object], folders: Sequence[str], read: ReadFile
) -> str:
    """`options` are those of the Python handler; an object that is not found leaves its name."""
    if ":::" not in text:
        return text
    objects = _Objects(options, Modules(folders, read))
    done: list[str] = []
    fence = ""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        mark = _FENCE.match(line)
        words = line.strip(" \t>")
        reference = None if fence or ":::" not in line else _REFERENCE.match(line)
        if reference is None:
            done.append(line)
            if fence and words.startswith(fence) and not words.strip(fence[0]):
                fence = ""
            elif not fence and mark is not None:
                fence = mark[1]
            continue
        start = number
        while number < len(lines) and (not lines[number] or lines[number][:1] in {" ", "\t"}):
            number += 1
        own = _options("\n".join(lines[start:number]))
        done += ["", *objects.shown(reference[2], len((reference[1] or "").strip()), own), ""]
    return "\n".join(done)


def _options(written: str) -> Mapping[str, object]:
    """The options of one reference."""
    if not written.strip() or len(written) > _MAX_OPTIONS:
        return {}
    try:
        values = yaml.safe_load(written)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    parts = (
        [values.get(key) for key in ("options", "selection", "rendering")]
        if (isinstance(values, dict))
        else []
    )
    return {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}


class _Objects:
    def __init__(self, defaults: Mapping[str, object], modules: Modules) -> None:
        self._defaults = defaults
        self._modules = modules
        self._left = _MAX_OBJECTS

    def shown(self, name: str, level: int, own: Mapping[str, object]) -> list[str]:
        try:
            found = self._modules.object(name)
            if found is None:
                return [f"{'#' * level} `{name}`".strip()]
            options = {**self._defaults, **own}
            written = options.get("heading_level")
            level = level or (written if isinstance(written, int) else 2)
            with_heading = options.get("show_root_heading") is True
            shown = name if options.get("show_root_full_path") is not False else found.path
            lines = self._heading(shown, name, level) if with_heading else []
            inner = level + 1 if with_heading else level
            return [*lines, *self._body(found, name, inner, options, 0)]
        except RecursionError:
            return [f"`{name}`"]

    def _heading(self, shown: str, anchor: str, level: int) -> list[str]:
        return [f"{'#' * min(level, _DEEPEST)} `{shown}` {{#{MARK}{anchor}}}", ""]

    def _body(
        self,
        found: FoundObject,
        anchor: str,
        level: int,
        options: Mapping[str, object],
        depth: int,
    ) -> Iterator[str]:
        """`level` is that of the headings of its members."""
        self._left -= 1
        if self._left < 0:
            return
        yield from self._signature(found)
        init = self._init(found, options)
        for part in (found, *init):
            yield from _documented(docstring_of(part), part, options)
        if not isinstance(found.node, ast.Module | ast.ClassDef) or depth >= _MAX_DEPTH:
            return
        for name, member in self._members(found, options, merges=bool(init), root=depth == 0):
            yield from self._heading(name, f"{anchor}.{name}", level)
            yield from self._body(member, f"{anchor}.{name}", level + 1, options, depth + 1)

    def _signature(self, found: FoundObject) -> list[str]:
        if isinstance(found.node, ast.Module):
            return []
        if isinstance(found.node, ast.Assign | ast.AnnAssign):
            code = ast.unparse(found.node)
            return [fenced(code, "python"), ""] if len(code) <= _SHORT else []
        signature = signature_of(found, self._modules, unwraps=True)
        name = found.path.rpartition(".")[2]
        return [fenced(f"{name}{signature}", "python"), ""] if signature else []

    def _init(self, found: FoundObject, options: Mapping[str, object]) -> list[FoundObject]:
        if not isinstance(found.node, ast.ClassDef) or not options.get("merge_init_into_class"):
            return []
        members = members_of(found, self._modules, inherited=True)
        return next(([member] for name, member in members if name == "__init__"), [])

    def _members(
        self, found: FoundObject, options: Mapping[str, object], *, merges: bool, root: bool
    ) -> list[tuple[str, FoundObject]]:
        wanted = options.get("members") if root else None
        if wanted is False or wanted == []:
            return []
        names = [str(name) for name in wanted] if isinstance(wanted, list) else None
        chosen: dict[str, FoundObject] = {}
        inherited = bool(options.get("inherited_members"))
        for name, member in members_of(found, self._modules, inherited=inherited):
            if merges and name == "__init__":
                continue
            listed = name in names if names is not None else self._passes(name, member, options)
            if listed:
                chosen.setdefault(name, member)
        order = list(chosen.items())
        if names is not None:
            order.sort(key=lambda item: names.index(item[0]))
        elif options.get("members_order") != "source":
            order.sort(key=lambda item: item[0])
        if options.get("group_by_category") is not False:
            order.sort(key=lambda item: _category(item[1]))
        return order

    def _passes(self, name: str, member: FoundObject, options: Mapping[str, object]) -> bool:
        written = options.get("filters", _USUAL_FILTERS)
        shown = True
        for pattern in written if isinstance(written, list | tuple) else _USUAL_FILTERS:
            found = _SAFE_FILTER.fullmatch(str(pattern))
            if found is not None and _searched(found[2], name):
                shown = not found[1]
        return shown and (
            options.get("show_if_no_docstring") is True or self._is_documented(member)
        )

    def _is_documented(self, member: FoundObject) -> bool:
        if docstring_of(member):
            return True
        if not isinstance(member.node, ast.ClassDef):
            return False
        return any(docstring_of(inner) for _, inner in members_of(member, self._modules))


def _searched(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _category(member: FoundObject) -> int:
    node = member.node
    if isinstance(node, FUNCTION):
        is_value = {"property", "cached_property"} & decorators(node)
        return _ATTRIBUTES if is_value else _FUNCTIONS
    return _CLASSES if isinstance(node, ast.ClassDef) else _ATTRIBUTES


def _documented(
    docstring: Sequence[str], found: FoundObject, options: Mapping[str, object]
) -> Iterator[str]:
    style = str(options.get("docstring_style", "google"))
    for section in sections_of(docstring) if style in {"google", "numpy"} else ():
        yield from _section(section, found.node)
    if style not in {"google", "numpy"}:
        yield from (*docstring, "")
    documented = list(_typing_docs(found.node))
    if documented:
        yield from ("Parameters:", "")
        for name, kind, words in documented:
            yield from _item(name, kind, words)


def _section(section: DocstringSection, node: ast.AST) -> Iterator[str]:
    if not section.title:
        yield from (_bold(line) for line in section.lines)
        yield ""
        return
    yield from (f"{section.title}:", "")
    declared = _declared(node) if section.title.endswith("arameters") else {}
    for field in section.fields:
        kind, default = declared.get(field.name.lstrip("*"), ("", ""))
        yield from _item(field.name, field.type or kind, field.lines, default)
    if not section.fields:
        yield from (*section.lines, "")


def _item(name: str, kind: str, lines: Sequence[str], default: str = "") -> Iterator[str]:
    facts = ", ".join(filter(None, (kind and f"`{kind}`", default and f"default: `{default}`")))
    named = " ".join(filter(None, (name and f"`{name}`", facts and f"({facts})")))
    first, *rest = lines or [""]
    yield f"- {named}: {first}".rstrip(" :") if named else f"- {first}"
    yield from (f"    {line}".rstrip() for line in rest)
    yield ""


def _declared(node: ast.AST) -> dict[str, tuple[str, str]]:
    """(type, default) of the parameters of a function."""
    if not isinstance(node, FUNCTION):
        return {}
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults))
    defaults = [*missing, *given.defaults, *given.kw_defaults]
    pairs = zip([*positional, *given.kwonlyargs], defaults, strict=True)
    return {
        argument.arg: (
            unquoted(ast.unparse(argument.annotation)) if argument.annotation else "",
            ast.unparse(default) if default else "",
        )
        for argument, default in pairs
    }


def _bold(line: str) -> str:
    """Headings in docstrings have anchors that depend on the object; links lead to the object."""
    heading = _HEADING.match(line)
    return f"**{heading[1]}**" if heading else line


def _typing_docs(node: ast.AST) -> Iterator[tuple[str, str, list[str]]]:
    """(name, type, lines) of parameters that are documented by `Annotated[T, Doc("…")]`."""
    if not isinstance(node, FUNCTION):
        return
    given = node.args
    named = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    for argument in filter(None, (*named, given.vararg, given.kwarg)):
        annotation = argument.annotation
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
            kind, *others = annotation.slice.elts
            for other in others:
                words = _doc(other)
                if words:
                    yield argument.arg, ast.unparse(kind), words


def _doc(node: ast.expr) -> list[str]:
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("Doc"):
        return []
    value = node.args[0] if node.args else None
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str):
        return []
    lines = value.value.strip("\n").expandtabs(4).rstrip().split("\n")
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[least:] for line in lines]
