"""URL rules: which URLs are pages of a site, which are equal, and which are skipped. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from surefind.errors import InputError

MAX_URL_LENGTH = 2_000
_MAX_SEGMENTS = 50
_PORTS = {"http": 80, "https": 443}
_SAFE = "%/:@!$&'()*+,;=~-._"
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|%")
_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/]*|/\(S\(\w+\)\)", re.IGNORECASE)
_INDEX_PAGE = re.compile(r"/(?:index\.(?:html?|php|xhtml))?$", re.IGNORECASE)
_VARYING = re.compile(r"[0-9a-f]{8,}|\d+", re.IGNORECASE)

# --- urls -------------------------------------------------------------------------------------


def normalise(href: str, base: str, kept_parameters: Iterable[str] = ()) -> str | None:
    """Normalize an http URL; None if it is invalid or implausibly long.

    Fragments, session ids and query parameters are removed, except for `kept_parameters`, which
    are sorted. So tracking links, filters and calendars do not give a page several URLs.
    """
    if len(href) > MAX_URL_LENGTH:
        return None
    try:
        parts = urlsplit(urljoin(base, href.strip()))
        place = _place(parts)
    except ValueError:  # an invalid IPv6 address or port
        return None
    if place is None:
        return None
    kept = set(kept_parameters)
    query = urlencode(sorted(item for item in parse_qsl(parts.query) if item[0] in kept))
    url = f"{parts.scheme}://{place}{_clean_path(parts.path)}{'?' if query else ''}{query}"
    return url if len(url) <= MAX_URL_LENGTH else None


def _place(parts: SplitResult) -> str | None:
    """Host and port; URLs with a user name are rejected, because they are traps or secrets."""
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        return None
    host = parts.hostname
    host = f"[{host}]" if ":" in host else host.encode("idna").decode("ascii")
    return host if parts.port in {None, _PORTS[parts.scheme]} else f"{host}:{parts.port}"


def _clean_path(path: str) -> str:
    """Resolve dot segments after decoding, so that `%2e%2e` can't leave the site."""
    path = _SESSION.sub("", quote(_ESCAPE.sub(_requoted, path), safe=_SAFE))
    segments: list[str] = []
    for segment in (parts := path.split("/")):
        if segment == "..":
            segments = segments[:-1]
        elif segment not in {"", "."}:
            segments.append(segment)
    end = "/" if segments and parts[-1] in {"", ".", ".."} else ""
    return "/" + "/".join(segments) + end


