"""A comparison of targets as JSON, for the terminal and as Markdown."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from surefind.evaluation.report.report import MeasureChange
from surefind.evaluation.report.side_by_side import ComparedPair, Contrast, ContrastSide, SideBySide
from surefind.evaluation.report.wording import in_short
from surefind.evaluation.statistics.significance import ComparisonEvidence
from surefind.interfaces.reports.markdown import markdown_table, safe
from surefind.interfaces.reports.tables import table

_FOUND_SHOWN = 5
_NAME = 60


@cache
def _adapter() -> TypeAdapter[SideBySide]:
    return TypeAdapter(SideBySide)


def side_by_side_json(result: SideBySide) -> dict[str, Any]:
    values: dict[str, Any] = _adapter().dump_python(result, mode="json")
    return {"schema": values.pop("schema"), **values}


def letters(result: SideBySide) -> dict[str, str]:
    """A letter for each target, as columns are narrow and addresses long."""
    return {one.name: chr(ord("A") + number) for number, one in enumerate(result.targets)}


def measure_head(pair: ComparedPair, names: Mapping[str, str]) -> tuple[str, ...]:
    first, second = names[pair.first], names[pair.second]
    difference = f"{second} - {first}"
    return ("measure", first, second, difference, "95 % interval", "p", "detectable", "evidence")


def measure_rows(pair: ComparedPair, names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for change in pair.changes:
        difference = change.difference
        yield (
            change.measure,
            f"{difference.before:.3f}",
            f"{difference.after:.3f}",
            f"{difference.mean:+.3f}",
            f"{difference.low:+.3f} to {difference.high:+.3f}",
            f"{change.p:.3f}",
            f"{difference.detectable:.3f}",
            conclusion(change, names[pair.first], names[pair.second]),
        )


def conclusion(change: MeasureChange, first: str, second: str) -> str:
    """Which target is better, if that is significant."""
    known = {
        ComparisonEvidence.BETTER: f"{second} better",
        ComparisonEvidence.WORSE: f"{first} better",
        ComparisonEvidence.NO_CHANGE: "same",
    }
    return known.get(change.evidence, "undecided")


def target_rows(result: SideBySide) -> Iterator[tuple[str, ...]]:
    names = letters(result)
    for one in result.targets:
        times = "" if one.p50_ms is None else f"{one.p50_ms:.1f} / {one.p95_ms:.1f} ms"
        errors = f", {one.errors} failed" if one.errors else ""
        yield (
            names[one.name],
            f"{one.passed}/{result.tests}{errors}",
            *(f"{value:.3f}" for value in one.means.values()),
            times,
        )


def target_head(result: SideBySide) -> tuple[str, ...]:
    return ("", "passed", *result.targets[0].means, "p50 / p95")


def pair_lines(pair: ComparedPair, names: Mapping[str, str]) -> Iterator[str]:
    """Wins and losses, the latency and the overlap, in words."""
    first, second = names[pair.first], names[pair.second]
    wins, losses = len(pair.wins), len(pair.losses)
    yield f"tests that {second} answers better: {wins}, worse: {losses}, equally: {pair.ties}"
    if pair.latency is not None:
        ratio = pair.latency
        yield (
            f"latency of {second}: {_times(ratio.value)} times that of {first} "
            f"({_times(ratio.low)} to {_times(ratio.high)}, over {ratio.queries} questions)"
        )
    if pair.overlap is not None:
        yield f"overlap: {pair.overlap:.0%} of the pages that either returns are returned by both"


def _times(ratio: float) -> str:
    """Two digits, without an exponent."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def head_lines(result: SideBySide) -> Iterator[str]:
    tests = "1 test" if result.tests == 1 else f"{result.tests} tests"
    yield f"{tests} of {result.golden}, top {result.top_k}"
    names = letters(result)
    yield from (f"{names[one.name]}: {one.name}" for one in result.targets)
    if result.interrupted:
        yield f"the comparison ended early: {result.interrupted}"
    if result.left_out:
        shown = ", ".join(in_short(name, _NAME) for name in result.left_out[:_FOUND_SHOWN])
        yield f"not compared, because not all runs have them: {len(result.left_out)} ({shown})"
    for one in result.targets:
        for warning in one.warnings:
            yield f"warning: {names[one.name]}: {warning}"


def found_lines(side: ContrastSide) -> Iterator[str]:
    """The first results; a star marks those that the test expects."""
    for hit in side.found[:_FOUND_SHOWN]:
        mark = "*" if hit.rank in side.right else ""
        yield f"{hit.rank}{mark} {in_short(hit.url or hit.chunk_id, _NAME)}"
    if not side.found:
        yield "no results"


# --- the terminal -----------------------------------------------------------------------------


def side_by_side_terminal(result: SideBySide) -> str:
    names = letters(result)
    parts = [
        "\n".join(head_lines(result)),
        table(target_head(result), target_rows(result), whole=range(9), dense=True),
    ]
    for pair in result.pairs:
        parts += [
            f"{names[pair.second]} compared with {names[pair.first]}",
            _narrow_table(pair, names),
            "\n".join(pair_lines(pair, names)),
        ]
    if result.contrasts:
        parts.append("the most different questions")
        parts += ["\n".join(_contrast(one, result)) for one in result.contrasts]
    return "\n\n".join(part for part in parts if part)


def _narrow_table(pair: ComparedPair, names: Mapping[str, str]) -> str:
    """Without what each measure could detect, which does not fit into 80 columns."""
    head = measure_head(pair, names)
    rows = [(*row[:6], row[7]) for row in measure_rows(pair, names)]
    return table((*head[:6], head[7]), rows, whole=range(6), dense=True)


def _contrast(one: Contrast, result: SideBySide) -> Iterator[str]:
    yield f"{in_short(one.test_id)}: {in_short(one.query_text)}"
    for letter, side in zip(letters(result).values(), one.sides, strict=True):
        value = "" if side.value is None else f", {result.measure} {side.value:.3f}"
        yield f"  {letter} {side.outcome.value}{value}"
        yield from (f"    {line}" for line in found_lines(side))


# --- Markdown ---------------------------------------------------------------------------------


def side_by_side_markdown(result: SideBySide) -> str:
    names = letters(result)
    rows = [tuple(map(safe, row)) for row in target_rows(result)]
    parts = [
        "## Retrieval comparison\n",
        *(f"- {safe(line)}" for line in head_lines(result)),
        "",
        markdown_table(target_head(result), rows),
    ]
    for pair in result.pairs:
        parts += [
            f"### {names[pair.second]} compared with {names[pair.first]}\n",
            markdown_table(measure_head(pair, names), measure_rows(pair, names)),
            *(f"- {safe(line)}" for line in pair_lines(pair, names)),
            "",
        ]
    if result.contrasts:
        parts.append("### The most different questions\n")
        rows = [
            (
                safe(one.test_id),
                safe(one.query_text),
                *("<br>".join(map(safe, found_lines(side))) for side in one.sides),
            )
            for one in result.contrasts
        ]
        parts.append(markdown_table(("test", "question", *names.values()), rows))
    return "\n".join(parts).rstrip() + "\n"
