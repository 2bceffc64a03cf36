"""One damaged byte or file anywhere in a store: readers get the same answers or a clean error, the
doctor finds it, and a repair or the next ingest heals it."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.damage import Damage, damages, exchanges, files_of, losses
from support.fakes import WordEmbedder
from support.homes import copy_home
from surefind.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from surefind.errors import SurefindError
from surefind.model import Mode
from surefind.services.encoding.cached_embedder import CachedEmbedder
from surefind.services.maintenance.doctor_examination import Examiner
from surefind.services.maintenance.doctor_findings import CheckSeverity, Examination
from surefind.services.maintenance.doctor_repair import Repairer
from unit.installation import PAGES, Installation

pytestmark = pytest.mark.thorough

MORE = {**PAGES, "guide/c.md": "# Third\n\nmore words about the installer\n\n## Deep\n\nend"}
QUESTIONS = ("run the installer", "words", "welcome")
CACHE = "cache/embeddings.sqlite"
Answers = list[tuple[object, ...]]
_NEEDED_BYTES = 2**30


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In memory where there is room: the tests open and copy stores hundreds of times."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < _NEEDED_BYTES:
        yield tmp_path_factory.mktemp("damage")
        return
    with TemporaryDirectory(dir=memory, prefix="surefind-damage-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def pristine(workplace: Path) -> Path:
    return workplace / "pristine"


@pytest.fixture
async def store(pristine: Path, workplace: Path) -> AsyncIterator[Path]:
    """Two generations, the second one made from the first, and a cache."""
    if not pristine.exists():
        home = Installation(pristine)
        await home.ingest(PAGES)
        await home.ingest(MORE)
        await home.close()
    copy_home(pristine, workplace / "data")
    yield workplace / "data"
    shutil.rmtree(workplace / "data")


def restore(store: Path, pristine: Path) -> None:
    shutil.rmtree(store)
    copy_home(pristine, store)


async def answers(store: Path) -> Answers | SurefindError:
    """What a new reader finds; any other error than surefind's own fails the test."""
    home = Installation(store)
    found: Answers = []
    try:
        for question in QUESTIONS:
            for mode in Mode:
                result = await home.search(question, mode=mode)
                found += [
                    (hit.score, hit.similarity, hit.record.chunk, hit.record.url, hit.record.title)
                    for hit in result.hits
                ]
    except SurefindError as error:
        return error
    finally:
        await home.close()
    return found


async def embedder() -> CachedEmbedder:
    return CachedEmbedder(WordEmbedder(), None)


def cache_of(home: Installation) -> SqliteEmbeddingCache | None:
    path = home.root / CACHE
    return SqliteEmbeddingCache(path, print) if path.is_file() else None


def examiner(home: Installation) -> Examiner:
    return Examiner(
        home.index, home.catalogs, embedder, home.terms.name, cache=lambda: cache_of(home)
    )


def repairer(home: Installation) -> Repairer:
    return Repairer(home.index, home.catalogs, embedder, home.terms, "test", lambda: cache_of(home))


async def examined(store: Path) -> Examination:
    home = Installation(store)
    try:
        return await examiner(home).examine()
    finally:
        await home.close()


def described(examination: Examination) -> str:
    return "\n".join(
        finding.message
        for finding in examination.findings
        if finding.severity != CheckSeverity.FINE
    )


async def heal(store: Path, *, repair: bool) -> None:
    """As a user would: repair, and ingest the same sources; or just ingest them."""
    home = Installation(store)
    try:
        if repair:
            for one in (await examiner(home).examine()).repairs:
                await repairer(home).repair(one, lambda _: None)
        await home.ingest(MORE)
    finally:
        await home.close()


def one_loss_for_each_file(store: Path) -> Iterator[Damage]:
    """Missing, empty, cut, a folder: in turn."""
    kinds = cycle(range(4))
    every = list(losses(store / "collections"))
    for start in range(0, len(every), 4):
        yield every[start + next(kinds)]


async def check(damage: Damage, store: Path, expected: Answers) -> None:
    found = await answers(store)
    if isinstance(found, SurefindError):
        assert "`surefind " in str(found), f"{damage.describe()}: no next step in {found}"
    else:
        assert found == expected, f"{damage.describe()}: other answers"
    assert described(await examined(store)), f"{damage.describe()}: the doctor finds nothing"


