"""Which chunks find the most with the least text: strategies and sizes, on the same questions.

Two sets. `articles`: the paragraphs of squad-dev-even put back together into whole articles, so
that the chunker has to find the borders; what a question needs is the characters of one paragraph.
`cranfield`: whole abstracts, judged as documents. Everything is searched by surefind's own hybrid
search, with the same embedder.

    recall@5        of the characters needed, how many the first five hits hold
    nDCG@10         the same discounted by rank; what an earlier hit held counts no more
    in 4,000        recall when hits are taken until 4,000 characters are spent: a fixed budget
    text/need       characters in the first five hits per needed character among them
"""

import argparse
import asyncio
import hashlib
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from bench.support.corpora import folder_of, lines_of
from bench.support.folders import RESULTS
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import locate
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import Bm25Analyzer, EdgeIndexStore
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.model import (
    Chunk,
    ChunkerSettings,
    ChunkRecord,
    Document,
    GenerationRef,
    SkippedPage,
    SourcePage,
)
from surefind.ports import IndexEntry, VectorIndex
from surefind.services.encoding.bm25 import Bm25Encoder, mean_on_grid
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.search.candidates import CollectionScope, EncodedQuery, find
from surefind.services.search.ranking.depth import DEPTH as CANDIDATES
from surefind.settings import load
from surefind.text.chunking import chunk_document
from surefind.text.documents import read_document
from surefind.text.formats.encodings import clean
from surefind.text.markdown.blocks import Outline
from surefind.text.sites.plain import ReaderSite

DEPTH = 10
BUDGET_CHARS = 4000
Span = tuple[str, int, int]
Chunker = Callable[[Document, Outline], list[Chunk]]


@dataclass(frozen=True)
class Need:
    """A question, and for each span that answers it how much it matters."""

    question: str
    spans: dict[Span, float]


@dataclass(frozen=True)
class Corpus:
    name: str
    pages: list[tuple[Document, Outline]]
    needs: list[Need]


def articles(questions: int, chance: random.Random) -> Corpus:
    name = "squad-dev-even"
    by_title: dict[str, list[dict[str, str]]] = {}
    for line in lines_of(name, "corpus.jsonl"):
        text = clean(line["text"].encode()).strip()
        by_title.setdefault(line["title"], []).append({**line, "text": text})
    pages, spans = [], {}
    for number, (title, paragraphs) in enumerate(by_title.items()):
        text = f"# {title}\n\n" + "\n\n".join(p["text"] for p in paragraphs) + "\n"
        page = _page(f"{number}.md", text)
        pages.append(page)
        for paragraph in paragraphs:
            start = page[0].text.index(paragraph["text"])
            end = start + len(paragraph["text"])
            spans[paragraph["_id"]] = (page[0].source_path, start, end)
    texts = {line["_id"]: line["text"].strip() for line in lines_of(name, "queries.jsonl")}
    judged = _judgements(folder_of(name) / "qrels.tsv")
    chosen = chance.sample(sorted(judged), min(questions, len(judged)))
    needs = [Need(texts[q], {spans[d]: g for d, g in judged[q].items()}) for q in chosen]
    return Corpus("articles", pages, needs)


def cranfield(questions: int, chance: random.Random) -> Corpus:
    name = "cranfield"
    pages, spans = [], {}
    for line in lines_of(name, "corpus.jsonl"):
        page = _page(f"{line['_id']}.md", f"# {line['title']}\n\n{line['text']}\n")
        pages.append(page)
        spans[line["_id"]] = (page[0].source_path, 0, len(page[0].text))
    texts = {line["_id"]: line["text"].strip() for line in lines_of(name, "queries.jsonl")}
    judged = _judgements(folder_of(name) / "qrels.tsv")
    chosen = chance.sample(sorted(judged), min(questions, len(judged)))
    needs = [Need(texts[q], {spans[d]: g for d, g in judged[q].items()}) for q in chosen]
    return Corpus("cranfield", pages, needs)


def strategies(embedder: CachedEmbedder) -> dict[str, Chunker]:
    def ours(max_tokens: int) -> Chunker:
        settings = ChunkerSettings(max_tokens=max_tokens, max_chars=8 * max_tokens)
        return lambda page, outline: chunk_document(page, outline, settings, embedder.count_tokens)

    def windows(size: int, step: int) -> Chunker:
        return lambda page, _: _windows(page, size, step)

    return {
        "windows of 300 words": windows(300, 300),
        "windows of 150 words, half overlapping": windows(150, 75),
        "structure, 100 tokens": ours(100),
        "structure, 200 tokens": ours(200),
        "structure, 300 tokens": ours(300),
        "structure, 400 tokens": ours(400),
        "structure, 510 tokens": ours(510),
    }


def _windows(page: Document, size: int, step: int) -> list[Chunk]:
    """What most tutorials do: a fixed number of words."""
    words = list(_words(page.text))
    chunks: list[Chunk] = []
    for first in range(0, max(1, len(words) - (size - step)), step):
        part = words[first : first + size]
        start, end = part[0][0], part[-1][1]
        text = page.text[start:end]
        chunks.append(_chunk(page, len(chunks), start, end, text))
    return chunks


def _words(text: str) -> Iterator[tuple[int, int]]:
    offset = 0
    for word in text.split():
        start = text.index(word, offset)
        offset = start + len(word)
        yield start, offset


def _chunk(page: Document, number: int, start: int, end: int, text: str) -> Chunk:
    return Chunk(
        id=f"{page.slug}-{number}",
        source_path=page.source_path,
        position=number,
        text=text,
        start=start,
        end=end,
        heading_path=(page.title,),
        context="" if number == 0 else page.title,
        anchor="",
        tokens=0,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        has_code=False,
        content_type="text",
    )


