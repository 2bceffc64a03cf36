"""One crawl of a site on loopback, run to its end."""

from collections.abc import Mapping
from typing import Any

from support.website.local_site import Reply, Request, Site
from surefind.adapters.sources.website.http import CrawlOptions
from surefind.adapters.sources.website.source import WebsiteSource
from surefind.model import PageFailure, PageUnchanged, SourcePage

Page = SourcePage | PageFailure | PageUnchanged


class Crawl:
    """One crawl of `/docs/`, run to its end, with the reported progress."""

    def __init__(
        self,
        site: Site,
        start: str = "/docs/",
        known: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.told: list[str] = []
        self._validators = known
        chosen = CrawlOptions(**{"backoff_s": 0.01, "max_wait_s": 0.3, **options})
        self.source = WebsiteSource(site.url + start, chosen, self.told.append)
        self.pages: list[Page] = []
        self._host = site.host

    async def run(self) -> "Crawl":
        self.pages = [page async for page in self.source.pages(self._validators)]
        paths = [page.source_path for page in self.pages]
        assert len(paths) == len(set(paths)), "a page came twice"
        return self

    @property
    def taken(self) -> list[str]:
        return [
            page.source_path.removeprefix(self._host)
            for page in self.pages
            if isinstance(page, SourcePage)
        ]

    @property
    def validators(self) -> dict[str, str]:
        pages = [page for page in self.pages if isinstance(page, SourcePage)]
        return {page.source_path: page.validator for page in pages}

    @property
    def failed(self) -> dict[str, str]:
        return {
            page.source_path.removeprefix(self._host): page.reason
            for page in self.pages
            if isinstance(page, PageFailure)
        }

    @property
    def skipped(self) -> dict[str, str]:
        return {
            skipped.source_path.removeprefix(self._host): skipped.reason
            for skipped in self.source.skipped
        }


def unless_unchanged(reply: Reply) -> Any:
    def answer(request: Request) -> Reply:
        if '"v1"' in (
            request.headers.get("If-None-Match"),
            request.headers.get("If-Modified-Since"),
        ):
            return Reply(status=304)
        return Reply(reply.body, headers={"ETag": '"v1"', "Last-Modified": "yesterday"})

    return answer
