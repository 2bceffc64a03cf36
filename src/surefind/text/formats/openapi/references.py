"""Follows references inside an OpenAPI document. Other files and addresses are never opened."""

from collections.abc import Mapping
from urllib.parse import unquote

from surefind.text.formats.openapi.loading import Data

_MAX_HOPS = 20
Node = Mapping[str, Data]


class LocalReferences:
    def __init__(self, document: Node) -> None:
        self._document = document
        self.outside: dict[str, None] = {}
        self.missing: dict[str, None] = {}

    def resolve(self, node: Data) -> Node:
        """The object that a reference leads to; empty if it is outside, missing or circular."""
        for _ in range(_MAX_HOPS):
            if not isinstance(node, dict):
                return {}
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            node = self._target(reference)
        return {}

    def name_of(self, reference: str) -> str:
        """`Pet` of `#/components/schemas/Pet`, `Pet.yaml` and `pets.yaml#/Pet`."""
        if not reference.startswith("#"):
            self.outside[reference] = None
        last = reference.rstrip("/").rpartition("/")[2].partition("#")[0]
        name = last.rsplit(".", 1)[0] if last.endswith((".json", ".yaml", ".yml")) else last
        return _unescaped(name) or reference

    def _target(self, reference: str) -> Data:
        if not reference.startswith("#/"):
            self.outside[reference] = None
            return None
        node: Data = dict(self._document)
        for step in reference[2:].split("/"):
            key = _unescaped(step)
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isdecimal() and int(key[:9]) < len(node):
                node = node[int(key[:9])]
            else:
                self.missing[reference] = None
                return None
        return node

    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.outside:
            named = ", ".join(list(self.outside)[:3]) + (", …" if len(self.outside) > 3 else "")
            found.append(
                f"references to other files are not followed ({len(self.outside)}: {named}); "
                "bundle the document into one file"
            )
        if self.missing:
            named = ", ".join(list(self.missing)[:3]) + (", …" if len(self.missing) > 3 else "")
            found.append(f"references point to missing parts ({len(self.missing)}: {named})")
        return tuple(found)


def _unescaped(step: str) -> str:
    return unquote(step).replace("~1", "/").replace("~0", "~")
