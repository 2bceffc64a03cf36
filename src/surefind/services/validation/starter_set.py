"""A golden set from a collection's own headings, for those who have none yet."""

from collections import Counter

from surefind.evaluation.golden.expectations import BySource
from surefind.evaluation.golden.golden_set import GoldenSet, GoldenTest
from surefind.ports import Catalog

MAX_STARTERS = 50
NAME = "the collection's own headings"


async def starter_set(catalog: Catalog, most: int = MAX_STARTERS) -> GoldenSet:
    """Each asks for a section by the names of its page and itself, and expects to find it there.

    Names that stand for several sections ask for nothing in particular and are left out. Nobody
    has looked at these tests, so they measure, and no single one fails a run.
    """
    sections: dict[tuple[str, str], str] = {}
    async for record in catalog.chunks():
        heading = record.section.strip()
        if heading:
            question = _question(record.title.strip(), heading)
            sections[record.chunk.source_path, heading] = question
    asked = Counter(question.casefold() for question in sections.values())
    clear = [
        (path, heading, question)
        for (path, heading), question in sections.items()
        if asked[question.casefold()] == 1
    ]
    # Evenly over the whole collection, and the same ones for the same content.
    if len(clear) > most:
        clear = [clear[number * len(clear) // most] for number in range(most)]
    tests = tuple(
        GoldenTest(f"heading-{number}", question, expected=(BySource(path, heading),))
        for number, (path, heading, question) in enumerate(clear, start=1)
    )
    return GoldenSet(NAME, tests, measured_only=True)


def _question(title: str, heading: str) -> str:
    if not title or title.casefold() in heading.casefold():
        return heading
    return f"{title}: {heading}"
