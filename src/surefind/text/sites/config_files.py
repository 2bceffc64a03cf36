"""Reads configuration files in TOML, YAML and JSON as plain data. Nothing in them is executed."""

import json
import tomllib
from collections.abc import Mapping

import yaml

from surefind.text.front_matter import plain_values

_MAX_VALUES = 50_000
CONFIG_SUFFIXES = (".toml", ".yaml", ".yml", ".json")


def read_config(text: str, suffix: str) -> Mapping[str, object] | None:
    """The values of a config file; None if it is not a mapping in its format."""
    try:
        if suffix == ".toml":
            loaded: object = tomllib.loads(text)
        elif suffix == ".json":
            loaded = json.loads(text)
        else:
            loaded = yaml.safe_load(text)
        values = plain_values(loaded, max_values=_MAX_VALUES)
    except Exception:  # noqa: BLE001 - the parsers raise errors of any kind
        return None
    return values if isinstance(values, dict) else None
