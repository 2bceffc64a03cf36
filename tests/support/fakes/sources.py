"""Pages held in memory."""

from collections.abc import AsyncIterator, Mapping, Sequence

from surefind.model import (
    PageFailure,
    PageUnchanged,
    SourcePage,
)
from surefind.ports import Site
from surefind.text.sites.plain import PlainSite, ReaderSite


class PageSource:
    """Pages held in memory: path below the root -> content, or a failure's reason."""

    def __init__(
        self,
        pages: Mapping[str, str | bytes],
        failing: Mapping[str, str] | None = None,
        name: str = "docs",
        base_url: str | None = None,
        site: Site | None = None,
    ) -> None:
        self._pages = pages
        self._failing = failing or {}
        self.name = name
        own = PlainSite(base_url) if base_url else ReaderSite("docs", name)
        self.site: Site = site or own
        self.fingerprint = f"site {base_url}"

    @property
    def unread(self) -> Mapping[str, int]:
        return {}

    @property
    def skipped(self) -> Sequence[PageFailure]:
        return ()

    async def pages(
        self, known: Mapping[str, str] | None = None
    ) -> AsyncIterator[SourcePage | PageFailure | PageUnchanged]:
        for path in sorted({*self._pages, *self._failing}):
            source_path = f"{self.name}/{path}"
            if path in self._failing:
                yield PageFailure(source_path, self._failing[path])
            else:
                content = self._pages[path]
                raw = content.encode() if isinstance(content, str) else content
                yield SourcePage(source_path, path, raw, path[path.rindex(".") :])
