"""The validation of the retrieval implementation: `POST /api/v1/validate`."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal, Self
from uuid import uuid4

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic.config import JsonDict

from surefind.contracts.answer import NotBlank
from surefind.contracts.implementation import (
    QUERY_LENGTHS,
    TOP_K,
    FlawedMetadataPackage,
    MetadataPackage,
    SimilarityScore,
)
from surefind.contracts.request import (
    Fraction,
    Identifier,
    Moment,
    SearchMode,
    StrictRequest,
    Words,
    add_other_name,
)
from surefind.evaluation.golden import golden_set as golden
from surefind.evaluation.golden.expectations import ByChunk
from surefind.evaluation.report.report import ExpectationResult, Report, TestOutcome
from surefind.model import Collapse, Mode
from surefind.services.validation.chunk_tests import ChunkTestResult

MAX_TESTS = 100
MAX_EXPECTED = 100


class ExpectedCriteria(StrictRequest):
    """When a test passes."""

    min_accuracy: Fraction | None = Field(
        default=None,
        description="The fraction of expected chunks that must be found; by default "
        "validation_params.accuracy_threshold",
    )
    min_similarity_score: Fraction = Field(
        default=0.0, description="Chunks with a lower similarity do not count as found"
    )


def _describe_test(schema: JsonDict) -> None:
    """Rules across fields: alternative names, and two fields with one meaning."""
    add_other_name(schema, "expected_results", "expected_chunks")
    schema["not"] = {
        "properties": {"success_criteria": {"required": ["min_similarity_score"]}},
        "required": ["min_similarity", "success_criteria"],
    }


class ExpectedQuery(StrictRequest):
    """A validation test: a question and the ids of the chunks that it must find.

    `expected_chunks` is accepted for `expected_results`, and `min_similarity` for
    `success_criteria.min_similarity_score`.
    """

    model_config = ConfigDict(json_schema_extra=_describe_test)

    query_text: Words = Field(min_length=QUERY_LENGTHS[0], max_length=QUERY_LENGTHS[1])
    expected_results: list[Identifier] = Field(
        min_length=1,
        max_length=MAX_EXPECTED,
        validation_alias=AliasChoices("expected_results", "expected_chunks"),
        description="The chunks that should be returned; `expected_chunks` is also accepted",
    )
    success_criteria: ExpectedCriteria = Field(default_factory=ExpectedCriteria)
    min_similarity: Fraction = Field(
        default=0.0, description="An alias of success_criteria.min_similarity_score"
    )
    test_id: Identifier = Field(
        default_factory=lambda: str(uuid4()),
        description="Unique within the request; generated if omitted",
    )
    test_category: Identifier | None = Field(
        default=None, description="For example factual, conceptual or contextual; echoed"
    )
    executed_at: Moment | None = Field(
        default=None, description="From an earlier run; the response has this run's value"
    )
    result_accuracy: Fraction | None = Field(
        default=None, description="From an earlier run; the response has this run's value"
    )

    @model_validator(mode="after")
    def _one_similarity(self) -> Self:
        twice = "min_similarity_score" in self.success_criteria.model_fields_set
        if twice and "min_similarity" in self.model_fields_set:
            raise ValueError(
                "give min_similarity or success_criteria.min_similarity_score, not both"
            )
        return self

    def to_golden(self, accuracy_threshold: float) -> golden.GoldenTest:
        """`accuracy_threshold` applies unless the test sets its own."""
        own = self.success_criteria
        return golden.GoldenTest(
            self.test_id,
            self.query_text,
            expected=tuple(ByChunk(name) for name in dict.fromkeys(self.expected_results)),
            criteria=golden.SuccessCriteria(
                accuracy_threshold if own.min_accuracy is None else own.min_accuracy,
                max(own.min_similarity_score, self.min_similarity),
            ),
            category=self.test_category or "",
        )


class ValidationParams(StrictRequest):
    accuracy_threshold: Fraction = Field(
        default=1.0,
        description="The fraction of expected chunks that a test must find to pass, unless its "
        "success_criteria set one",
    )
    top_k: int = Field(default=5, ge=1, le=TOP_K, description="How many results are checked")
    mode: SearchMode = Mode.DENSE


_LEXICAL: JsonDict = {"properties": {"mode": {"const": "lexical"}}, "required": ["mode"]}
_NO_SIMILARITY: JsonDict = {
    "items": {
        "properties": {
            "min_similarity": {"const": 0},
            "success_criteria": {"properties": {"min_similarity_score": {"const": 0}}},
        }
    }
}


class ValidateRequest(StrictRequest):
    model_config = ConfigDict(
        json_schema_extra={
            # Lexical mode has no cosines, so tests can't require a minimum similarity.
            "if": {
                "properties": {"validation_params": _LEXICAL},
                "required": ["validation_params"],
            },
            "then": {"properties": {"test_queries": _NO_SIMILARITY}},
            "examples": [
                {
                    "test_queries": [
                        {
                            "test_id": "voltage",
                            "query_text": "Which voltage does it need?",
                            "expected_results": ["install-power-irl42352eb-0"],
                            "success_criteria": {
                                "min_accuracy": 1.0,
                                "min_similarity_score": 0.5,
                            },
                            "test_category": "factual",
                        }
                    ],
                    "validation_params": {"top_k": 5},
                }
            ],
        }
    )

    test_queries: list[ExpectedQuery] = Field(min_length=1, max_length=MAX_TESTS)
    validation_params: ValidationParams = Field(default_factory=ValidationParams)

    @field_validator("test_queries")
    @classmethod
    def _unique(cls, tests: list[ExpectedQuery]) -> list[ExpectedQuery]:
        if len({test.test_id for test in tests}) < len(tests):
            raise ValueError("every test_id must be unique; rename or omit the duplicates")
        return tests

    def to_golden(self) -> golden.GoldenSet:
        params = self.validation_params
        return golden.GoldenSet(
            "POST /api/v1/validate",
            tuple(test.to_golden(params.accuracy_threshold) for test in self.test_queries),
            top_k=params.top_k,
            mode=params.mode,
            collapse=Collapse.OFF,
        )


class AppliedCriteria(BaseModel):
    min_accuracy: float = Field(ge=0, le=1)
    min_similarity_score: float = Field(ge=0, le=1)


class ValidationTest(BaseModel):
    test_id: NotBlank
    query_text: NotBlank
    expected_results: list[NotBlank] = Field(
        min_length=1, description="The chunks that should be returned"
    )
    success_criteria: AppliedCriteria
    test_category: NotBlank | None
    executed_at: datetime
    result_accuracy: float = Field(
        ge=0, le=1, description="The fraction of expected chunks that were found"
    )


def validation_tests_of(report: Report) -> list[ValidationTest]:
    """The tests of a run in the published shape, except those that expect no chunk.

    An expectation that matches several chunks, such as a page, is listed as the chunk that was
    found, or else the first one. So the accuracy equals that of the run.
    """
    return [
        ValidationTest(
            test_id=test.test_id,
            query_text=test.query_text,
            expected_results=list(dict.fromkeys(map(partial(_chunk_of, test), live))),
            success_criteria=AppliedCriteria(
                min_accuracy=test.min_accuracy,
                min_similarity_score=test.min_similarity_score or 0.0,
            ),
            test_category=test.category or None,
            executed_at=test.executed_at,
            result_accuracy=test.accuracy or 0.0,
        )
        for test in report.tests
        if test.executed_at is not None and (live := [one for one in test.sought if one.meant])
    ]


def _chunk_of(test: TestOutcome, sought: ExpectationResult) -> str:
    shown = () if sought.rank is None else (test.found[sought.rank - 1],)
    names = [name for hit in shown for name in (hit.chunk_id, *hit.twins)]
    return next((name for name in names if name in sought.meant), sought.meant[0])


class FoundChunk(BaseModel):
    rank: int = Field(ge=1)
    metadata: MetadataPackage | FlawedMetadataPackage
    similarity: SimilarityScore | None = Field(description="null in lexical mode")


class DetailedResult(ValidationTest):
    passed: bool
    found: list[FoundChunk] = Field(description="The expected chunks that were returned")
    missing: list[str] = Field(description="The expected chunks that were not")
    error: str | None = Field(description="Why the test could not be evaluated; null if it was")


_DETAIL: JsonDict = {
    "test_id": "voltage",
    "query_text": "Which voltage does it need?",
    "expected_results": ["install-power-irl42352eb-0"],
    "success_criteria": {"min_accuracy": 1.0, "min_similarity_score": 0.5},
    "test_category": "factual",
    "executed_at": "2026-01-02T03:04:05Z",
    "result_accuracy": 0.0,
    "passed": False,
    "found": [],
    "missing": ["install-power-irl42352eb-0"],
    "error": None,
}


class ValidateResponse(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "validation_id": "d1f2b0c4-0f53-4a34-8f0e-5f7b3a4f5b10",
                    "total_tests": 1,
                    "passed_tests": 0,
                    "failed_tests": 1,
                    "overall_accuracy": 0.0,
                    "detailed_results": [_DETAIL],
                    "validation_status": "failed",
                }
            ]
        }
    )

    validation_id: str
    total_tests: int = Field(ge=1)
    passed_tests: int = Field(ge=0)
    failed_tests: int = Field(ge=0)
    overall_accuracy: float = Field(ge=0, le=1, description="The mean accuracy of all tests")
    detailed_results: list[DetailedResult]
    validation_status: Literal["passed", "failed", "partial"] = Field(
        description="passed: all tests; failed: none; partial: some"
    )

    @classmethod
    def of(cls, results: Sequence[ChunkTestResult], embedding_model: str) -> "ValidateResponse":
        details = [_detail(result, embedding_model) for result in results]
        passed = sum(detail.passed for detail in details)
        status: Literal["passed", "failed", "partial"] = "partial"
        if passed in {0, len(details)}:
            status = "passed" if passed else "failed"
        return cls(
            validation_id=str(uuid4()),
            total_tests=len(details),
            passed_tests=passed,
            failed_tests=len(details) - passed,
            overall_accuracy=sum(detail.result_accuracy for detail in details) / len(details),
            detailed_results=details,
            validation_status=status,
        )


def _detail(result: ChunkTestResult, embedding_model: str) -> DetailedResult:
    test = result.test
    return DetailedResult(
        test_id=test.test_id,
        query_text=test.query_text,
        expected_results=[one.chunk_id for one in test.expected if isinstance(one, ByChunk)],
        success_criteria=AppliedCriteria(
            min_accuracy=test.criteria.min_accuracy,
            min_similarity_score=test.criteria.min_similarity_score or 0.0,
        ),
        test_category=test.category or None,
        executed_at=result.executed_at,
        result_accuracy=result.accuracy,
        passed=result.passed,
        found=[
            FoundChunk(
                rank=hit.rank,
                metadata=MetadataPackage.of(hit.record),
                similarity=SimilarityScore.of(hit, result.query, embedding_model),
            )
            for hit in result.found
        ],
        missing=result.missing,
        error=result.problem,
    )
