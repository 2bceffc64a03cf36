"""The anchors that Python-Markdown's extension `toc` gives to headings."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from urllib.parse import quote

from surefind.model import AnchorRule
from surefind.text.sites.mkdocs.config import MkDocsConfig, PythonName
from surefind.text.sites.mkdocs.mkdocstrings import MARK

_NUMBERED = re.compile(r"(.*)_(\d+)", re.DOTALL)
_NOT_A_WORD = re.compile(r"[^\w\s-]")
_NOT_IN_PYMDOWN = re.compile(r"[^\w\- ]")
_TAGS = re.compile(r"</?[^>]*>")
_ASCII_CAPITALS = re.compile("[A-Z]+")
_ATTRIBUTES = re.compile(r"[ ]+\{:?[ ]*+([^}\n]++)\}[ ]*$")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_ID = re.compile(r"(?:^|\s)(?:#([^\s=]+)|id=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+)))")
_MAX_SEPARATOR = 10
Slug = Callable[[str], str]


def anchor_rule(config: MkDocsConfig) -> AnchorRule:
    """The rule of the config; a `slugify` that is not known is noted, and the default used."""
    options = config.extensions["toc"]
    separator = options.get("separator")
    if not isinstance(separator, str) or len(separator) > _MAX_SEPARATOR:
        separator = "-"
    slug = _slug_named(options.get("slugify"), separator)
    if slug is None:
        config.notes.append("`toc.slugify` is not a known function; using the default anchors.")
        slug = _default_slug(separator)
    has_lists = "attr_list" in config.extensions
    split = _attributes if has_lists else _undeclared
    return AnchorRule(split, _never_empty(slug), _numbered, included=MARK)


def _slug_named(written: object, separator: str) -> Slug | None:
    """The function of that name; None if it is not one of the usual ones."""
    if written is None:
        return _default_slug(separator)
    value = written if isinstance(written, PythonName) else PythonName(str(written))
    module, _, name = value.name.rpartition(".")
    if module == "markdown.extensions.toc":
        known = {"slugify": _default_slug, "slugify_unicode": _unicode_slug}
        return known[name](separator) if name in known else None
    if value.name == "pymdownx.slugs.slugify":
        return _pymdown_slug(separator, value.arguments)
    return None


def _default_slug(separator: str) -> Slug:
    unicode_slug = _unicode_slug(separator)

    def slug(title: str) -> str:
        if not title.isascii():
            title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        return unicode_slug(title)

    return slug


def _unicode_slug(separator: str) -> Slug:
    gap = re.compile(rf"[{re.escape(separator)}\s]+")

    def slug(title: str) -> str:
        return gap.sub(lambda _: separator, _NOT_A_WORD.sub("", title).strip().lower())

    return slug


def _pymdown_slug(separator: str, arguments: Mapping[str, object]) -> Slug:
    case = arguments.get("case", "none")
    percent = arguments.get("percent_encode") is True

    def slug(title: str) -> str:
        title = _TAGS.sub("", unicodedata.normalize("NFC", title)).strip()
        if case == "lower":
            title = title.lower()
        elif case == "fold":
            title = title.casefold()
        elif case == "lower-ascii":
            title = _ASCII_CAPITALS.sub(lambda capitals: capitals[0].lower(), title)
        title = _NOT_IN_PYMDOWN.sub("", title).replace(" ", separator)
        return quote(title) if percent else title

    return slug


def _never_empty(slug: Slug) -> Slug:
    """A title without letters has a number; one without any text is made by a plugin."""
    return lambda title: title and (slug(" ".join(title.split())) or "_1")


def _numbered(anchor: str, number: int) -> str:
    """`install` becomes `install_1`, and `install_1` becomes `install_2`."""
    found = _NUMBERED.fullmatch(anchor)
    return f"{found[1]}_{int(found[2]) + number}" if found else f"{anchor}_{number}"


def _attributes(title: str) -> tuple[str, str]:
    """Split `Title { #id .class word key="value" }`."""
    title = _IMAGE.sub("", title)
    found = _ATTRIBUTES.search(title) if title.rstrip().endswith("}") else None
    if found is None:
        return title, ""
    named = _ID.search(found[1])
    return title[: found.start()], next(filter(None, named.groups()), "") if named else ""


def _undeclared(title: str) -> tuple[str, str]:
    if f"{{#{MARK}" in title:
        return _attributes(title)
    return _IMAGE.sub("", title), ""
