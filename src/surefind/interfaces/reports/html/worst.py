"""The worst tests, with their expected and actual passages."""

from __future__ import annotations

from collections.abc import Mapping

from surefind.evaluation.report.report import (
    ExpectationResult,
    FoundHit,
    Outcome,
    Report,
    TestOutcome,
)
from surefind.interfaces.reports.html.markup import link, outcome, section, shortened, text
from surefind.model import ChunkRecord
from surefind.text.html.to_markdown import readable

_SHOWN = 15
_HITS = 5
_PASSAGE = 360
_WORDS = 300
_ORDER = {Outcome.ERROR: 0, Outcome.FAILED: 1, Outcome.STALE: 2, Outcome.INVALID: 3}


def worst_tests(report: Report, passages: Mapping[str, ChunkRecord]) -> str:
    bad = sorted((test for test in report.tests if test.outcome in _ORDER), key=_badness)
    if not bad:
        return ""
    listed = "".join(_test(test, passages) for test in bad[:_SHOWN])
    left = len(bad) - _SHOWN
    more = f"<p class=quiet>And {left:,} more, in the table below.</p>" if left > 0 else ""
    return section("worst", "Worst results", listed, more)


def _badness(test: TestOutcome) -> tuple[int, float, str]:
    return _ORDER[test.outcome], next(iter(test.measures.values()), 0.0), test.test_id


def _test(test: TestOutcome, passages: Mapping[str, ChunkRecord]) -> str:
    cause = f" · {text(test.cause.replace('_', ' '))}" if test.cause else ""
    is_explained = any(one.message for one in test.sought)
    message = "" if is_explained else f"<p>{text(shortened(test.message, 2 * _WORDS))}</p>"
    expected = "".join(_expected(one, passages) for one in test.sought) or (
        "<li>no answer: this is a negative test</li>" if test.kind.value == "negative" else ""
    )
    labels = {one.label for one in test.sought}
    hits = "".join(
        _hit(hit, passages.get(hit.chunk_id), expected=not labels.isdisjoint(hit.labels))
        for hit in test.found[:_HITS]
    )
    return (
        f"<details class=test><summary>{outcome(test.outcome.value)} "
        f"<q>{text(shortened(test.query_text, _WORDS))}</q>"
        f"<span class=quiet> {text(shortened(test.test_id, 60))}{cause}</span></summary>{message}"
        + (f"<h3>Expected</h3><ul>{expected}</ul>" if expected else "")
        + (f"<h3>Hits</h3><ol>{hits}</ol>" if hits else "<p>No hits.</p>")
        + "</details>"
    )


def _expected(one: ExpectationResult, passages: Mapping[str, ChunkRecord]) -> str:
    if one.stale:
        place = "no longer in the collection"
    else:
        place = f"found at rank {one.rank}" if one.rank else one.message or "not found"
    record = passages.get(one.nearest)
    quoted = _quoted(record) if record else ""
    expectation = shortened(one.expectation, _WORDS)
    return f"<li>{text(expectation)}: <span class=quiet>{text(place)}</span>{quoted}</li>"


def _hit(hit: FoundHit, record: ChunkRecord | None, *, expected: bool) -> str:
    place = record.breadcrumb or record.title if record else hit.section
    similarity = "" if hit.similarity is None else f", similarity {hit.similarity:.3f}"
    return (
        f"<li>{link(hit.url, place or hit.chunk_id)}"
        f"<span class=quiet> score {hit.score:.3f}{similarity}"
        f"{' · expected' if expected else ''}</span>{_quoted(record) if record else ''}</li>"
    )


def _quoted(record: ChunkRecord) -> str:
    return f"<blockquote>{text(shortened(readable(record.chunk.text), _PASSAGE))}</blockquote>"
