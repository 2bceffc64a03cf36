"""Converts reStructuredText to Markdown, by way of docutils and HTML.

Sphinx pages use roles and directives that docutils does not know; their text is kept. No page can
make docutils open a file, and no docutils message ends up in the text.
"""

import re
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, roles, states
from docutils.parsers.rst.directives import unchanged
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.readers.standalone import Reader
from docutils.transforms.writer_aux import Admonitions
from docutils.utils import Reporter, unescape
from docutils.writers.html5_polyglot import HTMLTranslator, Writer

from surefind.text.encodings import decode
from surefind.text.formats.page import ParsedPage
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import outline

_SETTINGS = {
    "doctitle_xform": False,
    "docinfo_xform": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "initial_header_level": 1,
    "line_length_limit": 10**9,
    "math_output": "LaTeX",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "traceback": True,  # raise errors instead of printing them and exiting
    "warning_stream": False,
}
_CODE = {"code", "code-block", "code-tab", "doctest", "ipython", "productionlist", "prompt"}
_CODE |= {"sourcecode", "testcode"}
_NOTHING = {"default-domain", "graphviz", "highlight", "index", "literalinclude", "plantuml"}
_NOTHING |= {"program", "sectionauthor", "tabularcolumns", "testcleanup", "testsetup", "toctree"}
# Directives whose argument is not prose but a condition, a class or a name.
_CONTENT_ONLY = {"cssclass", "currentmodule", "grid", "grid-item", "hlist", "ifconfig", "module"}
_CONTENT_ONLY |= {"only", "py:currentmodule", "py:module", "rst-class", "tab-set"}
_OBJECTS = {"attribute", "class", "confval", "data", "decorator", "describe", "envvar", "exception"}
_OBJECTS |= {"function", "method", "object", "option", "property"}
_VERSIONS = {
    "deprecated": "Deprecated since version",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}
_PROSE_ROLES = {"abbr", "any", "dfn", "doc", "download", "guilabel", "menuselection", "numref"}
_LONGEST_PARAGRAPH = 20_000
_LONG_WORD = re.compile(r"\S{2000}")
_PROSE_ROLES |= {"ref", "std:doc", "std:ref", "std:term", "term"}
# docutils takes quadratic time in the number of errors, which can be minutes for one page.
_MAX_COMPLAINTS = 500
# Every row of a table gets all columns, which takes time with width times height.
_MAX_EMPTY_CELLS = 20_000
_DIRECTIVE_START = re.compile(r"(?:.*?::)?[ ]*")
_TITLED = re.compile(r"(.+?)\s*<[^<>]*>", re.DOTALL)


def read_restructured(content: bytes) -> ParsedPage:
    """Convert a page; an opening field list, such as `:orphan:`, becomes front matter."""
    text, warnings = decode(content)
    try:
        tree = _tree_of(text)
        fields = _opening_fields(tree)
        translator = HTMLTranslator(tree)
        tree.walkabout(translator)
    except RecursionError:
        warnings += ("it is nested too deeply; parsed as plain text",)
        return ParsedPage({}, text, outline(text), warnings=warnings)
    except _TooManyComplaintsError:
        warnings += ("its markup is broken; parsed as plain text",)
        return ParsedPage({}, text, outline(text), warnings=warnings)
    page = html_to_markdown("".join(translator.body))
    return ParsedPage(fields, page.text, outline(page.text), page.title, warnings)


def _tree_of(text: str) -> nodes.document:
    """Parse with docutils' defaults and our overrides; no configuration file is read."""
    parser = _BoundedParser(inliner=_Inliner())
    parser.state_classes = _STATES
    settings = get_default_settings(Reader, Parser, Writer)
    for name, value in _SETTINGS.items():
        setattr(settings, name, value)
    tree = publish_doctree(text, parser=parser, settings=settings)
    Admonitions(tree).apply()
    for literal in tree.findall(nodes.literal):
        literal["classes"].append("code")  # else the writer emits a <span>
    for parent in _parents_of(tree, nodes.system_message):
        kept = [child for child in parent if not isinstance(child, nodes.system_message)]
        parent.children = kept
    for parent in _parents_of(tree, nodes.problematic):
        for at, child in enumerate(parent):
            if isinstance(child, nodes.problematic):
                words = child.astext().strip("`_|")
                parent[at] = nodes.inline(words, words)
    for parent in _parents_of(tree, nodes.image):
        for at, child in enumerate(parent):
            if isinstance(child, nodes.image):  # the writer would open the image file
                parent[at] = nodes.inline("", child.get("alt", ""))
    return tree


