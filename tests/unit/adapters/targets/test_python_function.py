"""Functions as targets: sync and async, with and without a limit, and what they may return."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefind.adapters.targets.mapped_target import MappedTarget
from surefind.adapters.targets.python_function import PythonFunction
from surefind.errors import InputError, TargetError, TargetUnreachable
from surefind.model import TargetQuery, TargetSpec

MODULE = """
import dataclasses
import time
from collections import namedtuple

PAGES = ["https://docs.example.com/power", "https://docs.example.com/errors"]
Scored = namedtuple("Scored", "link relevance")


@dataclasses.dataclass
class Hit:
    url: str
    text: str


class Node:
    def __init__(self, url):
        self.metadata = {"source": url}
        self._secret = object()


def urls(question):
    return PAGES


def limited(question, top_k=10):
    return PAGES[:top_k]


def second(question, most):
    return PAGES[:most]


async def coroutine(question, *, limit):
    return [Hit(url, "Plug in the cable, then wait.") for url in PAGES][:limit]


def tuples(question):
    return (Scored(url, 0.5) for url in PAGES)


def nodes(question):
    return [(Node(url), 0.9) for url in PAGES]


def scores(question):
    return {PAGES[1]: 0.2, PAGES[0]: 0.9}


def raises(question):
    raise LookupError("no index")


def nothing(question):
    return None


def endless(question):
    time.sleep(3600)


constant = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "their_search.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "their_search"
    sys.modules.pop("their_search", None)


def target_of(module: str, name: str, timeout_s: float = 30) -> MappedTarget:
    spec = TargetSpec(f"python:{module}:{name}", timeout_s=timeout_s, retries=0)
    return MappedTarget(spec, PythonFunction(spec), lambda _: None)


@pytest.mark.parametrize(
    "name", ["urls", "limited", "second", "coroutine", "tuples", "nodes", "scores"]
)
async def test_functions_may_return_what_they_like(module: str, name: str) -> None:
    answer = await target_of(module, name).search(TargetQuery("1", "power", 2))
    names = [hit.url or hit.source_path or hit.id for hit in answer.hits]
    assert names == ["https://docs.example.com/power", "https://docs.example.com/errors"]
    assert answer.latency_ms is not None


@pytest.mark.parametrize("name", ["limited", "second", "coroutine"])
async def test_a_limit_is_passed(module: str, name: str) -> None:
    target = target_of(module, name)
    assert target.takes_limit
    assert len((await target.search(TargetQuery("1", "power", 1))).hits) == 1


async def test_an_exception_is_an_error_of_the_question(module: str) -> None:
    with pytest.raises(TargetError, match="it raised LookupError: no index"):
        await target_of(module, "raises").search(TargetQuery("1", "power", 1))


async def test_returning_nothing_is_an_error(module: str) -> None:
    with pytest.raises(TargetError, match="no list of results"):
        await target_of(module, "nothing").search(TargetQuery("1", "power", 1))


async def test_a_call_that_never_returns_does_not_keep_the_process_alive(module: str) -> None:
    with pytest.raises(TargetUnreachable, match=r"no answer within 0\.1 s"):
        await target_of(module, "endless", timeout_s=0.1).search(TargetQuery("1", "power", 1))
    [thread] = [one for one in threading.enumerate() if one.name == "surefind-target"]
    assert thread.daemon


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "AttributeError"),
        ("constant", "is not a function but int"),
        ("", "write python:module:function"),
    ],
)
def test_other_objects_than_functions_are_refused(module: str, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        target_of(module, name)


def test_a_module_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="python:no_such_module:f can't be imported"):
        target_of("no_such_module", "f")
