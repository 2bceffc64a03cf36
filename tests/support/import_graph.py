"""`make import-graph`: draws the layers of the package and what imports what, as pictures."""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src/surefind"
IMAGES = PROJECT / "docs/images"

Graph = dict[str, set[str]]
Rows = Sequence[Sequence[str]]

WIDTH, MARGIN, GAP, BETWEEN = 880, 10, 24, 44
LINE, PADDING, LETTER = 17, 12, 6.6
TIP, DETOUR = 6, 70
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #44524f; text-anchor: middle }
  .name { font-weight: 650; font-size: 15px; fill: #0f4f49 }
  rect { fill: #eef6f4; stroke: #0f6a62; stroke-width: 1.2 }
  path { fill: none; stroke: #0f6a62; stroke-opacity: .55; stroke-width: 1.2 }
  #tip path { fill: #0f6a62; stroke: none; fill-opacity: .8 }
  @media (prefers-color-scheme: dark) {
    text { fill: #b9c6c3 } .name { fill: #9fe0d5 }
    rect { fill: #16302d; stroke: #6fd1c1 }
    path { stroke: #6fd1c1 } #tip path { fill: #6fd1c1 }
  }
"""


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def import_graph(package: Path, name: str) -> Graph:
    """Which of the package's direct children import which others."""
    graph: Graph = {}
    for path in sorted(package.rglob("*.py")):
        child = path.relative_to(package).parts[0].removesuffix(".py")
        if child in {"__init__", "__main__"}:
            continue
        prefix = f"{name}."
        modules = [module for module in imported_modules(path) if module.startswith(prefix)]
        imported = {module.removeprefix(prefix).split(".")[0] for module in modules}
        graph.setdefault(child, set()).update(imported - {child})
    return {child: imported & graph.keys() for child, imported in graph.items()}


def reduced(graph: Graph) -> Graph:
    """Without the arrows that follow from others: a -> c is left out where a -> b -> c."""

    def reachable(node: str) -> set[str]:
        below = graph.get(node, set())
        return below.union(*map(reachable, below))

    return {node: below.difference(*map(reachable, below)) for node, below in graph.items()}


def layers(contract: str) -> Rows:
    """The rows of a layers contract of import-linter, top to bottom."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    [rows] = [
        one["layers"]
        for one in settings["tool"]["importlinter"]["contracts"]
        if one["name"] == contract
    ]
    return [row.split(" | ") for row in rows if row != "__main__"]


def descriptions() -> dict[str, str]:
    """What each layer holds, as the README says."""
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("## Architecture\n\n```\n")[2].partition("```")[0]
    return {
        name: re.sub(r"\s+\(.*\)$", "", words)
        for name, words in re.findall(r"^(\w+) +(.+)$", block, re.MULTILINE)
    }


class Box:
    """A layer or a room: a name, and lines that say what it holds."""

    def __init__(self, name: str, words: str, left: float, width: float) -> None:
        letters = int((width - 2 * PADDING) / LETTER)
        self.name, self.left, self.width, self.top = name, left, width, 0.0
        self.lines = textwrap.wrap(words, letters)
        self.height = (len(self.lines) + 1) * LINE + 2 * PADDING

    @property
    def middle(self) -> float:
        return self.left + self.width / 2

    def svg(self) -> Iterator[str]:
        yield (
            f'<rect x="{self.left:g}" y="{self.top:g}" width="{self.width:g}" '
            f'height="{self.height:g}" rx="8"/>'
        )
        for number, line in enumerate([self.name, *self.lines]):
            kind = "" if number else ' class="name"'
            height = self.top + PADDING + LINE * (number + 0.75)
            yield f'<text x="{self.middle:g}" y="{height:g}"{kind}>{escape(line)}</text>'


def placed(rows: Rows, words: Mapping[str, str]) -> tuple[dict[str, Box], float]:
    """The boxes by name, row below row, and the height of the picture."""
    boxes: dict[str, Box] = {}
    top = float(MARGIN)
    for row in rows:
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        width, indent = (width, 0.0) if len(row) > 1 else (width * 0.62, width * 0.19)
        for number, name in enumerate(row):
            left = MARGIN + indent + number * (width + GAP)
            boxes[name] = Box(name, words.get(name, ""), left, width)
            boxes[name].top = top
        tallest = max(boxes[name].height for name in row)
        for name in row:
            boxes[name].height = tallest
        top += tallest + BETWEEN
    return boxes, top - BETWEEN + MARGIN


def arrow(upper: Box, lower: Box, start: float, end: float) -> str:
    """A curve from the bottom of a box to the top of another."""
    y1, y2 = upper.top + upper.height, lower.top - TIP
    x1, x2 = upper.left + upper.width * start, lower.left + lower.width * end
    bend = (y2 - y1) / 2
    return _path(f"M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}")


def detour(upper: Box, lower: Box) -> str:
    """A curve around the rows between two boxes, from the side of the upper one."""
    side = 1 if lower.middle >= upper.middle else -1
    x1, y1 = upper.middle + side * upper.width / 2, upper.top + upper.height / 2
    x2, y2 = lower.middle + side * lower.width / 2, lower.top + lower.height / 2
    out = x1 + side * DETOUR
    if side * out < side * x2:  # it comes from above
        y2 = lower.top - TIP
        return _path(f"M{x1:g} {y1:g}C{out:g} {y1:g} {out:g} {y1 + DETOUR:g} {out:g} {y2:g}")
    x2 += side * TIP
    return _path(f"M{x1:g} {y1:g}C{out:g} {y1:g} {out:g} {y2:g} {x2:g} {y2:g}")


def _path(curve: str) -> str:
    return f'<path d="{curve}" marker-end="url(#tip)"/>'


def drawing(graph: Graph, rows: Rows, words: Mapping[str, str]) -> str:
    """An SVG with a box for each folder; an arrow leads to what it imports."""
    boxes, height = placed(rows, words)
    depth = {name: number for number, row in enumerate(rows) for name in row}
    edges = [(name, below) for name in sorted(graph) for below in sorted(graph[name])]
    short = [(name, below) for name, below in edges if depth[below] - depth[name] == 1]
    arrows = [
        detour(boxes[name], boxes[below]) for name, below in edges if (name, below) not in short
    ]
    for name, below in short:
        leaving = sorted((b for n, b in short if n == name), key=lambda b: boxes[b].middle)
        coming = sorted((n for n, b in short if b == below), key=lambda n: boxes[n].middle)
        start = (leaving.index(below) + 1) / (len(leaving) + 1)
        end = (coming.index(name) + 1) / (len(coming) + 1)
        arrows.append(arrow(boxes[name], boxes[below], start, end))
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    parts = [line for box in boxes.values() for line in box.svg()]
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" markerHeight="8" '
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<style>{STYLE}</style>",
            f'<defs>{tip}orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
            *arrows,
            *parts,
            "</svg>\n",
        ]
    )


def drawings() -> dict[Path, str]:
    """The pictures of docs/how-it-works.md, by their path."""
    package = reduced(import_graph(PACKAGE, "surefind"))
    services = reduced(import_graph(PACKAGE / "services", "surefind.services"))
    return {
        IMAGES / "architecture.svg": drawing(package, layers("Layers"), descriptions()),
        IMAGES / "services.svg": drawing(services, layers("Rooms of the services"), {}),
    }


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for path, picture in drawings().items():
        path.write_text(picture, encoding="utf-8")