def _parents_of(tree: nodes.document, kind: type[nodes.Element]) -> list[nodes.Element]:
    """Each once. To remove or replace one child after the other takes time with their square."""
    parents = (node.parent for node in tree.findall(kind))
    return list({id(parent): parent for parent in parents}.values())


class _TooManyComplaintsError(Exception):
    """The page has too many errors, or empty cells, to be parsed in reasonable time."""


class _BoundedParser(Parser):
    """Counts docutils' error messages and stops at a limit."""

    def setup_parse(self, inputstring: str, document: nodes.document) -> None:
        super().setup_parse(inputstring, document)
        complaints = 0

        def count(message: nodes.system_message) -> None:
            nonlocal complaints
            complaints += message["level"] >= Reporter.WARNING_LEVEL
            if complaints > _MAX_COMPLAINTS:
                raise _TooManyComplaintsError

        document.reporter.attach_observer(count)


def _opening_fields(tree: nodes.document) -> dict[str, object]:
    """Remove the field list before the text from the tree: it is metadata."""
    first = next((node for node in tree.children if not isinstance(node, nodes.comment)), None)
    if not isinstance(first, nodes.field_list):
        return {}
    tree.remove(first)
    return {name.astext(): body.astext() for name, body in (item.children for item in first)}


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
        if name in _NOTHING:
            return []
        if name in _CODE:
            return self._code(argument)
        if name in _VERSIONS:
            version, _, rest = argument.partition(" ")
            argument = f"{_VERSIONS[name]} {version}" + (f": {rest}" if rest else "")
        holder = nodes.container()
        if argument and not (name in _CONTENT_ONLY or name.startswith("auto")):
            holder += self._argument(name, argument)
        self.state.nested_parse(self.content, self.content_offset, holder)
        return list(holder.children)

    def _code(self, language: str) -> list[nodes.Node]:
        code = "\n".join(self.content)
        block = nodes.literal_block(code, code, classes=["code", language] if language else [])
        caption = self.options.get("caption")
        return [nodes.paragraph("", caption), block] if caption else [block]

    def _argument(self, name: str, argument: str) -> nodes.Node:
        if ":" in name or name in _OBJECTS:
            return nodes.paragraph("", "", nodes.literal(argument, argument))
        words, _ = self.state.inline_text(argument, self.lineno)
        return nodes.paragraph(argument, "", *words)


class _BoundedTable(CSVTable):
    def extend_short_rows_with_empty_cells(self, columns: int, parts: Any) -> None:
        _check_cells(sum(columns - len(row) for part in parts for row in part))
        super().extend_short_rows_with_empty_cells(columns, parts)


def _check_cells(empty: int) -> None:
    if empty > _MAX_EMPTY_CELLS:
        raise _TooManyComplaintsError


class _Nesting(states.RSTState):
    """A parser state whose nested parsers also use our states."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}
        self.nested_sm_cache = []  # never share state machines with docutils' states


class _Tolerant(_Nesting, states.Body):
    """A state that also runs unknown directives."""

    def unknown_directive(self, type_name: str) -> Any:
        start = next(_DIRECTIVE_START.finditer(self.state_machine.line or ""))
        return self.run_directive(_Unknown, start, type_name, {})

    def run_directive(self, directive: Any, match: Any, type_name: str, presets: Any) -> Any:
        if type_name.lower() in _CODE:
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


_STATES = tuple(
    type(state.__name__, (_Tolerant if issubclass(state, states.Body) else _Nesting, state), {})
    for state in states.state_classes
)


class _TolerantInliner(states.Inliner):
    def parse(self, text: str, lineno: int, memo: Any, parent: Any) -> Any:
        """Skip long paragraphs and words, for which docutils' patterns take quadratic time."""
        if len(text) > _LONGEST_PARAGRAPH:
            raise _TooManyComplaintsError
        if _LONG_WORD.search(text):
            return [nodes.Text(unescape(text))], []
        return super().parse(text, lineno, memo, parent)

    def interpreted(self, rawsource: str, text: str, role: str, lineno: int) -> Any:
        known, _ = roles.role(role, self.language, lineno, self.reporter)
        if known is not None:
            return super().interpreted(rawsource, text, role, lineno)
        words = unescape(text).lstrip("!")
        titled = _TITLED.fullmatch(words)
        if titled is not None:
            words = titled.group(1)
        elif words.startswith("~"):
            words = words.rpartition(".")[2].lstrip("~")
        if role.lower() in _PROSE_ROLES:
            return [nodes.inline(rawsource, words)], []
        return [nodes.literal(rawsource, words)], []


# docutils builds the patterns from attributes of the class itself, not of its parents.
_Inliner = type(
    "_Inliner",
    (_TolerantInliner,),
    {name: value for name, value in vars(states.Inliner).items() if isinstance(value, str)},
)
