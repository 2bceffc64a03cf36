"""`make import-graph`: draws the imports between the package's folders in docs/how-it-works.md."""

import ast
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs/how-it-works.md"
START, END = "<!-- import graph: written by `make import-graph` -->", "<!-- end of import graph -->"

Graph = dict[str, set[str]]


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
        if child == "__init__":
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


def mermaid(graph: Graph) -> str:
    arrows = [f"  {node} --> {child}" for node in sorted(graph) for child in sorted(graph[node])]
    return "\n".join(["```mermaid", "graph TD", *arrows, "```"])


def drawing() -> str:
    package = PROJECT / "src/surefind"
    layers = reduced(import_graph(package, "surefind"))
    services = reduced(import_graph(package / "services", "surefind.services"))
    return f"{START}\n{mermaid(layers)}\n\nInside `services/`:\n\n{mermaid(services)}\n{END}"


def with_drawing(page: str) -> str:
    """The page with the present import graph between its markers."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{drawing()}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_drawing(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
