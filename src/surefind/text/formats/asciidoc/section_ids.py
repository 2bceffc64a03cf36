"""The ids of sections: explicit ones, or those that Asciidoctor derives from titles."""

import re

from surefind.text.formats.asciidoc.attributes import Attributes

_REPLACED = re.compile(
    r"\((?:C|R|TM)\)|(?:^|(?<=\w)|\s)--(?=\w|\s|$)\s?|\.\.\.|(?<=\w)'(?=\w)|<[^<>]{1,200}>"
)
_INVALID = re.compile(r"[^ \w\-.]+")
_ANCHOR_AT_END = re.compile(r"[ \t]*\[\[([^\]\[,\n]{1,200})(?:,[^\]\n]{0,200})?\]\][ \t]*$")


class SectionIds:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def register(self, explicit: str) -> str:
        self._taken.add(explicit)
        return explicit

    def derive(self, title: str, attributes: Attributes) -> str:
        """The id of a title without one; empty if the document turns ids off.

        >>> SectionIds().derive("What's New -- 2.0", Attributes())
        '_whats_new2_0'
        """
        if "sectids" not in attributes:
            return ""
        prefix = attributes.get("idprefix", "_")
        separator = attributes.get("idseparator", "_")[:1] if "idseparator" in attributes else "_"
        name = _INVALID.sub("", _REPLACED.sub("", title).lower())
        if separator:
            # Asciidoctor replaces runs of blanks, dots, dashes and separators.
            name = re.sub(rf"[ .{re.escape(separator)}-]+", separator, name)
            name = name.removesuffix(separator)
            if not prefix:
                name = name.removeprefix(separator)
        else:
            name = name.replace(" ", "")
        base = found = f"{prefix}{name}"
        while found in self._taken:
            number = self._next.get(base, 2)
            self._next[base] = number + 1
            found = f"{base}{separator}{number}"
        return self.register(found)


def without_anchor(title: str) -> tuple[str, str]:
    """Split `Title [[id]]`."""
    found = _ANCHOR_AT_END.search(title)
    return (title[: found.start()], found[1]) if found else (title, "")
