"""The result of every format reader."""

from collections.abc import Mapping
from dataclasses import dataclass

from surefind.text.markdown.blocks import Outline


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """`text` is Markdown for every format but plain text; `structure` holds offsets into it.

    `title` is empty unless the format declares one. `unread` is code that may show more text.
    """

    front_matter: Mapping[str, object]
    text: str
    structure: Outline
    title: str = ""
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
