"""What the source of a Python object says about it: docstring, signature, members and kind."""

import ast
import inspect
from collections.abc import Iterator

from surefind.text.sites.parsing.python_modules import (
    Definition,
    FoundObject,
    Modules,
    defined_names,
    statements,
)

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
VALUE = (ast.Assign, ast.AnnAssign)
_MAX_ANCESTORS = 6


def docstring_of(found: FoundObject) -> list[str]:
    """The lines of the docstring; for values, of the comment or the string beside them."""
    node = found.node
    if isinstance(node, VALUE):
        return _comment(found, node)
    text = ast.get_docstring(node, clean=False) or ""
    return inspect.cleandoc(text).split("\n") if text.strip() else []


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


def kind_of_object(node: Definition, *, inside: bool) -> str:
    """`inside` a class, a function is a method."""
    if isinstance(node, ast.ClassDef):
        bases = [ast.unparse(base) for base in node.bases]
        raised = any(name.endswith(("Error", "Exception", "Warning")) for name in bases)
        return "exception" if raised else "class"
    if isinstance(node, FUNCTION):
        if {"property", "cached_property"} & decorators(node):
            return "property"
        return "method" if inside else "function"
    return "attribute" if inside else "data"


def signature_of(found: FoundObject, modules: Modules, *, unwraps: bool = False) -> str:
    """`(rows: int = 3) -> Table`; empty for values, properties and classes without parameters.

    `unwraps`: `Annotated[int, …]` is written as `int`.
    """
    node = found.node
    if isinstance(node, FUNCTION) and "property" not in decorators(node):
        returned = f" -> {unquoted(ast.unparse(node.returns))}" if node.returns else ""
        return f"({_arguments(node, method='.' in found.path, unwraps=unwraps)}){returned}"
    if isinstance(node, ast.ClassDef):
        if "dataclass" in decorators(node):
            return f"({_fields(node)})"
        for owner in (found, *modules.bases(found)):
            for member in getattr(owner.node, "body", ()):
                if isinstance(member, FUNCTION) and member.name == "__init__":
                    return f"({_arguments(member, method=True, unwraps=unwraps)})"
    return ""


def members_of(
    found: FoundObject, modules: Modules, *, inherited: bool = False, exported: bool = True
) -> Iterator[tuple[str, FoundObject]]:
    """(name, object), in the order of the source; of a module, what `__all__` exports."""
    node, module = found.node, found.module
    if isinstance(node, ast.Module):
        names = _exported(node) if exported else None
        for name in names if names is not None else _names(node):
            member = modules.imported(module, name)
            if member is not None:
                yield name, member
        return
    for owner in (found, *(_ancestors(found, modules) if inherited else ())):
        for inner in statements(getattr(owner.node, "body", ())):
            for name in defined_names(inner):
                path = f"{found.path}.{name}"
                yield name, FoundObject(owner.module, inner, found.documented_in, path)  # type: ignore[arg-type]


def _ancestors(found: FoundObject, modules: Modules) -> list[FoundObject]:
    waiting, seen = [found], list[FoundObject]()
    while waiting and len(seen) < _MAX_ANCESTORS:
        for base in modules.bases(waiting.pop(0)):
            if base.node not in [each.node for each in seen]:
                seen.append(base)
                waiting.append(base)
    return seen


def decorators(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The last parts of their names, without arguments."""
    names = (ast.unparse(each).partition("(")[0] for each in node.decorator_list)
    return {name.rpartition(".")[2] for name in names}


def is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def unquoted(annotation: str) -> str:
    """An annotation without the quotes of forward references."""
    return annotation.replace("'", "").replace('"', "")


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool, unwraps: bool) -> str:
    """The parameters without `self`, and without quotes around types."""
    given = node.args
    skipped = method and "staticmethod" not in decorators(node)
    before, after = list(given.posonlyargs), list(given.args)
    if skipped and (before or after):
        (before or after).pop(0)
    defaults = given.defaults[-(len(before) + len(after)) :] if before or after else []

    def plain(argument: ast.arg | None) -> ast.arg | None:
        written = argument.annotation if argument is not None else None
        if unwraps and isinstance(written, ast.Subscript) and isinstance(written.slice, ast.Tuple):
            is_annotated = ast.unparse(written.value).endswith("Annotated")
            written = written.slice.elts[0] if is_annotated else written
        shown = ast.Name(unquoted(ast.unparse(written))) if written else None
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


def _exported(node: ast.Module) -> list[str] | None:
    for statement in node.body:
        if "__all__" in defined_names(statement) and isinstance(statement, VALUE):
            value = statement.value
            if isinstance(value, ast.List | ast.Tuple):
                constants = (each.value for each in value.elts if isinstance(each, ast.Constant))
                return [name for name in constants if isinstance(name, str)]
    return None


def _names(node: ast.Module) -> list[str]:
    found = (name for each in statements(node.body) for name in defined_names(each))
    return list(dict.fromkeys(found))
