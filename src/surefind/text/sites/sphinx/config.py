"""Reads conf.py as plain data, by its syntax tree. Nothing in it is executed or imported."""

import ast
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from surefind.text.sites.parsing.python_modules import parsed

_MAX_CHARACTERS = 500_000
_MAX_DEPTH = 30
_MAX_VALUES = 20_000
_OWN_NAMES = {"extensions", "html_theme", "master_doc", "root_doc", "source_suffix"}
_LOOKS_LIKE = re.compile(r"^\s*(?:extensions|html_theme|master_doc|root_doc)\s*=", re.MULTILINE)
_JOINING = {"abspath", "realpath", "resolve", "str", "Path", "normpath", "as_posix"}


class _Computed:
    """Replaces a value that the config computes."""


_COMPUTED: Final = _Computed()


class SphinxConfig:
    """Typed access to a config; `notes` lists every value that the config computes."""

    def __init__(self, config_text: str) -> None:
        self.notes: list[str] = []
        self.values: Mapping[str, object] = {}
        self.import_folders: tuple[str, ...] = ()
        """Folders that the config adds to `sys.path`, relative to it."""
        self.is_sphinx = _LOOKS_LIKE.search(config_text) is not None
        if len(config_text) > _MAX_CHARACTERS:
            self.notes.append(
                f"conf.py has more than {_MAX_CHARACTERS:,} characters and was not read."
            )
            return
        tree = parsed(config_text)
        if tree is None:
            self.notes.append("conf.py is not valid Python; using defaults.")
            return
        reader = _Assignments()
        reader.read(tree.body, certain=True)
        self.values = reader.values
        self.import_folders = tuple(dict.fromkeys(reader.import_folders))
        self.is_sphinx = self.is_sphinx or bool(_OWN_NAMES & reader.values.keys())

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value or default
        self.notes.append(f"conf.py computes `{key}`; using {default!r}.")
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; those that the config computes are noted and left out."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            value = [value]
        if any(not isinstance(item, str) for item in value):
            self.notes.append(f"conf.py computes a part of `{key}`, which was not read.")
        return tuple(item for item in value if isinstance(item, str))

    def plain(self, key: str) -> str:
        """A string if the config holds one in plain text, without a note."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def table(self, key: str) -> Mapping[str, object]:
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def has_any(self, *names: str) -> bool:
        """Whether the site uses one of these extensions."""
        extensions = self.values.get("extensions")
        return isinstance(extensions, list) and any(name in names for name in extensions)

    @property
    def has_myst(self) -> bool:
        return self.has_any("myst_parser", "myst_nb")

    @property
    def suffixes(self) -> frozenset[str]:
        """The suffixes of pages, with MyST's if the site uses it."""
        written = self.values.get("source_suffix")
        if isinstance(written, str):
            written = [written]
        names = (
            {name for name in written or () if isinstance(name, str)}
            if isinstance(written, list | dict)
            else {".rst"}
        )
        return frozenset({name.lower() for name in names} | ({".md"} if self.has_myst else set()))


