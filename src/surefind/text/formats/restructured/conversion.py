"""Converts reStructuredText to Markdown, by way of docutils and HTML.

Sphinx pages use roles and directives that docutils does not know; their text is kept. No page can
make docutils open a file, and no docutils message ends up in the text.
"""

from docutils import nodes
from docutils.core import publish_doctree
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.readers.standalone import Reader
from docutils.transforms.writer_aux import Admonitions
from docutils.utils import Reporter
from docutils.writers.html5_polyglot import Writer

from surefind.text.formats.encodings import decode
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.restructured.directives import STATES
from surefind.text.formats.restructured.inliner import TolerantInliner, TooManyComplaintsError
from surefind.text.formats.restructured.objects import Translator, arrange_objects
from surefind.text.html.to_markdown import html_to_markdown
from surefind.text.markdown.blocks import outline

_SETTINGS = {
    "auto_id_prefix": "id",  # as in Sphinx
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
# docutils takes quadratic time in the number of errors, which can be minutes for one page.
_MAX_COMPLAINTS = 500


def read_restructured(content: bytes) -> ParsedPage:
    """Convert a page; an opening field list, such as `:orphan:`, becomes front matter."""
    text, warnings = decode(content)
    try:
        tree = _tree_of(text)
        fields = _opening_fields(tree)
        translator = Translator(tree)
        tree.walkabout(translator)
    except RecursionError:
        warnings += ("it is nested too deeply; parsed as plain text",)
        return ParsedPage({}, text, outline(text), warnings=warnings)
    except TooManyComplaintsError:
        warnings += ("its markup is broken; parsed as plain text",)
        return ParsedPage({}, text, outline(text), warnings=warnings)
    page = html_to_markdown("".join(translator.body))
    return ParsedPage(fields, page.text, outline(page.text), page.title, warnings)


def _tree_of(text: str) -> nodes.document:
    """Parse with docutils' defaults and our overrides; no configuration file is read."""
    parser = _BoundedParser(inliner=TolerantInliner())
    parser.state_classes = STATES
    settings = get_default_settings(Reader, Parser, Writer)
    for name, value in _SETTINGS.items():
        setattr(settings, name, value)
    tree = publish_doctree(text, parser=parser, settings=settings)
    _remove_messages(tree)
    _prefer_labels(tree)
    _unbox_sidebars(tree)
    arrange_objects(tree)
    Admonitions(tree).apply()
    for literal in tree.findall(nodes.literal):
        literal["classes"].append("code")  # else the writer emits a <span>
    return tree


def _unbox_sidebars(tree: nodes.document) -> None:
    """On websites, a sidebar is navigation; here, it is text."""
    for sidebar in list(tree.findall(nodes.sidebar)):
        titles = [child for child in sidebar.children if isinstance(child, nodes.TextElement)]
        for title in titles:
            title.replace_self(nodes.paragraph("", "", *title.children))
        sidebar.replace_self(nodes.container("", *sidebar.children))


def _prefer_labels(tree: nodes.document) -> None:
    """Like Sphinx, link to a section by its label rather than by a number."""
    for section in tree.findall(nodes.section):
        ids = section["ids"]
        if len(ids) > 1 and ids[0].startswith("id"):
            section["ids"] = [*ids[1:], ids[0]]


def _remove_messages(tree: nodes.document) -> None:
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


def _parents_of(tree: nodes.document, kind: type[nodes.Element]) -> list[nodes.Element]:
    """Each once. To remove or replace one child after the other takes time with their square."""
    parents = (node.parent for node in tree.findall(kind))
    return list({id(parent): parent for parent in parents}.values())


class _BoundedParser(Parser):
    """Counts docutils' error messages and stops at a limit."""

    def setup_parse(self, inputstring: str, document: nodes.document) -> None:
        super().setup_parse(inputstring, document)
        complaints = 0

        def count(message: nodes.system_message) -> None:
            nonlocal complaints
            complaints += message["level"] >= Reporter.WARNING_LEVEL
            if complaints > _MAX_COMPLAINTS:
                raise TooManyComplaintsError

        document.reporter.attach_observer(count)


def _opening_fields(tree: nodes.document) -> dict[str, object]:
    """Remove the field list before the text from the tree: it is metadata."""
    first = next((node for node in tree.children if not isinstance(node, nodes.comment)), None)
    if not isinstance(first, nodes.field_list):
        return {}
    tree.remove(first)
    return {name.astext(): body.astext() for name, body in (item.children for item in first)}
