"""The ids that docutils gives to sections."""

from docutils.nodes import make_id

from surefind.model import AnchorRule
from surefind.text.anchors import attribute_list

_NUMBERED = "id{1}"


def docutils_rule(*, attributes: bool = False) -> AnchorRule:
    """A heading without letters, and one that repeats another, is called `id1`, `id2` …

    `attributes` are read before a heading only, so a list after it is text.
    """
    split = attribute_list if attributes else _undeclared
    return AnchorRule(split, lambda title: make_id(title) or "id1", _NUMBERED.format)


def _undeclared(title: str) -> tuple[str, str]:
    return title, ""
