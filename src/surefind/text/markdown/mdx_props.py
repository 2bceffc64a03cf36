"""Decides what a component shows of its properties.

Only the component's code knows. So a property counts as visible if it has a name such as `title` or
`question`, or if its value looks like text: several words, or lines of code.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from surefind.text.markdown.javascript import STRING, literal

_LABELS = frozenset({"title", "label", "alt", "summary", "description"})
_TEXTS = frozenset(
    {
        *("answer", "body", "caption", "children", "code", "command", "content", "example"),
        *("explanation", "heading", "hint", "hints", "message", "note", "question", "snippet"),
        *("solution", "subtitle", "text"),
    }
)
_HIDDEN = re.compile(
    r"(?:.*(?:class(?:es|names?)?|style|url|path|icon|color)|aria-.*|data-.*|on[A-Z].*|id|key|ref|src"
    r"|srcset|sizes|href|to|type|lang|language|metastring|groupid|querystring|d|viewbox|points|rel"
    r"|target|width|height|sx|values?|defaultvalue|component|as|variant|import)",
    re.IGNORECASE,
)
_PLAIN_WORD = re.compile(
    r"[\"'(\u2018\u201c]*[^\W\d_]+(?:[-'\u2019/][^\W\d_]+)*[\"')\u2019\u201d]*[.,:;!?\u2026]*"
)
_WIDE = re.compile(r"[^\x00-\u02ff]{4,}")  # scripts without spaces between words
_SENTENCE_END = re.compile(r"[.!?:\u2026\u3002\uff01\uff1f]\W*$")
_ADDRESS = re.compile(r"\s*(?:https?:|mailto:|[./@#])\S*\s*")
_PART = re.compile(
    rf"(?:([\w$]+|'[^'\n]*'|\"[^\"\n]*\")\s*:\s*)?({STRING})|<([A-Za-z][\w.]*|(?=>))", re.DOTALL
)
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_INLINE_TAG = re.compile(r"</?(?:a|b|code|em|i|kbd|s|small|span|strong|sub|sup|u)?(?:\s[^<>]*)?>")
_TAG = re.compile(r"<[^<>]*>")
_PRODUCES = re.compile(r"\.map\s*\(|=>\s*\(?\s*<|</|/>|[\"'`][^\"'`\n]*\s[^\"'`\n]*\s")
_INDENT = re.compile(r"\n[ \t]*")
_MAX_EXPRESSION = 20_000
_MAX_PARTS = 200
_MAX_NAMES = 50


@dataclass(frozen=True, slots=True)
class Shown:
    """`label` is a line above the content. `texts` are (whether it is code, paragraph).

    `left_out` has the names of properties that may be visible, too.
    """

    label: str = ""
    texts: tuple[tuple[bool, str], ...] = ()
    left_out: tuple[str, ...] = ()

    def without_texts(self, name: str) -> "Shown":
        """Those of a tag inside a line: a paragraph would cut the sentence in two."""
        return Shown(self.label, left_out=(*self.left_out, f"<{name}>"))


@dataclass(slots=True)
class Props:
    """The properties of a tag: those with plain strings as values, and other expressions."""

    strings: dict[str, str] = field(default_factory=dict)
    expressions: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: str | None, expression: str) -> None:
        """The first value of a property counts."""
        if value is not None:
            self.strings.setdefault(name, value)
        else:
            self.expressions.setdefault(name, expression)


def shown(name: str, props: Props) -> Shown:
    """What readers see of a tag's properties."""
    strings = props.strings
    if name == "TabItem":  # a tab without a label shows its value
        strings = {"label": strings.get("label") or strings.get("value", "")}
    labels = (" ".join(value.split()) for prop, value in strings.items() if prop in _LABELS)
    label = ": ".join(dict.fromkeys(words for words in labels if words))
    if not (name[:1].isupper() or "." in name) or name == "TabItem":
        return Shown(label)
    texts: list[tuple[bool, str]] = []
    left_out: list[str] = []
    for prop, value in strings.items():
        if prop not in _LABELS:
            texts += _texts(prop, value)
    for prop, expression in props.expressions.items():
        found = list(_inside(prop, expression))
        texts += found
        if not found and not _HIDDEN.fullmatch(prop) and may_show(expression):
            left_out.append(f"<{name} {prop}>")
    return Shown(label, tuple(dict.fromkeys(texts)), tuple(left_out))


def _texts(prop: str, value: str) -> Iterator[tuple[bool, str]]:
    """(whether it is code, text) of a string, if it is for readers."""
    text = value.strip("\n").rstrip()
    if not text.strip() or _HIDDEN.fullmatch(prop) or _ADDRESS.fullmatch(text):
        return
    is_prose = _is_prose(text)
    if "\n" in text:
        yield (False, _INDENT.sub(" ", text.strip())) if is_prose else (True, text)
    elif is_prose or prop.lower() in _TEXTS:
        yield False, text.strip()


def _is_prose(text: str) -> bool:
    words = text.split()
    plain = [word for word in words if _PLAIN_WORD.fullmatch(word)]
    several = len(plain) >= 2 and len(plain) >= 0.6 * len(words) and len(max(plain, key=len)) > 2
    return several or _WIDE.search(text) is not None


def _inside(prop: str, expression: str) -> Iterator[tuple[bool, str]]:
    """The texts in a list, an object or an element: `{['One hint.', <b>Another.</b>]}`."""
    if len(expression) > _MAX_EXPRESSION or expression.lstrip()[:1] not in {"[", "{", "<"}:
        return
    missing: set[str] = set()
    position = parts = 0
    while (part := _PART.search(expression, position)) and parts < _MAX_PARTS:
        parts += 1
        key, string, tag = part.groups()
        position = part.end()
        if string is not None:
            named = key.strip("'\"") if key else prop
            named = prop if named.isdecimal() else named
            known = named.lower() in _TEXTS | _LABELS
            yield from _texts("text" if known else named, literal(string) or "")
        elif tag is not None and len(missing) < _MAX_NAMES and tag not in missing:
            end = expression.find(f"</{tag}>", position)
            if end < 0:
                missing.add(tag)
                continue
            words = _words(expression[part.start() : end])
            position = end
            if words and not _HIDDEN.fullmatch(prop):
                yield False, words


def _words(element: str) -> str:
    """The text of an element without its tags and expressions."""
    text = _EXPRESSION.sub(lambda found: literal(found[1]) or "", element)
    text = _INLINE_TAG.sub("", text)
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())


def may_show(expression: str) -> bool:
    """Whether an expression may produce text, as that of a list or a call with an element does."""
    return _PRODUCES.search(expression) is not None
