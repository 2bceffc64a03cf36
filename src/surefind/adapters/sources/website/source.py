"""A live documentation site as a source, crawled politely and without leaving the site.

Pages come breadth-first, sorted by URL within a level, so crawls of an unchanged site are
reproducible. Only a few bodies are in memory at a time.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

from surefind.adapters.sources.website.crawl import Crawl
from surefind.adapters.sources.website.crawl_scope import CrawlScope, normalise
from surefind.adapters.sources.website.http import CacheValidator, CrawlOptions, open_site
from surefind.model import PageFailure, PageLocation, PageUnchanged, SkippedPage, SourcePage
from surefind.ports import Notify, Site
from surefind.text.anchors import GITHUB


class WebsiteSource:
    anchors = GITHUB

    def __init__(
        self,
        start_url: str,
        options: CrawlOptions | None = None,
        notify: Notify = lambda _: None,
    ) -> None:
        self._scope = CrawlScope.of(start_url)
        self._options = options or CrawlOptions()
        self._start = normalise(start_url, "", self._options.query_parameters) or start_url
        self._notify = notify
        self._crawl: Crawl | None = None

    @property
    def name(self) -> str:
        """Host and folder, so that two parts of a site are two sources."""
        return self._scope.name

    @property
    def unread(self) -> Mapping[str, int]:
        return {}

    @property
    def skipped(self) -> list[PageFailure]:
        """Pages that the last crawl skipped, by path."""
        skipped = self._crawl.skipped if self._crawl else {}
        return [PageFailure(path, reason) for path, reason in sorted(skipped.items())]

    @property
    def site(self) -> Site:
        return self

    @property
    def fingerprint(self) -> str:
        return f"website {self._start}"

    def place(
        self, site_path: str, front_matter: Mapping[str, object]
    ) -> PageLocation | SkippedPage:
        """The URL of a crawled page is where it was found."""
        scope = self._crawl.scope if self._crawl else self._scope
        return PageLocation(
            scope.url(f"{scope.name}/{site_path}"), locale=str(front_matter.get("language", ""))
        )

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """Empty for URLs outside the crawl, because they may exist."""
        url = normalise(link, page_url, self._options.query_parameters)
        if self._crawl is None or url is None or not self._crawl.scope.contains(url):
            return ()
        return (url,) if self._crawl.is_taken_or_gone(url) else ()

    async def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncGenerator[SourcePage | PageFailure | PageUnchanged]:
        """StoreError if the start or robots.txt is unavailable; other failures are per page."""
        validators = {path: CacheValidator.from_text(text) for path, text in (known or {}).items()}
        options = replace(self._options, known=validators)
        async with open_site(self._start, options) as site:
            self._crawl = Crawl(self._start, self._scope, site, options, self._notify)
            async with aclosing(self._crawl.run()) as pages:
                async for page in pages:
                    yield page
