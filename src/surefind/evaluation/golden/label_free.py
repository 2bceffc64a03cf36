"""Tests from what documentation says about itself: its links, headings, symbols and questions.

No one has judged these tests, so each kind has a validity: how well its scores put twelve search
configurations into the same order as questions that people judged. `bench/quality/label_free.py`
measures it. A kind is used by default only if its validity is significantly above zero.
"""

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote, urljoin

from surefind.evaluation.golden.expectations import (
    BySource,
    ByText,
    Expectation,
    address_key,
    folded,
    squeezed,
)
from surefind.evaluation.golden.golden_set import GoldenTest
from surefind.model import ChunkRecord


class LabelFreeKind(StrEnum):
    """Where a test comes from."""

    LINKS = "links"
    HEADINGS = "headings"
    SYMBOLS = "symbols"
    FAQ = "faq"


@dataclass(frozen=True, slots=True)
class Validity:
    """Kendall's tau-b between the kind's scores and judged ones, with its 95 % interval.

    `low` is above 0 if the kind orders configurations better than chance. `sound` is tau among the
    six configurations that are not broken.
    """

    tau: float
    low: float
    high: float
    sound: float
    tests: int

    @property
    def is_significant(self) -> bool:
        return self.low > 0


JUDGED = "24 judged questions about React and Vite"
CONFIGURATIONS = 12
# Measured by `make bench-label-free`.
VALIDITY: Mapping[LabelFreeKind, Validity] = {
    LabelFreeKind.LINKS: Validity(0.70, 0.55, 0.79, sound=0.47, tests=200),
    LabelFreeKind.HEADINGS: Validity(0.70, 0.58, 0.82, sound=0.33, tests=200),
    LabelFreeKind.SYMBOLS: Validity(0.60, 0.45, 0.75, sound=0.47, tests=172),
    LabelFreeKind.FAQ: Validity(0.64, 0.51, 0.75, sound=0.33, tests=79),
}

_MOST_LINKING = 5
_FEWEST_WORDS, _MOST_WORDS = 2, 15
_LEAST_BODY = 80
_QUOTED = 80
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){3,150})\]\(<?([^()<>\s]+)>?(?: [^()\n]*)?\)"
)
_MARKUP = re.compile(r"[`*_]+(?=\W|$)|(?<!\w)[`*_]+|!?\[|\]\([^)]*\)|\]")
_HEADING_LINE = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_EMPTY = """a about also an and as at be by can click detail details doc docs documentation for from
further guide here how in info information is it learn link more of on or out page read reference
section see that the these this to with you"""
_EMPTY_WORDS = frozenset(_EMPTY.split())
# A code word: an option, a constant, a call, a dotted or camel-case name, or a code with digits.
_SYMBOL = re.compile(
    r"--[a-z][\w-]{2,60}|[A-Za-z_][\w.]*_\w+|[A-Za-z]\w+\.\w[\w.]+|[a-z]+[A-Z]\w+|"
    r"[A-Z][A-Z0-9]*-?\d[\w-]*|[A-Z]\w*[a-z][A-Z]\w+"
)
_DEFINED = re.compile(r"^[ \t]*(?:[-*+][ \t]+|\|[ \t]*)\**`([^`\n]{3,60})`", re.MULTILINE)
_QUESTION_LINE = re.compile(r"^\*\*([^*\n]{10,200}\?)\*\*[ \t]*$", re.MULTILINE)
_ARGUMENTS = re.compile(r"[(=\s].*$")

Section = tuple[str, str]
"""Source path and heading; the heading is empty for a whole page."""


@dataclass(frozen=True, slots=True)
class _Link:
    text: str
    page: str
    url: str
    target: str


