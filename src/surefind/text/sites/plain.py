"""Pages without a site generator: served under their paths, or shown in surefind's reader."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from urllib.parse import quote

from surefind.model import PageLocation, UrlStyle, unpublished_url
from surefind.text.anchors import GITHUB, READER
from surefind.text.sites.addresses import addresses_below

_ENDINGS = (
    *("", ".md", ".mdx", ".markdown", ".rst", ".html", ".txt"),
    *("/index.md", "/index.mdx", "/README.md", "/readme.md", "/_index.md", "/index.rst"),
    "/index.html",
)
_INDEX_NAMES = {"index", "readme"}
_SERVED_AS_FILES = frozenset({".docx", ".pdf"})


def page_url(site_path: str, base_url: str, style: UrlStyle = "bare") -> str:
    """`guide/install.md` on `https://docs.example.com/` is `https://docs.example.com/guide/install`.

    In other styles, it ends in a slash or in `.html`, and an index page is served as its folder.
    Files that sites serve as they are, such as PDF, keep their suffix.
    """
    path = PurePosixPath(site_path)
    if path.suffix.lower() in _SERVED_AS_FILES:
        return f"{base_url.rstrip('/')}/{quote(site_path)}"
    index = path.stem.lower() in _INDEX_NAMES
    path = path.parent if index else path.parent / path.stem
    tail = "" if str(path) == "." else quote(str(path))
    if tail and style != "bare":
        tail += ".html" if style == "html" and not index else "/"
    return base_url.rstrip("/") + "/" + tail


class PlainSite:
    """A site that serves every page under its path, without the extension."""

    anchors = GITHUB

    def __init__(self, base_url: str, url_style: UrlStyle | None = None) -> None:
        self._base_url = base_url
        self._style: UrlStyle = url_style or "bare"

    @property
    def fingerprint(self) -> str:
        style = "" if self._style == "bare" else f" {self._style}"
        return f"plain {self._base_url}{style}"

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - a plain site does not read it
    ) -> PageLocation:
        return PageLocation(page_url(site_path, self._base_url, self._style))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """Resolve a link against the page URL with and without a trailing slash."""
        pages = (page_url,) if self._style == "html" else (page_url, f"{page_url.rstrip('/')}/")
        return addresses_below(self._base_url, link, *pages)


class ReaderSite:
    """No known site: pages are shown in surefind's reader."""

    anchors = READER

    def __init__(self, collection: str, folder: str) -> None:
        self._collection = collection
        self._folder = folder

    def place(
        self,
        site_path: str,
        front_matter: Mapping[str, object],  # noqa: ARG002 - the reader does not use it either
    ) -> PageLocation:
        return PageLocation(unpublished_url(self._collection, f"{self._folder}/{site_path}"))

    def addresses(self, link: str, page_url: str) -> tuple[str, ...]:
        """The real site is unknown, so accept any usual spelling of a neighbour."""
        if link.startswith("/"):
            return ()
        # Relative links are only resolved below http URLs.
        folder, page = (
            url.replace("surefind:", "http:", 1)
            for url in (unpublished_url(self._collection, self._folder), page_url)
        )
        found = addresses_below(folder, link, page, f"{page.rstrip('/')}/")
        return tuple(
            url.replace("http:", "surefind:", 1).rstrip("/") + ending
            for url in found
            for ending in _ENDINGS
        )
