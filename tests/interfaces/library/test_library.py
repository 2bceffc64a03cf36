"""The library, as a script, a notebook and an async program use it."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import surefind


def test_a_script_searches_and_ingests(home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind") as docs:
        result = docs.search("which voltage", top_k=2)
        assert result.hits[0].record.section == "Power"
        (home / "docs" / "index.md").write_text("# Teapot\n\nnew")
        report = docs.ingest(home / "docs")
        assert (report.changed, report.generation) == (1, 2)
        assert [m.number for m in docs.generations()] == [1, 2]
        assert docs.rollback().number == 1
        assert docs.ingest(home / "docs", rebuild=True, allow_shrink=True).generation == 3


async def test_a_notebook_has_a_running_loop_and_that_is_fine(home: Path) -> None:
    assert asyncio.get_running_loop().is_running()
    with surefind.open(data_dir=home / ".surefind") as docs:
        assert docs.search("vinegar", mode="lexical").hits[0].record.title == "Cleaning"


async def test_an_async_program_awaits(home: Path) -> None:
    async with surefind.aopen(data_dir=home / ".surefind") as docs:
        results = await asyncio.gather(*(docs.search(text) for text in ("vinegar", "volts", "lid")))
        assert [r.hits[0].record.section for r in results] == ["Cleaning", "Power", "E42"]


async def test_mistakes_are_value_errors(home: Path) -> None:
    async with surefind.aopen(data_dir=home / ".surefind") as docs:
        counts: list[dict[str, Any]] = [{"top_k": k} for k in (0, 2.5, "5", True, None)]
        for wrong in (*counts, {"threshold": 7.0}, {"mode": "magic"}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                await docs.search("tea", **wrong)
        unknown: dict[str, Any] = {"limit": 3}
        with pytest.raises(TypeError, match="unknown search option: limit"):
            await docs.search("tea", **unknown)
        with pytest.raises(surefind.UnknownCollection):
            async with surefind.aopen(data_dir=home / "none") as nothing:
                await nothing.search("tea")


@pytest.mark.parametrize("bad", ["half \ud800", "a\0b", "x" * 5000])
def test_a_string_that_no_store_can_take_is_refused_by_its_name(home: Path, bad: str) -> None:
    with surefind.open(data_dir=home / ".surefind") as docs:
        calls: list[tuple[str, Callable[[], object]]] = [
            ("query", lambda: docs.search(bad)),
            ("query", lambda: docs.search_many(["tea", bad])),
            ("query", lambda: docs.why_not(bad, "docs/index.md")),
            ("query", lambda: docs.generate_query_embedding(bad)),
            ("why_not", lambda: docs.why_not("tea", bad)),
            ("chunk_id", lambda: docs.chunk(bad)),
            ("chunk_id", lambda: docs.neighbours(bad)),
            ("chunk_id", lambda: docs.section(bad)),
            ("source_path", lambda: docs.document(bad)),
            ("collections", lambda: docs.search("tea", collections=[bad])),
            ("where", lambda: docs.search("tea", where={bad: "x"})),
            ("where: version", lambda: docs.search("tea", where={"version": bad})),
            ("where: version", lambda: docs.search("tea", where={"version": ["x", bad]})),
            ("where: url", lambda: docs.search("tea", where={"url": {"under": bad}})),
            ("where: tokens", lambda: docs.search("tea", where={"tokens": {"gte": bad}})),
            ("where: version", lambda: docs.search("tea", where=[f"version={bad}"])),
            ("where: version", lambda: docs.why_not("tea", "none", where=[f"version={bad}"])),
            ("exist|read", lambda: docs.ingest(bad)),
        ]
        for name, call in calls:
            with pytest.raises(surefind.InputError, match=name):
                call()


def test_another_collection_is_searched_and_read_by_name(home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind", collection="api") as docs:
        docs.ingest(pages=[surefind.Page("api/kettle.md", "# Kettle\n\nIt boils water.")])
        hit = docs.search("vinegar", mode="lexical", collection="docs")[0]
        assert (hit.title, hit.collection) == ("Cleaning", "docs")
        assert docs.search("kettle", mode="lexical")[0].title == "Kettle"
        assert len(docs.search("kettle", mode="lexical", collections=["docs", "api"])) == 1
        chunk_id = hit.record.chunk.id
        assert docs.chunk(chunk_id, collection="docs") == hit.record
        assert hit.record in docs.section(chunk_id, collection="docs")
        assert hit.record in docs.neighbours(chunk_id, collection="docs")
        assert docs.document("docs/guide/cleaning.md", collection="docs") == [hit.record]
        why = docs.why_not("vinegar", "docs/guide/cleaning.md", collection="docs", mode="lexical")
        assert why.cause is surefind.Cause.FOUND
        [result] = docs.search_many(["vinegar"], collection="docs", mode="lexical")
        assert result[0].title == "Cleaning"
        with pytest.raises(surefind.UnknownChunk):
            docs.chunk(chunk_id)
        with pytest.raises(surefind.UnknownCollection, match="ingest FOLDER --collection none"):
            docs.search("kettle", collection="none")
        with pytest.raises(surefind.InputError, match="not both"):
            docs.search("kettle", collection="docs", collections=["api"])


def test_a_hit_has_the_common_things_and_is_frozen(home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind") as docs:
        hit = next(iter(docs.search("vinegar")))
    assert hit.text.startswith("# Cleaning")
    assert (hit.title, hit.score > 0) == ("Cleaning", True)
    assert hit.url.endswith("/guide/cleaning.md#cleaning")
    with pytest.raises(AttributeError):
        hit.rank = 2  # type: ignore[misc]
    for known in (hit, hit.record, hit.record.chunk):
        for name in ("rank", "text", "titel"):
            with pytest.raises(FrozenInstanceError, match=rf"'{name}': a \w+ can't be changed"):
                setattr(known, name, "x")
            with pytest.raises(FrozenInstanceError, match=rf"'{name}': a \w+ can't be changed"):
                delattr(known, name)


@pytest.mark.parametrize(
    ("opened", "statement"),
    [
        (surefind.open(), "with surefind.open("),
        (surefind.aopen(), "async with surefind.aopen("),
        (surefind.connect_to("http://127.0.0.1:1"), "with surefind.connect_to("),
        (surefind.aconnect_to("http://127.0.0.1:1"), "async with surefind.aconnect_to("),
    ],
)
def test_without_with_the_error_shows_how_to_open(opened: Any, statement: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"`{statement}…) as docs:`")):
        opened.search("vinegar")


def test_what_a_hit_could_do_as_a_named_tuple_still_works_with_a_warning(home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind") as docs:
        hit = docs.search("vinegar")[0]
    with pytest.warns(DeprecationWarning, match=r"dataclasses\.replace"):
        assert hit._replace(rank=7).rank == 7
    with pytest.warns(DeprecationWarning, match="attributes"):
        assert hit._asdict()["record"] is hit.record


def test_settings_can_be_read_and_a_misspelt_one_is_refused(home: Path) -> None:
    with surefind.open(data_dir=home / ".surefind", max_tokens=99) as docs:
        assert (docs.settings.max_tokens, docs.settings.embedder) == (99, "local")
    wrong: dict[str, Any] = {"data_dri": "x"}
    with pytest.raises(surefind.InputError, match="data_dri"), surefind.open(**wrong):
        pass


# --- a process forked from one that has an installation open ------------------------------------

IN_A_CHILD = '''
import asyncio, multiprocessing, os, sys
import surefind

def end():
    sys.stdout.flush()
    os._exit(0)

def fork(use, leave=sys.exit):
    """A worker of a server leaves by `sys.exit`, which frees whatever is open."""
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        try:
            print(use())
        except surefind.InputError as error:
            assert "surefind.open()" in str(error), error
            print("refused")
        leave()
    assert os.waitpid(child, 0)[1] == 0

'''
SYNC_FORKS = """
def title(docs):
    return docs.search("vinegar", top_k=1, mode=sys.argv[1]).hits[0].record.title

