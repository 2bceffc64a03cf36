"""Where a page can be read: on its site, or in surefind's own reader when no site is known."""

from pathlib import PurePosixPath
from urllib.parse import quote

READER_URL = "http://localhost:8000/read/"
"""Where `surefind serve` shows ingested pages, at its default address."""

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
    """The path on any surefind server of an address made by `reader_url`; None for a site's own."""
    return url.removeprefix("http://localhost:8000") if url.startswith(READER_URL) else None


def steps(path: str) -> list[str]:
    """A path's every beginning, whole steps, itself included: `a/b/c` gives a, a/b, a/b/c."""
    scheme, mark, rest = path.rpartition("://")
    parts = [part for part in rest.split("/") if part]
    return [scheme + mark + "/".join(parts[: count + 1]) for count in range(len(parts))]
