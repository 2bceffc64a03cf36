"""What frameworks are given of a hit."""

from dataclasses import replace
from datetime import UTC, datetime

from surefind.interfaces.integrations.found_passages import metadata_of, text_of
from surefind.model import Chunk, ChunkRecord, Context, Hit

CHUNK = Chunk(
    id="kiln-0",
    source_path="docs/fr/kiln.md",
    position=0,
    text="It fires clay.",
    start=0,
    end=14,
    heading_path=("Kiln",),
    context="",
    anchor="kiln",
    tokens=4,
    content_hash="0",
    has_code=False,
    content_type="text",
)
RECORD = ChunkRecord(
    CHUNK, "https://a.example/kiln", "kiln", "Kiln", datetime(2026, 1, 1, tzinfo=UTC)
)
HIT = Hit(1, 0.5, None, None, None, RECORD)


def test_version_and_locale_are_named_if_there_are_any() -> None:
    assert metadata_of(HIT).keys().isdisjoint({"version", "locale", "front_matter"})
    record = replace(
        RECORD, version="2.0", locale="fr", attributes={"tags": ("a", "b"), "level": 3}
    )
    found = metadata_of(replace(HIT, record=record))
    assert (found["version"], found["locale"]) == ("2.0", "fr")
    assert found["front_matter"] == {"tags": ["a", "b"], "level": 3}
    assert found["url"] == "https://a.example/kiln#kiln"


def test_the_text_includes_the_context_that_was_requested() -> None:
    assert text_of(HIT) == "It fires clay."
    assert text_of(replace(HIT, context=Context("Before. It fires clay.", 0, 1, 6))) == (
        "Before. It fires clay."
    )
