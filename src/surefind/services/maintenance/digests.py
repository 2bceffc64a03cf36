"""Digests in payloads: which algorithm over which text made them, and which are wrong."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from typing import Protocol, TypeVar

_LEARNED_FROM = 64
_ENOUGH = 0.5
_EXAMPLES = 5
_ALGORITHMS = ("sha256", "md5", "sha1", "sha512", "sha224", "sha384", "blake2b", "blake2s")
_TEXTS: dict[str, Callable[[str], str]] = {
    "the text": lambda text: text,
    "the text without space around it": str.strip,
    "the text with single spaces": lambda text: " ".join(text.split()),
    "the text in lower case": str.lower,
    "the text stripped and in lower case": lambda text: text.strip().lower(),
}
_PREFIX = re.compile(r"^(?:sha\d+|md5)[:-]", re.IGNORECASE)
DigestRecipe = tuple[str, str]


class DigestTally(Protocol):
    count: int
    examples: tuple[str, ...]


T = TypeVar("T", bound=DigestTally)


class DigestCheck:
    """The first digests tell how they are made; all are then made again and compared."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str, str]] = []
        self._params: DigestRecipe | None = None
        self._unknown = False
        self._checked = 0
        self._wrong = 0
        self._examples: list[str] = []

    def add(self, label: str, text: str, digest: str) -> None:
        if not digest or not text or self._unknown:
            return
        if self._params is None:
            self._waiting.append((label, text, digest))
            if len(self._waiting) >= _LEARNED_FROM:
                self._learn()
            return
        self._check(label, text, digest)

    def tallies(self, tally: Callable[[str, str, str, int, tuple[str, ...]], T]) -> list[T]:
        if self._params is None and self._waiting:
            self._learn()
        if self._unknown:
            message = "hashes can't be checked: no known algorithm makes them from the text"
            return [tally("hash", "note", message, 0, ())]
        if self._params is None:
            return []
        made = f"{self._params[0]} of {self._params[1]}"
        if not self._wrong:
            message = f"all {self._checked} hashes are right ({made})"
            return [tally("hash", "note", message, 0, ())]
        message = f"hashes are not that of their text ({made}): it was changed without them"
        return [tally("hash", "problem", message, self._wrong, tuple(self._examples))]

    def _learn(self) -> None:
        matching: Counter[DigestRecipe] = Counter()
        for _, text, digest in self._waiting:
            for algorithm in _ALGORITHMS:
                for name, of in _TEXTS.items():
                    if _is_digest(digest, algorithm, of(text)):
                        matching[algorithm, name] += 1
        best = matching.most_common(1)
        if not best or best[0][1] < _ENOUGH * len(self._waiting):
            self._unknown = True
            return
        # Of those that fit equally well, the plainest: they are counted in that order.
        most = best[0][1]
        self._params = next(
            (algorithm, name)
            for algorithm in _ALGORITHMS
            for name in _TEXTS
            if matching[algorithm, name] == most
        )
        waiting, self._waiting = self._waiting, []
        for held in waiting:
            self._check(*held)

    def _check(self, label: str, text: str, digest: str) -> None:
        assert self._params is not None
        self._checked += 1
        algorithm, name = self._params
        if not _is_digest(digest, algorithm, _TEXTS[name](text)):
            self._wrong += 1
            if len(self._examples) < _EXAMPLES:
                self._examples.append(label)


def _is_digest(digest: str, algorithm: str, text: str) -> bool:
    """Also the beginning of one, of six digits or more."""
    plain = _PREFIX.sub("", digest.strip()).lower()
    made = hashlib.new(algorithm, text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return len(plain) >= 6 and made.hexdigest().startswith(plain)
