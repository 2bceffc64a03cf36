"""Retrieval is right on labelled questions, and fusing the legs is worth it."""

import json
from pathlib import Path

import pytest

import surefind
from surefind import Mode

DOCUMENTS = 150
QUESTIONS = 200


def lines(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture(scope="module")
async def reciprocal_ranks(
    data: Path, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> dict[Mode, list[float]]:
    """For each mode, one over the rank of the right document, for each question."""
    folder = data / "squad-dev-even"
    home = tmp_path_factory.mktemp("squad")
    pages = {line["_id"]: line for line in lines(folder / "corpus.jsonl")[:DOCUMENTS]}
    (home / "docs").mkdir()
    for number, page in enumerate(pages.values()):
        (home / "docs" / f"{number}.md").write_text(f"# {page['title']}\n\n{page['text']}\n")
    numbers = {name: f"docs/{number}.md" for number, name in enumerate(pages)}
    judged = [row.split("\t") for row in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    wanted = {query: document for query, document, *_ in judged if document in pages}
    texts = {line["_id"]: line["text"] for line in lines(folder / "queries.jsonl")}
    chosen = list(wanted)[:: max(1, len(wanted) // QUESTIONS)][:QUESTIONS]
    ranks: dict[Mode, list[float]] = {mode: [] for mode in Mode}
    async with surefind.aopen(data_dir=home / "data") as docs:
        await docs.ingest(home / "docs")
        for query in chosen:
            for mode in Mode:
                hits = (await docs.search(texts[query], top_k=10, mode=mode)).hits
                paths = [hit.record.chunk.source_path for hit in hits]
                right = numbers[wanted[query]]
                ranks[mode].append(1 / (paths.index(right) + 1) if right in paths else 0.0)
    return ranks


def test_the_right_passage_is_nearly_always_first(
    reciprocal_ranks: dict[Mode, list[float]],
) -> None:
    ranks = reciprocal_ranks[Mode.HYBRID]
    assert len(ranks) == QUESTIONS
    assert sum(ranks) / len(ranks) > 0.85


def test_hybrid_is_better_than_either_leg(reciprocal_ranks: dict[Mode, list[float]]) -> None:
    means = {mode: sum(ranks) / len(ranks) for mode, ranks in reciprocal_ranks.items()}
    assert means[Mode.HYBRID] > means[Mode.DENSE]
    assert means[Mode.HYBRID] > means[Mode.LEXICAL]
