"""Conditions of every kind, and chunks that some of them hold for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contract.indexes.index_contents import entries
from support.fakes import NOW
from surefind.model import AnyOf, Attribute, Between, Condition, Under
from surefind.ports import IndexEntry

CONDITIONS: list[Condition] = [
    AnyOf("version", ("1.0",)),
    AnyOf("version", ("1.0", "2.0")),
    AnyOf("version", ("2.0",), exclude=True),
    AnyOf("locale", ("",)),
    AnyOf("source", ("other",)),
    AnyOf("has_code", (True,)),
    AnyOf("has_code", (False,)),
    AnyOf("has_code", (True,), exclude=True),
    AnyOf("position", (3,)),
    AnyOf("position", (3, 5)),
    AnyOf("title", ('Größe "5"',)),
    AnyOf("tags", ("odd",)),
    AnyOf("tags", ("odd", "third")),
    AnyOf("tags", ("third",), exclude=True),
    AnyOf("rating", (2.5,)),
    AnyOf("rating", ("high", 4)),
    AnyOf("hidden", (True,)),
    AnyOf("last_update.author", ("Ann",)),
    Between("position", gte=4.0),
    Between("position", gt=4.0, lte=7.0),
    Between("rating", lt=3.0),
    Between("created_at", gte=NOW + timedelta(days=3)),
    Between("date", gt=datetime(2026, 1, 4, tzinfo=UTC), lt=datetime(2026, 1, 8, tzinfo=UTC)),
    Under("source_path", "docs/guide"),
    Under("source_path", "other"),
    Under("url", "https://docs.example.com/en"),
]


def various() -> list[IndexEntry]:
    """Twelve chunks that differ in whatever can be filtered by."""
    made = []
    for number, entry in enumerate(entries([f"word {number}" for number in range(12)])):
        folder = ("docs/guide", "docs/guidelines", "other")[number % 3]
        chunk = replace(
            entry.record.chunk, source_path=f"{folder}/{number}.md", has_code=number % 4 == 0
        )
        attributes: dict[str, Attribute] = {
            "tags": tuple(
                tag for tag, fits in (("odd", number % 2), ("third", number % 3 == 0)) if fits
            ),
            "date": f"2026-01-{number + 1:02}",
            "hidden": number % 5 == 0,
            "last_update.author": "Ann" if number < 4 else "Bob",
            "rating": "high" if number == 11 else number / 2 if number % 2 else number,
        }
        shown = replace(
            entry.record,
            chunk=chunk,
            url=f"https://docs.example.com/{('en', 'english', 'fr')[number % 3]}/{number}",
            title='Größe "5"' if number == 5 else "Page",
            version=("1.0", "2.0", "")[number % 3],
            locale="fr" if number == 7 else "",
            created_at=NOW + timedelta(days=number),
            attributes=attributes,
        )
        made.append(replace(entry, record=shown))
    return made
