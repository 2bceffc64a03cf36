"""Inline markup: roles that docutils does not know keep their text."""

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import roles, states
from docutils.utils import unescape

_PROSE_ROLES = {"abbr", "any", "dfn", "doc", "download", "guilabel", "menuselection", "numref"}
_PROSE_ROLES |= {"ref", "std:doc", "std:ref", "std:term", "term"}
_LONGEST_PARAGRAPH = 20_000
_LONG_WORD = re.compile(r"\S{2000}")
_EXPLAINED = re.compile(r"\s*\([^()]*\)\s*$")
_TITLED = re.compile(r"(.+?)\s*<[^<>]*>", re.DOTALL)


class TooManyComplaintsError(Exception):
    """The page has too many errors, or empty cells, to be parsed in reasonable time."""


class _TolerantInliner(states.Inliner):
    def parse(self, text: str, lineno: int, memo: Any, parent: Any) -> Any:
        """Skip long paragraphs and words, for which docutils' patterns take quadratic time."""
        if len(text) > _LONGEST_PARAGRAPH:
            raise TooManyComplaintsError
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
        if role.lower() in {"abbr", "abbreviation"}:
            words = _EXPLAINED.sub("", words)
        elif role.lower() in {"file", "samp"}:
            words = words.replace("{", "").replace("}", "")
        if role.lower() in _PROSE_ROLES:
            return [nodes.inline(rawsource, words)], []
        return [nodes.literal(rawsource, words)], []


# docutils builds the patterns from attributes of the class itself, not of its parents.
TolerantInliner = type(
    "TolerantInliner",
    (_TolerantInliner,),
    {name: value for name, value in vars(states.Inliner).items() if isinstance(value, str)},
)
