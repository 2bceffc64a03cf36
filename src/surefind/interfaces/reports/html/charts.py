"""Charts as inline SVG, without scripts, in the page's colours.

Each has a table of its numbers, for screen readers and for copying.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surefind.interfaces.reports.html.markup import table, text

WIDTH, HEIGHT = 420.0, 200.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 38.0, 16.0, 18.0, 30.0
_INNER_WIDTH = WIDTH - _LEFT - _RIGHT
_INNER_HEIGHT = HEIGHT - _TOP - _BOTTOM
_MOST_BINS = 24
_LABELS = 6


@dataclass(frozen=True, slots=True)
class Series:
    """Counts per column; `look` is the CSS class that sets the colour."""

    name: str
    look: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A vertical line in a histogram at a value of its axis."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins between consecutive `edges`; the last bin includes larger values."""

    edges: tuple[float, ...]
    digits: int

    @classmethod
    def over(cls, low: float, high: float) -> Bins:
        """Bins of a round size that cover `low` to `high`."""
        span = max(high - low, 1e-6)
        size = _round_step(span / _MOST_BINS)
        first, last = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
        last = max(last, first + 1)
        digits = max(0, -math.floor(math.log10(size) + 1e-9))
        return cls(tuple(round(n * size, digits + 2) for n in range(first, last + 1)), digits)

    def count(self, values: Sequence[float]) -> tuple[int, ...]:
        counts = [0] * (len(self.edges) - 1)
        size = self.edges[1] - self.edges[0]
        for value in values:
            at = math.floor((value - self.edges[0]) / size + 1e-9)
            counts[min(max(at, 0), len(counts) - 1)] += 1
        return tuple(counts)

    def labels(self) -> list[str]:
        pairs = zip(self.edges, self.edges[1:], strict=False)
        return [f"{low:.{self.digits}f} to {high:.{self.digits}f}" for low, high in pairs]


def histogram(
    identity: str, title: str, bins: Bins, series: Sequence[Series], marks: Sequence[AxisMark] = ()
) -> str:
    low, high = bins.edges[0], bins.edges[-1]
    ticks = _spread(len(bins.edges))
    axis = "".join(
        _words(_x(at, len(bins.edges) - 1), HEIGHT - 12, f"{bins.edges[at]:.{bins.digits}f}")
        for at in ticks
    )
    lines = "".join(
        _mark(mark, _LEFT + _INNER_WIDTH * min(1.0, (mark.value - low) / (high - low)), number)
        for number, mark in enumerate(marks)
    )
    return _figure(identity, title, bins.labels(), series, axis + lines, marks)


def columns(identity: str, title: str, labels: Sequence[str], series: Sequence[Series]) -> str:
    """A column chart with a column per label."""
    every = math.ceil(len(labels) / 12)
    width = _INNER_WIDTH / max(len(labels), 1)
    axis = "".join(
        _words(_LEFT + width * (at + 0.5), HEIGHT - 12, label)
        for at, label in enumerate(labels)
        if at % every == 0 or at == len(labels) - 1
    )
    return _figure(identity, title, labels, series, axis, ())


def trend_line(identity: str, title: str, labels: Sequence[str], values: Sequence[float]) -> str:
    """A line chart of values in 0..1, oldest first."""
    low = max(0.0, math.floor((min(values) - 0.02) * 20) / 20)
    high = min(1.0, math.ceil((max(values) + 0.02) * 20) / 20)
    dots_at = [
        (
            _x(at, len(values) - 1),
            _TOP + _INNER_HEIGHT * (1 - (value - low) / (high - low)),
            label,
            value,
        )
        for at, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in dots_at)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
        f"<title>{text(label)}: {value:.4f}</title></circle>"
        for x, y, label, value in dots_at
    )
    grid = "".join(
        _gridline(_TOP + _INNER_HEIGHT * (1 - share), f"{low + (high - low) * share:.3f}")
        for share in (0.0, 0.5, 1.0)
    )
    ends = _words(_LEFT, HEIGHT - 8, labels[0], "start")
    ends += _words(WIDTH - _RIGHT, HEIGHT - 8, labels[-1], "end")
    rows = [(text(label), f"{value:.4f}") for label, value in zip(labels, values, strict=True)]
    return _framed(
        identity,
        title,
        f"From {values[0]:.4f} to {values[-1]:.4f} over {len(values)} runs.",
        f'{grid}<polyline class="line" points="{path}"/>{dots}{ends}',
        table(title, ("run", "value"), rows, numbers=(1,)),
    )


