"""What `surefind` exports, derived from the annotations of its own methods."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import surefind
from surefind import errors
from surefind.interfaces.library.open_options import OpenOptions
from surefind.settings import Settings

# What version 0.1 exported.
NAMES_OF_0_1 = [
    "AddressInUse",
    "AsyncSurefind",
    "Chunk",
    "ChunkRecord",
    "Document",
    "EmbeddingError",
    "FormatTooNew",
    "GuardStopped",
    "Hit",
    "IngestReport",
    "InputError",
    "Manifest",
    "Mode",
    "NotComparable",
    "Query",
    "QueryEmbedding",
    "RerankingError",
    "RetrievalQuery",
    "RetrievalResult",
    "SearchResult",
    "Status",
    "StoreBusy",
    "StoreError",
    "Surefind",
    "SurefindError",
    "Timings",
    "UnknownChunk",
    "UnknownCollection",
    "UnknownDocument",
    "UnknownGeneration",
    "ValidationReport",
    "aopen",
    "generate_query_embedding",
    "open",
    "retrieve_content_chunks",
]


def exported() -> dict[str, Any]:
    return {name: getattr(surefind, name) for name in surefind.__all__}


def hints_of(owner: Any) -> dict[str, Any]:
    """Names that an annotation uses are public, or imported where it is written."""
    import numpy as np
    from numpy.typing import NDArray

    outside = {"np": np, "NDArray": NDArray, "SecretStr": SecretStr}
    return typing.get_type_hints(owner, localns={**exported(), **outside})


def methods(kind: type) -> dict[str, Any]:
    found = inspect.getmembers(
        kind, lambda one: inspect.isfunction(one) or isinstance(one, property)
    )
    return {
        name: one.fget if isinstance(one, property) else one
        for name, one in found
        if not name.startswith("_")
    }


def parts(annotation: Any) -> Iterator[Any]:
    """`list[Hit] | None` -> list, Hit, NoneType."""
    if isinstance(annotation, str | typing.ForwardRef):
        name = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        yield from parts(exported()[name])
    elif isinstance(annotation, list | tuple):
        for inner in annotation:
            yield from parts(inner)
    elif typing.get_origin(annotation) is not typing.Literal:
        yield typing.get_origin(annotation) or annotation
        yield from parts(typing.get_args(annotation))


def has_public_fields(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or typing.is_typeddict(kind) or hasattr(kind, "_fields")


def annotations_of(kind: type) -> Iterator[Any]:
    """Those of a class's fields, if it is a value, and of its methods, if it is not."""
    if has_public_fields(kind) or issubclass(kind, Settings):
        hints = hints_of(kind)
        yield from (hint for name, hint in hints.items() if not name.startswith("_"))
    if not has_public_fields(kind) and not issubclass(kind, Settings):
        for method in methods(kind).values():
            if method.__module__.startswith("surefind"):
                yield from hints_of(method).values()


def reachable() -> dict[type, str]:
    """Every class of surefind that a caller can hold, with the way that leads to it."""
    found: dict[type, str] = {}
    waiting: list[tuple[type, str]] = [
        (surefind.AsyncSurefind, "aopen"),
        (surefind.Surefind, "open"),
        (OpenOptions, "open"),
    ]
    while waiting:
        kind, way = waiting.pop()
        if kind in found:
            continue
        found[kind] = way
        for annotation in annotations_of(kind):
            waiting += (
                (part, f"{way} > {kind.__name__}")
                for part in parts(annotation)
                if isinstance(part, type) and part.__module__.startswith("surefind")
            )
    return found


def test_everything_that_a_method_takes_or_returns_is_exported() -> None:
    public = {id(value) for value in exported().values()}
    missing = {kind.__name__: way for kind, way in reachable().items() if id(kind) not in public}
    assert missing == {}
    expected = {surefind.WhyNot, surefind.Report, surefind.LegScore, surefind.Confidence}
    assert expected | {surefind.Settings, surefind.Progress, surefind.Page} <= set(reachable())


