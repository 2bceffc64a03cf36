"""The tools of maintainers: `why_not`, `validate` and `changes`."""

from typing import Annotated

from pydantic import Field

from surefind.bootstrap import Application
from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByAddress, BySource, ByText, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.report.report import Outcome, Report
from surefind.interfaces.json_output import rounded
from surefind.interfaces.json_output.generations import changes_json
from surefind.interfaces.links import linked_cause
from surefind.interfaces.mcp.tools.tool import Caller, Tool, ToolAnswer, ToolArguments
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.services.validation.run_request import RunRequest

MAX_QUESTIONS = 50
_MAX_SHOWN = 20


class WhyNotArguments(ToolArguments):
    query: str = Field(description="The question")
    wanted: str = Field(description="The missing passage: its id, url or path")
    top_k: Annotated[int, Field(ge=1, le=50)] = 5
    collection: str | None = None


class PassageAhead(ToolAnswer):
    id: str
    url: str
    score: float


class MissCause(ToolAnswer):
    cause: str
    message: str
    rank: int | None = None
    score: float | None = None
    similarity: float | None = None
    filters: list[str]
    ahead: list[PassageAhead]


class KnownAnswer(ToolArguments):
    query: str
    page: str | None = Field(default=None, description="Path or url of the page with the answer")
    heading: str | None = Field(default=None, description="Its heading there")
    quote: str | None = Field(default=None, description="Words of the answer, instead of a page")

    def expectation(self) -> Expectation:
        if (self.page is None) == (self.quote is None):
            raise InputError(f"the question {self.query!r} needs either a page or a quote")
        if self.quote is not None:
            return ByText(self.quote)
        page = str(self.page)
        kind = ByAddress if "://" in page or page.startswith("/") else BySource
        return kind(page, self.heading or "")


class ValidateArguments(ToolArguments):
    questions: Annotated[list[KnownAnswer], Field(max_length=MAX_QUESTIONS)] = Field(
        default_factory=list, description="Questions and their answers; by default the headings"
    )
    top_k: Annotated[int, Field(ge=1, le=50)] = 5
    limit: Annotated[int, Field(ge=1, le=MAX_QUESTIONS)] = Field(
        MAX_QUESTIONS, description="How many headings to test"
    )


class MissedQuestion(ToolAnswer):
    query: str
    outcome: str
    expected: str
    cause: str
    message: str


class Measured(ToolAnswer):
    verdict: str
    reasons: list[str]
    generation: int
    tests: int
    passed: int
    measures: dict[str, float]
    missed: list[MissedQuestion]
    more_missed: int


class ChangesArguments(ToolArguments):
    generation: Annotated[int, Field(ge=1)] | None = Field(
        None, description="By default the current one"
    )
    collection: str | None = None


class ChangedPages(ToolAnswer):
    number: int
    paths: list[str]


class Changes(ToolAnswer):
    collection: str
    generation: int
    compared_with: int | None = None
    added: ChangedPages
    changed: ChangedPages
    removed: ChangedPages
    unchanged: int


async def _why_not(application: Application, caller: Caller, asked: WhyNotArguments) -> MissCause:
    collection = asked.collection or application.settings.collection
    query = query_of(asked.query, collection, SearchOptions(top_k=asked.top_k))
    answer = await application.searching.why_not(query, asked.wanted)
    if caller.address is not None:
        answer = linked_cause(answer, caller.address)
    return MissCause(
        cause=answer.cause.value,
        message=answer.message,
        rank=answer.rank,
        score=rounded(answer.score),
        similarity=rounded(answer.similarity),
        filters=list(answer.filters),
        ahead=[
            PassageAhead(id=hit.record.chunk.id, url=hit.record.link, score=round(hit.score, 6))
            for hit in answer.ahead
        ],
    )


async def _validate(application: Application, caller: Caller, asked: ValidateArguments) -> Measured:
    validation = application.validation
    if asked.questions:
        tests = tuple(
            GoldenTest(f"question-{number}", one.query, expected=(one.expectation(),))
            for number, one in enumerate(asked.questions, start=1)
        )
        golden = validation.checked(GoldenSet("questions", tests))
    else:
        golden = await validation.golden(None, most=asked.limit)
    caller.charge(len(golden.tests))
    request = RunRequest(
        collection=application.settings.collection, top_k=asked.top_k, partial=False
    )
    return _measured(await validation.validate(golden, request, lambda _done, _total: None))


def _measured(report: Report) -> Measured:
    missed = [test for test in report.tests if test.outcome is not Outcome.PASSED]
    return Measured(
        verdict=report.verdict.value,
        reasons=list(report.reasons),
        generation=report.subject.generation,
        tests=report.totals.total,
        passed=report.totals.passed,
        measures={name: round(value, 4) for name, value in report.means.values.items()},
        missed=[
            MissedQuestion(
                query=test.query_text,
                outcome=test.outcome.value,
                expected="; ".join(one.expectation for one in test.sought),
                cause=test.cause,
                message=test.message,
            )
            for test in missed[:_MAX_SHOWN]
        ],
        more_missed=max(0, len(missed) - _MAX_SHOWN),
    )


async def _changes(application: Application, _caller: Caller, asked: ChangesArguments) -> Changes:
    generations = application.parts.generations(asked.collection)
    number = await generations.current() if asked.generation is None else asked.generation
    return Changes.model_validate(changes_json(await generations.changes(number)))


MAINTAINER_TOOLS = (
    Tool(
        "why_not",
        "Explain a missing passage",
        "Explain why a search does not find a passage: it does not exist, or other passages rank "
        "above it, for example.",
        WhyNotArguments,
        MissCause,
        _why_not,
    ),
    Tool(
        "validate",
        "Validate the search",
        "Measure how well the search answers questions whose answers are known, and list those it "
        "misses with the cause.",
        ValidateArguments,
        Measured,
        _validate,
    ),
    Tool(
        "changes",
        "List changed pages",
        "List the pages that an ingest added, changed and removed.",
        ChangesArguments,
        Changes,
        _changes,
    ),
)
