"""The crawl frontier: known, pending and skipped URLs."""

from collections import Counter
from dataclasses import dataclass

from protego import Protego

from surefind.adapters.sources.website.crawl_scope import (
    CrawlScope,
    normalise,
    page_key,
    shape,
    skip_reason,
)
from surefind.adapters.sources.website.http import USER_AGENT, CrawlOptions
from surefind.ports import Notify


@dataclass(frozen=True, slots=True)
class Visit:
    url: str
    depth: int


class Frontier:
    """Keys identify pages independently of the spelling of their URLs.

    `scope`, `start` and `robots` may change during the crawl, for example when the site redirects
    to https.
    """

    def __init__(
        self, start: str, scope: CrawlScope, options: CrawlOptions, notify: Notify
    ) -> None:
        self.start = start
        self.scope = scope
        self.robots = Protego()
        self.skipped: dict[str, str] = {}
        self.next: dict[str, int] = {}  # URL -> depth, of the next level
        self.known: dict[str, str] = {}  # key -> the URL to visit
        self.spare: dict[str, str] = {}  # key -> another spelling, in case the first is missing
        self.settled: set[str] = set()
        self.missing: set[str] = set()
        self.visited = 0
        self.blind = False  # some links are unknown
        self._options = options
        self._notify = notify
        self._alike: Counter[str] = Counter()
        self._reported: set[str] = set()

    def own_url(self, url: str) -> str | None:
        normal = normalise(url, self.scope.origin, self._options.query_parameters)
        return normal if normal and self.scope.is_same_site(normal) else None

    def level(self) -> list[Visit]:
        """The pages of the next level, sorted by URL; at the end, known pages not yet visited."""
        if not self.next and self.blind:
            self.blind = False
            for source_path in self._options.known:
                url = self.own_url(self.scope.url(source_path))
                if url and self.scope.contains(url):
                    self.admit(url, 1, listed=True)
        found, self.next = sorted(self.next.items()), {}
        visits = [Visit(url, depth) for url, depth in found if depth <= self._options.max_depth]
        room = max(0, self._options.max_pages - self.visited)
        self._leave_beyond(
            [url for url, depth in found if depth > self._options.max_depth],
            f"more than {self._options.max_depth} links away",
        )
        self._leave_beyond(
            [visit.url for visit in visits[room:]],
            f"beyond the limit of {self._options.max_pages} pages",
        )
        self.visited += len(visits[:room])
        return visits[:room]

    def _leave_beyond(self, urls: list[str], reason: str) -> None:
        for url in urls:
            self.skipped[self.scope.source_path(url)] = reason
            self.report_once(f"some pages are skipped: {reason}")

    def admit(self, url: str, depth: int, *, listed: bool = False) -> None:
        """Add a URL; only links are checked for endless paths: sitemap entries are intended."""
        key = page_key(url)
        if key in self.known:
            if self.known[key] != url:
                self.spare.setdefault(key, url)
            return
        if len(self.known) >= self._options.max_known_urls:
            most = self._options.max_known_urls
            self.report_once(f"found more than {most} URLs; the rest is ignored")
            return
        self.known[key] = url
        reason = self.skip_reason(url)
        if reason is None and not listed and self._is_one_too_many(url):
            reason = f"{self._options.max_alike} similar pages were taken"
            self.report_once(f"some pages are skipped: {reason}, such as {url}")
        if reason is None:
            self.next[url] = depth
        else:
            self.missing.add(key)
            self.skipped[self.scope.source_path(url)] = reason

    def skip_reason(self, url: str) -> str | None:
        reason = skip_reason(
            self.scope.site_path(url), self._options.include, self._options.exclude
        )
        if reason is None and not self.robots.can_fetch(url, USER_AGENT):
            return "robots.txt forbids it"
        return reason

    def _is_one_too_many(self, url: str) -> bool:
        pattern = shape(url)
        self._alike[pattern] += 1
        return self._alike[pattern] > self._options.max_alike

    def report_once(self, message: str) -> None:
        kind = message.partition(", such as")[0]
        if kind not in self._reported:
            self._reported.add(kind)
            self._notify(message)
