"""What the query log keeps of a search, and the gaps found in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    """One search of a served request.

    `confidence` is None if it was not estimated. `filtered` says that the search had conditions,
    which are not kept. `url` and `title` name the best hit, and are empty without one. `client` is
    what the request came from until it is hashed, and empty if clients are not logged.
    """

    at: datetime
    collection: str
    text: str
    mode: str
    hits: int
    confidence: float | None
    similarity: float | None
    filtered: bool = False
    url: str = ""
    title: str = ""
    client: str = ""


@dataclass(frozen=True, slots=True)
class NearestPage:
    """A page that was the best hit of questions of a gap, and of how many."""

    url: str
    title: str
    times: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Similar questions with little evidence for an answer.

    `questions` are the different wordings, the most frequent first. `recent` counts the searches in
    the second half of the period. `clients` is None if the log keeps no clients.
    """

    questions: tuple[str, ...]
    count: int
    recent: int
    confidence: float
    nearest: tuple[NearestPage, ...]
    first: datetime
    last: datetime
    clients: int | None = None

    @property
    def trend(self) -> str:
        earlier = self.count - self.recent
        if not earlier:
            return "new"
        if self.recent > 2 * earlier:
            return "rising"
        return "falling" if earlier > 2 * self.recent else "steady"


@dataclass(frozen=True, slots=True)
class GapReport:
    """`judged` of the `searches` in the period have a confidence; `thin` of them are in gaps.

    `possible` gaps look answered, but less so than nearly all answered questions.
    """

    collection: str
    since: datetime
    until: datetime
    searches: int
    judged: int
    thin: int
    gaps: tuple[Gap, ...]
    possible: tuple[Gap, ...] = ()


def question_key(text: str) -> str:
    """Equal for questions that differ only in case, white space and final punctuation."""
    return " ".join(text.split()).casefold().rstrip(" ?!.") or text
