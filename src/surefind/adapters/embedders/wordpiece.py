"""How many tokens a text has for a BERT tokenizer, without tokenizing the same words again.

Such a tokenizer cuts at white space, and on both sides of every punctuation mark, before it looks
for pieces of words. So a text has as many tokens as its words have together, and most words of a
page have been met before: a lookup is many times faster than the tokenizer.
"""

import re

from tokenizers import Tokenizer

_MAX_WORDS = 2**16  # about 10 MB; words beyond that are new ones each time anyway
_MAX_LENGTH = 80
# Python cuts words here; the tokenizer drops these characters and joins what is around them.
_JOINING = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_RUN = re.compile("[A-Za-z0-9]+|[^A-Za-z0-9]")


class WordPieceCounter:
    """Equal to the tokenizer's own count for every text; a test compares them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._counts = _Counts(tokenizer)

    def count(self, text: str) -> int:
        if _JOINING.search(text):
            return len(self._tokenizer.encode(text, add_special_tokens=False))
        return sum(map(self._counts.__getitem__, text.split()))


class _Counts(dict[str, int]):
    """The tokens of a word, and of the runs of letters in it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        marks = (re.escape(str(token)) for token in tokenizer.get_added_tokens_decoder().values())
        self._mark = re.compile("|".join(marks))  # one token each, whatever is around them

    def __missing__(self, word: str) -> int:
        count = self._counted(word)
        if len(word) <= _MAX_LENGTH:
            if len(self) >= _MAX_WORDS:
                self.clear()
            self[word] = count
        return count

    def _counted(self, word: str) -> int:
        if word.isascii() and word.isalnum():  # nothing to normalise but the case: ten times faster
            return len(self._model.tokenize(word.lower()))
        # Beyond ASCII, punctuation and what is dropped are the tokenizer's own affair.
        has_runs = len(word) > 1 and word.isascii() and word.isprintable()
        if has_runs and self._mark.search(word) is None:
            return sum(map(self.__getitem__, _RUN.findall(word)))
        return len(self._tokenizer.encode(word, add_special_tokens=False))
