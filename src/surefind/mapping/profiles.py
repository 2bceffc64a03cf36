"""Statistics of each key over a sample of payloads: coverage, length, distinctness, type."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from urllib.parse import urlsplit

from surefind.mapping.moments import moment
from surefind.mapping.paths import Leaf, is_missing, leaves

_WHOLE = re.compile(r"[+-]?\d{1,15}")
_HEXADECIMAL = re.compile(r"(?:sha\d*[:-]|md5[:-])?[0-9a-fA-F]{6,128}")
_UUID = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{1,2000}>")
_FILE = re.compile(r"[^\s?#][^\n?#]{0,400}\.[A-Za-z][A-Za-z0-9]{0,7}")
_CSS_PATH = re.compile(r"\w+[^>]{0,200}( > \S[^>]{0,200}){2,}")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f]")
_COMMON = (
    "the a an of to and in is it for on that with as be are this or by from at not can you "
    "der die das und ist ein eine nicht mit auf von zu den im le la les et est un une des que pour "
    "dans el los las y es en por con una del il di che per non sono"
)
_FREQUENT = frozenset(_COMMON.split())
_LONGEST = 4000
_SHOWN = 60
_BEYOND_COUNTING = 10**15  # as many digits as _WHOLE reads; more are an id or nonsense


@dataclass(frozen=True)
class Profile:
    """One key over the sample. `values` are the non-empty ones, by point number."""

    path: str
    values: Mapping[int, Leaf]
    points: int

    @cached_property
    def coverage(self) -> float:
        return len(self.values) / self.points if self.points else 0.0

    @cached_property
    def texts(self) -> list[str]:
        """Values that are strings or lists of strings, as one string each."""
        found = (text_of(value) for value in self.values.values())
        return [text for text in found if text is not None]

    @cached_property
    def strings(self) -> float:
        return self._share(lambda value: text_of(value) is not None)

    @cached_property
    def lists(self) -> float:
        return self._share(lambda value: isinstance(value, tuple))

    @cached_property
    def lengths(self) -> list[int]:
        return sorted(len(text) for text in self.texts)

    @cached_property
    def median_length(self) -> float:
        return median(self.lengths) if self.lengths else 0.0

    @cached_property
    def spaces(self) -> float:
        """The median number of words."""
        return median(_words(text[:_LONGEST]) for text in self.texts) if self.texts else 0.0

    @cached_property
    def distinct(self) -> float:
        """1 if all values differ; a single value counts as different."""
        return len(set(self.values.values())) / len(self.values) if self.values else 0.0

    @cached_property
    def constant(self) -> bool:
        return len(self.values) > 2 and len(set(self.values.values())) == 1

    @cached_property
    def prose(self) -> float:
        """How much the values resemble sentences, in 0..1."""
        return _mean([_prose(text[:_LONGEST]) for text in self.texts])

    @cached_property
    def markup(self) -> float:
        return _mean([float(len(_TAG.findall(text[:_LONGEST])) >= 2) for text in self.texts])

    @cached_property
    def urls(self) -> float:
        return self._strings_that(is_url)

    @cached_property
    def relative_urls(self) -> float:
        return self._strings_that(_is_relative_url)

    @cached_property
    def files(self) -> float:
        return self._strings_that(_is_file)

    @cached_property
    def paths(self) -> float:
        return self._strings_that(_is_path)

    @cached_property
    def digests(self) -> float:
        return self._strings_that(lambda text: bool(_HEXADECIMAL.fullmatch(text)))

    @cached_property
    def uuids(self) -> float:
        return self._strings_that(lambda text: bool(_UUID.fullmatch(text)))

    @cached_property
    def css_paths(self) -> float:
        return self._strings_that(lambda text: bool(_CSS_PATH.fullmatch(text)))

    @cached_property
    def moments(self) -> float:
        return self._share(lambda value: moment(value) is not None)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Non-negative integers, including those stored as strings."""
        found = {point: whole(value) for point, value in self.values.items()}
        return {point: number for point, number in found.items() if number is not None}

    @cached_property
    def whole_numbers(self) -> float:
        return len(self.numbers) / len(self.values) if self.values else 0.0

    @cached_property
    def example(self) -> str:
        shown = next((str(text) for text in self.values.values()), "")
        text = " ".join(shown.split())
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    def _share(self, test: Callable[[Leaf], bool]) -> float:
        return _mean([float(test(value)) for value in self.values.values()])

    def _strings_that(self, test: Callable[[str], bool]) -> float:
        return self._share(lambda value: isinstance(value, str) and test(value.strip()))


def profiles(payloads: Sequence[Mapping[str, object] | None]) -> dict[str, Profile]:
    """Profiles of every key with a value in at least one payload."""
    values: dict[str, dict[int, Leaf]] = {}
    for number, payload in enumerate(payloads):
        for path, value in leaves(payload).items():
            if not is_missing(value):
                values.setdefault(path, {})[number] = value
    return {path: Profile(path, held, len(payloads)) for path, held in values.items()}


def text_of(value: Leaf | None) -> str | None:
    """A string, or a list of strings joined as paragraphs; None for other values."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and any(isinstance(item, str) for item in value):
        return "\n\n".join(str(item) for item in value if not is_missing(item))
    return None


def whole(value: Leaf | None) -> int | None:
    """A non-negative integer, also from a string or a float such as 3.0."""
    if isinstance(value, bool) or value is None or isinstance(value, tuple):
        return None
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value.strip()) and int(value) >= 0 else None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if 0 <= value < _BEYOND_COUNTING else None


def is_url(text: str) -> bool:
    if len(text) > 4000 or any(character.isspace() for character in text):
        return False
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    if address.scheme in {"http", "https"}:
        return bool(address.netloc)
    others = {"file", "s3", "gs", "ftp", "git", "ssh", "surefind"}
    return address.scheme in others and "://" in text


def _is_relative_url(text: str) -> bool:
    return text.startswith("/") and not any(c.isspace() for c in text) and not _is_file(text)


def _is_file(text: str) -> bool:
    """Whether the last segment has a file suffix, and it is not a URL."""
    return bool(_FILE.fullmatch(text)) and "://" not in text and not text.endswith("...")


def _is_path(text: str) -> bool:
    if "://" in text or "\n" in text or len(text) > 1000:
        return False
    steps = re.split(r"[/\\]", text)
    return len(steps) > 1 and max(len(step.split()) for step in steps) <= 6


def _words(text: str) -> int:
    """The number of words; scripts without spaces have about two letters per word."""
    return len(text.split()) + len(_WITHOUT_SPACES.findall(text)) // 2


def _prose(text: str) -> float:
    letters = len(_WITHOUT_SPACES.findall(text))
    if letters > 0.3 * len(text):
        return min(
            1.0,
            0.35 * any(mark in text for mark in "\u3002\u3001\uff01\uff1f\uff0c") + letters / 40,
        )
    words = _TAG.sub(" ", text).split()
    if len(words) < 3:
        return 0.0
    lower = [word.strip(".,;:!?\"'()").lower() for word in words]
    common = sum(word in _FREQUENT for word in lower) / len(words)
    punctuated = any(word[-1] in ".,;:!?。" for word in words)
    capital = any(word[0].isupper() for word in words)
    return min(1.0, 0.35 * punctuated + 0.15 * capital + 2.5 * common)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
