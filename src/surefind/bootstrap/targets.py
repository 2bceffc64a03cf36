"""Opens the targets of a validation: other retrievers, files of results, and own collections."""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

Retriever: TypeAlias = str | PathLike[str] | Callable[..., Any]
"""A target of a validation: an address, the path of a target file, or a function that searches."""

if TYPE_CHECKING:
    from surefind.adapters.targets.mapped_target import MappedTarget, TargetWire
    from surefind.bootstrap.parts import Parts
    from surefind.mapping.result_inference import ResultInference
    from surefind.model import TargetQuery, TargetSpec
    from surefind.ports import Target
    from surefind.services.validation.targets.own_target import OwnOptions
    from surefind.settings import Settings

KINDS = "mcp:, mcp+https:, https:, http:, python:, openai:, trec:, jsonl:, qdrant: or surefind:"
_FILES = (".yaml", ".yml")
_OWN_OPTIONS = ("mode", "generation", "collapse", "group_by", "rerank", "settings", "data_dir")


@dataclass(frozen=True, slots=True)
class OpenedTarget:
    """`spec` has the mapping in use; `inference` says how it was found, if it was."""

    target: Target
    spec: TargetSpec
    inference: ResultInference | None = None


def read_spec(written: str) -> TargetSpec:
    """A target as given on the command line: an address, or the path of a target file."""
    from surefind.adapters.files.golden_files import content_of
    from surefind.errors import InputError, without_passwords
    from surefind.evaluation.targets.target_file import read_target
    from surefind.model import TargetSpec

    path = Path(written)
    if path.suffix.casefold() in _FILES and "://" not in written:
        return read_target(path.name, content_of(path))
    kind = written.partition(":")[0]
    known = {one.strip(":, ") for one in KINDS.replace(" or ", ",").split(",")} | {"mcp+http"}
    if ":" not in written or kind not in known:
        raise InputError(
            f"{without_passwords(written)} is not a target; write {KINDS}, or the name of a target "
            "file that ends in .yaml"
        )
    return TargetSpec(written)


def spec_of(target: Retriever) -> TargetSpec:
    """A target as given in Python: an address, the path of a target file, or a function."""
    from surefind.errors import InputError
    from surefind.model import TargetSpec

    if isinstance(target, str | PathLike):
        return read_spec(os.fspath(target))
    given: object = target
    if not callable(given):
        raise InputError(f"target: give an address, a target file or a function, not {given!r}")
    name = getattr(given, "__qualname__", type(given).__qualname__)
    return TargetSpec(f"python:{getattr(given, '__module__', '')}:{name}", function=target)


@asynccontextmanager
async def open_target(
    spec: TargetSpec, queries: Sequence[TargetQuery], parts: Parts
) -> AsyncIterator[OpenedTarget]:
    """Connect, and infer the mapping of the results from a few of the questions.

    InputError for an invalid address, TargetError if the target can't be used.
    """
    kind = spec.address.partition(":")[0]
    if kind in {"surefind", "qdrant"}:
        async with _own(spec, parts) as target:
            yield OpenedTarget(target, spec)
        return
    async with _mapped(spec, kind, queries, parts) as target:
        inference = await target.infer(queries)
        yield OpenedTarget(target, replace(spec, results=target.mapping), inference)


@asynccontextmanager
async def _mapped(
    spec: TargetSpec, kind: str, queries: Sequence[TargetQuery], parts: Parts
) -> AsyncIterator[MappedTarget]:
    from surefind.adapters.targets.mapped_target import MappedTarget

    notify = parts.notify
    if kind.startswith("mcp"):
        _require_mcp(spec)
        from surefind.adapters.targets.mcp_server import mcp_tool

        async with mcp_tool(spec, os.environ) as tool:
            notify(f"{spec.label}: uses the tool {tool.tool}")
            yield MappedTarget(replace(spec, tool=tool.tool), tool, notify)
        return
    if kind in {"https", "http", "openai"}:
        from surefind.adapters.targets.json_endpoint import (
            JsonEndpoint,
            openai_results,
            openai_vector_store,
        )

        if kind == "openai":
            endpoint, spec = openai_vector_store(spec, os.environ), openai_results(spec)
        else:
            endpoint = JsonEndpoint(spec, os.environ)
        try:
            yield MappedTarget(spec, endpoint, notify)
        finally:
            await endpoint.close()
        return
    yield MappedTarget(spec, await _local_wire(spec, kind, queries, parts), notify)


