"""Links to pages without a published address, as an interface that serves them knows them."""

from dataclasses import replace

from surefind.model import ChunkRecord, Hit, SearchResult, reader_path
from surefind.services.search.why_not import WhyNot


def absolute_url(url: str, address: str) -> str:
    """The URL of an unpublished page in the reader of the server at `address`."""
    path = reader_path(url)
    return url if path is None else address + path


def with_links(result: SearchResult, address: str) -> SearchResult:
    return replace(
        result,
        hits=tuple(linked_hit(hit, address) for hit in result.hits),
        over_budget=tuple(linked_hit(hit, address) for hit in result.over_budget),
    )


def linked_hit(hit: Hit, address: str) -> Hit:
    record = linked_record(hit.record, address)
    if record is hit.record and not hit.also:
        return hit
    also = tuple(linked_record(same, address) for same in hit.also)
    return replace(hit, record=record, also=also)


def linked_record(record: ChunkRecord, address: str) -> ChunkRecord:
    url = absolute_url(record.url, address)
    return record if url == record.url else replace(record, url=url)


def linked_cause(answer: WhyNot, address: str) -> WhyNot:
    record = answer.record and linked_record(answer.record, address)
    return replace(answer, record=record, ahead=tuple(linked_hit(h, address) for h in answer.ahead))
