"""The elements of rendered text, and their two serializations: HTML and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TypeAlias

_VOID = frozenset({"br", "hr"})

Spans: TypeAlias = Sequence[tuple[int, int]]
Nodes: TypeAlias = "tuple[Element | str, ...]"
JsonNode: TypeAlias = "str | list[object]"


@dataclass(frozen=True, slots=True)
class Element:
    """`attributes` come from the renderer and never from a page, except for a checked `href`.

    `line` is the first line of a top-level block in its source.
    """

    tag: str
    nodes: Nodes = ()
    attributes: dict[str, str] = field(default_factory=dict)
    line: int | None = None


def html_of(nodes: Iterable[Element | str]) -> str:
    return "".join(_html(node) for node in nodes)


def json_of(nodes: Iterable[Element | str]) -> list[JsonNode]:
    """Strings and `[tag, attributes, *nodes]`."""
    return [
        node if isinstance(node, str) else [node.tag, node.attributes, *json_of(node.nodes)]
        for node in nodes
    ]


def text_of(nodes: Iterable[Element | str]) -> str:
    return "".join(
        node if isinstance(node, str) else "\n" if node.tag == "br" else text_of(node.nodes)
        for node in nodes
    )


def marked(nodes: Nodes, matches: Callable[[str], Spans]) -> Nodes:
    """The nodes with `mark` elements around the matches in each text."""
    result: list[Element | str] = []
    for node in nodes:
        if isinstance(node, str):
            result += _marked_text(node, matches(node))
        else:
            result.append(replace(node, nodes=marked(node.nodes, matches)))
    return tuple(result)


def _marked_text(text: str, spans: Spans) -> Iterator[Element | str]:
    done = 0
    for start, end in spans:
        if start > done:
            yield text[done:start]
        yield Element("mark", (text[start:end],))
        done = end
    if done < len(text):
        yield text[done:]


def _html(node: Element | str) -> str:
    if isinstance(node, str):
        return escape(node, quote=False)
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    opening = f"<{node.tag}{attributes}>"
    return opening if node.tag in _VOID else f"{opening}{html_of(node.nodes)}</{node.tag}>"
