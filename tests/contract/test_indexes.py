"""What every vector index promises."""

import os
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from fakes import NOW, MemoryIndexStore, WordEmbedder, record, word_terms
from surefind.adapters.layout import DataFolder
from surefind.adapters.qdrant_edge import EdgeIndexStore
from surefind.errors import StoreError
from surefind.model import (
    AnyOf,
    Attribute,
    Between,
    Condition,
    GenerationRef,
    Ranking,
    Terms,
    Under,
)
from surefind.ports import DenseProbe, IndexEntry, IndexStore, TermProbe, VectorIndex
from surefind.services.filtering import describe, failing, meets

ONE, TWO = GenerationRef("docs", 1), GenerationRef("docs", 2)
DIMENSIONS = 32
NOTHING = Ranking([], [])
TEXTS = [
    "install the program on linux",
    "install the program on windows",
    "uninstall everything again",
    "search for passages with words",
    "cats sleep in the sunshine",
]


def entries(texts: list[str], first: int = 0) -> list[IndexEntry]:
    embedder = WordEmbedder(DIMENSIONS)
    return [
        IndexEntry(record(number, text), embedder._embed(text), word_terms(text))
        for number, text in enumerate(texts, start=first)
    ]


async def build(
    store: IndexStore,
    ref: GenerationRef,
    content: list[IndexEntry],
    copy_of: GenerationRef | None = None,
) -> int:
    writer = await store.create(ref, DIMENSIONS, copy_of)
    if content:
        await writer.upsert(content)
    return await writer.finish()


CONDITIONS: list[Condition] = [
    AnyOf("version", ("1.0",)),
    AnyOf("version", ("1.0", "2.0")),
    AnyOf("version", ("2.0",), exclude=True),
    AnyOf("locale", ("",)),
    AnyOf("source", ("other",)),
    AnyOf("has_code", (True,)),
    AnyOf("has_code", (False,)),
    AnyOf("has_code", (True,), exclude=True),
    AnyOf("position", (3,)),
    AnyOf("position", (3, 5)),
    AnyOf("title", ('Größe "5"',)),
    AnyOf("tags", ("odd",)),
    AnyOf("tags", ("odd", "third")),
    AnyOf("tags", ("third",), exclude=True),
    AnyOf("rating", (2.5,)),
    AnyOf("rating", ("high", 4)),
    AnyOf("hidden", (True,)),
    AnyOf("last_update.author", ("Ann",)),
    Between("position", gte=4.0),
    Between("position", gt=4.0, lte=7.0),
    Between("rating", lt=3.0),
    Between("created_at", gte=NOW + timedelta(days=3)),
    Between("date", gt=datetime(2026, 1, 4, tzinfo=UTC), lt=datetime(2026, 1, 8, tzinfo=UTC)),
    Under("source_path", "docs/guide"),
    Under("source_path", "other"),
    Under("url", "https://docs.example.com/en"),
]


def various() -> list[IndexEntry]:
    """Twelve chunks that differ in whatever can be filtered by."""
    made = []
    for number, entry in enumerate(entries([f"word {number}" for number in range(12)])):
        folder = ("docs/guide", "docs/guidelines", "other")[number % 3]
        chunk = replace(
            entry.record.chunk, source_path=f"{folder}/{number}.md", has_code=number % 4 == 0
        )
        attributes: dict[str, Attribute] = {
            "tags": tuple(
                tag for tag, fits in (("odd", number % 2), ("third", number % 3 == 0)) if fits
            ),
            "date": f"2026-01-{number + 1:02}",
            "hidden": number % 5 == 0,
            "last_update.author": "Ann" if number < 4 else "Bob",
            "rating": "high" if number == 11 else number / 2 if number % 2 else number,
        }
        shown = replace(
            entry.record,
            chunk=chunk,
            url=f"https://docs.example.com/{('en', 'english', 'fr')[number % 3]}/{number}",
            title='Größe "5"' if number == 5 else "Page",
            version=("1.0", "2.0", "")[number % 3],
            locale="fr" if number == 7 else "",
            created_at=NOW + timedelta(days=number),
            attributes=attributes,
        )
        made.append(replace(entry, record=shown))
    return made


