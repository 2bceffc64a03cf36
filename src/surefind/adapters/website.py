"""A live documentation site as a source: crawled politely, and never left.

Pages come breadth first, by url within a level, so two crawls of an unchanged site give the same
pages in the same order. At most a few bodies are in memory at a time.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from email.message import Message
from urllib.parse import urljoin, urlsplit

from protego import Protego

from surefind.adapters.sitemaps import MAX_SITEMAP_BYTES, read_sitemaps
from surefind.adapters.website_http import (
    USER_AGENT,
    Answer,
    CrawlOptions,
    SiteClient,
    Unloadable,
    Validator,
    Wish,
    open_site,
)
from surefind.adapters.website_rules import Scope, normalise, page_key, reason_to_leave, shape
from surefind.errors import StoreError
from surefind.model import Left, PageFailure, PageUnchanged, Place, SourcePage
from surefind.ports import Site
from surefind.text.encodings import as_utf8
from surefind.text.html_facts import PageFacts, read_facts

_MAX_REDIRECTS = 5
_MAX_KNOWN_URLS = 100_000
_MAX_ROBOTS_BYTES = 5_000_000
_MAX_CRAWL_DELAY_S = 10.0
_HTML = frozenset({"", "text/html", "application/xhtml+xml"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A page that was met and is not taken, and why."""

    source_path: str
    reason: str


class WebsiteSource:
    def __init__(
        self,
        start_url: str,
        options: CrawlOptions | None = None,
        notify: Notify = lambda _: None,
    ) -> None:
        self._scope = Scope.of(start_url)
        self._options = options or CrawlOptions()
        self._start = normalise(start_url, "", self._options.query_parameters) or start_url
        self._notify = notify
        self._crawl: _Crawl | None = None

    @property
    def name(self) -> str:
        """Host and folder: two parts of one site are two sources."""
        return self._scope.name

    @property
    def left(self) -> list[PageFailure]:
        """What the last crawl met and did not take, by path."""
        left = self._crawl.left if self._crawl else {}
        return [PageFailure(path, reason) for path, reason in sorted(left.items())]

    @property
    def site(self) -> Site:
        return self

    @property
    def fingerprint(self) -> str:
        return f"website {self._start}"

    def place(self, site_path: str, front_matter: Mapping[str, object]) -> Place | Left:
        """A crawled page is read where it was found."""
        scope = self._crawl.scope if self._crawl else self._scope
        return Place(
            scope.url(f"{scope.name}/{site_path}"), locale=str(front_matter.get("language", ""))
        )

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """None for what the crawl left out: it may well be there."""
        url = normalise(link, page_url, self._options.query_parameters)
        if self._crawl is None or url is None or not self._crawl.scope.contains(url):
            return ()
        return (url,) if self._crawl.is_taken_or_gone(url) else ()

    async def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncGenerator[SourcePage | PageFailure | PageUnchanged]:
        """StoreError when the start or robots.txt can't be had; all else fails page by page."""
        validators = {path: Validator.from_text(text) for path, text in (known or {}).items()}
        options = replace(self._options, known=validators)
        async with open_site(self._start, options) as site:
            self._crawl = _Crawl(self._start, self._scope, site, options, self._notify)
            async with aclosing(self._crawl.run()) as pages:
                async for page in pages:
                    yield page


# --- crawling ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Visit:
    url: str
    depth: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """`url` is where the redirects of the visit led; `facts` are there when a page was read."""

    visit: _Visit
    url: str
    result: SourcePage | PageFailure | PageUnchanged | _LeftOut
    facts: PageFacts | None = None
    validator: Validator | None = None