class SelfDescription:
    """What the passages of a collection say about each other. Add all of them, sorted by page."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        self._anchors: dict[Section, str] = {}
        self._links: list[_Link] = []
        self._sections: dict[Section, str] = {}
        self._defined: dict[str, set[Section]] = defaultdict(set)
        self._mentions: dict[str, set[str]] = defaultdict(set)
        self._answers: dict[str, tuple[str, list[Expectation]]] = {}

    def add(self, record: ChunkRecord) -> None:
        chunk = record.chunk
        page, heading = chunk.source_path, record.section.strip()
        self._titles.setdefault(page, record.title.strip())
        self._paths.setdefault(address_key(record.url), page)
        if chunk.anchor:
            self._anchors.setdefault((page, chunk.anchor), heading)
        prose = _FENCE.sub("", chunk.text)
        body = squeezed(_HEADING_LINE.sub("", prose))
        if heading and len(body) >= _LEAST_BODY:
            self._sections.setdefault(
                (page, heading), section_question(record.title.strip(), heading)
            )
            if heading.endswith("?"):
                self._add_answer(heading, BySource(page, heading))
        self._add_symbols(prose, (page, heading))
        self._add_questions(prose)
        for label, target in _LINK.findall(prose):
            self._links.append(_Link(squeezed(_MARKUP.sub("", label)), page, record.url, target))

    def tests(self, kind: LabelFreeKind, most: int) -> list[GoldenTest]:
        """At most this many tests, spread evenly over the collection; reproducible."""
        made = {
            LabelFreeKind.LINKS: self._link_tests,
            LabelFreeKind.HEADINGS: self._heading_tests,
            LabelFreeKind.SYMBOLS: self._symbol_tests,
            LabelFreeKind.FAQ: self._faq_tests,
        }[kind]()
        tests = list(made)
        if len(tests) > most:
            tests = [tests[number * len(tests) // most] for number in range(most)]
        return [
            GoldenTest(
                f"{kind}-{number}", text, expected=expected, category=kind.value, where=where
            )
            for number, (text, expected, where) in enumerate(tests, start=1)
        ]

    # --- the kinds --------------------------------------------------------------------------

    def _link_tests(self) -> Iterator["_Test"]:
        """A text that leads to one section only. The pages with the link are left out."""
        targets: dict[str, set[Section]] = defaultdict(set)
        sources: dict[str, set[str]] = defaultdict(set)
        texts: dict[str, str] = {}
        for link in self._links:
            target = self._target(link)
            if target is None or target[0] == link.page or not self._is_telling(link.text, target):
                continue
            key = folded(link.text)
            targets[key].add(target)
            sources[key].add(link.page)
            texts.setdefault(key, link.text)
        for key, found in targets.items():
            linking = sorted(sources[key])
            [target, *others] = sorted(found)
            if others or len(linking) > _MOST_LINKING or target[0] in linking:
                continue
            where = tuple(f"source_path!={page}" for page in linking)
            yield texts[key], (BySource(*target),), where

    def _heading_tests(self) -> Iterator["_Test"]:
        """Headings that name one section only, with the title of their page."""
        asked = Counter(question.casefold() for question in self._sections.values())
        for section, question in self._sections.items():
            if asked[question.casefold()] == 1:
                yield question, (BySource(*section),), ()

    def _symbol_tests(self) -> Iterator["_Test"]:
        """Names that one page defines and others mention."""
        for symbol, sections in self._defined.items():
            pages = {page for page, _ in sections}
            if len(pages) == 1 and len(self._mentions[symbol]) > 1:
                place = next(iter(sections)) if len(sections) == 1 else (pages.pop(), "")
                yield symbol, (BySource(*place),), ()

    def _faq_tests(self) -> Iterator["_Test"]:
        for question, answers in self._answers.values():
            distinct = list(dict.fromkeys(answers))
            if len(distinct) == 1 and len(_WORD.findall(question)) > _FEWEST_WORDS:
                yield question, (distinct[0],), ()

    # --- what they need ---------------------------------------------------------------------

    def _target(self, link: _Link) -> Section | None:
        """The page and section that a link leads to; None if they are not in the collection."""
        address, _, anchor = link.target.partition("#")
        if not address:
            return None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(link.page), unquote(address)))
        page = beside if beside in self._titles else None
        if page is None and "://" not in link.url.partition("surefind://")[2]:
            page = self._by_url(link.url, address)
        if page is None:
            return None
        heading = self._anchors.get((page, unquote(anchor)), "") if anchor else ""
        return page, heading if heading != self._titles[page] else ""

    def _by_url(self, base: str, address: str) -> str | None:
        for start in (base, f"{base.rstrip('/')}/"):
            try:
                key = address_key(urljoin(start, address))
            except ValueError:
                return None
            if key in self._paths:
                return self._paths[key]
        return None

    def _is_telling(self, text: str, target: Section) -> bool:
        """Whether a text says more than "click here", and not just the name of its target."""
        words = _WORD.findall(text.casefold())
        if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or "://" in text:
            return False
        names = {folded(name) for name in (self._titles[target[0]], target[1])}
        return bool(set(words) - _EMPTY_WORDS) and folded(text) not in names

    def _add_symbols(self, prose: str, section: Section) -> None:
        page, heading = section
        names = [*_DEFINED.findall(prose), heading.strip("`")]
        for name in names:
            symbol = _ARGUMENTS.sub("", name.strip("`* "))
            if _SYMBOL.fullmatch(symbol):
                self._defined[symbol].add(section)
        for symbol in set(_SYMBOL.findall(prose)):
            self._mentions[symbol].add(page)

    def _add_questions(self, prose: str) -> None:
        for match in _QUESTION_LINE.finditer(prose):
            answer = prose[match.end() :].lstrip()[:_QUOTED].rsplit(" ", 1)[0]
            if len(answer) > _QUOTED // 2:
                self._add_answer(match.group(1), ByText(answer))

    def _add_answer(self, question: str, answer: Expectation) -> None:
        self._answers.setdefault(folded(question), (question, []))[1].append(answer)


_Test = tuple[str, tuple[Expectation, ...], tuple[str, ...]]


def default_kinds() -> tuple[LabelFreeKind, ...]:
    """The kinds whose validity is significantly above zero."""
    return tuple(kind for kind, validity in VALIDITY.items() if validity.is_significant)


def section_question(title: str, heading: str) -> str:
    """A heading with the title of its page, unless it contains the title."""
    if not title or title.casefold() in heading.casefold():
        return heading
    return f"{title}: {heading}"
