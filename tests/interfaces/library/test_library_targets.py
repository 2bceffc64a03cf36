"""Validating and comparing other retrievers from Python."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import surefind
from surefind import ByAddress, GoldenTest

PAGES = {"socket": "/power", "E42": "/errors", "vinegar": "/cleaning"}
TESTS = [
    GoldenTest(word, f"What about {word}?", expected=(ByAddress(page),))
    for word, page in PAGES.items()
]
SITE = "https://docs.example.com"


def right(question: str, top_k: int) -> list[dict[str, str]]:
    found = [page for word, page in PAGES.items() if word in question]
    return [{"url": SITE + page} for page in found][:top_k]


async def wrong(question: str) -> list[str]:
    assert question
    return [f"{SITE}/nowhere"]


def broken(question: str) -> list[str]:
    if "E42" in question:
        raise ValueError(question)
    return [f"{SITE}/power"]


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[surefind.Surefind]:
    with surefind.open(data_dir=tmp_path / "data") as opened:
        yield opened


def test_a_function_is_validated(docs: surefind.Surefind) -> None:
    seen: list[surefind.Progress] = []
    report = docs.validate(TESTS, target=right, top_k=2, progress=seen.append)
    assert (report.totals.passed, report.totals.total) == (3, 3)
    assert report.subject.target.endswith(":right")
    assert seen[-1] == surefind.Progress("validating", 3, 3)
    later = docs.validate(TESTS, target=wrong, top_k=2, baseline=report)
    assert later.comparison is not None
    assert len(later.comparison.worse) == 3


def test_a_file_of_results_is_validated(docs: surefind.Surefind, tmp_path: Path) -> None:
    run = tmp_path / "run.txt"
    run.write_text(f"socket Q0 {SITE}/power 1 2.5 mine\n")
    assert docs.validate(TESTS, target=f"trec:{run}").totals.passed == 1


def test_a_function_that_raises_fails_its_test_alone(docs: surefind.Surefind) -> None:
    report = docs.validate(TESTS, target=broken)
    outcomes = [test.outcome.value for test in report.tests]
    assert outcomes == ["passed", "error", "failed"]
    assert "ValueError" in report.tests[1].message


def test_targets_and_reports_are_compared(docs: surefind.Surefind) -> None:
    seen: list[surefind.Progress] = []
    compared = docs.compare((wrong, right), TESTS, top_k=2, progress=seen.append)
    assert isinstance(compared, surefind.SideBySide)
    [pair] = compared.pairs
    assert (len(pair.wins), len(pair.losses)) == (3, 0)
    assert seen[-1] == surefind.Progress("comparing", 3, 3)
    saved = docs.validate(TESTS, target=right, top_k=2)
    mixed = docs.compare([saved, wrong], TESTS, top_k=2)
    assert len(mixed.pairs[0].losses) == 3
    alone = docs.compare([saved, docs.validate(TESTS, target=wrong, top_k=2)])
    assert alone.pairs[0].losses == mixed.pairs[0].losses


def test_the_async_client_compares_too(tmp_path: Path) -> None:
    async def compared() -> surefind.SideBySide:
        async with surefind.aopen(data_dir=tmp_path / "data") as docs:
            return await docs.compare([wrong, right], TESTS)

    assert len(asyncio.run(compared()).pairs[0].wins) == 3


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([right], "2 to 8 targets, not 1"),
        ([right] * 9, "2 to 8 targets, not 9"),
        ([right, "nothing"], "nothing is not a target"),
        ([right, 7], "an address, a target file or a function, not 7"),
        ("python:a:b", "give a list, not a string"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    docs: surefind.Surefind, targets: Any, said: str
) -> None:
    with pytest.raises(surefind.InputError, match=said):
        docs.compare(targets, TESTS)


@pytest.mark.parametrize(
    "option", [{"mode": "dense"}, {"generation": 1}, {"index_recall": True}, {"collapse": "off"}]
)
def test_options_of_own_collections_are_refused_with_a_target(
    docs: surefind.Surefind, option: dict[str, Any]
) -> None:
    with pytest.raises(surefind.InputError, match="own collections"):
        docs.validate(TESTS, target=right, **option)
