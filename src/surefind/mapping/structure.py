"""Infers roles from values alone, regardless of key names.

A position counts up within each document. A title is constant within a document and differs between
documents. A section changes as the position grows. A hash is the hash of the text. Unclear keys get
no role, because no role is better than a wrong one.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from surefind.mapping.profiles import Profile, text_of
from surefind.mapping.scoring import RoleFit
from surefind.model import Role

_FEWEST_DOCUMENTS = 3
_ENOUGH_DOCUMENTS = 4  # where nothing but its being unique speaks for a title
_SPARSE_DOCUMENTS = 20
_ENOUGH_PAIRS = 10
_MOSTLY = 0.8
_NEARLY_ALL = 0.95
_LONGEST_HEADING = 120
_MOST_WORDS = 14
_DIGESTS = ("sha256", "md5", "sha1", "sha512", "blake2b")
_CODE = re.compile(r"[A-Za-z]*[-_.:/#]?\d[\w.:/#-]*|v?\d.*|[A-Z]{1,4}|\S*_\S*")


@dataclass(frozen=True, slots=True)
class DocumentGroups:
    """The points of the sample, grouped by document."""

    points: Mapping[object, Sequence[int]]

    @property
    def several(self) -> list[Sequence[int]]:
        """The documents with more than one point in the sample."""
        return [points for points in self.points.values() if len(points) > 1]


def documents_by(home: Profile) -> DocumentGroups:
    points: dict[object, list[int]] = defaultdict(list)
    for point, name in home.values.items():
        points[name.partition("#")[0] if isinstance(name, str) else name].append(point)
    return DocumentGroups(points)


def position_by_values(profile: Profile, documents: DocumentGroups) -> RoleFit | None:
    """It counts from 0 or 1 in each document."""
    numbers = profile.numbers
    if profile.whole_numbers < _NEARLY_ALL or not numbers or profile.coverage < _MOSTLY:
        return None
    several = [[numbers[at] for at in points if at in numbers] for points in documents.several]
    several = [held for held in several if len(held) > 1]
    first = min(numbers.values())
    if first > 1 or len(several) < _FEWEST_DOCUMENTS:
        return None
    if any(len(set(held)) < len(held) for held in several):
        return None
    whole = sum(sorted(held) == list(range(first, first + len(held))) for held in several)
    if whole >= max(_FEWEST_DOCUMENTS, _MOSTLY * len(several)):
        return _fit(Role.POSITION, profile, 0.7, f"counts from {first} in each document")
    if len(several) >= _SPARSE_DOCUMENTS and _thins_out(Counter(numbers.values()), first):
        reason = f"from {first}, unique within a document, mostly small numbers"
        return _fit(Role.POSITION, profile, 0.5, reason)
    return None


def _thins_out(counts: Counter[int], first: int) -> bool:
    """Whether counts decrease with the position, without gaps, as only long documents go far."""
    total = sum(counts.values())
    reach = 0
    for number in sorted(counts):
        reach += counts[number]
        if reach >= _MOSTLY * total:
            break
    span = number - first + 1
    if span < 3 or sum(at in counts for at in range(first, number + 1)) < 0.9 * span:
        return False
    thirds = [0, 0, 0]
    for at in range(first, number + 1):
        thirds[min(2, 3 * (at - first) // span)] += counts[at]
    return thirds[0] > thirds[1] >= thirds[2] and thirds[0] >= 1.5 * thirds[2]


def title_by_values(
    profile: Profile, documents: DocumentGroups, home: Profile, text: Profile | None
) -> RoleFit | None:
    """A short label shared by all chunks of a document and by no other document."""
    if not _reads_as_heading(profile):
        return None
    different = labels_documents(profile, documents)
    if profile.coverage < _MOSTLY or different < 0.9:
        return None
    addressed = _share(
        profile.values,
        lambda at: _slug(str(profile.values[at])) in _slug(str(home.values.get(at, ""))),
    )
    if addressed >= _MOSTLY:
        return _fit(Role.TITLE, profile, 0.7, "one per document, and in its URL or path")
    if text is not None and _is_mentioned(profile, documents, text):
        return _fit(Role.TITLE, profile, 0.5, "one per document, and in its texts")
    if different >= _NEARLY_ALL and len(documents.several) >= _ENOUGH_DOCUMENTS:
        return _fit(Role.TITLE, profile, 0.4, "one per document, and different in each")
    return None


def labels_documents(profile: Profile, documents: DocumentGroups) -> float:
    """The share of documents with a value of their own; 0 if it changes within a document."""
    labels = [
        {profile.values[at] for at in points if at in profile.values}
        for points in documents.points.values()
    ]
    labels = [held for held in labels if held]
    if len(documents.several) < _FEWEST_DOCUMENTS or any(len(held) > 1 for held in labels):
        return 0.0
    return len(set().union(*labels)) / len(labels) if labels else 0.0


def _is_mentioned(profile: Profile, documents: DocumentGroups, text: Profile) -> bool:
    """Whether the label occurs mainly in its own document's texts, unlike an author's name."""
    own = other = 0
    bodies = [
        " ".join(text_of(text.values.get(at)) or "" for at in points).lower()
        for points in documents.points.values()
    ]
    for number, points in enumerate(documents.points.values()):
        label = next((str(profile.values[at]).lower() for at in points if at in profile.values), "")
        if label:
            own += label in bodies[number]
            other += label in bodies[number - 1]
    return own >= 0.6 * len(bodies) and other <= 0.5 * own


def section_by_values(
    profile: Profile, documents: DocumentGroups, position: Profile | None, text: Profile | None
) -> RoleFit | None:
    """A short label that changes within a document with the position or the text."""
    if not _changes(profile, documents) or not _reads_as_heading(profile):
        return None
    if text is not None and _opens(profile, text) >= 0.6:
        return _fit(Role.SECTION, profile, 0.6, "changes within a document, and starts the texts")
    if position is not None and _in_runs(profile, documents, position):
        return _fit(Role.SECTION, profile, 0.55, "changes within a document as the position grows")
    if position is not None and _by_position(profile, position):
        return _fit(Role.SECTION, profile, 0.5, "the same at the same position of each document")
    if position is not None and _in_order(profile, documents, position):
        return _fit(Role.SECTION, profile, 0.45, "in the same order in each document")
    return None


def _changes(profile: Profile, documents: DocumentGroups) -> bool:
    """Whether the label changes within most documents."""
    labels = [
        {profile.values[at] for at in points if at in profile.values}
        for points in documents.several
    ]
    changing = [held for held in labels if len(held) > 1]
    enough = max(_FEWEST_DOCUMENTS, 0.5 * len(labels))
    return profile.coverage >= 0.5 and len(changing) >= enough


def _opens(profile: Profile, text: Profile) -> float:
    return _share(
        profile.values,
        lambda at: (
            str(profile.values[at]).lower() in (text_of(text.values.get(at)) or "")[:200].lower()
        ),
    )


def _in_runs(profile: Profile, documents: DocumentGroups, position: Profile) -> bool:
    """Whether each label forms one consecutive run when sorted by position."""
    judged = good = 0
    for points in documents.several:
        placed = sorted(
            (position.numbers[at], str(profile.values[at]))
            for at in points
            if at in profile.values and at in position.numbers
        )
        labels = [label for _, label in placed]
        distinct = len(set(labels))
        if len(labels) < 4 or distinct == len(labels):
            continue
        judged += 1
        good += distinct > 1 and sum(a != b for a, b in pairwise(labels)) == distinct - 1
    return judged >= _FEWEST_DOCUMENTS and good >= _MOSTLY * judged


def _by_position(profile: Profile, position: Profile) -> bool:
    """Whether documents have the same labels at the same positions, as generated ones do."""
    at_place: dict[int, list[str]] = defaultdict(list)
    for point, number in position.numbers.items():
        if point in profile.values:
            at_place[number].append(str(profile.values[point]))
    seen = [labels for labels in at_place.values() if len(labels) >= _FEWEST_DOCUMENTS]
    alike = [labels for labels in seen if len(set(labels)) == 1]
    distinct = {labels[0] for labels in alike}
    return len(seen) >= 4 and len(alike) >= _NEARLY_ALL * len(seen) and len(distinct) >= 3


def _in_order(profile: Profile, documents: DocumentGroups, position: Profile) -> bool:
    """Documents share headings, and what comes first in one comes first in all."""
    orders: Counter[tuple[str, str]] = Counter()
    for points in documents.several:
        spans: dict[str, list[int]] = defaultdict(list)
        for at in points:
            if at in profile.values and at in position.numbers:
                spans[str(profile.values[at])].append(position.numbers[at])
        labels = sorted(spans, key=lambda label: min(spans[label]))
        orders.update(
            (one, other)
            for one, other in combinations(labels, 2)
            if max(spans[one]) < min(spans[other])
        )
    agreed = sum(count - 1 for pair, count in orders.items() if pair[::-1] not in orders)
    against = sum(count for pair, count in orders.items() if pair[::-1] in orders)
    return agreed >= _ENOUGH_PAIRS and against <= 0.05 * agreed


def hash_by_values(profile: Profile, text: Profile | None) -> RoleFit | None:
    """A verified hash of the text, since hexadecimal digits alone may be anything."""
    if text is None or profile.digests < _MOSTLY or profile.median_length < 8:
        return None
    both = [at for at in profile.values if at in text.values][:32]
    for algorithm in _DIGESTS:
        right = sum(_is_hash(str(profile.values[at]), text.values[at], algorithm) for at in both)
        if both and right >= _MOSTLY * len(both):
            return _fit(Role.HASH, profile, 0.9, f"{algorithm} of the text")
    return None


def _is_hash(digest: str, value: object, algorithm: str) -> bool:
    plain = (text_of(value) or "").encode("utf-8", "surrogatepass")  # type: ignore[arg-type]
    made = hashlib.new(algorithm, plain, usedforsecurity=False).hexdigest()
    return made.startswith(digest.strip().lower().rpartition(":")[2])


def moment_by_values(profile: Profile) -> RoleFit | None:
    if profile.moments < _NEARLY_ALL or profile.coverage < _MOSTLY or profile.lists:
        return None
    kind = "epochs" if profile.numbers else "dates and times"
    return _fit(Role.CREATED_AT, profile, 0.45, kind)


def _reads_as_heading(profile: Profile) -> bool:
    """A few words starting with a capital, if the script has them; no code, path or sentence."""
    if profile.strings < _NEARLY_ALL or profile.lists or profile.constant:
        return False
    odd = (profile.urls, profile.paths, profile.files, profile.uuids, profile.moments)
    if max(odd) > 0.2 or profile.whole_numbers > 0.1 or profile.median_length < 2:
        return False
    if profile.lengths[-1] > _LONGEST_HEADING or profile.spaces > _MOST_WORDS:
        return False
    return _share(dict(enumerate(profile.texts)), lambda at: _heading(profile.texts[at])) >= 0.9


def _heading(text: str) -> bool:
    first = next((letter for letter in text if letter.isalnum()), "")
    letters = sum(letter.isalpha() for letter in text)
    if not first or first.islower() or _CODE.fullmatch(text.strip()):
        return False
    return letters >= 0.6 * len(text.replace(" ", "")) and not text.rstrip().endswith((".", "。"))


def _slug(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _share(points: Iterable[int], test: Callable[[int], bool]) -> float:
    held = [test(at) for at in points]
    return sum(held) / len(held) if held else 0.0


def _fit(role: Role, profile: Profile, score: float, reason: str) -> RoleFit:
    present = "all" if profile.coverage == 1 else f"{profile.coverage:.0%} of the"
    return RoleFit(
        role, profile.path, score, (f"in {present} points", reason, "by its values alone")
    )
