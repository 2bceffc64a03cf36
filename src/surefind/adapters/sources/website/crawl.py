"""One crawl of a website, from robots.txt to the last linked page."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from protego import Protego

from surefind.adapters.sources.website.crawl_scope import CrawlScope, page_key, skip_reason
from surefind.adapters.sources.website.frontier import Frontier, Visit
from surefind.adapters.sources.website.http import (
    USER_AGENT,
    Answer,
    CrawlOptions,
    PageRequest,
    PageUnusable,
    SiteClient,
)
from surefind.adapters.sources.website.sitemaps import MAX_SITEMAP_BYTES, read_sitemaps
from surefind.adapters.sources.website.visits import (
    HTML,
    MAX_REDIRECTS,
    SkippedVisit,
    Visitor,
    VisitResult,
    redirect_of,
)
from surefind.errors import StoreError
from surefind.model import PageFailure, PageUnchanged, SourcePage
from surefind.ports import Notify

_MAX_ROBOTS_BYTES = 5_000_000


class Crawl:
    def __init__(
        self, start: str, scope: CrawlScope, site: SiteClient, options: CrawlOptions, notify: Notify
    ) -> None:
        self._frontier = Frontier(start, scope, options, notify)
        self._visitor = Visitor(site, self._frontier, options)
        self._site = site
        self._options = options
        self._notify = notify
        self._taken: set[str] = set()
        self._deferred: dict[str, str] = {}  # key -> key of the canonical page taken instead
        self._instead: dict[str, list[str]] = {}  # the reverse: URLs to use if that one is missing
        self._alone: set[str] = set()  # URLs whose canonical URL is missing

    @property
    def scope(self) -> CrawlScope:
        return self._frontier.scope

    @property
    def skipped(self) -> dict[str, str]:
        """Skipped pages and the reasons, by path."""
        return self._frontier.skipped

    def is_taken_or_gone(self, url: str) -> bool:
        key = page_key(url)
        return key in self._taken or key in self._visitor.gone

    @property
    def _start(self) -> str:
        return self._frontier.start

    async def run(self) -> AsyncGenerator[SourcePage | PageFailure | PageUnchanged]:
        await self._read_robots()
        first = await self._load_start()
        if first is not None:
            yield first
        await self._list_sitemaps()
        if not self._frontier.visited and not self._frontier.next:
            raise StoreError(
                f"robots.txt of {self.scope.origin} forbids {self._start}, and no sitemap lists "
                "other pages; ask the site's owner"
            )
        while visits := self._frontier.level():
            async with aclosing(self._visitor.visit_all(visits)) as outcomes:
                async for outcome in outcomes:
                    if (page := self._settle(outcome)) is not None:
                        yield page

    async def _read_robots(self) -> None:
        url = f"{self.scope.origin}/robots.txt"
        try:
            answer = await self._fetch_file(url, _MAX_ROBOTS_BYTES)
        except PageUnusable as error:
            raise StoreError(
                f"{self._start} can't be crawled: {url} {error}; check the address, or try later"
            ) from error
        if answer.status >= 500:
            raise StoreError(
                f"{self._start} is not crawled: {url} returned {answer.status}, so the site's "
                "rules are unknown; try again later"
            )
        self._frontier.robots = Protego.parse((answer.body or b"").decode("utf-8", "replace"))
        asked = self._frontier.robots.crawl_delay(USER_AGENT) or 0.0
        obeyed = min(asked, self._options.max_crawl_delay_s)
        if asked >= 1:
            self._notify(f"robots.txt asks for {asked:g} s between requests; waiting {obeyed:g} s")
        self._site.delay_s = max(self._options.delay_s, obeyed)

    async def _load_start(self) -> SourcePage | PageFailure | PageUnchanged | None:
        if not self._frontier.robots.can_fetch(self._start, USER_AGENT):
            self._notify(f"robots.txt forbids {self._start}; only the sitemap's pages are crawled")
            return None
        outcome = await self._visitor.visit(Visit(self._start, 0))
        if isinstance(outcome.result, SkippedVisit) and self._is_upgrade(outcome.url):
            self._frontier.start = outcome.url
            self._frontier.scope = replace(self.scope, origin=f"https{self.scope.origin[4:]}")
            await self._read_robots()
            outcome = await self._visitor.visit(Visit(self._start, 0))
        if outcome.facts is None:
            reason = getattr(outcome.result, "reason", "")
            raise StoreError(
                f"{self._start} can't be crawled: it {reason}; check the address, or try later"
            )
        if outcome.url != self._start:
            self._notify(f"{self._start} redirects to {outcome.url}")
        self._frontier.visited += 1
        self._frontier.known[page_key(self._start)] = self._start
        path = self.scope.site_path(outcome.url)
        if reason := skip_reason(path, self._options.include, self._options.exclude):
            source_path = self.scope.source_path(outcome.url)
            outcome = replace(outcome, result=SkippedVisit(source_path, reason))
        return self._settle(outcome)

    def _is_upgrade(self, target: str) -> bool:
        return target.startswith("https://") and self.scope.origin == f"http{_origin(target)[5:]}"

    async def _list_sitemaps(self) -> None:
        folders = ("/", self.scope.directory)
        places = [f"{self.scope.origin}{folder}sitemap.xml" for folder in folders]
        roots = [*self._frontier.robots.sitemaps, *dict.fromkeys(places)]
        listing = await read_sitemaps(
            roots,
            self._frontier.own_url,
            self._fetch_sitemap,
            self._options.max_sitemap_urls,
        )
        for problem in listing.problems:
            self._frontier.blind = True
            self._notify(f"sitemap: {problem}")
        if listing.foreign:
            self._notify(f"sitemap: {listing.foreign} entries point to other sites; ignored")
        for url in listing.pages:
            if self.scope.contains(url):
                self._frontier.admit(url, 1, listed=True)

    async def _fetch_sitemap(self, url: str) -> bytes | None:
        answer = await self._fetch_file(url, MAX_SITEMAP_BYTES)
        if answer.status >= 500:
            raise PageUnusable(f"returned {answer.status}")
        return answer.body

    async def _fetch_file(self, url: str, max_bytes: int) -> Answer:
        """Fetch robots.txt or a sitemap; HTML instead means that there is none."""
        for _ in range(MAX_REDIRECTS):
            request = PageRequest(
                url, max_bytes, lambda found: found.content_type not in HTML - {""}
            )
            answer = await self._site.get(request)
            target = redirect_of(answer, url, ())
            if target is None or not (self.scope.is_same_site(target) or self._is_upgrade(target)):
                return answer
            url = target
        raise PageUnusable(f"redirects more than {MAX_REDIRECTS} times")

    # --- accepting pages ---

    def _settle(self, outcome: VisitResult) -> SourcePage | PageFailure | PageUnchanged | None:
        """What to yield for a visit, each page once."""
        for link in outcome.facts.links if outcome.facts else ():
            url = self._frontier.own_url(link)
            if url and self.scope.contains(url):
                self._frontier.admit(url, outcome.visit.depth + 1)
        result, key = outcome.result, page_key(outcome.url)
        if isinstance(result, SkippedVisit):
            self._leave(outcome, result)
            return None
        if key in self._frontier.settled:
            if page_key(outcome.visit.url) != key:
                path = self.scope.source_path(outcome.visit.url)
                self.skipped[path] = f"redirects to {outcome.url}"
            return None
        if isinstance(result, SourcePage):
            canonical = self._canonical(outcome)
            if canonical and page_key(canonical) != key:
                self._defer(outcome, result, canonical)
                return None
            result = self._renamed(result, canonical) if canonical else result
        self._frontier.blind |= not isinstance(result, SourcePage)
        if not isinstance(result, PageFailure):
            self._taken.add(key)
        self._frontier.settled.add(key)
        self._frontier.known.setdefault(key, outcome.url)
        self.skipped.pop(result.source_path, None)
        return result

    def _leave(self, outcome: VisitResult, skipped: SkippedVisit) -> None:
        self.skipped[skipped.source_path] = skipped.reason
        key = page_key(outcome.visit.url)
        self._frontier.missing.add(key)
        for url in self._instead.pop(key, []):
            self._alone.add(url)
            self._frontier.next[url] = outcome.visit.depth
        if outcome.facts is None and (spare := self._frontier.spare.pop(key, None)):
            self._frontier.next[spare] = outcome.visit.depth

    def _canonical(self, outcome: VisitResult) -> str | None:
        """The page's canonical URL, if it is plausible.

        The start page is not, because many sites name it on every page by mistake. Neither is one
        that redirects back here, is excluded or missing, because the page would be lost.
        """
        named = outcome.facts.canonical if outcome.facts else None
        url = self._frontier.own_url(named) if named else None
        if url is None or not self.scope.contains(url) or outcome.url in self._alone:
            return None
        key = page_key(url)
        if key == page_key(outcome.url):
            return url
        untrue = {
            page_key(self._start),
            page_key(outcome.visit.url),
        } | self._deferred.keys()
        lost = key in self._frontier.missing or self._frontier.skip_reason(url) is not None
        return None if key in untrue or lost else url

    def _defer(self, outcome: VisitResult, page: SourcePage, canonical: str) -> None:
        key = page_key(canonical)
        self.skipped[page.source_path] = f"the same page as {canonical}"
        self._deferred[page_key(outcome.url)] = key
        if key not in self._frontier.settled:
            self._instead.setdefault(key, []).append(outcome.url)
            self._frontier.admit(canonical, outcome.visit.depth, listed=True)

    def _renamed(self, page: SourcePage, url: str) -> SourcePage:
        return replace(
            page,
            source_path=self.scope.source_path(url),
            site_path=self.scope.site_path(url),
        )


def _origin(url: str) -> str:
    parts = urlsplit(urljoin(url, "/"))
    return f"{parts.scheme}://{parts.netloc}"
