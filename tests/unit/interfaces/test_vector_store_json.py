"""What OpenAI's clients see of collections that can't be counted or read."""

from datetime import UTC, datetime

from surefind.interfaces.json_output.vector_stores import file_id, source_path_of, store_json
from surefind.model import CollectionSummary


def test_a_collection_whose_store_is_unavailable_is_not_completed() -> None:
    store = store_json(CollectionSummary("theirs", served=False, generation=2))
    assert (store["status"], store["created_at"], store["metadata"]) == ("in_progress", 0, {})
    assert store["file_counts"]["total"] == 0


def test_the_documents_of_a_connected_collection_are_not_counted() -> None:
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    connected = CollectionSummary("theirs", False, 2, None, 40, moment)
    store = store_json(connected)
    assert (store["status"], store["created_at"]) == ("completed", int(moment.timestamp()))
    assert store["file_counts"]["total"] == 0
    assert store["metadata"] == {"generation": "2", "chunks": "40"}


def test_the_id_of_a_file_is_its_path() -> None:
    for path in ("docs/a.md", "docs/ümlaut & more.md", "a" * 999):
        assert source_path_of(file_id(path)) == path
        assert file_id(path).isascii()
