"""Plots as SVG: bars of one measure for many systems, on a logarithmic scale where it takes one.

Colours are distinguishable with colour blindness, and legible on light and dark pages.
"""

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, LEFT, RIGHT, BAR, GAP, TOP, BOTTOM = 760, 190, 90, 18, 8, 58, 34
OURS, OTHERS, TEXT, LINES = "#d9480f", "#3b82c4", "#7a7a7a", "#9a9a9a55"


@dataclass
class Chart:
    """`bars`: (system, value, low, high); `ours` are the names drawn in the other colour."""

    slug: str
    title: str
    unit: str
    bars: list[tuple[str, float, float, float]]
    ours: list[str] = field(default_factory=list)
    logarithmic: bool = True

    def svg(self) -> str:
        height = TOP + len(self.bars) * (BAR + GAP) + BOTTOM
        values = [value for _, *many in self.bars for value in many]
        scale = _Scale(values, logarithmic=self.logarithmic)
        described = "; ".join(f"{name}: {_short(value)}" for name, value, _, _ in self.bars)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="system-ui, sans-serif" font-size="13" fill="{TEXT}" role="img" '
            f'aria-labelledby="t d">',
            f'<title id="t">{escape(self.title)}</title>',
            f'<desc id="d">{escape(described)}</desc>',
            f'<text x="0" y="18" font-size="15" font-weight="600">{escape(self.title)}</text>',
            f'<text x="0" y="38">{escape(self.unit)}'
            f"{', logarithmic scale' if self.logarithmic else ''}; "
            "thin lines from the lowest to the highest round</text>",
        ]
        for tick in scale.ticks():
            x = scale.x(tick)
            parts.append(
                f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - BOTTOM}" '
                f'stroke="{LINES}"/>'
                f'<text x="{x:.1f}" y="{height - BOTTOM + 18}" text-anchor="middle" '
                f'font-size="11">{_short(tick)}</text>'
            )
        for at, bar in enumerate(self.bars):
            parts.append(self._bar(bar, TOP + at * (BAR + GAP), scale))
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _bar(self, bar: tuple[str, float, float, float], y: float, scale: "_Scale") -> str:
        name, value, low, high = bar
        end, middle = scale.x(value), y + BAR / 2
        colour = OURS if name in self.ours else OTHERS
        return (
            f'<text x="{LEFT - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{max(1.0, end - LEFT):.1f}" height="{BAR}" '
            f'rx="2" fill="{colour}"/>'
            f'<line x1="{scale.x(low):.1f}" y1="{middle}" x2="{scale.x(high):.1f}" '
            f'y2="{middle}" stroke="{TEXT}" stroke-width="2"/>'
            f'<text x="{max(end, scale.x(high)) + 6:.1f}" y="{middle + 4:.1f}">'
            f"{_short(value)}</text>"
        )


class _Scale:
    def __init__(self, values: list[float], *, logarithmic: bool) -> None:
        self._logarithmic = logarithmic
        positive = [value for value in values if value > 0] or [1.0]
        self._low = 10 ** math.floor(math.log10(min(positive))) if logarithmic else 0.0
        self._high = max([*positive, self._low * 10])

    def x(self, value: float) -> float:
        if self._logarithmic:
            share = math.log(max(value, self._low) / self._low) / math.log(self._high / self._low)
        else:
            share = value / self._high
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        if not self._logarithmic:
            return [self._high * part / 4 for part in range(5)]
        first, last = (math.floor(math.log10(one)) for one in (self._low, self._high))
        return [10.0**power for power in range(first, last + 1)]


def _short(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
