"""What a crawl has met, what of it is still to be visited, and what is left out."""

from collections import Counter
from dataclasses import dataclass

from protego import Protego

from surefind.adapters.sources.website.crawl_scope import (
    CrawlScope,
    normalise,
    page_key,
    reason_to_leave,
    shape,
)
from surefind.adapters.sources.website.http import USER_AGENT, CrawlOptions
from surefind.ports import Notify


@dataclass(frozen=True, slots=True)
class Visit:
    url: str
    depth: int


class Frontier:
    """A key names a page however its url is spelt.

    `scope`, `start` and `robots` are those of the site as it turns out to be: it may move to https.
    """

    def __init__(
        self, start: str, scope: CrawlScope, options: CrawlOptions, notify: Notify
    ) -> None:
        self.start = start
        self.scope = scope
        self.robots = Protego()
        self.left: dict[str, str] = {}
        self.next: dict[str, int] = {}  # url -> depth: the level to come
        self.known: dict[str, str] = {}  # key -> the url that is visited for it
        self.spare: dict[str, str] = {}  # key -> another spelling, should the first be missing
        self.settled: set[str] = set()
        self.missing: set[str] = set()
        self.visited = 0
        self.blind = False  # some links could not be seen
        self._options = options
        self._notify = notify
        self._alike: Counter[str] = Counter()
        self._told: set[str] = set()

    def own_url(self, url: str) -> str | None:
        normal = normalise(url, self.scope.origin, self._options.query_parameters)
        return normal if normal and self.scope.is_same_site(normal) else None

    def level(self) -> list[Visit]:
        """The pages of the next level, by url; with none left, the known ones that were not met."""
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
            self.left[self.scope.source_path(url)] = reason
            self.tell_once(f"some pages are left out: {reason}")

    def admit(self, url: str, depth: int, *, listed: bool = False) -> None:
        """What a sitemap lists is meant to be there; only links are checked for being endless."""
        key = page_key(url)
        if key in self.known:
            if self.known[key] != url:
                self.spare.setdefault(key, url)
            return
        if len(self.known) >= self._options.max_known_urls:
            most = self._options.max_known_urls
            self.tell_once(f"more than {most} urls were met; the rest is ignored")
            return
        self.known[key] = url
        reason = self.reason_to_leave(url)
        if reason is None and not listed and self._is_one_too_many(url):
            reason = f"{self._options.max_alike} pages like it were taken"
            self.tell_once(f"some pages are left out: {reason}, such as {url}")
        if reason is None:
            self.next[url] = depth
        else:
            self.missing.add(key)
            self.left[self.scope.source_path(url)] = reason

    def reason_to_leave(self, url: str) -> str | None:
        reason = reason_to_leave(
            self.scope.site_path(url), self._options.include, self._options.exclude
        )
        if reason is None and not self.robots.can_fetch(url, USER_AGENT):
            return "robots.txt forbids it"
        return reason

    def _is_one_too_many(self, url: str) -> bool:
        pattern = shape(url)
        self._alike[pattern] += 1
        return self._alike[pattern] > self._options.max_alike

    def tell_once(self, message: str) -> None:
        kind = message.partition(", such as")[0]
        if kind not in self._told:
            self._told.add(kind)
            self._notify(message)