class _Assignments:
    """Follows assignments of constants, and calls of `append` and `extend`, from top to bottom."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.import_folders: list[str] = []
        self._left = _MAX_VALUES

    def read(self, body: list[ast.stmt], *, certain: bool, depth: int = 0) -> None:
        for statement in body:
            if isinstance(statement, ast.Assign):
                self._assign(statement.targets, statement.value, certain=certain)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self._assign([statement.target], statement.value, certain=certain)
            elif isinstance(statement, ast.AugAssign):
                self._add(statement.target, statement.value)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._call(statement.value)
            elif depth < _MAX_DEPTH:
                for inner in _branches(statement):
                    self.read(inner, certain=False, depth=depth + 1)

    def _assign(self, targets: list[ast.expr], value: ast.expr, *, certain: bool) -> None:
        for target in targets:
            if isinstance(target, ast.Name) and (certain or target.id not in self.values):
                self.values[target.id] = self._value(value, 0)
            elif isinstance(target, ast.Tuple):
                for name in target.elts:
                    if isinstance(name, ast.Name) and certain:
                        self.values[name.id] = _COMPUTED

    def _add(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = _sum(self.values.get(target.id), self._value(value, 0))

    def _call(self, call: ast.Call) -> None:
        method = call.func
        if not (isinstance(method, ast.Attribute) and call.args):
            return
        if _dotted(method.value) == "sys.path":
            folder = self._folder(call.args[-1], 0)
            if method.attr in {"insert", "append"} and folder is not None:
                self.import_folders.append(str(PurePosixPath(folder)))
        elif isinstance(method.value, ast.Name):
            held = self.values.get(method.value.id)
            added = self._value(call.args[0], 0)
            if isinstance(held, list) and method.attr in {"append", "extend"}:
                held += (
                    [added]
                    if method.attr == "append"
                    else added
                    if isinstance(added, list)
                    else [_COMPUTED]
                )

    def _value(self, node: ast.expr, depth: int) -> object:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            return _COMPUTED
        found: object = _COMPUTED
        if isinstance(node, ast.Constant):
            found = node.value
        elif isinstance(node, ast.Name):
            found = self.values.get(node.id, _COMPUTED)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            found = [self._value(item, depth + 1) for item in node.elts]
        elif isinstance(node, ast.Dict):
            found = self._table(node, depth)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            found = _sum(self._value(node.left, depth + 1), self._value(node.right, depth + 1))
        elif isinstance(node, ast.JoinedStr):
            found = self._formatted(node, depth)
        return found

    def _table(self, node: ast.Dict, depth: int) -> object:
        found: dict[str, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = self._value(key, depth + 1) if key is not None else _COMPUTED
            if isinstance(name, str):
                found[name] = self._value(value, depth + 1)
        return found

    def _formatted(self, node: ast.JoinedStr, depth: int) -> object:
        parts = [
            self._value(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1)
            for part in node.values
        ]
        plain = all(isinstance(part, str | int) for part in parts)
        return "".join(str(part) for part in parts)[:_MAX_CHARACTERS] if plain else _COMPUTED

    def _folder(self, node: ast.expr, depth: int) -> str | None:
        """The folder of `os.path.abspath("../src")` or `Path(__file__).parent / "lib"`."""
        found: object = None
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            found = node.value
        elif isinstance(node, ast.Name):
            found = "conf.py" if node.id == "__file__" else self.values.get(node.id)
        elif isinstance(node, ast.Attribute) and node.attr == "parent":
            inner = self._folder(node.value, depth + 1)
            found = None if inner is None else _above(inner)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            found = _joined([self._folder(side, depth + 1) for side in (node.left, node.right)])
        elif isinstance(node, ast.Call):
            found = self._called(node, depth)
        return found if isinstance(found, str) else None

    def _called(self, call: ast.Call, depth: int) -> str | None:
        name = _dotted(call.func).rpartition(".")[2]
        inner = [self._folder(each, depth + 1) for each in call.args]
        if not call.args and isinstance(call.func, ast.Attribute):  # `Path("..").resolve()`
            inner = [self._folder(call.func.value, depth + 1)]
        if name == "dirname" and inner and inner[0] is not None:
            return _above(inner[0])
        return _joined(inner) if name == "join" or name in _JOINING else None


def _above(path: str) -> str:
    return posixpath.normpath(posixpath.join(path, ".."))


def _joined(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return str(PurePosixPath(*known)) if known and len(known) == len(parts) else None


def _sum(one: object, other: object) -> object:
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other][:_MAX_VALUES]
    if isinstance(one, str) and isinstance(other, str):
        return (one + other)[:_MAX_CHARACTERS]
    return [*one, _COMPUTED] if isinstance(one, list) else _COMPUTED


def _dotted(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    names.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(names))


def _branches(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of conditions: what they assign counts if nothing else does."""
    if isinstance(statement, ast.If | ast.Try | ast.With):
        yield statement.body
    if isinstance(statement, ast.If | ast.Try):
        yield statement.orelse
    if isinstance(statement, ast.Try):
        yield from (handler.body for handler in statement.handlers)