class _Crawl:
    """The state of one crawl. A key names a page however its url is spelt."""

    def __init__(
        self, start: str, scope: Scope, site: SiteClient, options: CrawlOptions, notify: Notify
    ) -> None:
        self.scope = scope
        self.left: dict[str, str] = {}
        self._start = start
        self._site = site
        self._options = options
        self._notify = notify
        self._robots = Protego()
        self._next: dict[str, int] = {}  # url -> depth: the level to come
        self._known: dict[str, str] = {}  # key -> the url that is visited for it
        self._spare: dict[str, str] = {}  # key -> another spelling, should the first be missing
        self._settled: set[str] = set()
        self._taken: set[str] = set()
        self._missing: set[str] = set()
        self._gone: set[str] = set()  # keys of urls that the site says are no page
        self._deferred: dict[str, str] = {}  # key -> key of the canonical page taken instead
        self._instead: dict[str, list[str]] = {}  # and back: urls to go to if that one is missing
        self._alone: set[str] = set()  # urls whose canonical turned out to be missing
        self._alike: Counter[str] = Counter()
        self._visited = 0
        self._blind = False  # some links could not be seen
        self._told: set[str] = set()

    def is_taken_or_gone(self, url: str) -> bool:
        key = page_key(url)
        return key in self._taken or key in self._gone

    async def run(self) -> AsyncGenerator[SourcePage | PageFailure | PageUnchanged]:
        await self._read_robots()
        first = await self._load_start()
        if first is not None:
            yield first
        await self._list_sitemaps()
        if not self._visited and not self._next:
            raise StoreError(
                f"robots.txt of {self.scope.origin} forbids {self._start}, and no sitemap lists "
                "other pages; ask the site's owner"
            )
        while visits := self._level():
            async with aclosing(self._visit_all(visits)) as outcomes:
                async for outcome in outcomes:
                    if (page := self._settle(outcome)) is not None:
                        yield page

    # --- the beginning ---

    async def _read_robots(self) -> None:
        url = f"{self.scope.origin}/robots.txt"
        try:
            answer = await self._fetch_file(url, _MAX_ROBOTS_BYTES)
        except Unloadable as error:
            raise StoreError(
                f"{self._start} can't be crawled: {url} {error}; check the address, or try later"
            ) from error
        if answer.status >= 500:
            raise StoreError(
                f"{self._start} is not crawled: {url} answers {answer.status}, so what the site "
                "allows is not known; try again later"
            )
        self._robots = Protego.parse((answer.body or b"").decode("utf-8", "replace"))
        asked = self._robots.crawl_delay(USER_AGENT) or 0.0
        obeyed = min(asked, _MAX_CRAWL_DELAY_S)
        if asked >= 1:
            self._notify(f"robots.txt asks for {asked:g} s between requests; waiting {obeyed:g} s")
        self._site.delay_s = max(self._options.delay_s, obeyed)

    async def _load_start(self) -> SourcePage | PageFailure | PageUnchanged | None:
        if not self._robots.can_fetch(self._start, USER_AGENT):
            self._notify(f"robots.txt forbids {self._start}; only the sitemap's pages are crawled")
            return None
        outcome = await self._visit(_Visit(self._start, 0))
        if isinstance(outcome.result, _LeftOut) and self._is_upgrade(outcome.url):
            self._start = outcome.url
            self.scope = replace(self.scope, origin=f"https{self.scope.origin[4:]}")
            await self._read_robots()
            outcome = await self._visit(_Visit(self._start, 0))
        if outcome.facts is None:
            reason = getattr(outcome.result, "reason", "")
            raise StoreError(
                f"{self._start} can't be crawled: it {reason}; check the address, or try later"
            )
        if outcome.url != self._start:
            self._notify(f"{self._start} redirects to {outcome.url}")
        self._visited += 1
        self._known[page_key(self._start)] = self._start
        path = self.scope.site_path(outcome.url)
        if reason := reason_to_leave(path, self._options.include, self._options.exclude):
            source_path = self.scope.source_path(outcome.url)
            outcome = replace(outcome, result=_LeftOut(source_path, reason))
        return self._settle(outcome)

    def _is_upgrade(self, target: str) -> bool:
        return target.startswith("https://") and self.scope.origin == f"http{_origin(target)[5:]}"

    async def _list_sitemaps(self) -> None:
        folders = ("/", self.scope.directory)
        places = [f"{self.scope.origin}{folder}sitemap.xml" for folder in folders]
        roots = [*self._robots.sitemaps, *dict.fromkeys(places)]
        listing = await read_sitemaps(roots, self._own_url, self._fetch_sitemap)
        for problem in listing.problems:
            self._blind = True
            self._notify(f"sitemap: {problem}")
        if listing.foreign:
            self._notify(f"sitemap: {listing.foreign} entries point to other sites; ignored")
        for url in listing.pages:
            if self.scope.contains(url):
                self._admit(url, 1, listed=True)

    def _own_url(self, url: str) -> str | None:
        normal = normalise(url, self.scope.origin, self._options.query_parameters)
        return normal if normal and self.scope.is_same_site(normal) else None

    async def _fetch_sitemap(self, url: str) -> bytes | None:
        answer = await self._fetch_file(url, MAX_SITEMAP_BYTES)
        if answer.status >= 500:
            raise Unloadable(f"answers {answer.status}")
        return answer.body

    async def _fetch_file(self, url: str, max_bytes: int) -> Answer:
        """Robots.txt or a sitemap: HTML in its place is a site's way to say that there is none."""
        for _ in range(_MAX_REDIRECTS):
            wish = Wish(url, max_bytes, lambda found: found.content_type not in _HTML - {""})
            answer = await self._site.get(wish)
            target = _redirect(answer, url, ())
            if target is None or not (self.scope.is_same_site(target) or self._is_upgrade(target)):
                return answer
            url = target
        raise Unloadable(f"redirects more than {_MAX_REDIRECTS} times")

    # --- what is visited ---

    def _level(self) -> list[_Visit]:
        """The pages of the next level, by url; with none left, the known ones that were not met."""
        if not self._next and self._blind:
            self._blind = False
            for source_path in self._options.known:
                url = self._own_url(self.scope.url(source_path))
                if url and self.scope.contains(url):
                    self._admit(url, 1, listed=True)
        found, self._next = sorted(self._next.items()), {}
        visits = [_Visit(url, depth) for url, depth in found if depth <= self._options.max_depth]
        room = max(0, self._options.max_pages - self._visited)
        self._leave_beyond(
            [url for url, depth in found if depth > self._options.max_depth],
            f"more than {self._options.max_depth} links away",
        )
        self._leave_beyond(
            [visit.url for visit in visits[room:]],
            f"beyond the limit of {self._options.max_pages} pages",
        )
        self._visited += len(visits[:room])
        return visits[:room]

    def _leave_beyond(self, urls: list[str], reason: str) -> None:
        for url in urls:
            self.left[self.scope.source_path(url)] = reason
            self._tell_once(f"some pages are left out: {reason}")

    def _admit(self, url: str, depth: int, *, listed: bool = False) -> None:
        """What a sitemap lists is meant to be there; only links are checked for being endless."""
        key = page_key(url)
        if key in self._known:
            if self._known[key] != url:
                self._spare.setdefault(key, url)
            return
        if len(self._known) >= _MAX_KNOWN_URLS:
            self._tell_once(f"more than {_MAX_KNOWN_URLS} urls were met; the rest is ignored")
            return
        self._known[key] = url
        reason = self._reason_to_leave(url)
        if reason is None and not listed and self._is_one_too_many(url):
            reason = f"{self._options.max_alike} pages like it were taken"
            self._tell_once(f"some pages are left out: {reason}, such as {url}")
        if reason is None:
            self._next[url] = depth
        else:
            self._missing.add(key)
            self.left[self.scope.source_path(url)] = reason

    def _reason_to_leave(self, url: str) -> str | None:
        reason = reason_to_leave(
            self.scope.site_path(url), self._options.include, self._options.exclude
        )
        if reason is None and not self._robots.can_fetch(url, USER_AGENT):
            return "robots.txt forbids it"
        return reason

    def _is_one_too_many(self, url: str) -> bool:
        pattern = shape(url)
        self._alike[pattern] += 1
        return self._alike[pattern] > self._options.max_alike

    def _tell_once(self, message: str) -> None:
        kind = message.partition(", such as")[0]
        if kind not in self._told:
            self._told.add(kind)
            self._notify(message)

    # --- visiting ---

    async def _visit_all(self, visits: list[_Visit]) -> AsyncGenerator[_Outcome]:
        """In the order of `visits`, a few ahead of the one that is waited for."""
        running: deque[asyncio.Task[_Outcome]] = deque()
        try:
            for visit in visits:
                if len(running) >= 2 * self._options.concurrency:
                    yield await running.popleft()
                running.append(asyncio.create_task(self._visit(visit)))
            while running:
                yield await running.popleft()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _visit(self, visit: _Visit) -> _Outcome:
        url = visit.url
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                answer = await self._site.get(self._wish(url))
                target = _redirect(answer, url, self._options.query_parameters)
                if target is None:
                    return await self._read(visit, url, answer)
                if reason := self._reason_to_stop(target):
                    left = _LeftOut(self.scope.source_path(visit.url), f"redirects to {reason}")
                    return _Outcome(visit, target, left)
                url = target
        except Unloadable as error:
            return self._failed(visit, url, str(error))
        return self._failed(visit, visit.url, f"redirects more than {_MAX_REDIRECTS} times")

    def _wish(self, url: str) -> Wish:
        validator = self._validator(url)
        return Wish(url, self._options.max_page_bytes, lambda a: a.content_type in _HTML, validator)

    def _validator(self, url: str) -> Validator | None:
        """The start page is always read whole: its links are where a crawl begins."""
        if not self._visited or url == self._start:
            return None
        return self._options.known.get(self.scope.source_path(url))

    def _reason_to_stop(self, target: str) -> str | None:
        if not self.scope.is_same_site(target):
            return f"{target}, another site"
        if not self.scope.contains(target):
            return f"{target}, outside {self.scope.directory}"
        if page_key(target) in self._settled:
            return target
        reason = self._reason_to_leave(target) if self._visited else None
        return f"{target} ({reason})" if reason else None

    def _failed(self, visit: _Visit, url: str, reason: str) -> _Outcome:
        return _Outcome(visit, url, PageFailure(self.scope.source_path(url), reason))

    async def _read(self, visit: _Visit, url: str, answer: Answer) -> _Outcome:
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
        source_path = self.scope.source_path(url)
        if facts.noindex:
            return _Outcome(visit, url, _LeftOut(source_path, "asks not to be indexed"), facts)
        seen = Validator(headers.get("etag"), headers.get("last-modified"))
        page = SourcePage(
            source_path, self.scope.site_path(url), content, suffix=".html", validator=str(seen)
        )
        return _Outcome(visit, url, page, facts)

    def _without_body(self, visit: _Visit, url: str, answer: Answer) -> _Outcome:
        """Only what is gone for good is left out; any other refusal may be of today alone."""
        source_path, known = self.scope.source_path(url), self._validator(url)
        if answer.status == 304 and known is not None:
            return _Outcome(visit, url, PageUnchanged(source_path))
        if answer.status == 200:
            return _Outcome(visit, url, _LeftOut(source_path, f"is {answer.content_type}, no HTML"))
        if answer.status in _GONE:
            self._gone.add(page_key(visit.url))
            return _Outcome(visit, url, _LeftOut(source_path, f"answers {answer.status}"))
        return self._failed(visit, url, f"answers {answer.status}")

    # --- taking ---

    def _settle(self, outcome: _Outcome) -> SourcePage | PageFailure | PageUnchanged | None:
        """What goes to the reader of the crawl, each page once."""
        for link in outcome.facts.links if outcome.facts else ():
            url = self._own_url(link)
            if url and self.scope.contains(url):
                self._admit(url, outcome.visit.depth + 1)
        result, key = outcome.result, page_key(outcome.url)
        if isinstance(result, _LeftOut):
            self._leave(outcome, result)
            return None
        if key in self._settled:
            if page_key(outcome.visit.url) != key:
                path = self.scope.source_path(outcome.visit.url)
                self.left[path] = f"redirects to {outcome.url}"
            return None
        if isinstance(result, SourcePage):
            canonical = self._canonical(outcome)
            if canonical and page_key(canonical) != key:
                self._defer(outcome, result, canonical)
                return None
            result = self._renamed(result, canonical) if canonical else result
        self._blind |= not isinstance(result, SourcePage)
        if not isinstance(result, PageFailure):
            self._taken.add(key)
        self._settled.add(key)
        self._known.setdefault(key, outcome.url)
        self.left.pop(result.source_path, None)
        return result

    def _leave(self, outcome: _Outcome, left: _LeftOut) -> None:
        self.left[left.source_path] = left.reason
        key = page_key(outcome.visit.url)
        self._missing.add(key)
        for url in self._instead.pop(key, []):
            self._alone.add(url)
            self._next[url] = outcome.visit.depth
        if outcome.facts is None and (spare := self._spare.pop(key, None)):
            self._next[spare] = outcome.visit.depth

    def _canonical(self, outcome: _Outcome) -> str | None:
        """The url that the page calls its own, where that can be believed.

        Not when it is the start page: sites that name it on every page by mistake are many. Not
        when it leads back here, or is left out, or missing: then the page would be lost.
        """
        named = outcome.facts.canonical if outcome.facts else None
        url = self._own_url(named) if named else None
        if url is None or not self.scope.contains(url) or outcome.url in self._alone:
            return None
        key = page_key(url)
        if key == page_key(outcome.url):
            return url
        untrue = {page_key(self._start), page_key(outcome.visit.url)} | self._deferred.keys()
        lost = key in self._missing or self._reason_to_leave(url) is not None
        return None if key in untrue or lost else url

    def _defer(self, outcome: _Outcome, page: SourcePage, canonical: str) -> None:
        key = page_key(canonical)
        self.left[page.source_path] = f"the same page as {canonical}"
        self._deferred[page_key(outcome.url)] = key
        if key not in self._settled:
            self._instead.setdefault(key, []).append(outcome.url)
            self._admit(canonical, outcome.visit.depth, listed=True)

    def _renamed(self, page: SourcePage, url: str) -> SourcePage:
        return replace(
            page, source_path=self.scope.source_path(url), site_path=self.scope.site_path(url)
        )


def _redirect(answer: Answer, url: str, kept_parameters: tuple[str, ...]) -> str | None:
    """Where it leads; an address that is none counts as the place it was given at, which loops."""
    if answer.status not in _REDIRECTS:
        return None
    return normalise(answer.headers.get("location", ""), url, kept_parameters) or url


def _origin(url: str) -> str:
    parts = urlsplit(urljoin(url, "/"))
    return f"{parts.scheme}://{parts.netloc}"
