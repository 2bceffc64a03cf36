"""Where results and rooms are kept, and a room of any size."""

from pathlib import Path

from corpora import texts_of
from room import Room, furnish

RESULTS = Path(__file__).parent / "results"
_SET = "squad-dev-even"


def room_of(count: int) -> Room:
    """It is written once, and read by every system in every run."""
    texts, questions = texts_of(_SET, "corpus.jsonl"), texts_of(_SET, "queries.jsonl")
    return furnish(RESULTS / "rooms" / str(count), count, texts, questions)