async def build(
    chunks: list[Chunk], embedder: CachedEmbedder, folder: DataFolder, number: int
) -> VectorIndex:
    terms, store = Bm25Encoder(Bm25Analyzer()), EdgeIndexStore(folder)
    mean = mean_on_grid(sum(terms.length(chunk.passage) for chunk in chunks), len(chunks))
    ref = GenerationRef("bench", number)
    writer = await store.create(ref, embedder.fingerprint.dimensions, None)
    now = datetime.now(UTC)
    for start in range(0, len(chunks), 64):
        batch = chunks[start : start + 64]
        vectors = await embedder.embed_passages([chunk.passage for chunk in batch])
        await writer.upsert(
            [
                IndexEntry(
                    ChunkRecord(chunk, "http://x/", "x", "x", now),
                    vector,
                    terms.passage(chunk.passage, mean),
                )
                for chunk, vector in zip(batch, vectors, strict=True)
            ]
        )
    await writer.finish()
    return await store.open(ref)


async def measure(
    corpus: Corpus, chunks: list[Chunk], index: VectorIndex, embedder: CachedEmbedder
) -> dict[str, float]:
    known = {index.number(chunk.point_id): chunk for chunk in chunks}
    terms = Bm25Encoder(Bm25Analyzer())
    ndcg, recall, budget, text_sum, need_sum = [], [], [], 0, 0
    for need in corpus.needs:
        question = EncodedQuery(
            await embedder.embed_query(need.question), terms.query(need.question)
        )
        pool = await find(question, [CollectionScope("bench", index)], CANDIDATES)
        hits = [known[candidate.point] for candidate in islice(pool.candidates(), 50)]
        gains = _new_coverage(hits, need)
        ideal = sorted(need.spans.values(), reverse=True)[:DEPTH]
        best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
        got = sum(gain / math.log2(rank + 2) for rank, (gain, _) in enumerate(gains[:DEPTH]))
        ndcg.append(min(1.0, got / best))
        total = sum(end - start for _, start, end in need.spans)
        covered = sum(characters for _, characters in gains[:5])
        recall.append(covered / total)
        budget.append(_within(hits, gains, BUDGET_CHARS) / total)
        text_sum += sum(len(hit.text) for hit in hits[:5])
        need_sum += covered
    return {
        "chunks": len(chunks),
        "characters a chunk": float(np.mean([len(chunk.text) for chunk in chunks])),
        "nDCG@10": float(np.mean(ndcg)),
        "recall@5": float(np.mean(recall)),
        "in 4,000": float(np.mean(budget)),
        "text/need": text_sum / max(1, need_sum),
    }


def _new_coverage(hits: list[Chunk], need: Need) -> list[tuple[float, int]]:
    """(gain, needed characters) of each hit, without what an earlier one held."""
    seen: dict[Span, np.ndarray] = {
        span: np.zeros(span[2] - span[1], dtype=bool) for span in need.spans
    }
    gains = []
    for hit in hits:
        gain, characters = 0.0, 0
        for span, weight in need.spans.items():
            path, start, end = span
            low, high = max(start, hit.start) - start, min(end, hit.end) - start
            if path == hit.source_path and high > low:
                fresh = int((~seen[span][low:high]).sum())
                seen[span][low:high] = True
                gain += weight * fresh / (end - start)
                characters += fresh
        gains.append((gain, characters))
    return gains


def _within(hits: list[Chunk], gains: list[tuple[float, int]], budget: int) -> int:
    spent = covered = 0
    for hit, (_, characters) in zip(hits, gains, strict=True):
        if spent + len(hit.text) > budget:
            break
        spent += len(hit.text)
        covered += characters
    return covered


def _page(path: str, text: str) -> tuple[Document, Outline]:
    page = SourcePage(f"docs/{path}", path, text.encode())
    read = read_document(page, ReaderSite("docs", "docs"))
    if isinstance(read, SkippedPage):
        raise TypeError(read.reason)
    return read.document, read.structure


def _judgements(path: Path) -> dict[str, dict[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    for row in path.read_text().splitlines()[1:]:
        query, document, grade = row.split("\t")
        judged.setdefault(query, {})[document] = float(grade)
    return judged


def table(rows: list[dict[str, object]]) -> str:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        cells = [
            f"{v:.3f}"
            if isinstance(v, float) and v < 20
            else f"{v:.0f}"
            if isinstance(v, float)
            else str(v)
            for v in row.values()
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


async def run(questions: int) -> list[dict[str, object]]:
    RESULTS.mkdir(exist_ok=True)
    bge = BgeSmallEmbedder(locate(None, load().cache_dir, print))
    cache = SqliteEmbeddingCache(RESULTS / "chunking-embeddings.sqlite", print)
    embedder = CachedEmbedder(bge, cache)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = DataFolder(Path(scratch))
        folder.prepare()
        chance = random.Random(7)
        for corpus in (articles(questions, chance), cranfield(questions, chance)):
            for name, chunker in strategies(embedder).items():
                chunks = [chunk for page in corpus.pages for chunk in chunker(*page)]
                index = await build(chunks, embedder, folder, len(rows) + 1)
                row = {"set": corpus.name, "strategy": name}
                rows.append({**row, **await measure(corpus, chunks, index, embedder)})
                await index.close()
                print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    await embedder.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=600, help="of each set, drawn by a seed")
    rows = asyncio.run(run(parser.parse_args().questions))
    print(table(rows))
    (RESULTS / "chunking.json").write_text(json.dumps(rows, indent=2) + "\n")
    (RESULTS / "chunking.md").write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
