"""A connection as a table of surefind.toml: read from it, and written into it beside all else."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefind.adapters.files.data_folder import write_atomically
from surefind.errors import InputError
from surefind.mapping.paths import parts_of
from surefind.model import (
    Connection,
    Distance,
    EmbedderFingerprint,
    Field,
    FieldKind,
    PayloadMapping,
    PositionKind,
    Role,
    VectorSpace,
)

TABLE = "connected"
_OURS = "# written by `surefind connect`; edit it freely, or connect again"
_KEYS = frozenset(
    {
        "collection",
        "dimensions",
        "documents_table",
        "distance",
        "embedder",
        "fields",
        "first_position",
        "lexical",
        "map",
        "position_kind",
        "unit",
        "url",
        "vector",
    }
)
_HEADER = re.compile(r"^\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?$")


# --- reading ----------------------------------------------------------------------------------


def read_connection(name: str, table: object) -> Connection:
    """ValueError, naming the key, where the table does not say how to read a collection."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}: it must be a table, [{TABLE}.{name}]")  # noqa: TRY004
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise ValueError(f"{name}.{unknown[0]}: there is no such key; there are {_listed()}")
    dimensions = table.get("dimensions")
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1:
        raise ValueError(f"{name}.dimensions: it must be the size of the vectors")
    return Connection(
        name=name,
        collection=_text(name, table, "collection", name),
        mapping=PayloadMapping(
            _roles(name, table.get("map", {})),
            _one_of(name, table, "position_kind", PositionKind, PositionKind.ORDINAL),
            int(table.get("first_position", 0)),
        ),
        space=VectorSpace(
            _text(name, table, "vector", ""),
            dimensions,
            _one_of(name, table, "distance", Distance, Distance.COSINE),
        ),
        unit=bool(table.get("unit", True)),
        lexical=_text(name, table, "lexical", ""),
        fields=_fields(name, table.get("fields", {})),
        url=_text(name, table, "url", ""),
        embedder=_embedder(name, table.get("embedder")),
        documents_table=_text(name, table, "documents_table", ""),
    )


def _listed() -> str:
    return ", ".join(sorted(_KEYS))


def _text(name: str, table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{name}.{key}: it must be a text, in quotes")  # noqa: TRY004
    return value


def _one_of(name: str, table: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    try:
        return kind(table.get(key, default))
    except ValueError:
        raise ValueError(f"{name}.{key}: it must be one of {', '.join(kind)}") from None


def _roles(name: str, table: object) -> dict[Role, tuple[str, ...]]:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}.map: it must be a table of roles")  # noqa: TRY004
    roles: dict[Role, tuple[str, ...]] = {}
    for role, keys in table.items():
        paths = (keys,) if isinstance(keys, str) else keys
        if role not in set(Role):
            raise ValueError(
                f"{name}.map.{role}: there is no such role; there are {', '.join(Role)}"
            )
        if not isinstance(paths, list | tuple) or not all(isinstance(one, str) for one in paths):
            raise ValueError(f"{name}.map.{role}: it must be a key of the payload, or several")
        for path in paths:
            parts_of(path)
        roles[Role(role)] = tuple(paths)
    return roles


def _fields(name: str, table: object) -> tuple[Field, ...]:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}.fields: it must be a table of keys")  # noqa: TRY004
    fields = []
    for key, kinds in table.items():
        held = [kinds] if isinstance(kinds, str) else kinds
        try:
            fields.append(Field(str(key), tuple(FieldKind(kind) for kind in held)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}.fields.{key}: it must be one or several of {', '.join(FieldKind)}"
            ) from None
    return tuple(fields)


def _embedder(name: str, table: object) -> EmbedderFingerprint | None:
    if table is None:
        return None
    try:
        return EmbedderFingerprint(**table)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{name}.embedder: take it out, then it is looked anew who made the vectors"
        ) from None


# --- writing ----------------------------------------------------------------------------------