def _requoted(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return "%25"
    character = chr(int(escape[1], 16))
    plain = character.isascii() and (character.isalnum() or character in "-._~")
    return character if plain else escape[0].upper()


def page_key(url: str) -> str:
    """Equal for URLs of one page: with or without `index.html` or a trailing slash."""
    base, mark, query = url.partition("?")
    return _INDEX_PAGE.sub("", base) + mark + query


def shape(url: str) -> str:
    """Equal for URLs that differ only in numbers, such as the days of a calendar."""
    return _VARYING.sub("0", page_key(url))


def readable(text: str) -> str:
    """Decode letters of all scripts; escaped ASCII characters stay escaped."""
    decoded = re.sub(r"(?:%[89A-F][0-9A-F])+", lambda run: unquote(run[0], errors="ignore"), text)
    same = quote(decoded, safe=_SAFE + "?") == text
    return decoded if same and decoded.isprintable() else text


@dataclass(frozen=True, slots=True)
class CrawlScope:
    """The part of a site to crawl: one scheme, host, port and folder."""

    origin: str
    directory: str

    @classmethod
    def of(cls, start_url: str) -> "CrawlScope":
        """The folder of a start URL. `/docs` counts as a folder, `/docs/intro.html` as a page."""
        url = normalise(start_url, "")
        if url is None:
            login = "; a user name or password in it is not supported" if "@" in start_url else ""
            raise InputError(f"{start_url} is not a website URL; use https://host/path/{login}")
        parts = urlsplit(url)
        folder, _, last = parts.path.rpartition("/")
        page = re.search(r"\.(?:x?html?|php|aspx?|jsp)$", last, re.IGNORECASE)
        directory = f"{folder}/{last}/" if last and not page else f"{folder}/"
        return cls(f"{parts.scheme}://{parts.netloc}", directory)

    @property
    def name(self) -> str:
        return self.source_path(self.origin + self.directory).rstrip("/")

    def is_same_site(self, url: str) -> bool:
        return url.startswith(self.origin + "/")

    def contains(self, url: str) -> bool:
        return f"{page_key(url).partition('?')[0]}/".startswith(self.origin + self.directory)

    def source_path(self, url: str) -> str:
        return readable(url.partition("://")[2])

    def site_path(self, url: str) -> str:
        return readable(url[len(self.origin + self.directory) :])

    def url(self, source_path: str) -> str:
        """The URL of a page, from its source path."""
        return f"{self.origin.partition('://')[0]}://{quote(source_path, safe=_SAFE + '?[]')}"


# --- skipped pages ----------------------------------------------------------------------------

_LEADING = re.compile(  # what may precede `blog` or `tags` in a crawl of the whole site
    r"docs?|documentation|[a-z]{2}(-[a-z]{2,4})?|v?\d+(\.[\dx]+)*|latest|stable|main|master|dev|next",
    re.IGNORECASE,
)
_SECTIONS = {
    "blog": "blog",
    "tag": "tag pages",
    "tags": "tag pages",
    "category": "category archive",
    "categories": "category archive",
    "feed": "feed",
    "rss": "feed",
    "atom": "feed",
}
_SINGLE_PAGES = re.compile(
    r"(?P<search>search)|(?P<index>genindex(-\w+)?|py-modindex|modindex)|(?P<missing>404)"
    r"|(?P<print>print|print_page|printable)",
    re.IGNORECASE,
)
_SINGLE_REASONS = {
    "search": "search page",
    "index": "generated index",
    "missing": "404 page",
    "print": "print page",
}
_FEEDS = re.compile(r"(^|/)(feed|rss|atom)(\.xml)?/?$|\.(rss|atom)$", re.IGNORECASE)
_ASSETS = re.compile(
    r"\.(7z|avif|avi|bz2|css|csv|deb|dmg|docx?|eot|epub|exe|gif|gz|ico|inv|ipynb|jar|jpe?g|m?js"
    r"|json|map|mov|mp[34]|msi|ogg|otf|pdf|png|pptx?|ps|rar|rpm|svg|tar|tgz|tsv|ttf|txt|wasm|wav"
    r"|webm|webp|whl|woff2?|xlsx?|xml|xz|ya?ml|zip)$",
    re.IGNORECASE,
)


def skip_reason(site_path: str, include: Sequence[str], exclude: Sequence[str]) -> str | None:
    """Why to skip a page, or None. `include` also overrides the default exclusions.

    `blog` and the like are excluded only at the top level: a tutorial may be about building a blog.
    """
    path = site_path.partition("?")[0]
    if _is_endless(path):
        return "its path repeats itself"
    if any(fnmatchcase(path, pattern) for pattern in exclude):
        return "excluded by a pattern"
    if include:
        included = any(fnmatchcase(path, pattern) for pattern in include)
        return None if included else "not matched by a pattern to include"
    return _default_reason(path)


def _default_reason(path: str) -> str | None:
    if _FEEDS.search(path):
        return "feed"
    if _ASSETS.search(path):
        return "asset"
    segments = [segment for segment in path.split("/") if segment]
    while len(segments) > 1 and _LEADING.fullmatch(segments[0]):
        segments.pop(0)
    if not segments:
        return None
    names = [re.sub(r"\.(x?html?|php)$", "", segment) for segment in segments if segment]
    if len(names) > 1 and names[-1] == "index":
        names.pop()
    if names[0].lower() in _SECTIONS:
        return _SECTIONS[names[0].lower()]
    single = _SINGLE_PAGES.fullmatch(names[0]) if len(names) == 1 else None
    return _SINGLE_REASONS[single.lastgroup] if single and single.lastgroup else None


def _is_endless(path: str) -> bool:
    """Detects `a/b/a/b/a/b`, which results from a wrong relative link and grows forever."""
    segments = path.split("/")
    if len(segments) > _MAX_SEGMENTS:
        return True
    return any(
        segments[at : at + size]
        == segments[at + size : at + 2 * size]
        == segments[at + 2 * size : at + 3 * size]
        for size in range(1, len(segments) // 3 + 1)
        for at in range(len(segments) - 3 * size + 1)
    )
