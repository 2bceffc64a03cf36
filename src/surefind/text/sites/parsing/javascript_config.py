"""Reads the exported object of a configuration in JavaScript as plain data, without running it."""

import re
from collections.abc import Iterator, Mapping

from surefind.text.sites.docusaurus.config import UNREAD, read_config

# Calls that return their argument, with what they add: the argument is read.
_WRAPPERS = re.compile(
    r"\b(?:define(?:Additional)?Config|extendConfig|with\w+|starlight|nextra)(?:<[^<>()]{0,200}>)?\("
)


class JavaScriptConfig:
    """Typed access to a config; `notes` lists every value that the config computes."""

    def __init__(self, config_text: str, name: str) -> None:
        values, notes = read_config(_WRAPPERS.sub("(", config_text))
        self._name = name
        self.values: Mapping[str, object] = values
        self.notes = list(notes)

    def text(self, key: str, default: str = "") -> str:
        value = self.values.get(key)
        if isinstance(value, str):
            return value
        if value is UNREAD:
            self.notes.append(f"{self._name} computes `{key}`; using {default!r}.")
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.values.get(key)
        if value is UNREAD:
            self.notes.append(f"{self._name} computes `{key}`; using {str(default).lower()}.")
        return value if isinstance(value, bool) else default

    def table(self, key: str) -> Mapping[str, object]:
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key)
        written = value if isinstance(value, list) else [value]
        return tuple(item for item in written if isinstance(item, str))

    def tables(self, key: str) -> Iterator[Mapping[str, object]]:
        value = self.values.get(key)
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict):
                yield item