class IndexContract:
    @pytest.fixture
    def store(self) -> IndexStore:
        raise NotImplementedError

    @pytest.fixture
    async def index(self, store: IndexStore) -> AsyncIterator[VectorIndex]:
        assert await build(store, ONE, entries(TEXTS)) == len(TEXTS)
        index = await store.open(ONE)
        yield index
        await index.close()

    async def test_the_nearest_comes_first_with_its_cosine(self, index: VectorIndex) -> None:
        query = WordEmbedder(DIMENSIONS)._embed("install the program on linux")
        [answer] = await index.probe([DenseProbe(query, 3)])
        assert len(answer.points) == len(answer.scores) == 3
        assert answer.points[0] == record(0).chunk.point_id
        assert answer.scores[0] == pytest.approx(1.0, abs=1e-5)
        assert answer.scores == sorted(answer.scores, reverse=True)

    async def test_scores_are_those_of_an_exact_index(self, index: VectorIndex) -> None:
        """Cosine and BM25, over the whole and among a few, equal a plain computation of them."""
        exact_store = MemoryIndexStore()
        await build(exact_store, ONE, entries(TEXTS))
        exact = await exact_store.open(ONE)
        vector = WordEmbedder(DIMENSIONS)._embed("install passages on the sunshine")
        terms = word_terms("install the passages on the sunshine the")
        among = frozenset(record(number).chunk.point_id for number in (1, 3, 4))
        probes: list[DenseProbe | TermProbe] = [
            DenseProbe(vector, 5),
            TermProbe(terms, 5),
            DenseProbe(vector, 3, among),
            TermProbe(terms, 3, among),
        ]
        for got, wanted in zip(await index.probe(probes), await exact.probe(probes), strict=True):
            assert got.points == wanted.points
            assert got.scores == pytest.approx(wanted.scores, abs=1e-4)

    async def test_words_that_do_not_occur_find_nothing(self, index: VectorIndex) -> None:
        nowhere, nothing = word_terms("zebra"), Terms((), ())
        answers = await index.probe([TermProbe(nowhere, 5), TermProbe(nothing, 5)])
        assert answers == [NOTHING, NOTHING]

    async def test_among_nobody_is_nobody(self, index: VectorIndex) -> None:
        vector = WordEmbedder(DIMENSIONS)._embed("install")
        terms = word_terms("install")
        probes: list[DenseProbe | TermProbe] = [
            DenseProbe(vector, 0, frozenset()),
            TermProbe(terms, 0, frozenset()),
        ]
        assert await index.probe(probes) == [NOTHING, NOTHING]

    async def test_ties_come_in_the_order_of_the_point_ids(self, store: IndexStore) -> None:
        same = entries(["the very same words"] * 6)
        await build(store, ONE, same)
        index = await store.open(ONE)
        probes: list[DenseProbe | TermProbe] = [
            DenseProbe(same[0].vector, 6),
            TermProbe(same[0].terms, 6),
        ]
        for answer in await index.probe(probes):
            ids = [point.int for point in answer.points]
            assert ids == sorted(ids)
        await index.close()

    async def test_vectors_come_in_the_order_asked_for(self, index: VectorIndex) -> None:
        wanted = [record(number).chunk.point_id for number in (3, 0)]
        rows = await index.vectors(wanted)
        embedder = WordEmbedder(DIMENSIONS)
        assert rows == pytest.approx(
            np.stack([embedder._embed(TEXTS[3]), embedder._embed(TEXTS[0])]), abs=1e-6
        )
        with pytest.raises(StoreError, match="no point"):
            await index.vectors([*wanted, uuid4()])

    @pytest.mark.parametrize("where", CONDITIONS, ids=describe)
    async def test_a_filter_keeps_exactly_what_meets_it(
        self, store: IndexStore, where: Condition
    ) -> None:
        """Each condition against a plain reading of it, in both legs."""
        kept = various()
        await build(store, ONE, kept)
        index = await store.open(ONE)
        vector, terms = kept[0].vector, word_terms("word")
        dense, lexical = await index.probe(
            [DenseProbe(vector, 50, where=(where,)), TermProbe(terms, 50, where=(where,))]
        )
        wanted = {e.record.chunk.point_id for e in kept if meets(e.record, where)}
        assert 0 < len(wanted) < len(kept)
        assert set(dense.points) == set(lexical.points) == wanted
        await index.close()

    async def test_filters_hold_together_and_within_a_choice(self, store: IndexStore) -> None:
        kept = various()
        await build(store, ONE, kept)
        index = await store.open(ONE)
        vector = kept[0].vector
        where = (AnyOf("version", ("1.0", "2.0")), Between("position", gte=2.0, lt=9.0))
        among = frozenset(e.record.chunk.point_id for e in kept[:6])
        both, chosen, exact = await index.probe(
            [
                DenseProbe(vector, 50, where=where),
                DenseProbe(vector, 50, among, where),
                DenseProbe(vector, 50, where=where, exact=True),
            ]
        )
        wanted = {e.record.chunk.point_id for e in kept if not failing(e.record, where)}
        assert set(both.points) == set(exact.points) == wanted
        assert set(chosen.points) == wanted & among
        await index.close()

    async def test_payloads_give_back_what_was_written(self, index: VectorIndex) -> None:
        wanted = [record(1).chunk.point_id, record(3).chunk.point_id]
        payloads = await index.payloads([*wanted, uuid4()])
        assert payloads == {
            point: replace(record(number, TEXTS[number]), term_count=0)
            for point, number in zip(wanted, (1, 3), strict=True)
        }

    async def test_a_copy_takes_changes_and_the_original_does_not(self, store: IndexStore) -> None:
        original = await store.create(ONE, DIMENSIONS, None)
        for entry in entries(TEXTS) * 3:  # more operations than the copy will see
            await original.upsert([entry])
        await original.finish()
        writer = await store.create(TWO, DIMENSIONS, ONE)
        await writer.upsert(entries(["dogs run in the rain"], first=4))
        await writer.delete([record(0).chunk.point_id, record(1).chunk.point_id])
        await writer.upsert(entries(["a passage that is new"], first=9))
        assert await writer.finish() == 4
        old, new = await store.open(ONE), await store.open(TWO)
        assert (await old.count(), await new.count()) == (5, 4)
        vector = WordEmbedder(DIMENSIONS)._embed("dogs run in the rain")
        [in_old] = await old.probe([DenseProbe(vector, 1)])
        [in_new] = await new.probe([DenseProbe(vector, 1)])
        assert in_new.scores[0] == pytest.approx(1.0, abs=1e-5)
        assert in_old.scores[0] < 0.9
        await old.close()
        await new.close()

    async def test_readers_keep_reading_what_is_dropped(self, store: IndexStore) -> None:
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        await store.drop(ONE)
        vector = WordEmbedder(DIMENSIONS)._embed(TEXTS[4])
        [answer] = await index.probe([DenseProbe(vector, 1)])
        assert answer.points[0] == record(4).chunk.point_id
        await index.close()
        with pytest.raises(StoreError):
            await store.open(ONE)

    async def test_dropping_what_is_not_there_is_fine(self, store: IndexStore) -> None:
        await store.drop(TWO)
        with pytest.raises(StoreError):
            await store.open(TWO)

    async def test_an_empty_index_finds_nothing(self, store: IndexStore) -> None:
        assert await build(store, ONE, []) == 0
        index = await store.open(ONE)
        vector = WordEmbedder(DIMENSIONS)._embed("install")
        terms = word_terms("install")
        assert await index.probe([DenseProbe(vector, 3), TermProbe(terms, 3)]) == [NOTHING, NOTHING]
        assert await index.count() == 0
        await index.close()

    @pytest.mark.parametrize(
        "bad",
        [
            np.ones(DIMENSIONS + 1, dtype=np.float32),
            np.full(DIMENSIONS, np.nan, dtype=np.float32),
            np.full(DIMENSIONS, np.inf, dtype=np.float32),
        ],
        ids=["size", "nan", "infinite"],
    )
    async def test_a_bad_vector_is_refused_and_nothing_of_its_batch_is_kept(
        self, store: IndexStore, bad: np.ndarray
    ) -> None:
        writer = await store.create(ONE, DIMENSIONS, None)
        good = entries(TEXTS)
        await writer.upsert(good[:1])
        with pytest.raises(StoreError, match="chunk-2"):
            await writer.upsert([good[1], replace(good[2], vector=bad)])
        assert await writer.finish() == 1

    async def test_an_abandoned_index_can_be_dropped(self, store: IndexStore) -> None:
        writer = await store.create(ONE, DIMENSIONS, None)
        await writer.upsert(entries(TEXTS))
        await writer.abandon()
        await store.drop(ONE)
        assert await build(store, ONE, entries(TEXTS[:2])) == 2


