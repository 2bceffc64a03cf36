"""Visits one page: follows redirects within the site and parses the response."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from email.message import Message

from surefind.adapters.sources.website.crawl_scope import normalise, page_key
from surefind.adapters.sources.website.frontier import Frontier, Visit
from surefind.adapters.sources.website.http import (
    Answer,
    CacheValidator,
    CrawlOptions,
    PageRequest,
    PageUnusable,
    SiteClient,
)
from surefind.model import PageFailure, PageUnchanged, SourcePage
from surefind.text.formats.encodings import as_utf8
from surefind.text.html.facts import PageFacts, read_facts

MAX_REDIRECTS = 5
HTML = frozenset({"", "text/html", "application/xhtml+xml"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class SkippedVisit:
    """A skipped page, and why."""

    source_path: str
    reason: str


@dataclass(frozen=True, slots=True)
class VisitResult:
    """`url` is the final URL after redirects; `facts` is set if a page was read."""

    visit: Visit
    url: str
    result: SourcePage | PageFailure | PageUnchanged | SkippedVisit
    facts: PageFacts | None = None


class Visitor:
    """`gone` holds the keys of URLs that the site reports as missing."""

    def __init__(self, site: SiteClient, frontier: Frontier, options: CrawlOptions) -> None:
        self.gone: set[str] = set()
        self._site = site
        self._frontier = frontier
        self._options = options

    async def visit_all(self, visits: list[Visit]) -> AsyncGenerator[VisitResult]:
        """Visit in order, fetching a few pages ahead."""
        running: deque[asyncio.Task[VisitResult]] = deque()
        try:
            for visit in visits:
                if len(running) >= 2 * self._options.concurrency:
                    yield await running.popleft()
                running.append(asyncio.create_task(self.visit(visit)))
            while running:
                yield await running.popleft()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def visit(self, visit: Visit) -> VisitResult:
        url = visit.url
        try:
            for _ in range(MAX_REDIRECTS + 1):
                answer = await self._site.get(self._request(url))
                target = redirect_of(answer, url, self._options.query_parameters)
                if target is None:
                    return await self._read(visit, url, answer)
                if reason := self._reason_to_stop(target):
                    skipped = SkippedVisit(
                        self._frontier.scope.source_path(visit.url), f"redirects to {reason}"
                    )
                    return VisitResult(visit, target, skipped)
                url = target
        except PageUnusable as error:
            return self._failed(visit, url, str(error))
        return self._failed(visit, visit.url, f"redirects more than {MAX_REDIRECTS} times")

    def _request(self, url: str) -> PageRequest:
        validator = self._validator(url)
        return PageRequest(
            url, self._options.max_page_bytes, lambda a: a.content_type in HTML, validator
        )

    def _validator(self, url: str) -> CacheValidator | None:
        """None for the start page, which is always fetched because the crawl needs its links."""
        if not self._frontier.visited or url == self._frontier.start:
            return None
        return self._options.known.get(self._frontier.scope.source_path(url))

    def _reason_to_stop(self, target: str) -> str | None:
        if not self._frontier.scope.is_same_site(target):
            return f"{target}, another site"
        if not self._frontier.scope.contains(target):
            return f"{target}, outside {self._frontier.scope.directory}"
        if page_key(target) in self._frontier.settled:
            return target
        reason = self._frontier.skip_reason(target) if self._frontier.visited else None
        return f"{target} ({reason})" if reason else None

    def _failed(self, visit: Visit, url: str, reason: str) -> VisitResult:
        return VisitResult(visit, url, PageFailure(self._frontier.scope.source_path(url), reason))

    async def _read(self, visit: Visit, url: str, answer: Answer) -> VisitResult:
        if answer.body is None:
            return self._without_body(visit, url, answer)
        headers, header = answer.headers, Message()
        header["content-type"] = headers.get("content-type", "")
        try:
            content = await asyncio.to_thread(as_utf8, answer.body, header.get_content_charset())
        except ValueError as error:
            return self._failed(visit, url, str(error))
        robots = headers.get("x-robots-tag", "")
        facts = await asyncio.to_thread(read_facts, content, url, robots)
        source_path = self._frontier.scope.source_path(url)
        if facts.noindex:
            return VisitResult(
                visit, url, SkippedVisit(source_path, "asks not to be indexed"), facts
            )
        seen = CacheValidator(headers.get("etag"), headers.get("last-modified"))
        page = SourcePage(
            source_path,
            self._frontier.scope.site_path(url),
            content,
            suffix=".html",
            validator=str(seen),
        )
        return VisitResult(visit, url, page, facts)

    def _without_body(self, visit: Visit, url: str, answer: Answer) -> VisitResult:
        """Skip only pages that are gone for good; other errors may be temporary."""
        source_path, known = self._frontier.scope.source_path(url), self._validator(url)
        if answer.status == 304 and known is not None:
            return VisitResult(visit, url, PageUnchanged(source_path))
        if answer.status == 200:
            return VisitResult(
                visit, url, SkippedVisit(source_path, f"is {answer.content_type}, not HTML")
            )
        if answer.status in _GONE:
            self.gone.add(page_key(visit.url))
            return VisitResult(visit, url, SkippedVisit(source_path, f"returned {answer.status}"))
        return self._failed(visit, url, f"returned {answer.status}")


def redirect_of(answer: Answer, url: str, kept_parameters: tuple[str, ...]) -> str | None:
    """The redirect target; an invalid one counts as the same URL, and so as a loop."""
    if answer.status not in _REDIRECTS:
        return None
    return normalise(answer.headers.get("location", ""), url, kept_parameters) or url