def bar(share: float, look: str = "bar") -> str:
    """A bar for a table cell next to the number."""
    width = 100 * min(1.0, max(0.0, share))
    return (
        '<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><rect class="ground" width="100" height="10"/>'
        f'<rect class="{look}" width="{width:.1f}" height="10"/></svg>'
    )


def interval(low: float, mean: float, high: float, widest: float, look: str) -> str:
    """A difference with its interval, on a shared scale from -widest to +widest."""

    def x(value: float) -> float:
        return 100 + 96 * value / widest if widest else 100.0

    return (
        '<svg class="interval" viewBox="0 0 200 20" aria-hidden="true" focusable="false">'
        '<line class="zero" x1="100" y1="0" x2="100" y2="20"/>'
        f'<line class="whisker {look}" x1="{x(low):.1f}" y1="10" x2="{x(high):.1f}" y2="10"/>'
        f'<circle class="mean {look}" cx="{x(mean):.1f}" cy="10" r="4.5"/></svg>'
    )


# --- parts ------------------------------------------------------------------------------------


def _figure(
    identity: str,
    title: str,
    labels: Sequence[str],
    series: Sequence[Series],
    axis: str,
    marks: Sequence[AxisMark],
) -> str:
    totals = [sum(each) for each in zip(*(one.counts for one in series), strict=True)]
    tallest = max(totals, default=0) or 1
    step = max(1.0, _round_step(tallest / 3))
    top = step * math.ceil(tallest / step)
    grid = "".join(
        _gridline(_TOP + _INNER_HEIGHT * (1 - n * step / top), f"{n * step:,.0f}")
        for n in range(int(top / step) + 1)
    )
    stacks = "".join(_stack(at, label, series, top) for at, label in enumerate(labels))
    legend = (
        "<ul class=legend>"
        + "".join(f'<li class="{one.look}">{text(one.name)}</li>' for one in series)
        + "</ul>"
        if len(series) > 1
        else ""
    )
    rows = [
        (text(label), *(f"{one.counts[at]:,}" for one in series)) for at, label in enumerate(labels)
    ]
    most = labels[totals.index(max(totals))] if totals else ""
    description = f"{sum(totals):,} in total, most of them at {most}."
    description += "".join(f" {mark.name}: {mark.value:.3g}." for mark in marks)
    numbers = table(
        title, ("from, to", *(one.name for one in series)), rows, range(1, len(series) + 1)
    )
    return _framed(identity, title, description, grid + stacks + axis, numbers, legend)


def _framed(
    identity: str, title: str, description: str, drawing: str, numbers: str, legend: str = ""
) -> str:
    return (
        f'<figure><figcaption id="{identity}">{text(title)}</figcaption>{legend}'
        f'<svg class="chart" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-labelledby="{identity}" aria-describedby="{identity}-description">'
        f'<desc id="{identity}-description">{text(description)}</desc>{drawing}</svg>'
        f"<details><summary>Show numbers<span class=hidden>: {text(title)}</span></summary>"
        f"{numbers}</details></figure>"
    )


def _stack(at: int, label: str, series: Sequence[Series], top: float) -> str:
    width = _INNER_WIDTH / len(series[0].counts)
    gap = min(2.0, width * 0.15)
    floor = _TOP + _INNER_HEIGHT
    parts: list[str] = []
    for one in series:
        height = _INNER_HEIGHT * one.counts[at] / top
        if height:
            floor -= height
            parts.append(
                f'<rect class="{one.look}" x="{_LEFT + width * at + gap / 2:.1f}" '
                f'y="{floor:.1f}" width="{width - gap:.1f}" height="{height:.1f}">'
                f"<title>{text(label)}: {one.counts[at]:,} {text(one.name)}</title></rect>"
            )
    return "".join(parts)


def _mark(mark: AxisMark, x: float, number: int) -> str:
    side = "end" if x > WIDTH / 2 else "start"
    shift = -4 if side == "end" else 4
    y = _TOP + 8 + number * 13
    return (
        f'<line class="mark" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{HEIGHT - _BOTTOM}"/>'
        + _words(x + shift, y, f"{mark.name} {mark.value:.3g}", side)
    )


def _gridline(y: float, label: str) -> str:
    return (
        f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        + _words(_LEFT - 5, y + 4, label, "end")
    )


def _words(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _x(at: int, last: int) -> float:
    return _LEFT + _INNER_WIDTH * (at / last if last else 0.5)


def _spread(count: int) -> list[int]:
    """A few evenly spaced indexes, including the first and the last."""
    every = max(1, math.ceil((count - 1) / _LABELS))
    return sorted({*range(0, count - every // 2 - 1, every), count - 1})


def _round_step(least: float) -> float:
    """The smallest of … 0.5, 1, 2, 5, 10 … that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
