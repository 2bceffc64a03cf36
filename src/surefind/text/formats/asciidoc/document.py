"""Converts AsciiDoc to Markdown, with the titles and ids that Asciidoctor gives to sections.

There is no maintained parser for Python: AsciiDoc.py is under the GPL, reads a former dialect and
runs commands that pages name.
"""

import re
from collections.abc import Mapping, Sequence

from surefind.text.formats.asciidoc.attributes import ENTRY, Attributes
from surefind.text.formats.asciidoc.inline import Inline
from surefind.text.formats.asciidoc.parser import SECTION, BlockParser, SectionTitle
from surefind.text.formats.asciidoc.preprocessor import expand_asciidoc
from surefind.text.formats.asciidoc.section_ids import SectionIds, without_anchor
from surefind.text.formats.assembly import PageAssembler
from surefind.text.formats.encodings import decode
from surefind.text.formats.page import ParsedPage
from surefind.text.front_matter import read_front_matter

_REVISION = re.compile(r"v?\d[\w.-]*(?:,|:|$)|[^\d{]{0,200}\d[\w.-]*,")
_FACTS = ("author", "description", "keywords", "revdate", "revnumber")


def read_asciidoc(content: bytes) -> ParsedPage:
    """Convert a page. Its includes are expanded by its source, if they are in the project."""
    text, warnings = decode(content)
    front_matter, body, problems = read_front_matter(text)
    lines = expand_asciidoc("", body)[0].splitlines()
    document = _Document(lines)
    page, titles = document.read()
    if titles.needed:
        page, _ = _Document(lines, titles).read()
    facts = document.facts()
    return page.parsed({**facts, **front_matter}, document.title, warnings + problems)


class _Titles(dict[str, str]):
    """The titles of sections by id, and whether a reference needed one."""

    def __init__(self) -> None:
        super().__init__()
        self.needed = False

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        self.needed = True
        return super().get(key, default)


class _Document:
    """Reads a document; a second time if references need titles of later sections."""

    def __init__(self, lines: Sequence[str], titles: _Titles | None = None) -> None:
        self._lines = lines
        self._attributes = Attributes()
        self._titles = titles or _Titles()
        self._inline = Inline(self._attributes, self._titles)
        self._ids = SectionIds()
        self.title = ""

    def read(self) -> tuple[PageAssembler, _Titles]:
        page = PageAssembler()
        parser = BlockParser(self._body(page), self._attributes, self._inline)
        anchor = ""
        for found in parser.parse():
            for registered in parser.anchors:
                self._ids.register(registered)
            parser.anchors.clear()
            if isinstance(found, SectionTitle):
                anchor = self._section(found, anchor, page)
            else:
                page.block(found, anchor, 1)
        return page, self._titles

    def _body(self, page: PageAssembler) -> Sequence[str]:
        """The lines after the header: the title, authors, the revision and attributes."""
        at = 0
        for at, line in enumerate(self._lines):  # noqa: B007
            entry = ENTRY.match(line)
            if entry is not None:
                self._attributes.set(entry[1], entry[2] or "")
            elif line.strip() and not line.startswith("//"):
                break
        else:
            return ()
        found = SECTION.match(self._lines[at])
        if found is None or len(found[1]) > 1:
            return self._lines
        self.title = self._inline.convert(without_anchor(found[2].strip())[0])
        self._attributes.set("doctitle", self.title)
        page.heading(1, self.title, "")
        return self._lines[self._end_of_header(at + 1) :]

    def _end_of_header(self, at: int) -> int:
        """After the line of the authors and that of the revision; attributes may be between."""
        others = 0
        for number, line in enumerate(self._lines[at:], at):
            if not line.strip():
                return number
            if line.startswith((":", "//")):
                entry = ENTRY.match(line)
                if entry is not None and not line.endswith("\\"):
                    self._attributes.set(entry[1], entry[2] or "")
                elif entry is not None:
                    return number  # the parser joins the lines of the value
                continue
            others += 1
            if others > 2 or line[0] == "[" or (others == 2 and not _REVISION.match(line)):
                return number
            if others == 1:
                self._attributes.set("author", line.split("<")[0])
        return len(self._lines)

    def _section(self, found: SectionTitle, above: str, page: PageAssembler) -> str:
        source, inner = without_anchor(found.source)
        title = " ".join(self._inline.convert(source).split())
        plain = title.replace("`", "")
        anchor = found.anchor or inner
        anchor = self._ids.register(anchor) if anchor else self._ids.derive(plain, self._attributes)
        self._titles.setdefault(anchor, plain)
        self._titles.setdefault(plain.lower(), plain)
        page.heading(found.level + 1, title, anchor or above)
        return anchor

    def facts(self) -> Mapping[str, object]:
        """What the header declares: author, description, and Antora's `page-…` attributes."""
        given = self._attributes.set_here()
        own = {name: given[name].strip() for name in _FACTS if given.get(name)}
        pages = {
            k.removeprefix("page-"): v for k, v in given.items() if k.startswith("page-") and v
        }
        return {**pages, **own}
