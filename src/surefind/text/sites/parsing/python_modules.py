"""Finds Python objects in the project's source by its syntax trees. No module is imported."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from surefind.errors import InputError
from surefind.text.sites.mkdocs.includes import ReadFile

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign
_USUAL_FOLDERS = ("..", "../src", ".", "../lib", "src", "../..", "../../src")
_MAX_SOURCE = 2_000_000
_MAX_STEPS = 10


@dataclass(frozen=True, slots=True)
class SourceModule:
    """A module with its name and its lines, which hold the comments.

    `below` are the strings below statements, by the number of the statement's first line.
    """

    name: str
    tree: ast.Module
    lines: Sequence[str]
    is_package: bool
    below: Mapping[int, str]

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import names, also a relative one."""
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        steps = node.level - self.is_package
        package = package[: len(package) - steps] if steps else package
        return ".".join((*package, *((node.module or "").split(".") if node.module else ())))


@dataclass(frozen=True, slots=True)
class FoundObject:
    """`node` is the module itself if `path` is empty. `path` is the name below `documented_in`."""

    module: SourceModule
    node: Definition | ast.Module
    documented_in: str
    path: str


class Modules:
    """The modules of the project, in the folders that the config puts on `sys.path`."""

    def __init__(self, folders: Sequence[str], read: ReadFile) -> None:
        self._folders = tuple(dict.fromkeys((*folders, *_USUAL_FOLDERS)))
        self._read = read
        self._known: dict[str, SourceModule | None] = {}

    def module(self, name: str) -> SourceModule | None:
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def object(self, name: str) -> FoundObject | None:
        """`kiosk.Ticket.label`, where the package may import the class from a module of its own."""
        parts = name.split(".")
        for size in range(len(parts), 0, -1):
            module = self.module(".".join(parts[:size]))
            if module is None:
                continue
            path = parts[size:]
            if not path:
                return FoundObject(module, module.tree, module.name, "")
            found = self._member(module, path[0], 0)
            for part in path[1:]:
                found = self._inner(found, part)
            if found is None:
                return None
            return FoundObject(found[0], found[1], ".".join(parts[:size]), ".".join(path))
        return None

    def bases(self, found: FoundObject) -> Iterator[FoundObject]:
        """The classes of the project that a class inherits from."""
        if isinstance(found.node, ast.ClassDef):
            for base in found.node.bases:
                names = ast.unparse(base).split("[")[0].split(".")
                inner = self._member(found.module, names[0], 0)
                for part in names[1:]:
                    inner = self._inner(inner, part)
                if inner is not None and isinstance(inner[1], ast.ClassDef):
                    yield FoundObject(*inner, found.documented_in, found.path)

    def imported(self, module: SourceModule, name: str) -> FoundObject | None:
        """A member of a module, also one that it imports."""
        found = self._member(module, name, 0)
        return None if found is None else FoundObject(*found, module.name, name)

    def _found(self, name: str) -> SourceModule | None:
        if not all(part.isidentifier() for part in name.split(".")):
            return None
        path = name.replace(".", "/")
        for folder in self._folders:
            for ending in ("/__init__.py", ".py", "/__init__.pyi", ".pyi"):
                try:
                    text = self._read(f"{folder}/{path}{ending}")
                except InputError:  # outside the project
                    text = None
                if text is not None and len(text) <= _MAX_SOURCE:
                    tree = _tree(text)
                    if tree is None:
                        return None
                    package = ending.startswith("/")
                    return SourceModule(name, tree, text.split("\n"), package, _strings(text))
        return None

    def _member(
        self, module: SourceModule, name: str, steps: int
    ) -> tuple[SourceModule, Definition] | None:
        """The definition of a name, following imports."""
        if steps > _MAX_STEPS:
            return None
        found = definition(module.tree.body, name)
        if found is not None:
            return module, found
        for node in statements(module.tree.body):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                if name == (alias.asname or alias.name) or alias.name == "*":
                    original = name if alias.name == "*" else alias.name
                    other = self.module(module.absolute(node))  # type: ignore[arg-type]
                    if other is not None and other is not module:
                        inner = self._member(other, original, steps + 1)
                        if inner is not None:
                            return inner
        return None

    def _inner(
        self, found: tuple[SourceModule, Definition] | None, name: str
    ) -> tuple[SourceModule, Definition] | None:
        if found is None or not isinstance(found[1], ast.ClassDef):
            return None
        inner = definition(found[1].body, name)
        if inner is not None:
            return found[0], inner
        for base in self.bases(FoundObject(*found, "", "")):
            inner = definition(getattr(base.node, "body", ()), name)
            if inner is not None:
                return base.module, inner
        return None


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a module; None if it is not valid Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=128)  # pages of a site document the same modules
def _tree(text: str) -> ast.Module | None:
    return parsed(text)


@lru_cache(maxsize=128)
def _strings(text: str) -> Mapping[int, str]:
    found: dict[int, str] = {}
    tree = _tree(text)
    for owner in ast.walk(tree) if tree else ():
        body = getattr(owner, "body", None)
        for node, below in pairwise(body if isinstance(body, list) else ()):
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                written = below.value.value
                if isinstance(written, str):
                    found[node.lineno] = written
    return found


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, with those in conditions."""
    waiting = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            inner = [*statement.body, *statement.orelse]
            inner += [
                each for handler in getattr(statement, "handlers", ()) for each in handler.body
            ]
            waiting += reversed(inner)


def definition(body: Sequence[ast.stmt], name: str) -> Definition | None:
    """The last definition of a name; a class and a function win over an assignment."""
    last: Definition | None = None
    for node in statements(body):
        if name in defined_names(node) and not (
            isinstance(node, ast.Assign) and isinstance(last, ast.ClassDef)
        ):
            last = node  # type: ignore[assignment]
    return last


def defined_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    targets: Sequence[ast.expr] = ()
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
