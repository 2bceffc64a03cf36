"""The sets that rankings are compared on, ingested and embedded once.

A *passage set* has judged documents, each of which becomes a page. A *documentation set* is a tree
of pages, with graded questions or with questions that need no labels: the text of a link to another
page is a question that the other page answers, and so is the description in a page's front matter.
A link text that repeats the title of its target does not count, and the page with the link is left
out of the ranking.

Everything is kept in the folder BENCH_CACHE, outside the repository.
"""

import asyncio
import json
import os
import posixpath
import random
import re
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np
from numpy.typing import NDArray

from bench.quality.judged import read
from bench.support.corpora import folder_of, lines_of
from surefind.bootstrap import Application, IngestRequest
from surefind.model import ChunkRecord
from surefind.services.encoding.bm25 import Bm25Encoder
from surefind.services.search.ranking.rescoring import heading_words
from surefind.settings import load

CACHE = Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "surefind-bench"))
Rows = NDArray[np.float32]

TREES = {
    "react": ("docs-golden/react", "https://react.dev"),
    "vite": ("docs-golden/vite", "https://vite.dev"),
    "docusaurus": ("docs-sample/docusaurus/website", "https://docusaurus.io"),
}
_PASSAGES = ("cranfield", "squad-dev-even", "mtrag-un-even", "cacm")
_GRADED = "docs-golden"
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\n]|\[[^\[\]\n]*\]){3,120})\]\(([^()\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_MARKUP = re.compile(r"[`*_]+")
_PAGE_SUFFIX = re.compile(r"(?:\.mdx?|\.html)$")
_LONGEST_LINK = 15
_FEWEST_DESCRIPTIONS = 6
_SEED = 7


@dataclass(frozen=True)
class Question:
    """`gains` are by source path. The page `omitted` takes no rank."""

    text: str
    gains: Mapping[str, int]
    omitted: str = ""


@dataclass(frozen=True)
class Collection:
    """All passages with their vectors, in the order of their points, and the text of each page."""

    records: Sequence[ChunkRecord]
    vectors: Rows
    texts: Mapping[str, str]
    encoder: Bm25Encoder

    @cached_property
    def urls(self) -> dict[str, str]:
        """The source paths by URL."""
        return {_plain(record.url): record.chunk.source_path for record in self.records}


@dataclass(frozen=True)
class RankingSet:
    """`is_graded` sets are measured with exponential gains and a cutoff of 5."""

    name: str
    collection: Collection
    questions: Sequence[Question]
    vectors: Rows
    is_graded: bool = False


def ingested(library: str) -> Collection:
    """The pages of a documentation set, as a collection of this name."""
    folder, base_url = TREES[library]
    return _collection(library, folder_of(folder), base_url)


def every_set(limit: int) -> Iterator[RankingSet]:
    for name in (*_PASSAGES, *TREES):
        yield from judged_sets(name, limit)


def judged_sets(name: str, limit: int) -> Iterator[RankingSet]:
    """A passage set, or the sets of a library's documentation."""
    if name in _PASSAGES:
        yield _passage_set(name, limit)
        return
    collection = ingested(name)
    candidates = {
        name: judged_pages(name, collection),
        f"{name}, links": _links(collection, limit),
        f"{name}, descriptions": _descriptions(collection),
    }
    for title, questions in candidates.items():
        if questions:
            yield with_vectors(title, collection, questions, is_graded=title == name)


def _passage_set(name: str, limit: int) -> RankingSet:
    judged = read(name, limit)
    pages = CACHE / "pages" / name / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    paths: dict[str, str] = {}
    for number, (document, (title, text)) in enumerate(judged.documents.items()):
        page = pages / f"{number}.md"
        page.write_text(f"# {title}\n\n{text}\n" if title else f"{text}\n")
        paths[document] = f"pages/{page.name}"
    collection = _collection(name, pages, None)
    questions = [
        Question(text, {paths[document]: gain for document, gain in gains.items()})
        for text, gains in judged.questions
    ]
    return with_vectors(name, collection, questions, is_graded=False)


# --- what is kept -----------------------------------------------------------------------------


def _collection(name: str, folder: Path, base_url: str | None) -> Collection:
    return asyncio.run(_ingested(name, folder, base_url))


async def _ingested(name: str, folder: Path, base_url: str | None) -> Collection:
    settings = load(data_dir=CACHE / "data", collection=name, base_url=base_url)
    application = Application(settings)
    try:
        await application.ingesting.ingest(IngestRequest(paths=[folder]))
        async with application.parts.reader.lease() as generation:
            catalog = generation.require_catalog()
            records = sorted(
                [record async for record in catalog.chunks()],
                key=lambda record: record.point_id.int,
            )
            vectors = await generation.index.vectors([record.point_id for record in records])
            texts = {
                one.source_path: await catalog.document_text(one.source_path)
                for one in await catalog.documents()
            }
        return Collection(records, np.asarray(vectors), texts, application.parts.terms)
    finally:
        await application.close()


def with_vectors(
    name: str, collection: Collection, questions: Sequence[Question], *, is_graded: bool
) -> RankingSet:
    path = CACHE / "questions" / f"{name}.npz"
    known: dict[str, Rows] = {}
    if path.exists():
        held = np.load(path)
        known = dict(zip(json.loads(str(held["texts"])), held["vectors"], strict=True))
    missing = [one.text for one in questions if one.text not in known]
    if missing:
        known |= zip(missing, asyncio.run(_embedded(missing)), strict=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, texts=json.dumps(list(known)), vectors=np.stack(list(known.values())))
    vectors = np.stack([known[one.text] for one in questions])
    return RankingSet(name, collection, questions, vectors, is_graded)


async def _embedded(texts: Sequence[str]) -> list[Rows]:
    application = Application(load(data_dir=CACHE / "data"))
    try:
        embedder = await application.parts.query_embedder()
        found: Awaitable[list[Rows]] = asyncio.gather(*map(embedder.embed_query, texts))
        return await found
    finally:
        await application.close()


# --- questions --------------------------------------------------------------------------------


def judged_pages(library: str, collection: Collection) -> list[Question]:
    """A judged page that is not in the collection keeps its grade in the ideal ranking."""
    if library == "docusaurus":
        return []
    return [
        Question(
            str(line["query"]),
            {
                collection.urls.get(_plain(one["url"]), one["url"]): one["grade"]
                for one in _judgements(line)
            },
        )
        for line in lines_of(_GRADED, "golden.jsonl")
        if line["library"] == library
    ]


def _judgements(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = line["qrels"]
    return held


def _links(collection: Collection, limit: int) -> list[Question]:
    titles = {
        record.chunk.source_path: heading_words(record.title) for record in collection.records
    }
    targets: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, set[str]] = defaultdict(set)
    for source, text, target in _followed(collection):
        words = heading_words(text)
        if 1 < len(words.split()) <= _LONGEST_LINK and words != titles.get(target):
            targets[text].add(target)
            sources[text].add(source)
    questions = [
        Question(text, dict.fromkeys(sorted(found), 1), min(sources[text]))
        for text, found in sorted(targets.items())
        if len(sources[text]) == 1 and not found & sources[text]
    ]
    return random.Random(_SEED).sample(questions, min(limit, len(questions)))


def _followed(collection: Collection) -> Iterator[tuple[str, str, str]]:
    """Source, text and target of each link to another page."""
    addresses = {path: url for url, path in collection.urls.items()}
    for source, text in collection.texts.items():
        for label, link in _LINK.findall(_FENCE.sub("", text)):
            address = link.partition("#")[0]
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), address))
            absolute = _plain(urljoin(addresses.get(source, "") + "/", address))
            target = beside if beside in collection.texts else collection.urls.get(absolute)
            target = target or collection.urls.get(
                _plain(urljoin(addresses.get(source, ""), address))
            )
            if address and target and target != source:
                yield source, _MARKUP.sub("", label).strip(), target


def _descriptions(collection: Collection) -> list[Question]:
    found = {
        record.chunk.source_path: record.attributes.get("description")
        for record in collection.records
    }
    questions = [
        Question(text.strip(), {path: 1})
        for path, text in sorted(found.items())
        if isinstance(text, str) and text.strip()
    ]
    return questions if len(questions) >= _FEWEST_DESCRIPTIONS else []


def _plain(url: str) -> str:
    path = url.partition("#")[0].partition("?")[0].rstrip("/")
    return _PAGE_SUFFIX.sub("", path).removesuffix("/index")
