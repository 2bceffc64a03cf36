"""Connections as tables in surefind.toml, saved without changing the rest of the file."""

import difflib
import re
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

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
_BOM = "\ufeff"
_LINE_FEED = re.compile(r"(?<!\r)\n")
_HEADER_WITHOUT_GAP = re.compile(r"(?<=[^\r\n])\r?\n(?=\[connected\.)")
_WRITTEN_BY = "written by `surefind connect`; edit it freely, or connect again"
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


# --- reading ----------------------------------------------------------------------------------


def read_connection(name: str, table: object) -> Connection:
    """Raise ValueError, naming the key, if the table is invalid."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} must be a table, [{TABLE}.{name}]")  # noqa: TRY004
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        near = difflib.get_close_matches(unknown[0], _KEYS, n=1)
        meant = f"did you mean {near[0]}? Known" if near else "known"
        raise ValueError(
            f"unknown key {name}.{unknown[0]}; {meant} keys: {', '.join(sorted(_KEYS))}"
        )
    dimensions = table.get("dimensions")
    if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1:
        raise ValueError(f"{name}.dimensions must be a positive integer, the size of the vectors")
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


def _text(name: str, table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{name}.{key} must be a string, in quotes")  # noqa: TRY004
    return value


def _one_of(name: str, table: Mapping[str, Any], key: str, kind: Any, default: Any) -> Any:
    try:
        return kind(table.get(key, default))
    except ValueError:
        raise ValueError(f"{name}.{key} must be one of {', '.join(kind)}") from None


def _roles(name: str, table: object) -> dict[Role, tuple[str, ...]]:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}.map must be a table that maps roles to payload keys")  # noqa: TRY004
    roles: dict[Role, tuple[str, ...]] = {}
    for role, keys in table.items():
        paths = (keys,) if isinstance(keys, str) else keys
        if role not in set(Role):
            raise ValueError(f"unknown role {name}.map.{role}; known roles: {', '.join(Role)}")
        if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
            raise ValueError(f"{name}.map.{role} must be a payload key, or a list of them")
        for path in paths:
            parts_of(path)
        roles[Role(role)] = tuple(paths)
    return roles


def _fields(name: str, table: object) -> tuple[Field, ...]:
    if not isinstance(table, Mapping):
        raise ValueError(f"{name}.fields must be a table that maps payload keys to kinds")  # noqa: TRY004
    fields = []
    for key, kinds in table.items():
        values = [kinds] if isinstance(kinds, str) else kinds
        try:
            fields.append(Field(str(key), tuple(FieldKind(kind) for kind in values)))
        except (TypeError, ValueError):
            raise ValueError(
                f"{name}.fields.{key} must be one or more of {', '.join(FieldKind)}"
            ) from None
    return tuple(sorted(fields, key=lambda field: field.name))  # as `surefind connect` orders them


def _embedder(name: str, table: object) -> EmbedderFingerprint | None:
    if table is None:
        return None
    try:
        return EmbedderFingerprint(**table)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{name}.embedder is incomplete; remove it, and surefind detects the embedder again"
        ) from None


# --- writing ----------------------------------------------------------------------------------


def connection_toml(connection: Connection) -> str:
    """The table as written to an empty file."""
    return _text_with("", connection)


def save_connection(connection: Connection, path: Path) -> None:
    """Write the table and keep everything else in the file, comments included.

    Raises InputError, with the table to add by hand, if that is not possible; the file then
    remains unchanged.
    """
    try:
        before = path.read_bytes().decode("utf-8") if path.exists() else ""
        after = _text_with(before, connection)
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise InputError(_by_hand(connection, path, f"it can't be read ({error})")) from error
    if not _changes_only(before, after, connection):
        reason = f"its [{TABLE}.{connection.name}] is not a separate table"
        raise InputError(_by_hand(connection, path, reason))
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666
        write_atomically(path.resolve(), after, mode)
    except OSError as error:
        raise InputError(_by_hand(connection, path, error.strerror or str(error))) from error


def _text_with(text: str, connection: Connection) -> str:
    """Update the connection's table in place, or append it."""
    bom = _BOM if text.startswith(_BOM) else ""
    document = tomlkit.parse(text.removeprefix(_BOM))
    connections = document.setdefault(TABLE, tomlkit.table(is_super_table=True))
    if not isinstance(connections, MutableMapping):
        return text
    table = connections.get(connection.name)
    if table is None and not isinstance(connections, InlineTable):
        table = tomlkit.table()
        table.add(tomlkit.comment(_WRITTEN_BY))
        _update(table, _as_table(connection))
        connections[connection.name] = table
    elif isinstance(table, Table) and table.display_name:  # dotted keys have no name
        _update(table, _as_table(connection))
    else:
        return text
    written = _HEADER_WITHOUT_GAP.sub("\n\n", document.as_string())
    return bom + (_LINE_FEED.sub("\r\n", written) if "\r\n" in text else written)


def _as_table(connection: Connection) -> dict[str, Any]:
    mapping, space = connection.mapping, connection.space
    has_position = mapping.has(Role.POSITION)
    roles = {str(role): keys for role in Role if (keys := mapping.of(role))}
    table = {
        "url": connection.url or None,
        "collection": connection.collection if connection.collection != connection.name else None,
        "vector": space.name or None,
        "dimensions": space.dimensions,
        "distance": space.distance.value,
        "unit": connection.unit,
        "lexical": connection.lexical or None,
        "documents_table": connection.documents_table or None,
        "position_kind": mapping.position_kind.value if has_position else None,
        "first_position": mapping.first_position if has_position else None,
        "map": {role: keys[0] if len(keys) == 1 else list(keys) for role, keys in roles.items()},
        "fields": {field.name: list(map(str, field.kinds)) for field in connection.fields} or None,
        "embedder": asdict(connection.embedder) if connection.embedder else None,
    }
    return {key: value for key, value in table.items() if value is not None}


def _update(table: MutableMapping[str, Any], values: Mapping[str, Any]) -> None:
    """Change only keys that differ, so that comments next to the others remain."""
    for key in set(table) - set(values):
        del table[key]
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(table.get(key), MutableMapping):
            _update(table[key], value)
        elif key not in table or table[key] != value:
            table[key] = value


def _changes_only(before: str, after: str, connection: Connection) -> bool:
    try:
        expected = tomllib.loads(before.removeprefix(_BOM))
        written = tomllib.loads(after.removeprefix(_BOM))
        saved = read_connection(connection.name, written[TABLE].pop(connection.name))
        expected.setdefault(TABLE, {}).pop(connection.name, None)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError):
        return False
    return saved == connection and written == expected


def _by_hand(connection: Connection, path: Path, reason: str) -> str:
    return (
        f"{path} was not changed: {reason}. Fix it and connect again, or add this by hand:"
        f"\n\n{connection_toml(connection)}"
    )
