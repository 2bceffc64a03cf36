"""Reads a docusaurus.config file as plain data, without running it.

The file is a program. Strings, booleans, lists, objects and the constants that hold them are read;
a value that the program computes is UNREAD. Reading takes linear time: a site's config may be
hostile. (tree-sitter needs 17 s to recover from 50 kB of quotation marks, with no way to stop it.)
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import Final, Literal, NamedTuple


class _Mark(Enum):
    UNREAD = "computed by the config, not written in it"


UNREAD: Final = _Mark.UNREAD
SPREAD = "..."
"""The key under which an object says that `...something` could not be read."""

MAX_CHARACTERS = 200_000
_MAX_DEPTH = 40
_MAX_SPREAD = 200
_MAX_REGEX = 500
_MAX_EXPORTS = 3
_TYPE_TOKENS = 30

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')
    |(?P<name>[^\W\d][\w$]*|\$[\w$]*)
    |(?P<number>\d[\w.]*)
    |(?P<punctuation>\.\.\.|=>|={1,3}|\?\?|\|\||&&|.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(u\{[0-9a-fA-F]{1,5}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "undefined": None}
_ENDS = {",", "}", "]", ")", ";"}
_OPENERS = {"{", "[", "("}
_CLOSERS = {"}", "]", ")"}


class _Token(NamedTuple):
    kind: Literal["string", "name", "number", "punctuation", "other", "end"]
    text: str
    new_line: bool


def read_config(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """(the exported object, notes for the user). Never raises; empty if there is none."""
    if len(text) > MAX_CHARACTERS:
        return {}, (f"the config has more than {MAX_CHARACTERS:,} characters and was not read.",)
    found = _Parser(list(_tokens(text))).config()
    if found is None:
        return {}, ("the config does not export a readable object; using defaults.",)
    return found, ()


# --- text to tokens ---------------------------------------------------------------------------


def _tokens(text: str) -> Iterator[_Token]:
    at, new_line = 0, True
    last = _Token("punctuation", "", new_line=True)
    while match := _TOKEN.match(text, at):  # every character matches at least as punctuation
        kind, found = match.lastgroup, match.group()
        at = match.end()
        if kind in {"space", "comment"}:
            new_line = new_line or "\n" in found
            continue
        if kind == "string":
            last = _Token("string", _unescape(found[1:-1]), new_line)
        elif kind == "name":
            last = _Token("name", found, new_line)
        elif kind == "number":
            last = _Token("number", found, new_line)
        else:
            last, at = _punctuation(text, at, found, last, new_line=new_line)
        yield last
        new_line = False
    yield _Token("end", "", new_line=True)


def _punctuation(
    text: str, at: int, found: str, last: _Token, *, new_line: bool
) -> tuple[_Token, int]:
    if found in {'"', "'"}:  # unclosed: skip the rest of the line
        end = text.find("\n", at)
        return _Token("other", found, new_line), len(text) if end < 0 else end
    if found == "`":
        end, plain = _template_end(text, at)
        body = text[at : end - 1]
        token = _Token("string", _unescape(body), new_line) if plain else None
        return token or _Token("other", found, new_line), end
    # A slash after a value is a division; anywhere else it starts a regular expression.
    if found == "/" and last.kind == "punctuation" and last.text not in _CLOSERS:
        end = _regex_end(text, at)
        return _Token("other", found, new_line), end
    return _Token("punctuation", found, new_line), at


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body
    return _ESCAPED.sub(lambda match: _character(match.group(1)), body)


def _character(escape: str) -> str:
    if len(escape) == 1:
        return _CONTROLS.get(escape, escape)
    return chr(int(escape[1:].strip("{}"), 16))


def _template_end(text: str, at: int) -> tuple[int, bool]:
    """(after the closing backtick, whether it holds no `${…}`)."""
    plain = True
    inside = ["`"]  # the open constructs: templates, and braces of code in them
    while at < len(text) and inside:
        character = text[at]
        if character == "\\":
            at += 1
        elif character == "`":
            inside.pop() if inside[-1] == "`" else inside.append("`")
        elif inside[-1] == "`":
            if text.startswith("${", at):
                plain = False
                inside.append("{")
                at += 1
        elif character == "{":
            inside.append("{")
        elif character == "}":
            inside.pop()
        at += 1
    return at, plain and not inside


def _regex_end(text: str, at: int) -> int:
    """The position after the closing slash; `at` if there is none on the line."""
    in_class, here = False, at
    while here < min(len(text), at + _MAX_REGEX) and text[here] != "\n":
        character = text[here]
        if character == "\\":
            here += 1
        elif character == "/" and not in_class:
            return here + 1
        else:
            in_class = character == "[" or (in_class and character != "]")
        here += 1
    return at


# --- tokens to plain data ---------------------------------------------------------------------


class _Parser:
    """Parses values; skips everything that is not plain data."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._constants = self._declarations()
        self._known: dict[str, object] = {}

    def config(self) -> dict[str, object] | None:
        """The exported object; else the first object that looks like a config, as in functions."""
        for start in (*islice(self._exports(), _MAX_EXPORTS), *self._likely_objects()):
            self._at = start
            found = self._value(0)
            if isinstance(found, dict):
                return found
        return None

    def _exports(self) -> Iterator[int]:
        for at in range(len(self._tokens) - 4):
            words = tuple(token.text for token in self._tokens[at : at + 4])
            if words[:2] == ("export", "default"):
                yield at + 2
            elif words == ("module", ".", "exports", "="):
                yield at + 4

    def _likely_objects(self) -> Iterator[int]:
        opened: list[int] = []
        for at, token in enumerate(self._tokens):
            if token.kind == "punctuation" and token.text in _OPENERS:
                opened.append(at)
            elif token.kind == "punctuation" and token.text in _CLOSERS:
                del opened[-1:]
            elif (
                token.text in {"baseUrl", "presets"}
                and opened
                and self._tokens[opened[-1]].text == "{"
                and self._tokens[at - 1].text in {"{", ","}
                and self._tokens[at + 1].text in {":", ",", "}"}
            ):
                yield opened[-1]
                return

    def _declarations(self) -> dict[str, int]:
        """The positions of the values of constants; names declared twice are excluded."""
        found: dict[str, int] = {}
        twice = set()
        for at, token in enumerate(self._tokens[:-2]):
            if token.kind != "name" or token.text not in {"const", "let", "var"}:
                continue
            name = self._tokens[at + 1].text
            for behind, follower in enumerate(self._tokens[at + 2 : at + 2 + _TYPE_TOKENS]):
                if follower.text == "=":
                    twice.update({name} & found.keys())
                    found[name] = at + 3 + behind
                    break
                if follower.text in {";", "", "of", "in"}:
                    break
        return {name: start for name, start in found.items() if name not in twice}

    def _constant(self, name: str, depth: int) -> object:
        if name not in self._known:
            self._known[name] = UNREAD  # also guards against self-reference
            if name in self._constants and depth < _MAX_DEPTH:
                here, self._at = self._at, self._constants[name]
                self._known[name] = self._value(depth + 1)
                self._at = here
        return self._known[name]

    def _value(self, depth: int) -> object:
        found = self._operand(depth)
        token = self._tokens[self._at]
        if token.kind == "name" and token.text in {"as", "satisfies"}:
            self._skip()
            return found
        if self._ended():
            return found
        self._skip()
        return UNREAD

    def _operand(self, depth: int) -> object:
        token = self._tokens[self._at]
        if token.kind == "punctuation" and token.text in _OPENERS:
            return self._group(token.text, depth)
        if token.kind in {"string", "name"}:
            self._at += 1
            return token.text if token.kind == "string" else self._word(token.text, depth)
        return UNREAD

    def _word(self, word: str, depth: int) -> object:
        """Treat `require.resolve('name')` as the name."""
        if word in _WORDS:
            return _WORDS[word]
        if word != "require":
            return self._constant(word, depth)
        call = self._tokens[self._at : self._at + 5]
        if [token.text for token in call[:3]] == [".", "resolve", "("] and call[-1].text == ")":
            self._at += 5
            return call[3].text
        return UNREAD

    def _group(self, opener: str, depth: int) -> object:
        if depth >= _MAX_DEPTH:
            self._leave()
            return UNREAD
        if opener == "{":
            return self._object(depth)
        if opener == "[":
            return self._array(depth)
        self._at += 1
        found = self._value(depth + 1)
        alone = self._closes(")")  # else these are the parameters of a function
        self._leave(opened=1)
        return found if alone else UNREAD

    def _object(self, depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        self._at += 1
        while not self._closes("}"):
            self._member(found, depth + 1)
        self._at += self._tokens[self._at].kind != "end"
        return found

    def _member(self, found: dict[str, object], depth: int) -> None:
        token, follower = self._tokens[self._at], self._tokens[self._at + 1]
        if token.text == SPREAD and token.kind == "punctuation":
            self._at += 1
            more = self._value(depth)
            plain = isinstance(more, dict) and len(more) <= _MAX_SPREAD
            found.update(more if plain and isinstance(more, dict) else {SPREAD: UNREAD})
        elif token.kind in {"punctuation", "other"}:
            before = self._at
            self._skip()
            self._at += self._at == before
        elif follower.text == ":" and follower.kind == "punctuation":
            self._at += 2
            found[token.text] = self._value(depth)
        else:  # `name`, short for `name: name`; or a method
            self._at += 1
            short = follower.text in {",", "}"}
            found[token.text] = self._constant(token.text, depth) if short else UNREAD
            self._skip()

    def _array(self, depth: int) -> list[object]:
        found: list[object] = []
        self._at += 1
        while not self._closes("]"):
            before = self._at
            spread = self._is(SPREAD)
            if spread or self._is(","):
                self._at += 1
            if self._is(",") or self._is("]"):
                continue
            more = self._value(depth + 1)
            if spread and isinstance(more, list) and len(more) <= _MAX_SPREAD:
                found.extend(more)
            else:
                found.append(UNREAD if spread else more)
            self._at += self._at == before
        self._at += self._tokens[self._at].kind != "end"
        return found

    def _is(self, mark: str) -> bool:
        """Whether the next token is this punctuation, and not a string of the same text."""
        token = self._tokens[self._at]
        return token.kind == "punctuation" and token.text == mark

    def _closes(self, closer: str) -> bool:
        return self._tokens[self._at].kind == "end" or self._is(closer)

    def _ended(self) -> bool:
        """Whether the value ends before this token, since semicolons are optional."""
        token, before = self._tokens[self._at], self._tokens[self._at - 1]
        if token.kind == "end" or (token.kind == "punctuation" and token.text in _ENDS):
            return True
        after_value = before.kind != "punctuation" or before.text in _CLOSERS
        return token.new_line and token.kind in {"name", "string", "number"} and after_value

    def _skip(self) -> None:
        """Skip to the end of the expression."""
        while not self._ended():
            if self._tokens[self._at].kind == "punctuation" and (
                self._tokens[self._at].text in _OPENERS
            ):
                self._leave()
            else:
                self._at += 1

    def _leave(self, *, opened: int = 0) -> None:
        """Skip past the bracket that closes the current one, or `opened` earlier ones."""
        depth = opened
        while self._tokens[self._at].kind != "end":
            token = self._tokens[self._at]
            self._at += 1
            if token.kind == "punctuation":
                depth += (token.text in _OPENERS) - (token.text in _CLOSERS)
            if depth == 0:
                return
