"""Parses a source page into a Document."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from surefind.errors import InputError, without_passwords
from surefind.model import (
    DEFAULT_LANGUAGE,
    LANGUAGE,
    AnchorRule,
    Attribute,
    Document,
    FormatOptions,
    PageLocation,
    SkippedPage,
    SourcePage,
    is_link,
)
from surefind.text.formats.page import ParsedPage
from surefind.text.formats.registry import parse
from surefind.text.front_matter import attributes_of
from surefind.text.languages import page_language
from surefind.text.markdown.blocks import Outline
from surefind.text.page_kinds import KIND, UPDATED, kind_of, updated_on
from surefind.text.slugs import slug_of

TITLE_LENGTH = 255
TEXT_VERSION = 3
"""Raised when the text of pages changes, so that the next ingest reads unchanged pages again."""


class PlacesPages(Protocol):
    """The part of a site that this module uses."""

    @property
    def anchors(self) -> AnchorRule: ...

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage: ...


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A parsed page with its structure and warnings.

    `unread` lists code in the page that may render text which was not read.
    """

    document: Document
    structure: Outline
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def content_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_document(
    page: SourcePage, site: PlacesPages, options: FormatOptions | None = None
) -> ReadPage | SkippedPage:
    """Parse a page; InputError, with the reason, if it is not text or its URL is unsafe."""
    suffix = page.suffix or PurePosixPath(page.site_path).suffix.lower()
    parsed = parse(page.content, suffix, site.anchors, options)
    place = site.place(page.site_path, parsed.front_matter)
    if isinstance(place, SkippedPage):
        return place
    if not is_link(place.url):
        raise InputError(
            f"its URL {place.url[:80]!r} is neither http(s) nor relative; set the site's URL in "
            "its config, or base_url"
        )
    if without_passwords(place.url) != place.url:
        raise InputError(
            f"its URL {place.url[:80]} contains a user name or password, which every link would "
            "show; remove them from the site's URL in its config"
        )
    title = _title(parsed, page.site_path, place.title)
    document = Document(
        source_path=page.source_path,
        url=place.url,
        slug=slug_of(page.site_path),
        title=title,
        text=parsed.text,
        content_hash=content_hash(page.content),
        version=place.version,
        locale=place.locale,
        validator=page.validator,
        front_matter=parsed.front_matter,
        attributes=_attributes(parsed, page.site_path, title, place.locale),
    )
    warnings = (*page.warnings, *parsed.warnings)
    return ReadPage(document, parsed.structure, warnings, parsed.unread)


def _attributes(
    parsed: ParsedPage, site_path: str, title: str, locale: str
) -> dict[str, Attribute]:
    """The fields of the front matter, plus the page's kind, last change and language."""
    attributes = attributes_of(parsed.front_matter)
    kind = kind_of(site_path, title, parsed.front_matter, parsed.text, parsed.structure)
    if kind is not None:
        attributes[KIND] = kind.value
    updated = updated_on(attributes)
    if updated:
        attributes[UPDATED] = updated
    attributes.pop(LANGUAGE, None)
    language = page_language(parsed.front_matter, locale, parsed.text)
    if language != DEFAULT_LANGUAGE:
        attributes[LANGUAGE] = language
    return dict(sorted(attributes.items()))


def _title(parsed: ParsedPage, site_path: str, shown: str) -> str:
    """The title from the site, the front matter, the H1, the format, a heading or the name."""
    declared = shown or parsed.front_matter.get("title")
    if isinstance(declared, str | int | float) and str(declared).strip():
        title = str(declared)
    else:
        headings = parsed.structure.headings
        top = next((heading.title for heading in headings if heading.level == 1), "")
        first = next((heading.title for heading in headings if heading.title), "")
        name = PurePosixPath(site_path).stem.replace("-", " ").replace("_", " ").strip()
        title = top or parsed.title or first or name
    return " ".join(title.split())[:TITLE_LENGTH] or site_path[:TITLE_LENGTH]
