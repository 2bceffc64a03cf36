"""Writes what autodoc shows of an object, from its docstring and signature, as reStructuredText."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence

from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.sphinx.docstrings import with_fields
from surefind.text.sites.sphinx.expansion import FoundDirective
from surefind.text.sites.sphinx.modules import (
    Definition,
    FoundObject,
    Modules,
    defined_names,
    statements,
)

_KINDS = {"autoclass", "autoexception", "autofunction", "automethod", "autoattribute", "autodata"}
_KINDS |= {"autodecorator", "autoproperty", "automodule"}
_SCOPE = re.compile(r"\s*\.\. (?:py:)?(?:current)?module:: *(\S+)")
_INDENT = "   "
_MAX_DEPTH = 6
_MAX_MEMBERS = 5_000
_MAX_WRITTEN = 500
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_VALUE = (ast.Assign, ast.AnnAssign)


class Autodoc:
    """The autodoc directives of one page, in the order of the page."""

    def __init__(
        self,
        folders: Sequence[str],
        read: ReadFile,
        *,
        defaults: Mapping[str, object],
        order: str,
        has_sections: bool,
    ) -> None:
        """`has_sections`: docstrings are written as napoleon and numpydoc read them."""
        self._modules = Modules(folders, read)
        self._defaults = {name: str(value or "") for name, value in defaults.items() if value != 0}
        self._order = order
        self._has_sections = has_sections
        self._module = ""
        self._left = _MAX_MEMBERS

    def note(self, line: str) -> None:
        """Follow the current module of the page."""
        found = _SCOPE.match(line) if "module::" in line else None
        if found is not None:
            self._module = found[1]

    def shown(self, directive: FoundDirective) -> list[str] | None:
        """The lines of a directive; None if the source does not define its object."""
        if directive.name == "autosummary":
            return self._summary(directive.content)
        if directive.name not in _KINDS:
            return None
        name = re.split(r"[(\s]", directive.argument, maxsplit=1)[0].replace("::", ".")
        found = self._resolved(name)
        if found is None:
            return None
        try:
            options = self._options(directive)
            if isinstance(found.node, ast.Module):
                return self._module_lines(found, options, directive.content)
            signature = directive.argument[len(name) :].strip()
            return self._lines(found, options, 0, signature, directive.content)
        except RecursionError:
            return None

    def _resolved(self, name: str) -> FoundObject | None:
        inside = self._modules.object(f"{self._module}.{name}") if self._module else None
        return inside or self._modules.object(name)

    def _options(self, directive: FoundDirective) -> Mapping[str, str]:
        options = {**self._defaults, **directive.options}
        return {key: value for key, value in options.items() if f"no-{key}" not in options}

    def _summary(self, content: Sequence[str]) -> list[str]:
        lines = []
        for line in content:
            name = line.strip().lstrip("~")
            if not name or name.startswith(":"):
                continue
            found = self._resolved(name)
            words = " ".join(_first_paragraph(self._docstring(found))) if found else ""
            lines.append(f"- ``{name}``" + (f" \N{EN DASH} {words}" if words else ""))
        return lines

    def _module_lines(
        self, found: FoundObject, options: Mapping[str, str], content: Sequence[str]
    ) -> list[str]:
        self._module = found.module.name
        lines = [f".. py:module:: {found.module.name}", "", *self._docstring(found), ""]
        lines += [*content, ""]
        for member in self._members(found, options):
            lines += ["", *self._lines(member, options, 0, "", ())]
        return lines

    def _lines(
        self,
        found: FoundObject,
        options: Mapping[str, str],
        depth: int,
        signature: str,
        content: Sequence[str],
    ) -> list[str]:
        node = found.node
        self._left -= 1
        if isinstance(node, ast.Module) or self._left < 0:
            return []
        name = found.path.rpartition(".")[2] if depth else found.path
        flags = [f":module: {found.documented_in}", *_flags(node)]
        kind = _kind(node, inside="." in found.path)
        head = f".. py:{kind}:: {name}{signature or self._signature(found)}"
        inside = [*flags, "", *self._docstring(found), "", *content]
        if isinstance(node, ast.ClassDef) and depth < _MAX_DEPTH:
            for member in self._members(found, options):
                inside += ["", *self._lines(member, options, depth + 1, "", ())]
        return [head, *(f"{_INDENT}{line}".rstrip() for line in inside), ""]

    def _signature(self, found: FoundObject) -> str:
        node = found.node
        if isinstance(node, _FUNCTION) and "property" not in _decorators(node):
            returned = f" -> {_unquoted(ast.unparse(node.returns))}" if node.returns else ""
            return f"({_arguments(node, method='.' in found.path)}){returned}"
        if isinstance(node, ast.ClassDef):
            if "dataclass" in _decorators(node):
                return f"({_fields(node)})"
            for owner in (found, *self._modules.bases(found)):
                for member in getattr(owner.node, "body", ()):
                    if isinstance(member, _FUNCTION) and member.name == "__init__":
                        return f"({_arguments(member, method=True)})"
        return ""

    def _members(self, found: FoundObject, options: Mapping[str, str]) -> list[FoundObject]:
        if "members" not in options:
            wanted: set[str] | None = set()
        else:
            names = {name.strip() for name in options["members"].split(",")} - {"", "True", "None"}
            wanted = names or None
        special = options.get("special-members")
        chosen: dict[str, FoundObject] = {}
        for name, member in self._candidates(found, options):
            listed = wanted is not None and name in wanted
            if listed or (wanted is None and self._is_shown(name, member, options)):
                chosen.setdefault(name, member)
            elif special is not None and _is_special(name):
                named = {each.strip() for each in special.split(",")} - {"", "True", "None"}
                if name in named or (not named and self._docstring(member)):
                    chosen.setdefault(name, member)
        left_out = {name.strip() for name in options.get("exclude-members", "").split(",")}
        members = [member for name, member in chosen.items() if name not in left_out]
        if (options.get("member-order") or self._order) != "bysource":
            members.sort(key=lambda member: member.path.lower())
        return members

    def _candidates(
        self, found: FoundObject, options: Mapping[str, str]
    ) -> Iterator[tuple[str, FoundObject]]:
        node, module = found.node, found.module
        if isinstance(node, ast.Module):
            exported = _exported(node) if "ignore-module-all" not in options else None
            names = exported if exported is not None else _names(node.body)
            for name in names:
                member = self._modules.imported(module, name)
                if member is not None:
                    yield name, member
            return
        owners = [found]
        if "inherited-members" in options:
            owners += self._ancestors(found)
        for owner in owners:
            for inner in statements(getattr(owner.node, "body", ())):
                for name in defined_names(inner):
                    path = f"{found.path}.{name}"
                    yield name, FoundObject(owner.module, inner, found.documented_in, path)  # type: ignore[arg-type]

    def _ancestors(self, found: FoundObject) -> list[FoundObject]:
        waiting, seen = [found], list[FoundObject]()
        while waiting and len(seen) < _MAX_DEPTH:
            for base in self._modules.bases(waiting.pop(0)):
                if base.node not in [each.node for each in seen]:
                    seen.append(base)
                    waiting.append(base)
        return seen

    def _is_shown(self, name: str, member: FoundObject, options: Mapping[str, str]) -> bool:
        if _is_special(name):
            return False
        if name.startswith("_") and "private-members" not in options:
            return False
        return "undoc-members" in options or bool(self._docstring(member))

    def _docstring(self, found: FoundObject) -> list[str]:
        node = found.node
        if isinstance(node, _VALUE):
            return _comment(found, node)
        text = ast.get_docstring(node, clean=False) or ""
        lines = inspect.cleandoc(text).split("\n") if text.strip() else []
        return with_fields(lines) if self._has_sections else lines


def _comment(found: FoundObject, node: ast.Assign | ast.AnnAssign) -> list[str]:
    """The documentation of a value: `#:` above or beside it, or a string below it."""
    lines, above = found.module.lines, node.lineno - 2
    beside = lines[(node.end_lineno or node.lineno) - 1].partition("#:")
    if beside[1]:
        return [beside[2].strip()]
    comment: list[str] = []
    while above >= 0 and lines[above].lstrip().startswith("#:"):
        comment.insert(0, lines[above].lstrip()[2:].removeprefix(" "))
        above -= 1
    if comment:
        return comment
    below = found.module.below.get(node.lineno, "")
    return inspect.cleandoc(below).split("\n") if below else []


def _kind(node: Definition, *, inside: bool) -> str:
    if isinstance(node, ast.ClassDef):
        bases = [ast.unparse(base) for base in node.bases]
        raised = any(name.endswith(("Error", "Exception", "Warning")) for name in bases)
        return "exception" if raised else "class"
    if isinstance(node, _FUNCTION):
        if {"property", "cached_property"} & _decorators(node):
            return "property"
        return "method" if inside else "function"
    return "attribute" if inside else "data"


def _flags(node: Definition) -> list[str]:
    if isinstance(node, _VALUE):
        written = [(":value:", node.value)]
        if isinstance(node, ast.AnnAssign):
            written.insert(0, (":type:", node.annotation))
        texts = [(name, _unquoted(ast.unparse(value))) for name, value in written if value]
        return [
            f"{name} {text}"
            for name, text in texts
            if len(text) < _MAX_WRITTEN and "\n" not in text
        ]
    decorators = _decorators(node)
    flags = [f":{name}:" for name in ("classmethod", "staticmethod") if name in decorators]
    flags += [":abstractmethod:"] if "abstractmethod" in decorators else []
    flags += [":async:"] if isinstance(node, ast.AsyncFunctionDef) else []
    if isinstance(node, _FUNCTION) and {"property", "cached_property"} & decorators:
        flags = [":abstractmethod:"] if "abstractmethod" in decorators else []
        flags += [f":type: {_unquoted(ast.unparse(node.returns))}"] if node.returns else []
    return flags


def _arguments(
    node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool, typed: bool = True
) -> str:
    """The parameters without `self`, and without quotes around types."""
    given = node.args
    skipped = method and "staticmethod" not in _decorators(node)
    before, after = list(given.posonlyargs), list(given.args)
    if skipped and (before or after):
        (before or after).pop(0)
    defaults = given.defaults[-(len(before) + len(after)) :] if before or after else []

    def plain(argument: ast.arg | None) -> ast.arg | None:
        written = argument.annotation if argument is not None and typed else None
        shown = ast.Name(_unquoted(ast.unparse(written))) if written else None
        return ast.arg(argument.arg, shown) if argument is not None else None

    shown = ast.arguments(
        posonlyargs=list(filter(None, map(plain, before))),
        args=list(filter(None, map(plain, after))),
        vararg=plain(given.vararg),
        kwonlyargs=list(filter(None, map(plain, given.kwonlyargs))),
        kw_defaults=given.kw_defaults,
        kwarg=plain(given.kwarg),
        defaults=defaults,
    )
    return ast.unparse(shown).replace("\n", " ")


def _fields(node: ast.ClassDef) -> str:
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    return ", ".join(
        ast.unparse(each.target)
        + f": {ast.unparse(each.annotation)}"
        + (f" = {ast.unparse(each.value)}" if each.value else "")
        for each in fields
    )


def _decorators(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    names = (ast.unparse(each).partition("(")[0] for each in node.decorator_list)
    return {name.rpartition(".")[2] for name in names}


def _exported(node: ast.Module) -> list[str] | None:
    for statement in node.body:
        if "__all__" in defined_names(statement) and isinstance(statement, _VALUE):
            value = statement.value
            if isinstance(value, ast.List | ast.Tuple):
                constants = (each.value for each in value.elts if isinstance(each, ast.Constant))
                return [name for name in constants if isinstance(name, str)]
    return None


def _names(body: Sequence[ast.stmt]) -> list[str]:
    return list(dict.fromkeys(name for each in statements(body) for name in defined_names(each)))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _first_paragraph(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip():
            return
        yield line.strip()


def _unquoted(annotation: str) -> str:
    return annotation.replace("'", "").replace('"', "")
