"""How Hugo spells URLs: file names, titles and slugs in them, and the patterns of `permalinks`."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

_KEPT = frozenset("./\\_#+~-@")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_TOKEN = re.compile(r":([a-z]+)(\[[^\]\s]{0,20}\])?")
_SLICE = re.compile(r"\[(\d{1,3}|last)?(:)?(\d{1,3}|last)?\]")
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})[-_ ](.+)")


@dataclass(frozen=True, slots=True)
class PageNames:
    """What the tokens of a permalink stand for."""

    stem: str
    title: str
    slug: str
    sections: tuple[str, ...]
    date: date | None


def file_path(path: str, *, lower: bool = True) -> str:
    """`Sub Dir/C++ & C#` becomes `sub-dir/c++--c#`."""
    spelled = "".join(
        "-" if letter == " " else letter
        for at, letter in enumerate(path)
        if letter == " " or _kept(path, at)
    )
    return spelled.lower() if lower else spelled


def url_part(text: str, *, lower: bool = True) -> str:
    """`A & B -- c?` becomes `a-b--c`: white space becomes one hyphen, unless one is there."""
    spelled: list[str] = []
    waiting = False
    for at, letter in enumerate(text):
        if _kept(text, at):
            if waiting and letter != "-":
                spelled.append("-")
            waiting = False
            spelled.append(letter)
        elif letter.isspace() and spelled and spelled[-1] != "-":
            waiting = True
    joined = "".join(spelled)
    return joined.lower() if lower else joined


def _kept(text: str, at: int) -> bool:
    letter = text[at]
    if letter in _KEPT or letter.isalnum() or unicodedata.category(letter)[0] == "M":
        return True
    return letter == "%" and _ESCAPE.match(text, at) is not None


def expand_pattern(pattern: str, names: PageNames, *, lower: bool = True) -> str | None:
    """The path of a permalink pattern, such as `/:year/:slug/`; None if a token is unknown."""
    unknown = False

    def value(token: re.Match[str]) -> str:
        nonlocal unknown
        found = _token_value(token[1], token[2] or "", names, lower=lower)
        unknown = unknown or found is None
        return found or ""

    path = _TOKEN.sub(value, pattern)
    return None if unknown else re.sub(r"/{2,}", "/", path)


def _token_value(token: str, part: str, names: PageNames, *, lower: bool) -> str | None:
    title = url_part(names.title.replace("/", "-"), lower=lower)
    slug = url_part(names.slug, lower=lower)
    stem = file_path(names.stem, lower=lower)
    sections = [file_path(name, lower=lower) for name in names.sections]
    day = names.date or date(1, 1, 1)
    tokens: Mapping[str, str] = {
        "contentbasename": stem,
        "contentbasenameorslug": stem or slug,
        "day": f"{day:%d}",
        "filename": stem,
        "month": f"{day:%m}",
        "monthname": url_part(f"{day:%B}", lower=lower),
        "section": sections[0] if sections else "",
        "sectionslug": sections[0] if sections else "",
        "slug": slug or title,
        "slugorcontentbasename": slug or stem,
        "slugorfilename": slug or stem,
        "title": title,
        "weekday": f"{day:%w}",
        "weekdayname": url_part(f"{day:%A}", lower=lower),
        "year": f"{day.year:04}",
        "yearday": str(day.timetuple().tm_yday),
    }
    if token in {"sections", "sectionslugs"}:
        return "/".join(_sliced(sections, part))
    return tokens.get(token)


def _sliced(sections: list[str], part: str) -> list[str]:
    """`[1:]`, `[:last]` or `[0]` of the sections."""
    found = _SLICE.fullmatch(part)
    if found is None:
        return sections
    last = len(sections) - 1
    start, end = (
        None if text is None else last if text == "last" else int(text)
        for text in (found[1], found[3])
    )
    if found[2] is None:
        return sections[start : start + 1] if start is not None and start >= 0 else []
    return sections[start:end]


def dated_name(stem: str) -> tuple[date | None, str]:
    """(date, slug) of a file name such as `2024-05-06-news`."""
    found = _DATED.fullmatch(stem)
    if found is None:
        return None, ""
    return day_of(found[1]), found[2]


def day_of(value: object) -> date | None:
    """The date of a front matter value."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip()[:10])
    except ValueError:
        return None


def stem_of(path: str) -> str:
    """The last part of a content path, without its suffix."""
    return PurePosixPath(path).stem