class TestMemoryIndex(IndexContract):
    @pytest.fixture
    def store(self) -> IndexStore:
        return MemoryIndexStore()


class TestEdge(IndexContract):
    @pytest.fixture
    def store(self, folder: DataFolder) -> IndexStore:
        return EdgeIndexStore(folder)

    async def test_many_readers_share_a_generation_and_leave_its_bytes_alone(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        files = sorted(p for p in folder.generation(ONE).rglob("*") if p.is_file())
        before = [path.read_bytes() for path in files]
        readers = [await store.open(ONE) for _ in range(3)]
        vector = WordEmbedder(DIMENSIONS)._embed(TEXTS[0])
        for reader in readers:
            [answer] = await reader.probe([DenseProbe(vector, 1)])
            assert answer.points[0] == record(0).chunk.point_id
        for reader in readers:
            await reader.close()
        assert sorted(p for p in folder.generation(ONE).rglob("*") if p.is_file()) == files
        assert [path.read_bytes() for path in files] == before
        assert not list((folder.root / "views").iterdir())

    @pytest.fixture
    def temporary(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> Path:
        """The temporary folder, to oneself."""
        place = tmp_path_factory.mktemp("temporary")
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        return place

    async def test_the_views_of_dead_readers_are_swept_and_those_of_living_ones_are_not(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        views = folder.root / "views"
        (views / "dead").mkdir(parents=True)
        (views / "dead.lock").touch()
        living = await store.open(ONE)
        assert not (views / "dead").exists()
        another = await store.open(ONE)
        assert len(list(views.glob("*.lock"))) == 2
        assert await living.count() == await another.count() == 5
        await living.close()
        await another.close()

    async def test_without_hard_links_a_reader_copies(
        self, store: IndexStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_args: object, **_options: object) -> None:
            raise OSError("no links here")

        await build(store, ONE, entries(TEXTS))
        monkeypatch.setattr("os.link", refuse)
        index = await store.open(ONE)
        assert await index.count() == 5
        await index.close()

    async def test_a_folder_that_may_only_be_read_is_read_through_a_temporary_one(
        self, store: IndexStore, folder: DataFolder, temporary: Path
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        (folder.root / "views").write_text("in the way: nothing can be made here")
        room = temporary / f"surefind-views-{os.getuid()}"
        room.mkdir(mode=0o700)
        (room / "dead").mkdir()
        (room / "dead.lock").touch()
        index = await store.open(ONE)
        assert await index.count() == 5
        assert not (room / "dead").exists(), "what a killed reader left"
        assert len(list(room.iterdir())) == 2, "a view and its lock"
        await index.close()
        assert list(room.iterdir()) == []

    @pytest.mark.parametrize("kind", ["open to all", "a link", "a file"])
    async def test_a_room_that_others_can_look_into_is_not_used(
        self, store: IndexStore, folder: DataFolder, temporary: Path, kind: str
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        (folder.root / "views").write_text("in the way")
        room, bait = temporary / f"surefind-views-{os.getuid()}", temporary / "bait"
        (bait / "dead").mkdir(parents=True)
        (bait / "dead.lock").touch()
        if kind == "a link":
            room.symlink_to(bait)
        elif kind == "a file":
            room.touch()
        else:
            room.mkdir()
            room.chmod(0o777)
        index = await store.open(ONE)
        assert await index.count() == 5
        await index.close()
        assert (bait / "dead").exists()
        assert not room.is_dir() or kind == "a link" or list(room.iterdir()) == []

    async def test_on_a_full_disk_searching_goes_on_elsewhere_or_says_why_not(
        self, store: IndexStore, folder: DataFolder, temporary: Path
    ) -> None:
        """The engine would be killed by a memory map that can't grow: so it is asked beforehand."""
        await build(store, ONE, entries(TEXTS))
        full = EdgeIndexStore(folder, free=lambda path: 0 if folder.root in path.parents else 2**40)
        index = await full.open(ONE)
        assert await index.count() == 5
        assert not list((folder.root / "views").iterdir())
        await index.close()
        with pytest.raises(StoreError, match="free some space"):
            await EdgeIndexStore(folder, free=lambda _: 0).open(ONE)

    async def test_a_disk_without_room_is_refused_beforehand(self, folder: DataFolder) -> None:
        store = EdgeIndexStore(folder, free=lambda _: 70 * 2**20)
        await store.require_room(points=1, dimensions=DIMENSIONS)
        with pytest.raises(StoreError, match="free some space"):
            await store.require_room(points=1000, dimensions=DIMENSIONS)

    async def test_a_damaged_index_is_a_store_error(
        self, store: IndexStore, folder: DataFolder
    ) -> None:
        await build(store, ONE, entries(TEXTS))
        for path in (folder.generation(ONE) / "index" / "segments").rglob("segment.json"):
            path.write_text("{")
        with pytest.raises(StoreError, match="vector index"):
            await store.open(ONE)
        assert not list((folder.root / "views").iterdir())

    async def test_a_strange_payload_is_a_store_error(
        self, store: IndexStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "surefind.adapters.qdrant_edge.to_payload", lambda _: {"heading_path": "text"}
        )
        await build(store, ONE, entries(TEXTS))
        index = await store.open(ONE)
        with pytest.raises(StoreError, match="payload"):
            await index.payloads([record(0).chunk.point_id])
        await index.close()

    async def test_enough_points_are_indexed_and_found(self, folder: DataFolder) -> None:
        """Past the engine's threshold a graph is built; what it finds is still right."""
        store = EdgeIndexStore(folder)
        generator = np.random.default_rng(1)
        vectors = generator.standard_normal((6000, 512)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        writer = await store.create(ONE, 512, None)
        terms = word_terms("word")
        for start in range(0, 6000, 500):
            await writer.upsert(
                [IndexEntry(record(n), vectors[n], terms) for n in range(start, start + 500)]
            )
        assert await writer.finish() == 6000
        index = await store.open(ONE)
        for number in (0, 1234, 5999):
            [answer] = await index.probe([DenseProbe(vectors[number], 1)])
            assert answer.points[0] == record(number).chunk.point_id
        await index.close()
