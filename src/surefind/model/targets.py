"""Targets: other retrievers that golden tests can run on, and how to read their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from surefind.errors import without_passwords
from surefind.model.mappings import Role

JsonValue = str | int | float | bool | list["JsonValue"] | dict[str, "JsonValue"] | None


class AnswerForm(StrEnum):
    """TEXT: prose with a link for each result, as many MCP tools return it."""

    JSON = "json"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ResultMapping:
    """Where an answer has its results, and which key of a result has which role.

    `items` is the path to the list of results, empty if the answer is the list, None if it is not
    known yet. Paths are those of
    payload mappings: `document.url`, `content[].text`. `similarity` names a score that is a
    similarity from 0 to 1, so that thresholds apply to it.
    """

    form: AnswerForm = AnswerForm.JSON
    items: str | None = None
    keys: Mapping[Role, tuple[str, ...]] = field(default_factory=dict, hash=False)
    score: str = ""
    similarity: str = ""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """How to reach a target: `address` is written like `mcp:uvx docs-server` or `trec:run.txt`.

    `{query}` and `{top_k}` in `body`, `arguments` and a URL stand for the question and the number
    of results, `${NAME}` in `headers`, `body` and `arguments` for an environment variable.
    """

    address: str
    name: str = ""
    method: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    body: JsonValue = None
    tool: str = ""
    arguments: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    results: ResultMapping | None = None
    timeout_s: float = 30.0
    retries: int = 2
    concurrency: int = 4
    requests_per_second: float | None = None
    function: Callable[..., object] | None = None
    """The function that a `python:` address names, if it was given as one."""

    @property
    def label(self) -> str:
        return self.name or without_passwords(self.address)


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """A question for a target. Results made elsewhere are found by `test_id` or `text`."""

    test_id: str
    text: str
    top_k: int
    where: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetHit:
    """One result of a target; empty strings and None stand for what it does not say.

    `headings` are the headings that the result is under, without order. `similarity` is a score
    from 0 to 1 that thresholds can be compared with. `twins` are results with the same text that
    this one replaces.
    """

    id: str = ""
    url: str = ""
    source_path: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    score: float | None = None
    similarity: float | None = None
    twins: tuple[TargetHit, ...] = ()

    @property
    def name(self) -> str:
        """What identifies the result in reports; empty if nothing does."""
        return self.id or self.url or self.source_path or self.title


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """`latency_ms` is the time of the successful attempt; None for results made elsewhere."""

    hits: tuple[TargetHit, ...]
    latency_ms: float | None = None