async def test_flipped_bits_are_reported_or_invisible_and_the_doctor_finds_them(
    store: Path,
) -> None:
    expected = await answers(store)
    assert isinstance(expected, list)
    assert len(expected) > 20
    assert not described(await examined(store))
    for damage in damages(store / "collections", seed=13, per_file=1):
        damage.apply()
        await check(damage, store, expected)
        damage.undo()
    assert await answers(store) == expected, "the harness has put everything back"
    assert not described(await examined(store))


async def test_lost_files_are_reported_or_invisible_and_the_doctor_finds_them(store: Path) -> None:
    expected = await answers(store)
    assert isinstance(expected, list)
    for damage in one_loss_for_each_file(store):
        damage.apply()
        await check(damage, store, expected)
        damage.undo()


async def test_files_of_two_generations_that_were_exchanged_are_noticed(store: Path) -> None:
    expected = await answers(store)
    assert isinstance(expected, list)
    generations = store / "collections" / "docs"
    exchanged = list(exchanges(generations / "0001", generations / "0002"))
    assert {"catalog.sqlite", "manifest.json"} <= {damage.path.name for damage in exchanged}
    for damage in exchanged:
        damage.apply()
        await check(damage, store, expected)
        damage.undo()


@pytest.mark.parametrize("repair", [True, False])
async def test_a_repair_and_an_ingest_heal_whatever_is_damaged(
    store: Path, pristine: Path, *, repair: bool
) -> None:
    expected = await answers(store)
    assert isinstance(expected, list)
    current = store / "collections" / "docs" / "0002"
    flips = {flip.path.name: flip for flip in damages(current, seed=3, per_file=1)}
    lost = {loss.path.name: loss for loss in losses(current)}
    chosen: list[Damage] = [
        *(flips[name] for name in ("catalog.sqlite", "manifest.json", "chunk_0.mmap")),
        *(flips[name] for name in ("catalog.checksums", "index.checksums", "segment.json")),
        *(lost[name] for name in ("manifest.json", "page_0.dat")),
        *damages(current.parent, seed=2, per_file=1, but=("000*",)),
    ]
    for damage in chosen:
        damage.apply()
        await heal(store, repair=repair)
        found = await answers(store)
        assert found == expected, f"{damage.describe()}: {found}"
        assert (await examined(store)).sound, damage.describe()
        restore(store, pristine)


async def test_a_damaged_cache_gives_the_vectors_that_were_stored_or_none(store: Path) -> None:
    embedder = WordEmbedder()
    home = Installation(store)
    async with home.reader.lease() as generation:
        assert generation.catalog is not None
        passages = [record.chunk.passage async for record in generation.catalog.chunks()]
    await home.close()
    path, copy = store / CACHE, store / "cache" / "copy.sqlite"
    expected = await vectors(path, embedder, passages)
    assert expected.keys() == set(passages)
    missing = 0
    for damage in damages(store / "cache", seed=5, per_file=150):
        shutil.copyfile(path, copy)
        damage.apply()
        found = await vectors(path, embedder, passages)
        missing += found.keys() != expected.keys()
        assert all(found[one] == expected[one] for one in found), damage.describe()
        copy.replace(path)
    assert missing > 10


async def vectors(path: Path, embedder: WordEmbedder, passages: list[str]) -> dict[str, bytes]:
    cache = SqliteEmbeddingCache(path, lambda _: None)
    found = await cache.read(embedder.fingerprint, "passage", passages)
    await cache.close()
    return {passage: vector.tobytes() for passage, vector in found.items()}


async def test_undamaged_files_are_not_changed(store: Path) -> None:
    assert {path.name for path in files_of(store)} >= {
        "catalog.checksums",
        "catalog.sqlite",
        "CURRENT",
        "embeddings.sqlite",
        "index.checksums",
        "manifest.json",
    }
    assert not (await examined(store)).repairs
    home = Installation(store)
    report = await home.ingest(MORE)
    await home.close()
    assert (report.published, report.generation) == (False, 2)
