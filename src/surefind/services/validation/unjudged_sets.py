"""Golden sets without judgements: from the documentation itself, and from the query log."""

from collections import Counter
from collections.abc import Sequence

from surefind.errors import InputError
from surefind.evaluation.golden.expectations import ByAddress, BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.label_free import (
    VALIDITY,
    LabelFreeKind,
    SelfDescription,
    section_question,
)
from surefind.model import LoggedSearch, question_key
from surefind.ports import Catalog

LOGS = "logs"
MAX_STARTERS = 50
MAX_PER_KIND = 200
_ENOUGH_CONFIDENCE = 0.5
_STARTERS = "the collection's own headings"


async def starter_set(catalog: Catalog, most: int = MAX_STARTERS) -> GoldenSet:
    """Each test searches for a section by its page title and heading.

    Ambiguous headings are skipped. These tests are not reviewed, so they only measure; no single
    one fails a run.
    """
    sections: dict[tuple[str, str], str] = {}
    async for record in catalog.chunks():
        heading = record.section.strip()
        if heading:
            question = section_question(record.title.strip(), heading)
            sections[record.chunk.source_path, heading] = question
    asked = Counter(question.casefold() for question in sections.values())
    clear = [
        (path, heading, question)
        for (path, heading), question in sections.items()
        if asked[question.casefold()] == 1
    ]
    # Spread evenly over the collection, and reproducible.
    if len(clear) > most:
        clear = [clear[number * len(clear) // most] for number in range(most)]
    tests = tuple(
        GoldenTest(f"heading-{number}", question, expected=(BySource(path, heading),))
        for number, (path, heading, question) in enumerate(clear, start=1)
    )
    return GoldenSet(_STARTERS, tests, measured_only=True)


async def self_description(catalog: Catalog) -> SelfDescription:
    description = SelfDescription()
    async for record in catalog.chunks():
        description.add(record)
    return description


async def label_free_set(
    catalog: Catalog, kinds: Sequence[LabelFreeKind], most: int = MAX_PER_KIND
) -> GoldenSet:
    """At most `most` tests of each kind. They only measure; no single one fails a run."""
    description = await self_description(catalog)
    tests = [test for kind in kinds for test in description.tests(kind, most)]
    if not tests:
        raise InputError(
            f"the collection has no {', '.join(kinds)} that make tests; try other kinds, or write "
            "tests with `surefind golden add`"
        )
    name = ", ".join(f"{kind} (validity {VALIDITY[kind].tau:.2f})" for kind in kinds)
    return GoldenSet(f"tests without labels: {name}", tuple(tests), measured_only=True)


def tests_from_log(searches: Sequence[LoggedSearch], most: int) -> list[GoldenTest]:
    """The most frequent questions that seem to be answered, each with its best hit.

    Questions with thin evidence make no tests: they are gaps.
    """
    answered = [
        one
        for one in searches
        if one.url and not one.filtered and (one.confidence or 0.0) >= _ENOUGH_CONFIDENCE
    ]
    asked = Counter(question_key(one.text) for one in answered)
    latest = {question_key(one.text): one for one in answered}
    return [
        GoldenTest(
            f"{LOGS}-{number}",
            " ".join(latest[key].text.split()),
            expected=(ByAddress(latest[key].url),),
            category=LOGS,
        )
        for number, (key, _) in enumerate(asked.most_common(most), start=1)
    ]