def connection_toml(connection: Connection) -> str:
    """The table as it stands in the file."""
    mapping, space = connection.mapping, connection.space
    head = f"{TABLE}.{_key(connection.name)}"
    lines = [f"[{head}]", _OURS]
    if connection.url:
        lines.append(f"url = {_value(connection.url)}")
    if connection.collection != connection.name:
        lines.append(f"collection = {_value(connection.collection)}")
    if space.name:
        lines.append(f"vector = {_value(space.name)}")
    lines += [
        f"dimensions = {space.dimensions}",
        f"distance = {_value(space.distance.value)}",
        f"unit = {_value(connection.unit)}",
    ]
    if connection.lexical:
        lines.append(f"lexical = {_value(connection.lexical)}")
    if connection.documents_table:
        lines.append(f"documents_table = {_value(connection.documents_table)}")
    if mapping.has(Role.POSITION):
        lines.append(f"position_kind = {_value(mapping.position_kind.value)}")
        lines.append(f"first_position = {mapping.first_position}")
    lines += ["", f"[{head}.map]"]
    lines += [
        f"{role} = {_value(keys[0] if len(keys) == 1 else list(keys))}"
        for role in Role
        if (keys := mapping.of(role))
    ]
    if connection.fields:
        lines += ["", f"[{head}.fields]"]
        lines += [
            f"{_key(field.name)} = {_value(list(map(str, field.kinds)))}"
            for field in connection.fields
        ]
    if connection.embedder is not None:
        made_by = connection.embedder
        lines += ["", f"[{head}.embedder]"]
        lines += [
            f"{name} = {_value(getattr(made_by, name))}" for name in made_by.__dataclass_fields__
        ]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    """JSON's strings, numbers, lists and flags are TOML's too, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def save_connection(connection: Connection, path: Path) -> None:
    """Into the file, with every other line of it as it was. InputError, with the table to put in
    by hand, where that can't be promised; the file is untouched then.
    """
    try:
        before = path.read_bytes().decode("utf-8") if path.exists() else ""
        known = tomllib.loads(before.removeprefix("\ufeff"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(_by_hand(connection, path, f"it can't be read ({error})")) from error
    after = with_table(before, connection)
    if not _only_that_changed(known, after, connection):
        raise InputError(_by_hand(connection, path, "the table is written in another way there"))
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666
        write_atomically(path.resolve(), after, mode)
    except OSError as error:
        raise InputError(_by_hand(connection, path, error.strerror or str(error))) from error


def with_table(text: str, connection: Connection) -> str:
    """The file's text with the connection's table in the place of the old one, or at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    kept, removed, at = _without(lines, connection.name)
    remarks = [line.strip() for line in removed if line.strip().startswith("#")]
    table = connection_toml(connection)
    for remark in remarks:
        if remark != _OURS:
            table = table.replace(_OURS, f"{remark}\n{_OURS}")
    made = [f"{line}{newline}" for line in table.splitlines()]
    before, after = kept[:at], kept[at:]
    if before and not before[-1].endswith(("\n", "\r")):
        before[-1] += newline
    if before and before[-1].strip():
        before.append(newline)
    if after and after[0].strip():
        made.append(newline)
    return "".join([*before, *made, *after])


def _without(lines: list[str], name: str) -> tuple[list[str], list[str], int]:
    """(lines that stay, lines of the table, where it stood)."""
    ours = {f"{TABLE}.{_key(name)}", f'{TABLE}."{name}"', f"{TABLE}.'{name}'"}
    kept: list[str] = []
    removed: list[str] = []
    at: int | None = None
    inside = False
    for line in lines:
        header = _HEADER.match(line)
        if header:
            title = re.sub(r"\s*\.\s*", ".", header[1])
            inside = title in ours or any(title.startswith(f"{own}.") for own in ours)
        if inside:
            at = len(kept) if at is None else at
            removed.append(line)
        else:
            kept.append(line)
    return kept, removed, len(kept) if at is None else at


def _only_that_changed(before: Mapping[str, Any], text: str, connection: Connection) -> bool:
    try:
        after = tomllib.loads(text.removeprefix("\ufeff"))
        table = after[TABLE].pop(connection.name)
        read = read_connection(connection.name, table)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return False
    others = {name: dict(held) if name == TABLE else held for name, held in before.items()}
    if TABLE in others:
        others[TABLE].pop(connection.name, None)
    others.setdefault(TABLE, {})
    return read == connection and after == others


def _by_hand(connection: Connection, path: Path, why: str) -> str:
    return (
        f"{path} was not changed: {why}. Mend it and connect again, or put this into it by hand:"
        f"\n\n{connection_toml(connection)}"
    )
