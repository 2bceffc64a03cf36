"""What others answer to the judged questions: each ingests the same pages, with the same embedder.

"Default" is what a user gets who follows the documentation's first steps, "hybrid" what its page
about hybrid search adds; but for the embedder, nothing is tuned for these sets, ours least of all.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.support.folders import RESULTS
from bench.support.results import say
from bench.support.workers import Failed, Worker, installed, versions
from bench.systems import CONTENDERS, HYBRID, OURS, Contender

VECTORS = RESULTS / "quality" / "vectors.sqlite"
Ranked = Sequence[str]


def taking_part() -> tuple[list[Contender], dict[str, str]]:
    return installed([one for one in CONTENDERS if one.pages and one.name != OURS])


def peers_answers(
    pages: Path, ids: Mapping[str, str], questions: Sequence[str]
) -> tuple[dict[str, list[Ranked]], list[str]]:
    """For each system and mode the documents of every question; and what went wrong."""
    here, away = taking_part()
    answers: dict[str, list[Ranked]] = {}
    notes = [f"{name} took no part: {why}." for name, why in away.items()]
    for contender in here:
        store = pages.parent / contender.module.replace(":", "-")
        shutil.rmtree(store, ignore_errors=True)
        try:
            with Worker(contender, BENCH_VECTORS=str(VECTORS)) as worker:
                done = worker.ask("ingest", 3600, pages=pages, store=store)
            for mode in contender.pages:
                name = contender.name
                if mode == HYBRID and len(contender.pages) > 1:
                    name = f"{name}, hybrid"
                answers[name] = _asked(contender, store, questions, mode, ids)
                say(f"{pages.parent.name}, {name}: {done['chunks']} chunks")
        except Failed as error:
            notes.append(f"{contender.name} failed on {pages.parent.name}: {error}.")
            say(notes[-1])
        shutil.rmtree(store, ignore_errors=True)
    return answers, notes


def _asked(
    contender: Contender,
    store: Path,
    questions: Sequence[str],
    mode: str,
    ids: Mapping[str, str],
) -> list[Ranked]:
    with Worker(contender, BENCH_VECTORS=str(VECTORS)) as worker:
        answer = worker.ask("find", 3600, store=store, questions=questions, mode=mode)
    return [[ids[page] for page in dict.fromkeys(found)] for found in answer["found"]]


def peers_versions() -> dict[str, str]:
    return versions(taking_part()[0])