def test_every_error_is_exported() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.SurefindError)
    ]
    assert len(kinds) > 15
    for kind in kinds:
        assert getattr(surefind, kind.__name__) is kind
        assert kind.__name__ in surefind.__all__


def test_the_sync_class_has_the_methods_of_the_async_one() -> None:
    sync, asynchronous = methods(surefind.Surefind), methods(surefind.AsyncSurefind)
    assert sync.keys() == asynchronous.keys()
    for name, method in asynchronous.items():
        assert inspect.signature(sync[name]) == inspect.signature(method), name
        assert hints_of(sync[name]) == hints_of(method), name
        assert inspect.iscoroutinefunction(method) == (name != "settings"), name


def test_the_documentation_lists_every_method_with_its_parameters() -> None:
    page = (Path(__file__).parents[3] / "docs/library.md").read_text()
    documented = {
        name: re.findall(r"\*{0,2}([a-z_]+)(?:=[^,]+)?(?:, |$)", parameters)
        for name, parameters in re.findall(r"^\| `(\w+)\((.*?)\)` \|", page, re.MULTILINE)
    }
    for name, method in methods(surefind.AsyncSurefind).items():
        if name != "settings":
            assert documented[name] == list(inspect.signature(method).parameters)[1:], name


def test_open_and_aopen_take_the_same_options() -> None:
    assert (
        inspect.signature(surefind.open).parameters == inspect.signature(surefind.aopen).parameters
    )


def given_as(annotation: Any) -> Any:
    """The type in which a caller may give a setting of this type."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return given_as(inner[0])
    if origin in {types.UnionType, typing.Union}:
        return typing.Union[tuple(given_as(one) for one in inner)]  # noqa: UP007
    if annotation is Path:
        return str | PathLike[str]
    if annotation is SecretStr:
        return str | SecretStr
    return Sequence[inner[0]] if origin is tuple else annotation  # type: ignore[valid-type]


def test_open_takes_every_setting_with_its_type() -> None:
    options = hints_of(OpenOptions)
    assert options.keys() == Settings.model_fields.keys()
    own = {"embedder": str | surefind.Embedder, "reranker": str | surefind.Reranker}
    for name, field in Settings.model_fields.items():
        assert options[name] == own.get(name, given_as(field.annotation)), name


def test_names_of_version_0_1_are_still_there() -> None:
    assert set(NAMES_OF_0_1) <= set(surefind.__all__)


def test_public_names_are_sorted_and_exist() -> None:
    assert surefind.__all__ == sorted(surefind.__all__)
    assert set(surefind.__all__) == set(dir(surefind)) == set(exported())


def test_what_type_checkers_see_is_what_is_imported_on_first_use() -> None:
    """`__init__.py` imports the names for type checkers alone; a table has them for Python."""
    assert surefind.__file__
    tree = ast.parse(Path(surefind.__file__).read_text())
    imports = [
        (name.asname or name.name, node.module, name.name)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ]
    assert {name for name, _, _ in imports} == set(surefind.__all__) - {"__version__"}
    for name, module, original in imports:
        assert module
        assert getattr(surefind, name) is getattr(import_module(module), original)


def test_submodules_are_there_without_an_import_of_their_own() -> None:
    program = "import surefind; print(surefind.errors.StoreError is surefind.StoreError)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "True"


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "Sorcery"
    with pytest.raises(AttributeError, match="'surefind' has no attribute 'Sorcery'"):
        getattr(surefind, name)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert surefind.__version__ == version("surefind")


def test_importing_surefind_waits_for_nothing_heavy() -> None:
    heavy = (
        "typing",
        "numpy",
        "onnxruntime",
        "tokenizers",
        "qdrant_edge",
        "pydantic",
        "httpx2",
        "yaml",
    )
    program = (
        "import sys; before = {*sys.modules}; import surefind; "  # coverage imports some, too
        f"print([n for n in {heavy!r} if n in sys.modules.keys() - before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
