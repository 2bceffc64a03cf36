"""Pages, and golden tests about them, for tests of validation."""

from surefind.evaluation.golden.expectations import ByAddress, Expectation
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest, SuccessCriteria, TestKind
from surefind.evaluation.report.report import Report, TestOutcome
from surefind.services.search.search import Searcher
from surefind.services.validation.run_request import RunRequest
from surefind.services.validation.validate import Validator
from unit.installation import Installation

PAGES = {
    "cats.md": "# Cats\n\ncats sleep in the sunshine\n\n## Food\n\ncats eat fish in the morning",
    "dogs.md": "---\nlevel: hard\n---\n# Dogs\n\ndogs run in the rain",
    "copy-a.md": "# Copy\n\nthe same long words about many green parrots in a wide forest",
    "copy-b.md": "# Copy\n\nthe same long words about many green parrots in a wide forest",
    **{f"more/{n}.md": f"# Topic {n}\n\ncats and topic {n}" for n in range(10)},
}
FOOD = ByAddress("https://x.org/cats", "Food")
FISH = "cats eat fish in the morning"


def wants(
    text: str,
    *expected: Expectation,
    accuracy: float = 1.0,
    similarity: float | None = None,
    where: tuple[str, ...] = (),
) -> GoldenTest:
    criteria = SuccessCriteria(accuracy, similarity)
    return GoldenTest(
        f"{text}/{expected}", text, TestKind.POSITIVE, expected, criteria, where=where
    )


def refuses(text: str, similarity: float | None = None) -> GoldenTest:
    return GoldenTest(text, text, TestKind.NEGATIVE, criteria=SuccessCriteria(1.0, similarity))


async def validate(
    home: Installation, *tests: GoldenTest, searcher: Searcher | None = None, **options: object
) -> Report:
    validator = Validator(home.readers, searcher or home.searcher, "test")
    golden = GoldenSet("golden", tests)
    return await validator.run(golden, RunRequest(**options))  # type: ignore[arg-type]


async def outcome_of(
    home: Installation, test: GoldenTest, searcher: Searcher | None = None, **options: object
) -> TestOutcome:
    [outcome] = (await validate(home, test, searcher=searcher, **options)).tests
    return outcome
