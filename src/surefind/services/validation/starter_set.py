"""Generates a starter golden set from a collection's headings."""

from collections import Counter

from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.evaluation.golden.label_free import section_question
from surefind.ports import Catalog

MAX_STARTERS = 50
NAME = "the collection's own headings"


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
    return GoldenSet(NAME, tests, measured_only=True)
