"""What the conversation before a question adds: nDCG@10 with it and without it.

Follow-ups are the later turns of real conversations. First turns have no conversation before them,
so they are asked after an unrelated one; so are questions of other sets, which stand alone, and
these also after another question of the same set and the passage that answers it. None of these
may lose. Conversations are divided into two halves by a hash of their id.

`±` is half of a 95 % interval of the difference: a paired bootstrap.
"""

import argparse
import asyncio
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.quality.judged import Judgements, System, interval, measure, read
from bench.support.corpora import folder_of, lines_of
from bench.support.folders import RESULTS
from bench.support.results import Result, Row
from bench.support.workers import machine
from surefind.interfaces.search_options import SearchOptions, query_of
from surefind.model import Mode

CONVERSATIONS = "mtrag-un-even"
ALONE = ("squad-dev-even", "cranfield")
TOP_K = 30
_ROLES = {"user": "user", "agent": "assistant"}
History = list[dict[str, str]]


@dataclass(frozen=True)
class Turn:
    text: str
    judgements: Judgements
    history: History
    half: int = 0


def turns() -> list[Turn]:
    judged: dict[str, dict[str, int]] = {}
    for row in (folder_of(CONVERSATIONS) / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, gain = row.split("\t")
        if int(gain) > 0:
            judged.setdefault(query, {})[document] = int(gain)
    lines: list[Any] = list(lines_of(CONVERSATIONS, "queries.jsonl"))
    return [
        Turn(line["text"].strip(), judged[line["_id"]], _history(line), _half(line["_id"]))
        for line in lines
        if line["_id"] in judged
    ]


def _history(line: Any) -> History:
    return [{"role": _ROLES[one["speaker"]], "content": one["text"]} for one in line["history"]]


def _half(identifier: str) -> int:
    conversation = identifier.partition("<")[0]
    return int(hashlib.md5(conversation.encode(), usedforsecurity=False).hexdigest(), 16) % 2


async def quality(
    system: System, asked: Sequence[Turn], mode: Mode, *, with_history: bool
) -> list[float]:
    ids = system.ids_of_pages()
    found = []
    for turn in asked:
        options = SearchOptions(top_k=TOP_K, mode=mode)
        if with_history:
            options["history"] = turn.history
        query = query_of(turn.text, "docs", options)
        result = await system.application.searching.search(query)
        paths = [
            record.chunk.source_path.removeprefix("pages/")
            for hit in result.hits
            for record in (hit.record, *hit.also)
        ]
        ranked = [ids[path] for path in dict.fromkeys(paths)]
        found.append(measure(ranked, turn.judgements)["nDCG@10"])
    return found


async def row(system: System, name: str, asked: Sequence[Turn], mode: Mode) -> Row:
    without = await quality(system, asked, mode, with_history=False)
    with_it = await quality(system, asked, mode, with_history=True)
    difference, half = interval(without, with_it)
    return {
        "questions": name,
        "mode": mode.value,
        "number": len(asked),
        "without history": f"{np.mean(without):.4f}",
        "with history": f"{np.mean(with_it):.4f}",
        "difference": f"{difference:+.4f} ± {half:.4f}",
    }


async def conversations(asked: Sequence[Turn]) -> list[Row]:
    system = System(read(CONVERSATIONS, None))
    await system.ingest()
    follow_ups = [turn for turn in asked if turn.history]
    first = [turn for turn in asked if not turn.history]
    rows = [await row(system, "follow-ups", follow_ups, mode) for mode in Mode]
    for half in (0, 1):
        part = [turn for turn in follow_ups if turn.half == half]
        rows.append(await row(system, f"follow-ups, half {half + 1}", part, Mode.HYBRID))
    rows.append(await row(system, "first turns, no history", first, Mode.HYBRID))
    elsewhere = _after(first, follow_ups, times=4)
    rows.append(await row(system, "first turns, unrelated history", elsewhere, Mode.HYBRID))
    await system.application.close()
    return rows


def _after(asked: Sequence[Turn], others: Sequence[Turn], times: int = 1) -> list[Turn]:
    """The questions after conversations that have nothing to do with them."""
    chance = random.Random(5)
    return [
        Turn(turn.text, turn.judgements, chance.choice(others).history)
        for turn in asked
        for _ in range(times)
    ]


async def alone(name: str, limit: int, follow_ups: Sequence[Turn]) -> list[Row]:
    judged = read(name, limit)
    system = System(judged)
    await system.ingest()
    asked = [Turn(text, gains, []) for text, gains in judged.questions]
    chance = random.Random(5)
    same: list[Turn] = []
    for turn in asked:
        other = chance.choice(asked)
        answer = judged.documents[max(other.judgements, key=lambda one: other.judgements[one])][1]
        history = [
            {"role": "user", "content": other.text},
            {"role": "assistant", "content": answer[:600]},
        ]
        same.append(Turn(turn.text, turn.judgements, history))
    rows = [
        await row(system, f"{name}, unrelated history", _after(asked, follow_ups), Mode.HYBRID),
        await row(system, f"{name}, another question of the set", same, Mode.HYBRID),
    ]
    await system.application.close()
    return rows


async def run(limit: int) -> list[Row]:
    asked = turns()
    rows = await conversations(asked)
    for name in ALONE:
        rows += await alone(name, limit, [turn for turn in asked if turn.history])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300, help="maximum number from each set")
    options = parser.parse_args()
    result = Result(
        "conversations",
        "Questions with and without the conversation before them",
        "Hybrid search unless the table says otherwise; documents count, not chunks.",
        {"questions of sets that stand alone": options.questions},
        {"surefind": version("surefind")},
        machine(),
        notes=[
            "The corpus of the conversations consists of passages that they quote, so it has few "
            "distractors: compare the columns, not the absolute numbers with other sets.",
            "The weights were chosen on both halves of these conversations; their plateau is wide.",
        ],
    )
    result.tables["nDCG@10"] = asyncio.run(run(options.questions))
    result.write(RESULTS)
    print(result.markdown())


if __name__ == "__main__":
    main()
