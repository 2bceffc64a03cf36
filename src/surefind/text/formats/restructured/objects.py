"""Objects that a page documents, such as functions and options, with their ids in Sphinx.

An object becomes a heading, so that links lead to it. Where other text follows its description in
the same section, it stays text: a heading would claim what follows.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from docutils import nodes
from docutils.writers.html5_polyglot import HTMLTranslator

_PYTHON_CALLS = {"function", "method", "classmethod", "staticmethod", "decorator"}
_PYTHON_CALLS |= {"decoratormethod"}
_PYTHON_CLASSES = {"class", "exception"}
_PYTHON_VALUES = {"attribute", "data", "property", "type"}
_PYTHON = _PYTHON_CALLS | _PYTHON_CLASSES | _PYTHON_VALUES
_NAMED = {"confval", "envvar"}
OBJECTS = {*_PYTHON, *_NAMED, "describe", "object", "option"}
_WORDS = ("final", "abstract", "abstractmethod", "async", "classmethod", "static", "staticmethod")
_KEYWORDS = {"class", "exception", "property", "type", "classmethod", "staticmethod"}
_SHOWN = {"abstractmethod": "abstract", "staticmethod": "static"}
_SIGNATURE = re.compile(r"([\w.]*\.)?(\w+)\s*(?:\[.*?\]\s*)?(?:\(.*\)(?:\s*->\s*.*)?)?", re.DOTALL)
_OPTION = re.compile(r"((?:/|--|-|\+)?[^\s=\[]+)")
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9._]+")
_NOT_AT_ENDS = re.compile(r"^[-0-9._]+|-+$")
_MAX_LEVEL = 6
_TITLE_LENGTH = 200
_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword", "kwarg"}
_VARIABLES = {"var", "ivar", "cvar"}
_RAISES = {"raises", "raise", "except", "exception"}
_LABELS = {
    **dict.fromkeys(_PARAMETERS, "Parameters"),
    **dict.fromkeys(_VARIABLES, "Variables"),
    **dict.fromkeys(_RAISES, "Raises"),
    **dict.fromkeys(("return", "returns"), "Returns"),
    **dict.fromkeys(("yield", "yields"), "Yields"),
    "rtype": "Return type",
}
_TYPES = {"type", "vartype", "paramtype", "kwtype"}


class DocumentedObject(nodes.container):
    """`title` and `anchor` are empty for objects whose id is not known."""


class ObjectHeading(nodes.General, nodes.TextElement):
    """The heading of an object, with its `level` and `anchor`."""


@dataclass
class ObjectScope:
    """The module, class and program that the directives of a page are in."""

    module: str = ""
    classes: list[str] = field(default_factory=list)
    program: str = ""
    domain: str = "py"
    anchors: set[str] = field(default_factory=set)

    def described(
        self, kind: str, signature: str, options: Mapping[str, object]
    ) -> tuple[str, str]:
        """(title, anchor) of an object; both empty if its id is not known."""
        domain, _, plain_kind = kind.rpartition(":")
        title, anchor = "", ""
        if (domain or self.domain) == "py" and plain_kind in _PYTHON:
            title, anchor = self._python(signature, options)
        elif domain in {"", "std"} and plain_kind in _NAMED:
            title, anchor = signature, f"{plain_kind}-{_identifier(signature)}"
        elif domain in {"", "std"} and plain_kind == "option":
            title, anchor = self._option(signature)
        hidden = {"noindex", "no-index"} & options.keys()
        if hidden or anchor in self.anchors or not anchor or len(title) > _TITLE_LENGTH:
            return "", ""
        self.anchors.add(anchor)
        return title, anchor

    def shown(self, kind: str, signature: str, options: Mapping[str, object]) -> str:
        """A signature as Sphinx shows it, with keywords, the module and the type."""
        signature = signature.replace("\\", "")
        domain, _, kind = kind.rpartition(":")
        if (domain or self.domain) != "py" or kind not in _PYTHON:
            return signature
        found = _SIGNATURE.fullmatch(signature)
        written = options.get("module")
        module = written if isinstance(written, str) else self.module
        if self.classes:
            signature = signature.removeprefix(f"{self.classes[-1]}.")
        elif module and found and not found[1]:
            signature = f"{module}.{signature}"
        if kind not in _PYTHON_CALLS:
            ends = ((": ", options.get("type")), (" = ", options.get("value")))
            signature += "".join(f"{sign}{end}" for sign, end in ends if end)
        words = [word for word in _WORDS if word in options]
        words += [kind] if kind in _KEYWORDS else []
        return " ".join((*(_SHOWN.get(word, word) for word in words), signature))

    def entered(self, kind: str, signature: str) -> str:
        """The name under which members of the object are known; else empty."""
        found = _SIGNATURE.fullmatch(signature)
        if kind.rpartition(":")[2] not in _PYTHON_CLASSES or found is None:
            return ""
        return self._full_name(found[1] or "", found[2])

    def _python(self, signature: str, options: Mapping[str, object]) -> tuple[str, str]:
        found = _SIGNATURE.fullmatch(signature)
        if found is None:
            return "", ""
        written = options.get("module")
        module = written if isinstance(written, str) else self.module
        prefix, name = found[1] or "", found[2]
        full = self._full_name(prefix, name)
        anchor = _identifier(f"{module}.{full}" if module else full)
        if self.classes:
            inner = self.classes[-1]
            return (full.removeprefix(f"{inner}."), anchor)
        return (full if prefix or not module else f"{module}.{full}"), anchor

    def _full_name(self, prefix: str, name: str) -> str:
        inner = self.classes[-1] if self.classes else ""
        if not inner or prefix == f"{inner}." or prefix.startswith(f"{inner}."):
            return prefix + name
        return f"{inner}.{prefix}{name}"

    def _option(self, signature: str) -> tuple[str, str]:
        first = _OPTION.match(signature)
        if first is None:
            return "", ""
        parts = ["cmdoption", *([self.program] if self.program else [])]
        parts += [] if first[1].startswith(("-", "/")) else ["arg"]
        return signature, _identifier("-".join((*parts, first[1])))


def object_of(
    kind: str, signatures: Sequence[str], scope: ObjectScope, options: Mapping[str, object]
) -> DocumentedObject:
    """The object of a directive, still without its description."""
    title, anchor = scope.described(kind, signatures[0], options)
    shown = [scope.shown(kind, signature, options) for signature in signatures]
    return DocumentedObject("", title=title.replace("\\", ""), anchor=anchor, signatures=shown)


def arrange_objects(tree: nodes.document) -> None:
    """Give objects their headings, or a paragraph where a heading would claim other text."""
    for found in list(tree.findall(DocumentedObject)):
        _with_fields(found)
        parent = found.parent
        above = parent.get("level", 0) if isinstance(parent, DocumentedObject) else _depth(parent)
        level = above + 1 if above and found["anchor"] and _ends_its_section(found) else 0
        found["level"] = min(level, _MAX_LEVEL) if level else 0
        for signature in reversed(found["signatures"]):
            if not level or signature != found["title"]:
                line = nodes.literal(signature, signature, classes=["code"])
                found.insert(0, nodes.paragraph("", "", line))
        if level:
            heading = ObjectHeading("", level=found["level"], anchor=found["anchor"])
            heading += nodes.literal(found["title"], found["title"], classes=["code"])
            found.insert(0, heading)


def _depth(node: nodes.Node | None) -> int:
    depth = 0
    while node is not None and not isinstance(node, nodes.document):
        if not isinstance(node, nodes.section):
            return 0
        depth += 1
        node = node.parent
    return depth


def _ends_its_section(found: DocumentedObject) -> bool:
    follower = found.next_node(descend=False, siblings=True)
    while follower is not None:
        if not isinstance(follower, DocumentedObject | nodes.section | nodes.Invisible):
            return False
        if isinstance(follower, DocumentedObject) and not follower["anchor"]:
            return False
        follower = follower.next_node(descend=False, siblings=True)
    return True


def _with_fields(found: DocumentedObject) -> None:
    """`:param int size: …` is listed under *Parameters*, as Sphinx does."""
    for fields in [child for child in found.children if isinstance(child, nodes.field_list)]:
        types: dict[str, str] = {}
        groups: dict[str, list[nodes.Node]] = {}
        for each in fields.children:
            name, body = each.children[0].astext(), each.children[1]
            kind, _, argument = name.partition(" ")
            if kind in _TYPES and argument:
                types[argument.strip()] = body.astext()
                continue
            label = _LABELS.get(kind, name[:1].upper() + name[1:])
            groups.setdefault(label, []).append(_field(kind, argument, types, fields, body))
        shown: list[nodes.Node] = []
        for label, items in groups.items():
            shown += [nodes.paragraph("", f"{label}:"), nodes.bullet_list("", *items)]
        at = found.index(fields)
        found[at : at + 1] = shown


def _field(
    kind: str, argument: str, types: Mapping[str, str], fields: nodes.Node, body: nodes.Node
) -> nodes.list_item:
    item = nodes.list_item("", *body.children)
    words = argument.split()
    if kind in _PARAMETERS | _VARIABLES and words:
        declared = " ".join(words[:-1]) or types.get(words[-1]) or _declared(fields, words[-1])
        argument = f"{words[-1]} ({declared})" if declared else words[-1]
    if argument and kind in _LABELS:
        first = item.children[0] if item.children else None
        label = nodes.Text(f"{argument} \N{EN DASH} " if first is not None else argument)
        if isinstance(first, nodes.paragraph):
            first.insert(0, label)
        else:
            item.insert(0, nodes.paragraph("", "", label))
    return item


def _declared(fields: nodes.Node, name: str) -> str:
    for each in fields.children:
        kind, _, argument = each.children[0].astext().partition(" ")
        if kind in _TYPES and argument.strip() == name:
            return each.children[1].astext()
    return ""


def _identifier(name: str) -> str:
    """The id that Sphinx makes of a name: unlike docutils', it keeps capitals, dots and `_`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    return _NOT_AT_ENDS.sub("", _NOT_IN_ID.sub("-", " ".join(plain.split())))


class Translator(HTMLTranslator):
    def visit_ObjectHeading(self, node: ObjectHeading) -> None:  # noqa: N802 - docutils' rule
        self.body.append(f'<h{node["level"]} id="{self.attval(node["anchor"])}">')

    def depart_ObjectHeading(self, node: ObjectHeading) -> None:  # noqa: N802 - docutils' rule
        self.body.append(f"</h{node['level']}>\n")

    def visit_DocumentedObject(self, _: DocumentedObject) -> None:  # noqa: N802 - docutils' rule
        self.body.append("<div>")

    def depart_DocumentedObject(self, _: DocumentedObject) -> None:  # noqa: N802 - docutils' rule
        self.body.append("</div>\n")
