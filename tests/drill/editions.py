"""A small documentation in two editions, and what a fresh build of either holds and answers."""

import asyncio
import http.client
import json
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from surefind.bootstrap import Application
from surefind.ports import MovedPage
from surefind.services.generations.index_building import both_stores
from surefind.services.generations.transfer import kept_in, pages_of
from surefind.settings import load

MODES = ("hybrid", "dense", "lexical")
QUESTIONS = ("how do I change the port of the server?", "who waters the plants", "restore a backup")
MANY = 50  # more hits than there are chunks
SCORES_APART = 1e-4
NUMBERS_APART = 1e-6

_SUBJECTS = ("port", "backup", "garden", "kitchen", "voyage", "library", "engine", "weather")
_SENTENCES = {
    "old": "In the old edition, {subject} number {number} is set by hand before the server starts.",
    "new": "The new edition changes this: {subject} {number} waters plants and restores itself.",
}


class Edition(StrEnum):
    """Three pages stay as they are, four change, one goes and one comes."""

    OLD = "old"
    NEW = "new"

    @property
    def other(self) -> "Edition":
        return Edition.NEW if self is Edition.OLD else Edition.OLD

    def write(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for number, subject in enumerate(_SUBJECTS):
            (folder / f"{subject}.md").write_text(self._page(subject, number))
        (folder / f"only-{self}.md").write_text(self._page(f"only-{self}", 9))
        (folder / f"only-{self.other}.md").unlink(missing_ok=True)

    def _page(self, subject: str, number: int) -> str:
        made = _SENTENCES["old" if number < 4 else self].format(subject=subject, number=number)
        return (
            f"# The {subject}\n\nAll about the {subject}, which is number {number}.\n\n"
            f"## Details of the {subject}\n\n{made}\n\n"
            f"## Backup of the {subject}\n\nTo restore the {subject}, take copy {number}. {made}\n"
        )


@dataclass(frozen=True, slots=True)
class Hit:
    chunk_id: str
    text: str
    content_hash: str
    url: str
    breadcrumb: str
    position: int
    score: float

    def same(self, other: "Hit") -> bool:
        apart = abs(self.score - other.score)
        return replace(self, score=0) == replace(other, score=0) and apart <= SCORES_APART


Answer = tuple[Hit, ...]
"""By chunk id."""

Answers = dict[tuple[str, str], Answer]
"""By mode and question."""


def same_answer(one: Answer, other: Answer) -> bool:
    return len(one) == len(other) and all(map(Hit.same, one, other))


def answer_of(found: Any) -> Answer:
    """Out of the JSON of `surefind search --json` or of `POST /retrieve`."""
    names = [name for name in Hit.__slots__ if name != "score"]
    hits = [Hit(**{name: hit[name] for name in names}, score=hit["score"]) for hit in found["hits"]]
    return tuple(sorted(hits, key=lambda hit: hit.chunk_id))


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks a server, by a new connection each time: an old one may be closed between two cycles."""

    address: str

    def ask(self, mode: str, question: str) -> tuple[int, Any]:
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        with closing(connection):
            body = {"query": question, "mode": mode, "top_k": MANY, "collapse": "off"}
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/retrieve", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def all(self) -> Answers:
        found: Answers = {}
        for mode in MODES:
            for question in QUESTIONS:
                status, body = self.ask(mode, question)
                assert status == 200, body
                found[mode, question] = answer_of(body)
        return found


@dataclass(frozen=True, slots=True)
class Content:
    """Documents and chunks as JSON, without the moments they were made at; and the vectors."""

    pages: tuple[str, ...]
    vectors: np.ndarray[Any, np.dtype[np.float32]]

    @classmethod
    def of(cls, pages: list[MovedPage]) -> "Content":
        return cls(
            tuple(sorted(map(_as_text, pages))),
            np.concatenate([page.vectors for page in pages]),
        )

    def same(self, other: "Content") -> bool:
        return (
            self.pages == other.pages
            and self.vectors.shape == other.vectors.shape
            and bool(np.allclose(self.vectors, other.vectors, atol=NUMBERS_APART))
        )


def _as_text(page: MovedPage) -> str:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    records = [asdict(replace(record, created_at=moment)) for record in page.records]
    return json.dumps([asdict(page.document), records], default=str, sort_keys=True)


def stored(data: Path, **settings: Any) -> Content:
    """What the generation holds that readers see."""

    async def read() -> Content:
        application = Application(load(data_dir=data, **settings))
        try:
            manifest = await application.generations.one()
            stores = (application.parts.index, application.parts.catalogs)
            async with both_stores(manifest.ref, *stores) as (index, catalog):
                pages = [page async for page in pages_of(catalog, kept_in(index))]
            assert manifest.chunks == sum(len(page.records) for page in pages)
            assert manifest.documents == len(pages)
            return Content.of(pages)
        finally:
            await application.close()

    return asyncio.run(read())


def archived(path: Path) -> Content:
    from surefind.adapters.files.archive import Archive

    async def read() -> Content:
        return Content.of([page async for page in Archive(path).pages()])

    return asyncio.run(read())


@dataclass(frozen=True, slots=True)
class Reference:
    content: Content
    answers: Answers
