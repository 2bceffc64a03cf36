"""Parses the block of YAML, TOML or JSON at the start of a Markdown page."""

import contextlib
import json
import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime

import yaml

from surefind.model import FIELDS, Attribute, Scalar

_MAX_LENGTH = 65_536
_MAX_VALUES = 5_000
_MAX_DEPTH = 50
# The C parser is nine times faster than the Python one and usually agrees with it. It accepts some
# invalid input as text, and crashes on deeply nested values, so the number of opening brackets is
# limited.
_AGREED = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff?!|>&*%`\\]*")
_OPENS = re.compile(r"[\[{:-]")
_MAX_OPENINGS = 500
_FAST: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_ATTRIBUTES = 50
_MAX_ATTRIBUTE_LENGTH = 200
_RESERVED = frozenset(field.name for field in FIELDS)
_BLOCK = re.compile(
    r"\A(?:[ \t]*\n)*+(---|\+\+\+)[ \t]*\n(.*?)(?:^|\n)\1[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(
    r"(?:\s*\n|[ \t]*#[^\n]*\n)*(?:[\"']?[\w.-]+[\"']?[ \t]*(?::(?=\s|\Z)|=)|\[[\w.-]+\]\s)"
)
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_JSON_START = re.compile(r"\A\{\s*[\"}]")
_JSON_END = re.compile(r"[ \t]*(?:\n|\Z)")


def split_front_matter(text: str) -> tuple[Mapping[str, object], str]:
    """(front matter, body)."""
    return read_front_matter(text)[:2]


def read_front_matter(text: str) -> tuple[Mapping[str, object], str, tuple[str, ...]]:
    """(front matter, body, warnings).

    Invalid front matter is dropped with a warning. A block without fields is text.
    """
    match = _BLOCK.match(text)
    if match is None:
        return (*(_split_json(text) if _JSON_START.match(text) else ({}, text)), ())
    problem = ""
    try:
        values = _values(match[2], is_toml=match[1] == "+++")
    except Exception as error:  # noqa: BLE001 - the parser raises errors of any kind
        values, problem = None, _problem(error, text.count("\n", 0, match.start(1)))
    if isinstance(values, dict):
        return values, text[match.end() :], ()
    if not problem or _FIELD.match(match[2]) is None:
        return {}, text, ()
    return {}, text[match.end() :], (f"its front matter was ignored: {problem}",)


def _values(block: str, *, is_toml: bool) -> object:
    if len(block) > _MAX_LENGTH:
        raise ValueError(f"it is longer than {_MAX_LENGTH} characters")
    return plain_values((tomllib.loads(block) if is_toml else _loaded(block)) or {})


def _problem(error: Exception, lines_above: int) -> str:
    """The line of the file and the reason: `line 3: expected ',' or ']'`."""
    if isinstance(error, yaml.MarkedYAMLError):
        reason = error.problem or error.context or "it is not valid YAML"
        line = error.problem_mark.line + 1 if error.problem_mark else 0
    else:
        reason = str(error).partition("\n")[0] or type(error).__name__
        at = _AT_LINE.search(reason)
        reason, line = _AT_LINE.sub("", reason).strip(), int(at[1]) if at else 0
    return f"line {lines_above + line + 1}: {reason}" if line else reason


def _split_json(text: str) -> tuple[Mapping[str, object], str]:
    """An object of JSON that ends with its line, as Hugo allows."""
    try:
        loaded, end = json.JSONDecoder().raw_decode(text[:_MAX_LENGTH])
        values = plain_values(loaded)
    except (ValueError, RecursionError):
        return {}, text
    after = _JSON_END.match(text, end)
    if after is None or not isinstance(values, dict):
        return {}, text
    return values, text[after.end() :]


def _loaded(block: str) -> object:
    if _AGREED.fullmatch(block) and len(_OPENS.findall(block)) <= _MAX_OPENINGS:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.load(block, _FAST)  # noqa: S506 - both are safe loaders
    return yaml.safe_load(block)


def plain_values(value: object, max_values: int = _MAX_VALUES) -> object:
    """Convert to JSON types: keys and dates become text; an alias bomb is an error."""
    return _plain(value, [max_values], 0)


def _plain(value: object, left: list[int], depth: int) -> object:
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        raise ValueError("too many or too deeply nested values")
    if isinstance(value, dict):
        return {_text(name): _plain(inner, left, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, left, depth + 1) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _text(value)


def _text(value: object) -> str:
    """Join surrogate pairs, as JSON escapes them; replace lone surrogates."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def attributes_of(front_matter: Mapping[str, object]) -> dict[str, Attribute]:
    """Scalars and lists of them, by name; `last_update: {date: …}` is `last_update.date`.

    Fields that every chunk has are omitted, and so is prose.
    """
    found: dict[str, Attribute] = {}
    _collect(front_matter, "", found)
    return dict(sorted(found.items())[:_MAX_ATTRIBUTES])


def _collect(values: Mapping[str, object], above: str, found: dict[str, Attribute]) -> None:
    for key, value in values.items():
        name = f"{above}{key}"
        if '"' in name or len(name) > _MAX_ATTRIBUTE_LENGTH or name in _RESERVED:
            continue
        if isinstance(value, Mapping):
            if not above:
                _collect(value, f"{name}.", found)
        elif isinstance(value, list):
            items = [item for item in map(_scalar, value) if item is not None]
            if items:
                found[name] = tuple(items[:_MAX_ATTRIBUTES])
        else:
            scalar = _scalar(value)
            if scalar is not None:
                found[name] = scalar


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124 - NaN
        return value
    if isinstance(value, str) and value and len(value) <= _MAX_ATTRIBUTE_LENGTH:
        return value
    return None
