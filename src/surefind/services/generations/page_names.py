"""Finds pages by what people have: a file name, a path on the site, or a URL of any host."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from surefind.model import AnyOf, Condition, DocumentRecord, Under
from surefind.model.filters import path_prefixes
from surefind.ports import Catalog

_KEY = "source_path"
_SUFFIX = re.compile(r"\.[a-z]{2,8}$", re.IGNORECASE)
_INDEX = re.compile(r"(?:^|/)(?:index|readme|_index)$", re.IGNORECASE)
_NAMED = 3


def pages_named(wanted: str, documents: Iterable[DocumentRecord]) -> list[str]:
    """The source paths of the pages with this name; those nearest to the root if there are more."""
    name = _key(_path(wanted))
    if not name:
        return []
    found = {
        document.source_path: min(depths)
        for document in documents
        if (depths := [_depth(name, key) for key in _keys(document) if _fits(name, key)])
    }
    least = min(found.values(), default=0)
    return sorted(path for path, depth in found.items() if depth == least)


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """The names that are spelled most alike, by the whole path or by its last part."""
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(_key(name), name)
        by_key.setdefault(_key(name).rpartition("/")[2], name)
    path = _key(_path(wanted))
    close = difflib.get_close_matches(path, by_key, n=_NAMED)
    close += difflib.get_close_matches(path.rpartition("/")[2], by_key, n=_NAMED)
    return list(dict.fromkeys(by_key[key] for key in close))[:_NAMED]


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """For the end of a message; empty if nothing is near."""
    close = nearest(wanted, names)
    if not close:
        return ""
    return f"; the nearest {'is' if len(close) == 1 else 'are'} {', '.join(close)}"


async def resolved(
    where: Sequence[Condition], catalog: Catalog
) -> tuple[tuple[Condition, ...], list[str]]:
    """Conditions on source paths with the paths that pages have, and notes about the changes."""
    notes: list[str] = []
    conditions: list[Condition] = []
    for condition in where:
        if condition.key == _KEY and isinstance(condition, AnyOf):
            values = [
                path
                for value in condition.values
                for path in await _source_paths(str(value), catalog, notes)
            ]
            conditions.append(replace(condition, values=tuple(dict.fromkeys(values))))
        elif condition.key == _KEY and isinstance(condition, Under):
            folder = await _folder(condition.path, catalog, notes)
            conditions.append(replace(condition, path=folder))
        else:
            conditions.append(condition)
    return tuple(conditions), notes


async def _source_paths(wanted: str, catalog: Catalog, notes: list[str]) -> list[str]:
    if await catalog.document(wanted) is not None:
        return [wanted]
    documents = await catalog.documents()
    found = pages_named(wanted, documents)
    if found:
        notes.append(f"source_path {wanted} was read as {', '.join(found[:_NAMED])}")
        return found
    near = suggestion(wanted, (document.source_path for document in documents))
    notes.append(f"no page has the source_path {wanted}{near}")
    return [wanted]


async def _folder(wanted: str, catalog: Catalog, notes: list[str]) -> str:
    documents = await catalog.documents()
    prefix = "/".join(part for part in wanted.split("/") if part)
    folders = {path for document in documents for path in path_prefixes(document.source_path)}
    if prefix in folders or not prefix:
        return wanted
    ending = f"/{_path(prefix).strip('/')}".casefold()
    found = sorted(folder for folder in folders if f"/{folder}".casefold().endswith(ending))
    if len(found) == 1:
        notes.append(f"source_path under {wanted} was read as {found[0]}")
        return found[0]
    notes.append(f"no page is under {wanted}{suggestion(wanted, sorted(folders))}")
    return wanted


def _keys(document: DocumentRecord) -> set[str]:
    return {_key(document.source_path), _key(_path(document.url))}


def _path(wanted: str) -> str:
    """Without the scheme, the host and the anchor; a reader's path without its collection."""
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return wanted
    path = unquote(parts.path if parts.scheme and parts.netloc else wanted.partition("#")[0])
    return re.sub(r"^/?read/[^/]+/", "", path)


def _key(path: str) -> str:
    """`Guide/Install.md` and `/guide/install/` are the same page."""
    path = _SUFFIX.sub("", path.strip().strip("/")).removeprefix("./")
    return (_INDEX.sub("", path) or path).casefold()


def _fits(name: str, key: str) -> bool:
    return bool(key) and f"/{key}".endswith(f"/{name}")


def _depth(name: str, key: str) -> int:
    return key.count("/") - name.count("/")
