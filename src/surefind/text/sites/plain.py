"""Pages without a site generator: served under their paths, or shown in surefind's reader."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import PageLocation
from surefind.text.anchors import GITHUB
from surefind.text.sites.addresses import addresses_below

READER_URL = "http://localhost:8000/read/"
"""The reader of `surefind serve` at its default address."""

_ENDINGS = (
    *("", ".md", ".mdx", ".markdown", ".rst", ".html", ".txt"),
    *("/index.md", "/index.mdx", "/README.md", "/readme.md", "/_index.md", "/index.rst"),
    "/index.html",
)
_INDEX_NAMES = {"index", "readme"}


def page_url(site_path: str, base_url: str) -> str:
    """`guide/install.md` on `https://docs.example.com/` is `https://docs.example.com/guide/install`."""
    path = PurePosixPath(site_path)
    index = path.stem.lower() in _INDEX_NAMES
    path = path.parent if index else path.parent / path.stem
    tail = "" if str(path) == "." else quote(str(path))
    return base_url.rstrip("/") + "/" + tail


def reader_url(collection: str, source_path: str) -> str:
    return f"{READER_URL}{quote(collection)}/{quote(source_path)}"


def reader_path(url: str) -> str | None:
    """The server path of a `reader_url`; None for other URLs."""
    return url.removeprefix("http://localhost:8000") if url.startswith(READER_URL) else None


class PlainSite:
    """A site that serves every page under its path, without the extension."""

    anchors = GITHUB

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - a plain site does not read it
    ) -> PageLocation:
        return PageLocation(page_url(site_path, self._base_url))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """Resolve a link against the page URL with and without a trailing slash."""
        return addresses_below(self._base_url, link, page_url, f"{page_url.rstrip('/')}/")


class ReaderSite:
    """No known site: pages are shown in surefind's reader."""

    anchors = GITHUB

    def __init__(self, collection: str, folder: str) -> None:
        self._collection = collection
        self._folder = folder

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - the reader does not use it either
    ) -> PageLocation:
        return PageLocation(reader_url(self._collection, f"{self._folder}/{site_path}"))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """The real site is unknown, so accept any usual spelling of a neighbour."""
        if link.startswith("/"):
            return ()
        folder = reader_url(self._collection, self._folder)
        found = addresses_below(folder, link, page_url, f"{page_url.rstrip('/')}/")
        return tuple(url.rstrip("/") + ending for url in found for ending in _ENDINGS)