async def _local_wire(
    spec: TargetSpec, kind: str, queries: Sequence[TargetQuery], parts: Parts
) -> TargetWire:
    if kind == "python":
        from surefind.adapters.targets.python_function import PythonFunction

        return PythonFunction(spec)
    from surefind.adapters.targets.result_files import result_lines, trec_run

    read = {"trec": trec_run, "jsonl": result_lines}[kind]
    results = await asyncio.to_thread(read, Path(spec.address.partition(":")[2]))
    missing = results.missing(queries)
    if missing:
        parts.notify(
            f"{spec.label} has no results for {len(missing)} of {len(queries)} tests, such as "
            f"{missing[0]}; they count as zero"
        )
    return results


def _require_mcp(spec: TargetSpec) -> None:
    from surefind.errors import InputError

    if find_spec("mcp") is None:
        raise InputError(
            f"{spec.label} needs the MCP client, which is not installed: "
            "pip install 'surefind[mcp]'"
        )


# --- own collections --------------------------------------------------------------------------


@asynccontextmanager
async def _own(spec: TargetSpec, parts: Parts) -> AsyncIterator[Target]:
    """`surefind:NAME?mode=lexical&generation=3&settings=other.toml`, or `qdrant:NAME`."""
    from surefind.bootstrap.parts import Parts as OtherParts
    from surefind.errors import InputError
    from surefind.services.generations.readers import Readers
    from surefind.services.search.search import Searcher
    from surefind.services.validation.targets.own_target import OwnTarget

    name, options = _own_address(spec)
    settings = _settings(name, options, parts)
    if spec.address.startswith("qdrant:"):
        connected = {one.name for one in settings.connected}
        if (name or settings.collection) not in connected:
            raise InputError(
                f"{spec.address}: no connected collection is called {name!r}; connect it with "
                f"`surefind connect --collection {name or 'NAME'}`"
            )
    other = None if settings is parts.settings else OtherParts(settings, parts.notify)
    used = other or parts
    pinned = None
    try:
        collection = name or settings.collection
        embedder = await used.embedder()  # loaded, so that no question has to wait for it
        readers = used.readers
        if "generation" in options:
            number = _number(spec, options["generation"])
            generation = await used.generations(collection).one(number)
            pinned = readers = Readers(used.index, used.catalogs, pinned=generation)
        async with readers.of(collection).lease():  # fails at once if there is no such collection
            pass
        searcher = Searcher(
            readers, embedder, used.terms, used.rerank_stage, kind_weights=used.kind_weights
        )
        yield OwnTarget(spec.label, searcher, _own_options(spec, collection, options))
    finally:
        if pinned is not None:
            await pinned.close()
        if other is not None:
            await other.close()


def _own_address(spec: TargetSpec) -> tuple[str, Mapping[str, str]]:
    from surefind.errors import InputError

    name, _, written = spec.address.partition(":")[2].partition("?")
    pairs = parse_qsl(written, keep_blank_values=True)
    for key, value in pairs:
        if key not in _OWN_OPTIONS or not value:
            raise InputError(
                f"{spec.address}: unknown or empty option {key!r}; use "
                f"{', '.join(_OWN_OPTIONS)}, as in surefind:docs?mode=lexical"
            )
    return name, dict(pairs)


def _settings(name: str, options: Mapping[str, str], parts: Parts) -> Settings:
    from surefind.errors import InputError
    from surefind.settings import load

    if "settings" not in options and "data_dir" not in options:
        return parts.settings
    values: dict[str, object] = {}
    if "settings" in options:
        path = Path(options["settings"])
        try:
            values = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{path} can't be read: {error}") from error
    if "data_dir" in options:
        values["data_dir"] = options["data_dir"]
    if name:
        values["collection"] = name
    return load(**values)


def _own_options(spec: TargetSpec, collection: str, options: Mapping[str, str]) -> OwnOptions:
    from surefind.model import Collapse, GroupBy, Mode
    from surefind.services.validation.targets.own_target import OwnOptions

    groups = [*GroupBy, "none"]
    group_by = _choice(spec, "group_by", options, groups, "none")
    return OwnOptions(
        collection,
        Mode(_choice(spec, "mode", options, [*Mode], Mode.HYBRID)),
        Collapse(_choice(spec, "collapse", options, [*Collapse], Collapse.SAME)),
        group_by=None if group_by == "none" else GroupBy(group_by),
        rerank=_choice(spec, "rerank", options, ["true", "false"], "false") == "true",
    )


def _choice(
    spec: TargetSpec, key: str, options: Mapping[str, str], known: Sequence[str], default: str
) -> str:
    from surefind.errors import InputError

    value = options.get(key, default)
    if value not in known:
        raise InputError(f"{spec.address}: {key} must be one of {', '.join(known)}, not {value!r}")
    return value


def _number(spec: TargetSpec, written: str) -> int:
    from surefind.errors import InputError

    if not written.isdecimal() or len(written) > 9:
        raise InputError(f"{spec.address}: generation must be a number, not {written!r}")
    return int(written)
