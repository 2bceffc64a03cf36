"""On a full disk, leftovers are removed first, and the error says what uses the space."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from surefind.adapters.files.archive import Archive, write_archive
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.qdrant.edge import EdgeIndexStore
from surefind.bootstrap import Application, IngestRequest
from surefind.errors import InputError, StoreError, StoreFull
from surefind.settings import load
from unit.installation import PAGES, Installation

ROOMY = 2**40


def quiet(_: object) -> None:
    pass


@pytest.fixture
async def home(tmp_path: Path) -> Installation:
    home = Installation(tmp_path / "data")
    await home.ingest(PAGES)
    await home.close()
    return home


@pytest.fixture
async def archive(tmp_path: Path, home: Installation) -> Path:
    application = Application(load(data_dir=home.root))
    await application.transfer.export_archive(tmp_path / "x.surefind", None, quiet)
    await application.close()
    return tmp_path / "x.surefind"


def unfinished(root: Path) -> Path:
    return root / "collections" / "docs" / "0002"


def unfinished_elsewhere(root: Path) -> Path:
    return root / "collections" / "other" / "0001"


def dead_view(root: Path) -> Path:
    """Its reader was killed: the lock beside it is free."""
    FileLock(root / "views" / "dead.lock").acquire()
    return root / "views" / "dead"


@pytest.mark.parametrize("left", [unfinished, unfinished_elsewhere, dead_view])
@pytest.mark.parametrize("command", ["ingest", "import"])
async def test_leftovers_of_killed_runs_are_removed_before_space_is_checked(
    home: Installation, archive: Path, left: Callable[[Path], Path], command: str
) -> None:
    """It is all that fills this disk."""
    folder = left(home.root)
    (folder / "index").mkdir(parents=True)
    (folder / "index" / "half").touch()
    (archive.parent / "docs").mkdir()
    (archive.parent / "docs" / "new.md").write_text("# New\n\npage")
    half = folder / "index" / "half"
    application = Application(
        load(data_dir=home.root, collection="docs" if left is unfinished else "new"),
        free_bytes=lambda _: 0 if half.exists() else ROOMY,
    )
    if command == "ingest":
        report = await application.ingesting.ingest(
            IngestRequest(paths=[archive.parent / "docs"], rebuild=True, allow_shrink=True)
        )
        assert report.published
    else:
        manifest = await application.transfer.import_archive(
            archive, application.settings.collection, quiet
        )
        assert manifest.documents == 3
    assert not half.exists()
    await application.close()


async def test_a_full_disk_is_reported_with_what_uses_its_space(
    home: Installation,
) -> None:
    for number in range(2):
        await home.ingest({**PAGES, "new.md": f"version {number}"})
    places = ("collections/docs/0001", "collections/docs/0002", "cache", "views/alive")
    for place in (*places, "collections/docs/0003", "collections/docs/0004"):
        (home.root / place).mkdir(parents=True, exist_ok=True)
        (home.root / place / "blob").write_bytes(b"x" * 3 * 2**20)
    (home.root / "collections/docs/0004/catalog.sqlite").touch()  # it is being built
    alive = FileLock(home.root / "views" / "alive.lock", thread_local=False)
    with alive, pytest.raises(StoreFull) as refusal:
        await EdgeIndexStore(DataFolder(home.root), free=lambda _: 2**20).require_room(1000, 384)
    told = str(refusal.value)
    assert "the disk has 1 MB free, but about 76 MB are needed. Nothing was changed" in told
    assert "MB of old generations of docs (1, 2); `surefind generations prune --keep 1" in told
    assert f"3 MB of the embedding cache ({home.root / 'cache'})" in told
    assert "3 MB of removed generations that a running server still uses" in told
    assert "MB of current generations" in told


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What is written beyond it fails, as on a full disk, and also for root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names(folder: Path) -> set[str]:
    """But for the cache, which keeps what was embedded."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != "cache"}


@pytest.mark.parametrize("size", [4096, 60_000], ids=["the catalog", "the index"])
async def test_a_disk_that_is_full_on_the_way_loses_nothing(
    tmp_path: Path, home: Installation, archive: Path, size: int
) -> None:
    application, before = Application(load(data_dir=home.root)), names(home.root)
    with files_of_at_most(size), pytest.raises(StoreError, match=str(home.root)):
        await application.transfer.import_archive(archive, None, quiet)
    with files_of_at_most(size), pytest.raises(StoreError, match=str(home.root)):
        await home.ingest({**PAGES, "new.md": "# New\n\npage"}, rebuild=True)
    assert names(home.root) <= before
    assert await application.generations.current() == 1
    manifest = await application.transfer.import_archive(archive, None, quiet)
    assert manifest.number == 2
    report = await home.ingest({**PAGES, "new.md": "# New\n\npage"})
    assert (report.published, report.documents) == (True, 4)
    assert len(await home.texts()) == 4
    await application.close()
    await home.close()


async def test_an_export_onto_a_full_disk_leaves_what_was_there(
    tmp_path: Path, archive: Path
) -> None:
    opened, before = Archive(archive), archive.read_bytes()
    for path in (archive, tmp_path / "new.surefind"):
        with files_of_at_most(1000), pytest.raises(StoreError, match="can't be written"):
            await write_archive(path, opened.manifest, opened.pages(), quiet)
    assert archive.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "x.surefind"]


async def test_old_generations_are_removed_when_wanted(home: Installation) -> None:
    for number in range(4):
        await home.ingest({**PAGES, "new.md": f"version {number}"})
    await home.generations.rollback(4)
    assert await home.generations.prune(keep=3) == (1, 2)
    assert await home.generations.prune(keep=3) == ()
    assert await home.generations.prune(keep=1) == (3, 5)
    assert await home.generations.current() == 4
    assert len(await home.texts()) == 4
    with pytest.raises(InputError, match="1 or more"):
        await home.generations.prune(keep=0)
    await home.close()