def own():
    with surefind.open() as docs:
        return title(docs)

def inherited():
    return title(docs)

with surefind.open() as docs:
    print(title(docs))
    fork(lambda: title(docs))
    fork(own)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            pool.apply(inherited)
        except surefind.InputError:
            print("refused")
    print(title(docs))
    if (child := os.fork()) == 0:
        print("leaves")
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("ends")
"""
ASYNC_FORKS = """
async def title(docs):
    return (await docs.search("vinegar", top_k=1, mode=sys.argv[1])).hits[0].record.title

async def own():
    async with surefind.aopen() as docs:
        return await title(docs)

async def parent():
    async with surefind.aopen() as docs:
        print(await title(docs))
        fork(lambda: asyncio.run(title(docs)), end)
        fork(lambda: asyncio.run(own()), end)
        print(await title(docs))
        # The child's asyncio undoes what it shares with this loop, so nothing may follow.
        fork(lambda: "leaves")
        end()

asyncio.run(parent())
"""


def in_children(script: str, mode: str, home: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_CHILD + script, mode],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_forked_process_is_refused_or_opens_its_own_and_the_parent_goes_on(
    home: Path, mode: str
) -> None:
    said = in_children(SYNC_FORKS, mode, home)
    assert said == ["Cleaning", "refused", "Cleaning", "refused", "Cleaning", "leaves", "ends"]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_the_same_holds_for_async_programs(home: Path, mode: str) -> None:
    assert in_children(ASYNC_FORKS, mode, home) == [
        *("Cleaning", "refused", "Cleaning", "Cleaning", "leaves")
    ]
