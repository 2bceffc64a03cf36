"""Derives anchors, slugs and chunk ids."""

import base64
import hashlib
import re
import unicodedata
from functools import lru_cache
from pathlib import PurePosixPath

_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")

CHUNK_ID_LENGTH = 50
SLUG_LENGTH = 100
_DIGEST_LENGTH = 10


def anchor_of(title: str) -> str:
    """The anchor that GitHub and Docusaurus give to a heading with this title."""
    title = title.lower()
    if title.isascii():
        return _NOT_IN_ANCHOR.sub("", title).replace(" ", "-")
    return "".join(letter for letter in title if letter in "- " or _is_word(letter)).replace(
        " ", "-"
    )


def slug_of(site_path: str) -> str:
    """`chapter-1/index.md` becomes `chapter-1-index`; letters of all scripts stay.

    At most 100 characters; pages without letters get distinct slugs.
    """
    path = PurePosixPath(site_path)
    name = unicodedata.normalize("NFC", str(path.parent / path.stem)).lower()
    words = "".join(
        letter if letter != "_" and _is_word(letter) else " " for letter in name
    ).split()
    slug = "-".join(words) or f"page-{_digest(site_path)}"
    if len(slug) <= SLUG_LENGTH:
        return slug
    return f"{slug[: SLUG_LENGTH - _DIGEST_LENGTH - 1]}-{_digest(site_path)}"


def chunk_id(source_path: str, anchor: str, ordinal: int) -> str:
    """A readable id of at most 50 printable ASCII characters.

    It depends only on the source path, the section's anchor and the ordinal in that section, so
    edits elsewhere can't change it.
    """
    section = f"{source_path}\0{anchor}"
    ending = f"-{_digest(section)}-{ordinal}"
    name = "-".join(part for part in (_stem(source_path)[:18], _ascii(anchor)[:24]) if part)
    return (name or "chunk")[: CHUNK_ID_LENGTH - len(ending)].strip("-") + ending


@lru_cache(maxsize=1)  # the chunks of a page are created consecutively
def _stem(source_path: str) -> str:
    return _ascii(PurePosixPath(source_path).stem)


def _is_word(letter: str) -> bool:
    """Letters with combining marks, digits and connectors, as in GitHub's anchors."""
    category = unicodedata.category(letter)
    return category[0] in "LM" or category in {"Nd", "Nl", "Pc"}


def _ascii(name: str) -> str:
    return _NOT_IN_SLUG.sub("-", name.lower()).strip("-")


def _digest(name: str) -> str:
    whole = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(whole[:_DIGEST_LENGTH])[:_DIGEST_LENGTH].decode().lower()
