"""Replaces macros in MkDocs pages by their values.

Macros are never executed: a variable of `extra` gets its value, and everything else is dropped.
"""

import re
from collections.abc import Collection, Mapping

_INSIDE = r"(?:[^{]|\{(?![{%#]))*?"  # up to the next opening, so that every page takes linear time
_MACRO = re.compile(
    rf"\{{%-?\s*(\w*){_INSIDE}%\}}|\{{\{{-?({_INSIDE})\}}\}}|\{{#{_INSIDE}#\}}", re.DOTALL
)
_NAME = re.compile(r"\s*([\w.]+)\s*-?\s*")
_MACROS = ("macros", "zensical.extensions.macros")


def has_macros(names: Collection[str]) -> bool:
    """Whether one of the plugins or extensions expands macros."""
    return any(name in names for name in _MACROS)


def without_macros(text: str, variables: Mapping[str, object]) -> str:
    """Also in code, where Jinja expands them, too; the content of `{% raw %}` stays."""
    done: list[str] = []
    position = 0
    in_raw = False
    for macro in _MACRO.finditer(text):
        statement = macro[1]
        if in_raw and statement != "endraw":
            continue
        done.append(text[position : macro.start()])
        position = macro.end()
        in_raw = statement == "raw"
        if macro[2] is not None:
            done.append(_value(macro[2], variables))
    return "".join([*done, text[position:]])


def _value(expression: str, variables: Mapping[str, object]) -> str:
    name = _NAME.fullmatch(expression)
    value: object = variables
    for part in name[1].split(".") if name else ("",):
        value = value.get(part) if isinstance(value, Mapping) else None
    return str(value) if isinstance(value, str | int | float) else ""
