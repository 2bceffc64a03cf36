"""Directives of Sphinx and its extensions: code and prose are kept, the rest is dropped."""

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, states
from docutils.parsers.rst.directives import unchanged
from docutils.parsers.rst.directives.tables import CSVTable

from surefind.text.formats.restructured.inliner import TooManyComplaintsError
from surefind.text.formats.restructured.objects import OBJECTS, ObjectScope, object_of

_CODE = {"code", "code-block", "code-tab", "doctest", "ipython", "productionlist", "prompt"}
_CODE |= {"sourcecode", "testcode"}
_NOTHING = {"graphviz", "highlight", "index", "literalinclude", "plantuml", "sectionauthor"}
_NOTHING |= {"tabularcolumns", "testcleanup", "testsetup", "toctree", "todo", "todolist"}
# Directives whose argument is not prose but a condition, a class or a name.
_CONTENT_ONLY = {"cssclass", "grid", "grid-item", "hlist", "ifconfig", "only", "rst-class"}
_CONTENT_ONLY |= {"tab-set"}
_SCOPES = {"module", "currentmodule", "program", "default-domain"}
_VERSIONS = {
    "deprecated": "Deprecated since version",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
_LABELS = {"seealso": "See also"}
_DIRECTIVE_START = re.compile(r"(?:.*?::)?[ ]*")
_TRUE_TAGS = {"html", "builder_html", "format_html", "dirhtml", "builder_dirhtml"}
_CONDITION = re.compile(r"\(|\)|\w+")
_MAX_CONDITION = 50
# Every row of a table gets all columns, which takes time with width times height.
_MAX_EMPTY_CELLS = 20_000
_PRODUCTION = re.compile(r"^(\s*\w+)\s*:\s*")
_NAMES_CLASS = re.compile(r"[ ]*[\w.]*[A-Z.(]")  # docutils' own directive has lower-case classes


class _AnyOption(dict[str, Any]):
    """Accepts any option, because Sphinx and its extensions have more than docutils."""

    def __missing__(self, name: str) -> Any:
        return unchanged


class _Unknown(Directive):
    """A Sphinx directive: keeps code and prose, drops the rest."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption(name=unchanged)
    has_content = True

    def run(self) -> list[nodes.Node]:
        name, argument = self.name.lower(), " ".join(self.arguments)
        plain_name = name.rpartition(":")[2]
        if name in _NOTHING:
            return []
        if name in _CODE:
            return self._code(argument)
        if plain_name in _SCOPES:
            self._enter(plain_name, argument)
            return self._nested()
        if argument and (name in OBJECTS or name.rpartition(":")[0] in {"py", "std"}):
            return self._object(name, argument)
        if name == "only" and not _holds_for_html(argument):
            return []
        if name in _VERSIONS:
            version, _, rest = argument.partition(" ")
            argument = f"{_VERSIONS[name]} {version}" + (f": {rest}" if rest else "")
        shown: list[nodes.Node] = []
        if name in _LABELS:
            shown.append(nodes.paragraph("", _LABELS[name]))
        if argument and name not in _CONTENT_ONLY:
            shown.append(self._argument(name, argument))
        return shown + self._nested()

    def _nested(self) -> list[nodes.Node]:
        holder = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return list(holder.children)

    def _code(self, language: str) -> list[nodes.Node]:
        lines = list(self.content)
        if self.name == "productionlist":
            language, lines = "", _productions(" ".join(self.arguments))
        code = "\n".join(lines)
        block = nodes.literal_block(code, code, classes=["code", language] if language else [])
        caption = self.options.get("caption")
        return [nodes.paragraph("", caption), block] if caption else [block]

    def _argument(self, name: str, argument: str) -> nodes.Node:
        if ":" in name or name.startswith("auto"):
            return nodes.paragraph("", "", nodes.literal(argument, argument))
        words, _ = self.state.inline_text(argument, self.lineno)
        return nodes.paragraph(argument, "", *words)

    def _scope(self) -> ObjectScope:
        settings = self.state.document.settings
        if not isinstance(getattr(settings, "object_scope", None), ObjectScope):
            settings.object_scope = ObjectScope()
        scope: ObjectScope = settings.object_scope
        return scope

    def _enter(self, name: str, argument: str) -> None:
        scope, value = self._scope(), "" if argument == "None" else argument.strip()
        if name == "program":
            scope.program = "-".join(value.split())
        elif name == "default-domain":
            scope.domain = value
        else:
            scope.module = value

    def _object(self, name: str, argument: str) -> list[nodes.Node]:
        scope = self._scope()
        signatures = [line.strip() for line in argument.split("\n") if line.strip()]
        found = object_of(name, signatures, scope, self.options)
        inner = scope.entered(name, signatures[0])
        if inner:
            scope.classes.append(inner)
        around = scope.module
        module = self.options.get("module")
        scope.module = module if isinstance(module, str) else around
        found += self._nested()
        scope.module = around
        if inner:
            scope.classes.pop()
        return [found]


def _holds_for_html(condition: str) -> bool:
    """Whether `.. only::` shows its content on a website; unreadable conditions hold."""
    words = _CONDITION.findall(condition)
    if len(words) > _MAX_CONDITION:
        return True
    any_holds = False
    for choice in " ".join(words).replace("(", " ").replace(")", " ").split(" or "):
        terms = [term.split() for term in choice.split(" and ")]
        holds = all(
            term[-1:] and (term[-1] in _TRUE_TAGS) != (term[:1] == ["not"]) for term in terms
        )
        any_holds = any_holds or holds
    return any_holds


def _productions(written: str) -> list[str]:
    lines = (line.strip().replace("`", "") for line in written.split("\n"))
    return [_PRODUCTION.sub(r"\1 ::= ", line, count=1) for line in lines]


class _BoundedTable(CSVTable):
    def extend_short_rows_with_empty_cells(self, columns: int, parts: Any) -> None:
        _check_cells(sum(columns - len(row) for part in parts for row in part))
        super().extend_short_rows_with_empty_cells(columns, parts)


def _check_cells(empty: int) -> None:
    if empty > _MAX_EMPTY_CELLS:
        raise TooManyComplaintsError


class _Nesting(states.RSTState):
    """A parser state whose nested parsers also use our states."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.nested_sm_kwargs = {"state_classes": STATES, "initial_state": "Body"}
        self.nested_sm_cache = []  # never share state machines with docutils' states


class _Tolerant(_Nesting, states.Body):
    """A state that also runs unknown directives."""

    def unknown_directive(self, type_name: str) -> Any:
        start = next(_DIRECTIVE_START.finditer(self.state_machine.line or ""))
        return self.run_directive(_Unknown, start, type_name, {})

    def run_directive(self, directive: Any, match: Any, type_name: str, presets: Any) -> Any:
        name = type_name.lower()
        if name in _CODE or (name == "class" and _NAMES_CLASS.match(match.string, match.end())):
            directive = _Unknown
        elif directive is CSVTable:
            directive = _BoundedTable
        return super().run_directive(  # type: ignore[no-untyped-call]
            directive, match, type_name, presets
        )

    def isolate_simple_table(self) -> tuple[Any, Any, Any]:
        found: tuple[Any, Any, Any] = super().isolate_simple_table()  # type: ignore[no-untyped-call]
        block = found[0]
        if block:
            cells = len(block[0].split()) * len(block)
            words = sum(len(line.split()) for line in block)
            _check_cells(cells - words)
        return found

    def parse_extension_options(self, option_spec: Any, datalines: Any) -> tuple[int, Any]:
        success, options = super().parse_extension_options(  # type: ignore[no-untyped-call]
            _AnyOption(option_spec), datalines
        )
        return 1, options if success else {}


STATES = tuple(
    type(state.__name__, (_Tolerant if issubclass(state, states.Body) else _Nesting, state), {})
    for state in states.state_classes
)
