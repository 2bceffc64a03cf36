"""Pages that a program has in memory, as sources."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from surefind.adapters.sources.filesystem import MAX_PAGE_BYTES
from surefind.errors import InputError
from surefind.model import Page, PageFailure, PageLocation, SourcePage, UrlStyle
from surefind.model.strings import string_problem
from surefind.ports import Site
from surefind.text.anchors import GITHUB
from surefind.text.formats.registry import BINARY_SUFFIXES, SUFFIXES, is_page
from surefind.text.sites.plain import PlainSite, ReaderSite

_MARKDOWN = ".md"
_TEXT_SUFFIXES = SUFFIXES - BINARY_SUFFIXES


def sources_of_pages(
    pages: Iterable[Page],
    collection: str,
    base_url: str | None,
    url_style: UrlStyle | None = None,
) -> list["MemorySource"]:
    """One source for each first part of the pages' paths."""
    by_source: dict[str, dict[str, Page]] = {}
    for page in pages:
        if not isinstance(page, Page):
            raise InputError(f"pages: each must be a surefind.Page, not {page!r:.80}")
        name, _, path = page.source_path.partition("/")
        if by_source.setdefault(name, {}).setdefault(path, page) is not page:
            raise InputError(f"pages: {page.source_path} is there twice; name each page once")
    return [
        MemorySource(name, pages, collection, base_url, url_style)
        for name, pages in sorted(by_source.items())  # the order of the pages means nothing
    ]


class MemorySource:
    anchors = GITHUB

    def __init__(
        self,
        name: str,
        pages: Mapping[str, Page],
        collection: str,
        base_url: str | None,
        url_style: UrlStyle | None = None,
    ) -> None:
        """`pages` by their paths below the source."""
        self._name = name
        self._pages = pages
        reader = ReaderSite(collection, name)
        self._site = reader if base_url is None else PlainSite(base_url, url_style)
        self._default = f"{collection} {base_url}" + (f" {url_style}" if url_style else "")

    @property
    def name(self) -> str:
        return self._name

    @property
    def site(self) -> Site:
        return self

    @property
    def fingerprint(self) -> str:
        """Covers everything but the texts, so that a new url or title is noticed."""
        facts = [
            (path, page.url, page.title, page.version, page.locale)
            for path, page in sorted(self._pages.items())
            if page.url or page.title or page.version or page.locale
        ]
        digest = hashlib.sha256(repr((self._default, facts)).encode()).hexdigest()
        return f"pages {self._name} {digest[:16]}"

    @property
    def unread(self) -> Mapping[str, int]:
        return {}

    @property
    def skipped(self) -> Sequence[PageFailure]:
        return ()

    async def pages(
        self,
        known: Mapping[str, str] | None = None,  # noqa: ARG002 - the text is already here
    ) -> AsyncIterator[SourcePage | PageFailure]:
        for path, page in sorted(self._pages.items()):
            if problem := string_problem(page.text, None):
                yield PageFailure(page.source_path, f"its text can't be read: {problem}")
                continue
            content = page.text.encode()
            if len(content) > MAX_PAGE_BYTES:
                reason = f"it is larger than {MAX_PAGE_BYTES // 2**20} MB"
                yield PageFailure(page.source_path, reason)
                continue
            suffix = PurePosixPath(path).suffix.lower()
            if suffix not in _TEXT_SUFFIXES or not is_page(content, suffix):
                suffix = _MARKDOWN
            yield SourcePage(page.source_path, path, content, suffix)

    def place(self, site_path: str, front_matter: Mapping[str, object]) -> PageLocation:
        page = self._pages[site_path]
        url = page.url or self._site.place(site_path, front_matter).url
        return PageLocation(url, page.version, page.locale, page.title)

    def addresses(self, link: str, page_url: str) -> Sequence[str]:
        return self._site.addresses(link, page_url)
