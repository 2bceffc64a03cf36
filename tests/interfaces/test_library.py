"""The library, as a script, a notebook and an async program use it."""

import asyncio
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
        with pytest.raises(surefind.UnknownCollection):
            async with surefind.aopen(data_dir=home / "none") as nothing:
                await nothing.search("tea")


def test_the_public_names_are_sorted_and_exist() -> None:
    assert surefind.__all__ == sorted(surefind.__all__)
    assert all(hasattr(surefind, name) for name in surefind.__all__)
