"""The YAML block that may open a Markdown page."""

import contextlib
import re
from collections.abc import Mapping

import yaml

_MAX_LENGTH = 65_536
_MAX_VALUES = 5_000
_MAX_DEPTH = 50
# Where the two parsers of YAML agree, the one in C is nine times faster. It takes a few things for
# text that the other refuses, and crashes where values lie thousands deep: no more of what opens
# one than this.
_AGREED = re.compile(r"[^\x00-\x09\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff?!|>&*%`\\]*")
_OPENS = re.compile(r"[\[{:-]")
_MAX_OPENINGS = 500
_FAST: type[yaml.CSafeLoader | yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def split_front_matter(text: str) -> tuple[Mapping[str, object], str]:
    """(front matter, body). What opens like front matter and is none belongs to the body."""
    match = _BLOCK.match(text)
    if match is None or len(match.group(1)) > _MAX_LENGTH:
        return {}, text
    try:
        values = _plain(_loaded(match.group(1)) or {}, [_MAX_VALUES], 0)
    except Exception:  # noqa: BLE001 - the parser lets errors of any kind through
        return {}, text
    if not isinstance(values, dict):
        return {}, text
    return values, text[match.end() :]


def _loaded(block: str) -> object:
    if _AGREED.fullmatch(block) and len(_OPENS.findall(block)) <= _MAX_OPENINGS:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.load(block, _FAST)  # noqa: S506 - both are safe loaders
    return yaml.safe_load(block)


def _plain(value: object, left: list[int], depth: int) -> object:
    """As JSON could say it: names are text, a date is text, and a bomb of aliases is an error."""
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        raise ValueError("too many values, or too deep")
    if isinstance(value, dict):
        return {_text(name): _plain(inner, left, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, left, depth + 1) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _text(value)


def _text(value: object) -> str:
    """Two halves of a character, as JSON spells them, become one; a lone half is replaced."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
