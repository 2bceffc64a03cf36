"""A comparison of targets as one HTML page, without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from surefind.evaluation.report.side_by_side import ComparedPair, Contrast, ContrastSide, SideBySide
from surefind.interfaces.reports.html.charts import interval
from surefind.interfaces.reports.html.document_shell import Shell
from surefind.interfaces.reports.html.markup import link, outcome, section, shortened, table, text
from surefind.interfaces.reports.side_by_side import (
    head_lines,
    letters,
    measure_head,
    measure_rows,
    pair_lines,
    target_head,
    target_rows,
)

_WORDS = 200


def side_by_side_page(result: SideBySide, version: str) -> str:
    names = letters(result)
    title = " and ".join(shortened(one.name, _WORDS) for one in result.targets)
    lines = "".join(f"<li>{text(line)}</li>" for line in head_lines(result))
    targets = [tuple(map(text, row)) for row in target_rows(result)]
    width = len(target_head(result))
    body = [
        section(
            "targets",
            "Targets",
            table("Targets", target_head(result), targets, range(2, width)),
        ),
        *(_pair(number, pair, names) for number, pair in enumerate(result.pairs)),
        section("contrasts", "The most different questions", *_contrasts(result)),
    ]
    return Shell(
        title=f"Comparison: {title}",
        version=version,
        header=(
            '<header class="pass"><p class=kind>surefind · retrieval comparison</p>'
            f"<h1><small>{text(title)}</small></h1><ul>{lines}</ul></header>"
        ),
        body="\n".join(part for part in body if part),
        footer=f"<p>{datetime.now(UTC):%d %B %Y, %H:%M} UTC · surefind {text(version)}</p>",
    ).page()


def _pair(number: int, pair: ComparedPair, names: Mapping[str, str]) -> str:
    first, second = names[pair.first], names[pair.second]
    changes = [change.difference for change in pair.changes]
    widest = max((max(abs(one.low), abs(one.high)) for one in changes), default=0.0)
    rows = []
    for change, cells in zip(pair.changes, measure_rows(pair, names), strict=True):
        difference, word = change.difference, change.verdict.value
        *cells_before, evidence = map(text, cells)
        bar = interval(difference.low, difference.mean, difference.high, widest, word)
        badge = outcome(word, evidence)
        rows.append((*cells_before[:4], bar, *cells_before[4:], badge))
    head = list(measure_head(pair, names))
    head.insert(4, f"{first} better | {second} better")
    listed = "".join(f"<li>{text(line)}</li>" for line in pair_lines(pair, names))
    title = f"{second} compared with {first}"
    return section(
        f"pair-{number}", title, table(title, head, rows, (1, 2, 3, 5, 6, 7)), f"<ul>{listed}</ul>"
    )


def _contrasts(result: SideBySide) -> Iterator[str]:
    if not result.contrasts:
        return
    names = list(letters(result).values())
    rows = [_contrast(one, result.measure) for one in result.contrasts]
    yield table("The most different questions", ("question", *names), rows)


def _contrast(one: Contrast, measure: str) -> tuple[str, ...]:
    question = f"{text(shortened(one.query_text, _WORDS))}<br><small>{text(one.test_id)}</small>"
    return (question, *(_side(side, measure) for side in one.sides))


def _side(side: ContrastSide, measure: str) -> str:
    value = "" if side.value is None else f" {text(measure)} {side.value:.3f}"
    hits = "".join(
        f"<li>{link(hit.url, shortened(hit.url or hit.chunk_id, _WORDS))}"
        f"{' <b>expected</b>' if hit.rank in side.right else ''}</li>"
        for hit in side.found
    )
    reason = f"<p class=quiet>{text(shortened(side.message, _WORDS))}</p>" if side.message else ""
    return f"{outcome(side.outcome.value)}{value}<ol>{hits}</ol>{reason}"
