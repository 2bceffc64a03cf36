"""Functions that search: `python:module:function`, sync or async."""

import asyncio
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from surefind.errors import InputError, TargetError
from surefind.model import JsonValue, TargetQuery, TargetSpec

_LIMITS = ("top_k", "k", "limit", "n", "max_results", "num_results", "n_results")
_MAX_DEPTH = 8


class PythonFunction:
    """Calls `function(question)`, with `top_k` if it has such a parameter.

    It may return strings, dicts, objects, pairs with scores, or a dict of ids and scores. A sync
    function runs in a thread, one call at a time.
    """

    is_timed = True

    def __init__(self, spec: TargetSpec) -> None:
        self._function = spec.function or _loaded(spec.address.removeprefix("python:"))
        self._limit = _limit_of(self._function)
        self.takes_limit = self._limit is not None
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, query: TargetQuery) -> JsonValue:
        given: dict[str, Any] = {}
        positional: list[Any] = [query.text]
        if self._limit == "":
            positional.append(query.top_k)
        elif self._limit:
            given[self._limit] = query.top_k
        try:
            if inspect.iscoroutinefunction(self._function):
                returned = await self._function(*positional, **given)
            else:
                async with self._one_at_a_time:
                    returned = await _in_thread(lambda: self._function(*positional, **given))
                if inspect.isawaitable(returned):
                    returned = await returned
        except Exception as error:
            raise TargetError(f"it raised {type(error).__name__}: {error}") from error
        return _plain(returned)


def _loaded(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"python:{place}: write python:module:function")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for step in name.split("."):
            found = getattr(found, step)
    except Exception as error:
        raise InputError(
            f"python:{place} can't be imported: {type(error).__name__}: {error}"
        ) from error
    if not callable(found):
        raise InputError(f"python:{place} is not a function but {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def _limit_of(function: Callable[..., Any]) -> str | None:
    """The parameter for the number of results; empty for the second one, None if there is none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return None
    named = next((one.name for one in parameters if one.name in _LIMITS), None)
    if named is not None:
        return named
    plain = [
        one for one in parameters if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}
    ]
    needed = [one for one in plain if one.default is one.empty]
    return "" if len(needed) == 2 else None


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Run in a daemon thread: a call that never returns must not keep the process alive."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(result)

    def work() -> None:
        result, failure = None, None
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, daemon=True, name="surefind-target").start()
    return await done


def _plain(value: Any, depth: int = 0) -> JsonValue:
    """Objects as dicts of their public attributes; a dict of numbers as pairs, best first."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth > _MAX_DEPTH or isinstance(value, bytes):
        return str(value)
    if not depth and _is_scored(value):
        ordered = sorted(value.items(), key=lambda pair: -float(pair[1]))
        return [[str(key), float(score)] for key, score in ordered]
    attributes = value if isinstance(value, Mapping) else _attributes(value)
    if attributes is not None:
        return {str(key): _plain(inner, depth + 1) for key, inner in attributes.items()}
    return _plain_items(value, depth + 1)


def _is_scored(value: Any) -> bool:
    """Whether it has scores by id, as pytrec_eval takes them."""
    if not isinstance(value, Mapping) or not value:
        return False
    return all(isinstance(one, int | float) for one in value.values())


def _plain_items(value: Any, depth: int) -> JsonValue:
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of numpy
        return _plain(value.item(), depth)
    try:
        return [_plain(inner, depth) for inner in value]
    except TypeError:
        return str(value)


def _attributes(value: Any) -> Mapping[str, Any] | None:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    for name in ("model_dump", "_asdict"):
        method = getattr(value, name, None)
        if callable(method):
            found = method()
            return found if isinstance(found, Mapping) else None
    held = getattr(value, "__dict__", None)
    if held and not isinstance(value, type):
        return {key: inner for key, inner in held.items() if not key.startswith("_")}
    return None
