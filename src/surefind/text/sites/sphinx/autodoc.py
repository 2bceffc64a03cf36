"""Writes what autodoc shows of an object, from its docstring and signature, as reStructuredText."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from surefind.text.sites.mkdocs.includes import ReadFile
from surefind.text.sites.parsing.python_modules import Definition, FoundObject, Modules
from surefind.text.sites.parsing.python_objects import (
    FUNCTION,
    VALUE,
    decorators,
    docstring_of,
    is_special,
    kind_of_object,
    members_of,
    signature_of,
    unquoted,
)
from surefind.text.sites.sphinx.docstrings import with_fields
from surefind.text.sites.sphinx.expansion import FoundDirective

_KINDS = {"autoclass", "autoexception", "autofunction", "automethod", "autoattribute", "autodata"}
_KINDS |= {"autodecorator", "autoproperty", "automodule"}
_SCOPE = re.compile(r"\s*\.\. (?:py:)?(?:current)?module:: *(\S+)")
_INDENT = "   "
_MAX_DEPTH = 6
_MAX_MEMBERS = 5_000
_MAX_WRITTEN = 500


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
        kind = kind_of_object(node, inside="." in found.path)
        head = f".. py:{kind}:: {name}{signature or signature_of(found, self._modules)}"
        inside = [*flags, "", *self._docstring(found), "", *content]
        if isinstance(node, ast.ClassDef) and depth < _MAX_DEPTH:
            for member in self._members(found, options):
                inside += ["", *self._lines(member, options, depth + 1, "", ())]
        return [head, *(f"{_INDENT}{line}".rstrip() for line in inside), ""]

    def _members(self, found: FoundObject, options: Mapping[str, str]) -> list[FoundObject]:
        if "members" not in options:
            wanted: set[str] | None = set()
        else:
            names = {name.strip() for name in options["members"].split(",")} - {"", "True", "None"}
            wanted = names or None
        special = options.get("special-members")
        chosen: dict[str, FoundObject] = {}
        candidates = members_of(
            found,
            self._modules,
            inherited="inherited-members" in options,
            exported="ignore-module-all" not in options,
        )
        for name, member in candidates:
            listed = wanted is not None and name in wanted
            if listed or (wanted is None and self._is_shown(name, member, options)):
                chosen.setdefault(name, member)
            elif special is not None and is_special(name):
                named = {each.strip() for each in special.split(",")} - {"", "True", "None"}
                if name in named or (not named and self._docstring(member)):
                    chosen.setdefault(name, member)
        left_out = {name.strip() for name in options.get("exclude-members", "").split(",")}
        members = [member for name, member in chosen.items() if name not in left_out]
        if (options.get("member-order") or self._order) != "bysource":
            members.sort(key=lambda member: member.path.lower())
        return members

    def _is_shown(self, name: str, member: FoundObject, options: Mapping[str, str]) -> bool:
        if is_special(name):
            return False
        if name.startswith("_") and "private-members" not in options:
            return False
        return "undoc-members" in options or bool(self._docstring(member))

    def _docstring(self, found: FoundObject) -> list[str]:
        lines = docstring_of(found)
        has_sections = self._has_sections and not isinstance(found.node, VALUE)
        return with_fields(lines) if has_sections else lines


def _flags(node: Definition) -> list[str]:
    if isinstance(node, VALUE):
        written = [(":value:", node.value)]
        if isinstance(node, ast.AnnAssign):
            written.insert(0, (":type:", node.annotation))
        texts = [(name, unquoted(ast.unparse(value))) for name, value in written if value]
        return [
            f"{name} {text}"
            for name, text in texts
            if len(text) < _MAX_WRITTEN and "\n" not in text
        ]
    marks = decorators(node)
    flags = [f":{name}:" for name in ("classmethod", "staticmethod") if name in marks]
    flags += [":abstractmethod:"] if "abstractmethod" in marks else []
    flags += [":async:"] if isinstance(node, ast.AsyncFunctionDef) else []
    if isinstance(node, FUNCTION) and {"property", "cached_property"} & marks:
        flags = [":abstractmethod:"] if "abstractmethod" in marks else []
        flags += [f":type: {unquoted(ast.unparse(node.returns))}"] if node.returns else []
    return flags


def _first_paragraph(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip():
            return
        yield line.strip()
