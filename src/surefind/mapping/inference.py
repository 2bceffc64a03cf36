"""Infers from a sample of payloads which key has which role, with the evidence."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from surefind.mapping.names import level_of, name_score, speaks_against, words_of
from surefind.mapping.profiles import Profile, profiles, text_of
from surefind.mapping.scoring import RoleFit, fit, is_slug
from surefind.mapping.structure import (
    DocumentGroups,
    documents_by,
    hash_by_values,
    labels_documents,
    moment_by_values,
    position_by_values,
    section_by_values,
    title_by_values,
)
from surefind.model import PayloadMapping, PositionKind, Role

LEAST = 0.3
"""The minimum score for a key to get a role."""

_CLOSE = 0.06
_RUNNERS_UP = 3
_CONTAINED = 0.8
_HOMES = (Role.SOURCE_PATH, Role.URL, Role.DOCUMENT)
"""Roles that identify a document, best first."""


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """The keys chosen for a role, empty if none fits; `runners_up` came close."""

    role: Role
    keys: tuple[str, ...]
    score: float
    evidence: tuple[str, ...]
    runners_up: tuple[RoleFit, ...]
    example: str = ""
    given: bool = False

    @property
    def ambiguous(self) -> bool:
        """Whether another key fits equally well, so that a person should check."""
        close = [
            other
            for other in self.runners_up
            if not other.same and self.score - other.score < _CLOSE
        ]
        return bool(self.keys) and not self.given and bool(close)


@dataclass(frozen=True, slots=True)
class Inference:
    """A choice for every role, and the resulting mapping."""

    points: int
    empty: int
    choices: tuple[RoleChoice, ...]
    mapping: PayloadMapping

    def of(self, role: Role) -> RoleChoice:
        return next(choice for choice in self.choices if choice.role is role)


def infer(
    payloads: Sequence[Mapping[str, object] | None],
    given: Mapping[Role, tuple[str, ...]] | None = None,
) -> Inference:
    """Infer a mapping. `given` are keys named by the user, which take precedence."""
    known = profiles(payloads)
    fits = _fits(known, given or {})
    chosen = _assigned(fits, known, given or {})
    _add_by_values(chosen, fits, known, given or {})
    choices = tuple(_choice(role, chosen, fits, known, given or {}) for role in Role)
    keys = {choice.role: choice.keys for choice in choices if choice.keys}
    return Inference(
        len(payloads),
        sum(not payload for payload in payloads),
        choices,
        _with_positions(PayloadMapping(keys), known),
    )


Fits = dict[Role, list[RoleFit]]


def _fits(known: Mapping[str, Profile], given: Mapping[Role, tuple[str, ...]]) -> Fits:
    taken = {path for paths in given.values() for path in paths}
    fits: Fits = {}
    for role in Role:
        found = (fit(role, one) for path, one in known.items() if path not in taken)
        fits[role] = sorted((one for one in found if one), key=lambda one: (-one.score, one.path))
    if fits[Role.URL]:  # a slug identifies a page only if nothing better does
        fits[Role.SOURCE_PATH] = [one for one in fits[Role.SOURCE_PATH] if not is_slug(one.path)]
    fits[Role.TEXT] = _without_wrappings(fits[Role.TEXT], known)
    fits[Role.POSITION] = _within_documents(fits, known)
    return fits


def _without_wrappings(fits: list[RoleFit], known: Mapping[str, Profile]) -> list[RoleFit]:
    """If one text contains another one, keep the inner text."""
    kept = list(fits)
    for outer in fits[:4]:
        for inner in fits[:4]:
            if inner.path != outer.path and _wraps(known[outer.path], known[inner.path]):
                kept = [
                    replace(one, score=one.score * 0.7) if one == outer else one for one in kept
                ]
    return sorted(kept, key=lambda one: (-one.score, one.path))


def _wraps(outer: Profile, inner: Profile) -> bool:
    both = outer.values.keys() & inner.values.keys()
    pairs = [(text_of(outer.values[at]) or "", text_of(inner.values[at]) or "") for at in both]
    inside = [
        one
        for one, other in pairs
        if other and one != other and other.strip() in one and len(other) >= 0.4 * len(one)
    ]
    return bool(pairs) and len(inside) >= _CONTAINED * len(pairs)


def _within_documents(fits: Fits, known: Mapping[str, Profile]) -> list[RoleFit]:
    """Positions differ within a document and repeat across documents; other numbers do not."""
    home = next((fits[role][0] for role in _HOMES if fits[role]), None)
    if home is None:
        return fits[Role.POSITION]
    documents = known[home.path].values
    judged = [_by_document(one, known[one.path], documents) for one in fits[Role.POSITION]]
    return sorted(judged, key=lambda one: (-one.score, one.path))


def _by_document(one: RoleFit, profile: Profile, documents: Mapping[int, object]) -> RoleFit:
    seen: dict[object, list[int]] = {}
    for point, number in profile.numbers.items():
        if point in documents:
            seen.setdefault(documents[point], []).append(number)
    several = [numbers for numbers in seen.values() if len(numbers) > 1]
    if len(several) < 2:
        return one
    if _counts_on(one.path, [number for numbers in seen.values() for number in numbers]):
        reason = "it counts through the whole collection"
        return replace(one, score=one.score * 0.4, evidence=(*one.evidence, reason))
    differing = sum(len(set(numbers)) / len(numbers) for numbers in several) / len(several)
    reason = f"{differing:.0%} different within a document"
    return replace(
        one,
        score=one.score * (0.4 + 0.6 * differing),
        evidence=(*one.evidence[:2], reason, *one.evidence[2:]),
    )


def _counts_on(path: str, numbers: Sequence[int]) -> bool:
    """Unique numbers are ids, except offsets and line numbers, which are rarely equal either."""
    places = {"start", "offset", "char", "from", "line", "zeile", "begin"}
    if {*words_of(path)[0], *words_of(path)[1]} & places or name_score(Role.POSITION, path) >= 0.8:
        return False
    return len(numbers) >= 8 and len(set(numbers)) == len(numbers)


def _assigned(
    fits: Fits, known: Mapping[str, Profile], given: Mapping[Role, tuple[str, ...]]
) -> dict[Role, RoleFit]:
    """Assign the best pairs of role and key first; a key has one role."""
    chosen: dict[Role, RoleFit] = {}
    taken: set[str] = set()
    # Assign the text first, because a long text can't be anything else.
    for role in (Role.TEXT,):
        if role not in given and fits[role] and fits[role][0].score >= LEAST:
            chosen[role] = fits[role][0]
            taken.add(chosen[role].path)
    every = sorted(
        (one for role in Role for one in fits[role] if role not in {Role.SLUG, *given}),
        key=lambda one: (-one.score, words_of(one.path)[1], one.path),
    )
    for one in every:
        if one.score < LEAST or one.role in chosen or one.path in taken:
            continue
        chosen[one.role] = one
        taken.add(one.path)
    _prefer_deepest_heading(chosen, fits, known)
    # If a payload has only a slug, it is also the source path.
    if Role.SLUG not in given and fits[Role.SLUG]:
        chosen[Role.SLUG] = fits[Role.SLUG][0]
    return chosen


def _add_by_values(
    chosen: dict[Role, RoleFit],
    fits: Fits,
    known: Mapping[str, Profile],
    given: Mapping[Role, tuple[str, ...]],
) -> None:
    """Fill roles without a matching name from unused keys, by their values."""
    held = {role: known.get(keys[0]) for role, keys in given.items()}
    held |= {role: known[fit.path] for role, fit in chosen.items()}
    home = next((held[role] for role in _HOMES if held.get(role) is not None), None)
    text = held.get(Role.TEXT)
    judges: dict[Role, Callable[[Profile], RoleFit | None]] = {
        Role.HASH: lambda one: hash_by_values(one, text),
        Role.CREATED_AT: moment_by_values,
    }
    if home is not None:
        documents = documents_by(home)
        _title_instead_of_section(chosen, fits, known, documents, given)
        held |= {role: known[fit.path] for role, fit in chosen.items()}
        judges[Role.POSITION] = lambda one: position_by_values(one, documents)
        judges[Role.TITLE] = lambda one: title_by_values(one, documents, home, text)
        judges[Role.SECTION] = lambda one: section_by_values(
            one, documents, held.get(Role.POSITION), text
        )
    for role, judge in judges.items():
        if role in chosen or role in given:
            continue
        taken = {fit.path for fit in chosen.values()} | set().union(*map(set, given.values()))
        free = (
            one
            for path, one in known.items()
            if path not in taken and not speaks_against(role, path)
        )
        found = [fit for one in free if (fit := judge(one)) is not None]
        found.sort(key=lambda one: (-one.score, one.path))
        fits[role] = [*found, *fits[role]]
        if found and not _undecided(found, known):
            chosen[role] = found[0]
            held[role] = known[found[0].path]


def _title_instead_of_section(
    chosen: dict[Role, RoleFit],
    fits: Fits,
    known: Mapping[str, Profile],
    documents: DocumentGroups,
    given: Mapping[Role, tuple[str, ...]],
) -> None:
    """A heading that each document has only one of is its title, whatever it is called."""
    section = chosen.get(Role.SECTION)
    if section is None or Role.TITLE in chosen or {Role.TITLE, Role.SECTION} & given.keys():
        return
    if labels_documents(known[section.path], documents) < 0.9:
        return
    evidence = (*section.evidence, "one per document")
    chosen[Role.TITLE] = replace(section, role=Role.TITLE, evidence=evidence)
    fits[Role.TITLE] = [chosen[Role.TITLE], *fits[Role.TITLE]]
    fits[Role.SECTION].remove(section)
    taken = {fit.path for fit in chosen.values()}
    others = (one for one in fits[Role.SECTION] if one.path not in taken and one.score >= LEAST)
    following = next(others, None)
    if following is None:
        del chosen[Role.SECTION]
    else:
        chosen[Role.SECTION] = following


def _undecided(found: Sequence[RoleFit], known: Mapping[str, Profile]) -> bool:
    """Whether two keys fit equally with different values; without a name, neither is chosen."""
    return any(
        found[0].score - other.score < _CLOSE
        and not _says_the_same(known[found[0].path], known[other.path])
        for other in found[1:]
    )


def _prefer_deepest_heading(
    chosen: dict[Role, RoleFit], fits: Fits, known: Mapping[str, Profile]
) -> None:
    """`Header 1` is the page title, the deeper ones are sections."""
    levels = {level: path for path in known if (level := level_of(path)) is not None}
    section = chosen.get(Role.SECTION)
    if section is None or level_of(section.path) is None or len(levels) < 2:
        return
    lower = [one for one in fits[Role.SECTION] if (level_of(one.path) or 0) > 1]
    if lower:
        best = max(lower, key=lambda one: level_of(one.path) or 0)
        chosen[Role.SECTION] = best
    title = chosen.get(Role.TITLE)
    first = [one for one in fits[Role.TITLE] if level_of(one.path) == 1]
    if first and (title is None or level_of(title.path) is not None):
        chosen[Role.TITLE] = first[0]


def _choice(
    role: Role,
    chosen: Mapping[Role, RoleFit],
    fits: Fits,
    known: Mapping[str, Profile],
    given: Mapping[Role, tuple[str, ...]],
) -> RoleChoice:
    if role in given:
        return _given(role, given[role], known)
    best = chosen.get(role)
    elsewhere = {one.path for other, one in chosen.items() if other is not role}
    others = [one for one in fits[role] if one.path not in elsewhere and one != best]
    if best is None:
        return RoleChoice(role, (), 0.0, (), tuple(others[:_RUNNERS_UP]))
    keys = (best.path, *_complements(role, best, others, known))
    rest = [
        replace(one, same=_says_the_same(known[best.path], known[one.path]))
        for one in others
        if one.path not in keys
    ][:_RUNNERS_UP]
    return RoleChoice(role, keys, best.score, best.evidence, tuple(rest), known[best.path].example)


def _says_the_same(one: Profile, other: Profile) -> bool:
    both = one.values.keys() & other.values.keys()
    equal = sum(one.values[at] == other.values[at] for at in both)
    return bool(both) and equal >= 0.95 * len(both)


def _given(role: Role, keys: tuple[str, ...], known: Mapping[str, Profile]) -> RoleChoice:
    seen = [known[key] for key in keys if key in known]
    evidence = tuple(f"{one.path}: in {one.coverage:.0%} of the points" for one in seen)
    example = seen[0].example if seen else ""
    return RoleChoice(role, keys, 1.0, ("given", *evidence), (), example, given=True)


def _complements(
    role: Role, best: RoleFit, others: Iterable[RoleFit], known: Mapping[str, Profile]
) -> list[str]:
    """Keys that replace the best one where it is missing: a collection may have two writers."""
    covered = set(known[best.path].values)
    points = known[best.path].points
    found: list[str] = []
    levels = level_of(best.path) is not None
    for one in others:
        new = known[one.path].values.keys() - covered
        alike = name_score(role, one.path) >= 0.3 or role is Role.TEXT
        family = not levels or level_of(one.path) is not None
        if new and alike and family and len(new) >= max(1, 0.02 * points):
            overlap = len(known[one.path].values.keys() & covered)
            if overlap <= 0.1 * len(known[one.path].values) or levels:
                found.append(one.path)
                covered |= new
    return found


def _with_positions(mapping: PayloadMapping, known: Mapping[str, Profile]) -> PayloadMapping:
    path = next(iter(mapping.of(Role.POSITION)), None)
    if path is None or path not in known:
        return mapping
    profile = known[path]
    kind = _kind_of(path, profile, mapping, known)
    numbers = [
        number
        for key in mapping.of(Role.POSITION)
        if key in known
        for number in known[key].numbers.values()
    ]
    least = min(numbers, default=0)
    counted = kind is PositionKind.ORDINAL and least == 1 and len(numbers) >= 8
    return replace(mapping, position_kind=kind, first_position=1 if counted else 0)


def _kind_of(
    path: str, profile: Profile, mapping: PayloadMapping, known: Mapping[str, Profile]
) -> PositionKind:
    if profile.css_paths >= 0.5:
        return PositionKind.PLACE
    words = {*words_of(path)[0], *words_of(path)[1]}
    if words & {"line", "lines", "zeile"}:
        return PositionKind.LINE
    if words & {"page", "seite"} and not words & {"chunk", "index"}:
        return PositionKind.PAGE
    if words & {"start", "offset", "char", "from", "begin"} or _jumps(profile, mapping, known):
        return PositionKind.OFFSET
    return PositionKind.ORDINAL


def _jumps(profile: Profile, mapping: PayloadMapping, known: Mapping[str, Profile]) -> bool:
    """Whether positions are too large for ordinals of a document of this size."""
    homes = [key for role in _HOMES for key in mapping.of(role)]
    documents = known[homes[0]].values if homes and homes[0] in known else {}
    counts = Counter(documents.get(point) for point in profile.numbers)
    most = max(counts.values(), default=1)
    numbers = sorted(profile.numbers.values())
    # Not the very highest, which may be nonsense.
    return len(numbers) >= 8 and numbers[int(0.95 * (len(numbers) - 1))] > 400 * most
