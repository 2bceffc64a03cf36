"""Describes schemas in Markdown: types, properties, limits and examples."""

import json
from collections.abc import Iterator, Mapping, Sequence

from surefind.text.formats.openapi.loading import Data
from surefind.text.formats.openapi.references import LocalReferences, Node
from surefind.text.markdown.writer import fenced

_MAX_EXAMPLE = 20_000
_MAX_INDENT = 10
_COMBINATIONS = {"allOf": "all of", "anyOf": "any of", "oneOf": "one of"}
_FACTS = (
    *("format", "default", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "multipleOf"),
)
_FLAGS = {"readOnly": "read-only", "writeOnly": "write-only", "deprecated": "deprecated"}


class SchemaWriter:
    """Names the schemas of the document instead of repeating them, so cycles end."""

    def __init__(self, references: LocalReferences) -> None:
        self._references = references
        self._examples: dict[int, tuple[Data, str]] = {}
        self._cut: set[int] = set()

    @property
    def cut_examples(self) -> int:
        return len(self._cut)

    def type_of(self, schema: Data, depth: int = 0) -> str:
        """A short name: `array of Pet`, `string or null`, `all of Pet, object`."""
        if not isinstance(schema, dict) or depth > _MAX_INDENT:
            return "any"
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return f"`{self._references.name_of(reference)}`"
        for key, words in _COMBINATIONS.items():
            parts = schema.get(key)
            if isinstance(parts, list) and parts:
                return f"{words} {', '.join(self.type_of(part, depth + 1) for part in parts)}"
        kind = schema.get("type", _implied_type(schema))
        if kind == "array":
            return f"array of {self.type_of(schema.get('items'), depth + 1)}"
        return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)

    def facts(self, schema: Data) -> list[str]:
        """Limits, defaults and the allowed values."""
        if not isinstance(schema, dict):
            return []
        found = [words for key, words in _FLAGS.items() if schema.get(key) is True]
        found += ["nullable"] if schema.get("nullable") is True else []
        found += [f"{key} {_short(schema[key])}" for key in _FACTS if key in schema]
        values = schema.get("enum")
        if isinstance(values, list):
            found.append("one of " + ", ".join(f"`{_short(value)}`" for value in values))
        return found

    def properties(self, schema: Data, indent: int = 0) -> Iterator[str]:
        """One list item for each property; those of inline schemas are nested."""
        for part in self._inline(schema):
            required = part.get("required")
            names = set(map(str, required)) if isinstance(required, list) else set()
            listed = part.get("properties")
            for name, inner in listed.items() if isinstance(listed, dict) else ():
                yield self.item(name, inner, required=name in names, indent=indent)
                yield from self.properties(_innermost(inner), indent + 1)
            extra = part.get("additionalProperties")
            if isinstance(extra, dict) and extra:
                yield self.item("*", extra, required=False, indent=indent)
                yield from self.properties(_innermost(extra), indent + 1)

    def _inline(self, schema: Data) -> Iterator[Node]:
        if not isinstance(schema, dict) or "$ref" in schema:
            return
        yield schema
        for key in _COMBINATIONS:
            parts = schema.get(key)
            for part in parts if isinstance(parts, list) else ():
                yield from self._inline(part)

    def item(
        self, name: str, schema: Data, *, required: bool, indent: int = 0, about: str = ""
    ) -> str:
        details = [self.type_of(schema), *(["required"] if required else []), *self.facts(schema)]
        own = schema.get("description") if isinstance(schema, dict) else None
        words = about or (own if isinstance(own, str) else "")
        margin = "  " * min(indent, _MAX_INDENT)
        text = " ".join(words.split())
        return f"{margin}- `{name}` ({'; '.join(details)}){': ' + text if text else ''}"

    def examples(self, holder: Node) -> Iterator[str]:
        """The examples of a schema, a parameter or a media type, as fenced code."""
        if "example" in holder:
            yield self._fenced(holder["example"])
        given = holder.get("examples")
        if isinstance(given, list):
            yield from map(self._fenced, given)
        for name, one in given.items() if isinstance(given, dict) else ():
            example = self._references.resolve(one)
            title = str(example.get("summary") or name)
            if "value" in example:
                yield f"{title}:\n\n{self._fenced(example['value'])}"

    def _fenced(self, value: Data) -> str:
        """Rendered once for each value, because references may repeat a large one."""
        known = self._examples.get(id(value)) if isinstance(value, dict | list) else None
        if known is not None:
            return known[1]
        is_text = isinstance(value, str)
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        if len(text) > _MAX_EXAMPLE:
            self._cut.add(id(value))
            text = text[:_MAX_EXAMPLE]
        block = fenced(text.strip("\n"), "" if is_text else "json")
        if isinstance(value, dict | list):
            self._examples[id(value)] = (value, block)
        return block


def _implied_type(schema: Node) -> str:
    return "array" if "items" in schema else "object" if "properties" in schema else "any"


def _innermost(schema: Data) -> Data:
    """The schema of the items of an array of arrays."""
    for _ in range(_MAX_INDENT):
        if not isinstance(schema, dict) or not isinstance(schema.get("items"), dict):
            break
        schema = schema["items"]
    return schema


def _short(value: Data) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)


def listed(values: Data) -> Sequence[Data]:
    return values if isinstance(values, list) else ()


def mapped(values: Data) -> Mapping[str, Data]:
    return values if isinstance(values, dict) else {}


def words(value: Data) -> str:
    return value.strip() if isinstance(value, str) else ""
