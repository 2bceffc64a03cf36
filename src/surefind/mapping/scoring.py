"""Scores how well a key fits a role, mainly by its values, and records the evidence."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from surefind.mapping.names import name_score, words_of
from surefind.mapping.profiles import Profile
from surefind.model import Role

_FEW_ODD = 0.05
_FEW = 5
"""With fewer points, repetition of values is not meaningful."""


@dataclass(frozen=True, slots=True)
class RoleFit:
    """A candidate key for a role, with a score in 0..1 and the evidence."""

    role: Role
    path: str
    score: float
    evidence: tuple[str, ...]
    same: bool = False
    """Whether it has the same values as the chosen key."""


def fit(role: Role, profile: Profile) -> RoleFit | None:
    """The fit of a key for a role; None if its values rule the role out."""
    shape, evidence = _SHAPES[role](profile)
    if shape <= 0:
        return None
    name = name_score(role, profile.path)
    need = _NAME_NEEDED[role]
    if name < need:
        return None
    weight = _NAME_WEIGHT[role]
    score = shape * (1 - weight + weight * name) * _presence(profile) * _nearness(profile.path)
    present = "all" if profile.coverage == 1 else f"{profile.coverage:.0%} of the"
    reasons = [f"in {present} points", *evidence]
    if name >= 0.3:
        reasons.append("its name matches" if name >= 0.7 else "its name may match")
    return RoleFit(role, profile.path, min(1.0, score), tuple(reasons))


def _presence(profile: Profile) -> float:
    """Rare keys are unlikely; keys in half of the points may come from one of two writers."""
    return min(1.0, 0.25 + 1.25 * profile.coverage) if profile.coverage >= 0.05 else 0.1


def _nearness(path: str) -> float:
    """Prefers the less nested of two similar keys."""
    return 0.985 ** len(words_of(path)[1])


Shape = tuple[float, list[str]]


def _text(profile: Profile) -> Shape:
    if profile.strings < 0.6 or profile.css_paths > 0.5:
        return 0.0, []
    if max(profile.urls, profile.uuids, profile.moments, profile.files, profile.paths) > 0.6:
        return 0.0, []
    length = profile.median_length
    if length < 12 or profile.spaces < 3:
        return 0.0, []
    long = min(1.0, math.log(length / 8) / math.log(40))
    shape = (0.35 + 0.4 * long + 0.25 * profile.prose) * _unrepeated(profile)
    if profile.markup > 0.5:
        shape *= 0.85
    evidence = [f"median {length:.0f} characters"]
    if profile.prose >= 0.5:
        evidence.append("reads as sentences")
    if profile.markup > 0.5:
        evidence.append("HTML")
    if profile.lists > 0.5:
        evidence.append("a list, joined")
    return shape, evidence


def _unrepeated(profile: Profile) -> float:
    """Texts of passages rarely repeat; a page summary is in all its passages."""
    return 1.0 if len(profile.values) < _FEW else 0.3 + 0.7 * profile.distinct**0.5


def _url(profile: Profile) -> Shape:
    if profile.urls >= 0.5:
        kind = "addresses" if profile.urls > 0.99 else f"{profile.urls:.0%} addresses"
        return _varied(profile, profile.urls, [kind])
    named = name_score(Role.URL, profile.path) >= 0.75
    if named and profile.relative_urls >= 0.5:
        return _varied(profile, 0.8 * profile.relative_urls, ["addresses without a host"])
    return 0.0, []


def _varied(profile: Profile, shape: float, evidence: list[str]) -> Shape:
    """A constant value scores lower: it may come from the only page, or be meaningless."""
    if not profile.constant:
        return shape, evidence
    return 0.65 * shape, [*evidence, "the same in all points"]


def _source_path(profile: Profile) -> Shape:
    if profile.urls > 0.5 or profile.moments > 0.5 or profile.spaces > 12 or profile.lists > 0.3:
        return 0.0, []
    if profile.css_paths > 0.5 or profile.prose > 0.5 or profile.strings < 0.6:
        return 0.0, []
    if profile.files >= 0.5:
        deep = 0.08 * (profile.paths >= 0.5)
        kind = "files with a path" if deep else "file names"
        return _varied(profile, 0.9 * profile.files + deep, [kind])
    named = name_score(Role.SOURCE_PATH, profile.path) >= 0.4
    if named and profile.paths >= 0.5:
        return _varied(profile, 0.7 * profile.paths, ["paths"])
    return (0.6, ["slugs"]) if is_slug(profile.path) else (0.0, [])


def is_slug(path: str) -> bool:
    return "slug" in words_of(path)[0]


def _slug(profile: Profile) -> Shape:
    if profile.strings < 0.6 or profile.lists > 0.3 or profile.spaces > 1:
        return 0.0, []
    return 0.95, []


def _short_label(profile: Profile, most: int) -> bool:
    if profile.strings < 0.6 or profile.urls > 0.3 or profile.moments > 0.5:
        return False
    if profile.uuids > 0.5 or profile.whole_numbers > 0.5 or profile.css_paths > 0.5:
        return False
    return profile.median_length <= most and profile.spaces <= 20


def _title(profile: Profile) -> Shape:
    if not _short_label(profile, 150) or profile.lists > 0.5:
        return 0.0, []
    if profile.files > 0.5 and name_score(Role.TITLE, profile.path) < 0.6:
        return 0.0, []
    slug = _lower_case(profile) and name_score(Role.TITLE, profile.path) < 0.7
    shape = 0.35 if slug else 0.95
    return _varied(profile, shape, [f"median {profile.median_length:.0f} characters"])


def _section(profile: Profile) -> Shape:
    if not _short_label(profile, 250) or profile.files > 0.5:
        return 0.0, []
    shape = 0.9
    evidence = [f"median {profile.median_length:.0f} characters"]
    if profile.lists > 0.5:
        evidence.append("a list")
        shape = 0.95
        if profile.paths > 0.3 or _steps_of_paths(profile):
            shape = 0.3
    elif _lower_case(profile):
        shape *= 0.75
    return _varied(profile, shape, evidence)


def _lower_case(profile: Profile) -> bool:
    """Headings start with a capital; names of folders and anchors do not."""
    return all(text == text.lower() for text in profile.texts)


def _steps_of_paths(profile: Profile) -> bool:
    held = [
        str(item) for value in profile.values.values() if isinstance(value, tuple) for item in value
    ]
    return any("/" in item and " " not in item for item in held)


def _position(profile: Profile) -> Shape:
    if profile.css_paths >= 0.5:
        return 0.6, ["places in a page"]
    if profile.whole_numbers < 0.8 or profile.moments > 0.9:
        return 0.0, []
    if sum(number > 10**9 for number in profile.numbers.values()) > _FEW_ODD * len(profile.numbers):
        return 0.0, []
    return _varied(profile, 0.9, [f"whole numbers from {min(profile.numbers.values())}"])


def _identity(profile: Profile) -> Shape:
    if profile.lists > 0.3 or profile.spaces > 2 or profile.urls > 0.5 or profile.moments > 0.5:
        return 0.0, []
    if profile.strings < 0.5 and profile.whole_numbers < 0.9:
        return 0.0, []
    return (0.95 if profile.uuids > 0.5 else 0.85), []


def _id(profile: Profile) -> Shape:
    shape, _ = _identity(profile)
    if not shape:
        return 0.0, []
    if len(profile.values) < _FEW:
        return shape, []
    if profile.distinct < 0.98:
        return 0.0, []
    return shape, ["all different"]


def _document(profile: Profile) -> Shape:
    shape = 0.9 if _identity(profile)[0] else 0.0
    if not shape or profile.files > 0.5:
        return 0.0, []
    if len(profile.values) < _FEW or profile.constant:
        return _varied(profile, shape, [])
    repeated = profile.distinct < 0.98
    return (shape, ["shared by the points of a document"]) if repeated else (0.3 * shape, [])


def _hash(profile: Profile) -> Shape:
    if profile.digests < 0.8 or profile.whole_numbers > 0.8:
        return 0.0, []
    shape = 0.95 if profile.median_length in {32, 40, 56, 64, 96, 128} else 0.85
    return _varied(profile, shape, [f"{profile.median_length:.0f} hexadecimal digits"])


def _created_at(profile: Profile) -> Shape:
    if profile.moments < 0.8:
        return 0.0, []
    if profile.numbers:
        return 0.9, ["epochs"]
    return 0.95, ["dates" if profile.median_length <= 10 else "dates and times"]


_SHAPES: Mapping[Role, Callable[[Profile], Shape]] = {
    Role.TEXT: _text,
    Role.URL: _url,
    Role.SOURCE_PATH: _source_path,
    Role.SLUG: _slug,
    Role.TITLE: _title,
    Role.SECTION: _section,
    Role.POSITION: _position,
    Role.ID: _id,
    Role.DOCUMENT: _document,
    Role.HASH: _hash,
    Role.CREATED_AT: _created_at,
}

# A text is recognized by its values alone; a short label is a title only by its name.
_NAME_NEEDED: Mapping[Role, float] = defaultdict(
    float,
    {
        Role.SLUG: 0.6,
        Role.TITLE: 0.3,
        Role.SECTION: 0.3,
        Role.POSITION: 0.3,
        Role.ID: 0.35,
        Role.DOCUMENT: 0.5,
        Role.HASH: 0.5,
        Role.CREATED_AT: 0.3,
        Role.SOURCE_PATH: 0.0,
    },
)
_NAME_WEIGHT: Mapping[Role, float] = {
    Role.TEXT: 0.35,
    Role.URL: 0.6,
    Role.SOURCE_PATH: 0.45,
    Role.SLUG: 0.6,
    Role.TITLE: 0.8,
    Role.SECTION: 0.8,
    Role.POSITION: 0.8,
    Role.ID: 0.7,
    Role.DOCUMENT: 0.7,
    Role.HASH: 0.6,
    Role.CREATED_AT: 0.6,
}
