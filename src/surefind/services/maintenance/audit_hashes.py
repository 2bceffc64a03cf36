"""Checks the hashes in payloads: detects how they were computed, then recomputes all of them."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable

from surefind.services.maintenance.audit_report import AuditFinding, AuditSeverity, Tally

_SAMPLE = 64
_MIN_SHARE = 0.5
_MIN_DIGITS = 6
_ALGORITHMS = ("sha256", "md5", "sha1", "sha512", "sha224", "sha384", "blake2b", "blake2s")
_NORMALIZERS: dict[str, Callable[[str], str]] = {
    "the text": lambda text: text,
    "the text without surrounding whitespace": str.strip,
    "the text with single spaces": lambda text: " ".join(text.split()),
    "the text in lower case": str.lower,
    "the text stripped and in lower case": lambda text: text.strip().lower(),
}
_PREFIX = re.compile(r"^(?:sha\d+|md5)[:-]", re.IGNORECASE)

HashRecipe = tuple[str, str]
"""The names of an algorithm and of a normalizer."""


class HashCheck:
    """Detects the recipe from the first hashes, and checks every hash with it."""

    def __init__(self) -> None:
        self._sample: list[tuple[str, str, str]] = []
        self._recipe: HashRecipe | None = None
        self._unknown = False
        self._checked = 0
        self._wrong: Tally | None = None

    def add(self, label: str, text: str, digest: str) -> None:
        if not digest or not text or self._unknown:
            return
        if self._recipe is not None:
            self._check(label, text, digest, self._recipe)
            return
        self._sample.append((label, text, digest))
        if len(self._sample) >= _SAMPLE:
            self._learn()

    def findings(self) -> list[AuditFinding]:
        if self._sample:  # fewer hashes than a full sample
            self._learn()
        if self._unknown:
            message = "hashes can't be checked: no known algorithm produces them from the text"
            return [AuditFinding("hash", AuditSeverity.NOTE, 0, message)]
        if self._recipe is None:
            return []
        if self._wrong is not None:
            return [self._wrong.finding()]
        message = f"all {self._checked} hashes match ({_in_words(self._recipe)})"
        return [AuditFinding("hash", AuditSeverity.NOTE, 0, message)]

    def _learn(self) -> None:
        sample, self._sample = self._sample, []
        matches: Counter[HashRecipe] = Counter()
        for _, text, digest in sample:
            for algorithm in _ALGORITHMS:
                for name, normalize in _NORMALIZERS.items():
                    if _matches(digest, algorithm, normalize(text)):
                        matches[algorithm, name] += 1
        most = max(matches.values(), default=0)
        if most < max(1, _MIN_SHARE * len(sample)):
            self._unknown = True
            return
        # Several recipes may fit equally well; the simplest ones come first in the tables.
        self._recipe = recipe = next(
            (algorithm, name)
            for algorithm in _ALGORITHMS
            for name in _NORMALIZERS
            if matches[algorithm, name] == most
        )
        for label, text, digest in sample:
            self._check(label, text, digest, recipe)

    def _check(self, label: str, text: str, digest: str, recipe: HashRecipe) -> None:
        self._checked += 1
        algorithm, name = recipe
        if _matches(digest, algorithm, _NORMALIZERS[name](text)):
            return
        if self._wrong is None:
            message = (
                f"hashes do not match their text ({_in_words(recipe)}): the text was changed after "
                "it was hashed"
            )
            self._wrong = Tally("hash", AuditSeverity.PROBLEM, message)
        self._wrong.add(label)


def _in_words(recipe: HashRecipe) -> str:
    return f"{recipe[0]} of {recipe[1]}"


def _matches(digest: str, algorithm: str, text: str) -> bool:
    """Whether it is that hash, or at least the first six digits of it."""
    digits = _PREFIX.sub("", digest.strip()).lower()
    full = hashlib.new(algorithm, text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return len(digits) >= _MIN_DIGITS and full.hexdigest().startswith(digits)
