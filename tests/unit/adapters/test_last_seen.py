"""What readers go by while a catalog that is elsewhere is away."""

import asyncio
import shutil
from pathlib import Path

import pytest

from support.catalog_building import ONE, TWO, manifest
from support.fakes import MemoryCatalogStore
from surefind.adapters.files.data_folder import DataFolder
from surefind.adapters.files.last_seen import LastSeenCatalogs
from surefind.errors import StoreError
from surefind.model import GenerationRef, Manifest


class Remote(MemoryCatalogStore):
    """Away for every question, and counts them; `answering` keeps a question waiting."""

    questions = 0
    answering: asyncio.Event | None = None

    async def token(self, collection: str) -> object:
        self.questions += 1
        if self.answering is not None:
            await self.answering.wait()
        self._require_here()
        return await super().token(collection)

    async def current(self, collection: str) -> int | None:
        self._require_here()
        return await super().current(collection)

    async def manifest(self, ref: GenerationRef) -> Manifest:
        self._require_here()
        return await super().manifest(ref)

    def _require_here(self) -> None:
        if self.away:
            raise StoreError("the catalog is unavailable")


@pytest.fixture
def remote() -> Remote:
    remote = Remote(pointers={"docs": 1})
    remote.sealed = {ref: manifest(ref) for ref in (ONE, TWO)}
    return remote


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data" / "postgres" / "place")


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


async def test_an_open_door_stays_open_and_the_remote_is_asked_now_and_then(
    remote: Remote, folder: DataFolder, home: Path
) -> None:
    catalogs = LastSeenCatalogs(remote, folder, home, pause_s=600)
    assert await catalogs.token("docs") == 1
    remote.away = True
    assert [await catalogs.token("docs") for _ in range(5)] == [1] * 5
    assert remote.questions == 2


async def test_while_one_waits_for_an_answer_the_others_do_not(
    remote: Remote, folder: DataFolder, home: Path
) -> None:
    catalogs = LastSeenCatalogs(remote, folder, home)
    await catalogs.token("docs")
    remote.answering, remote.pointers["docs"] = asyncio.Event(), 2
    first = asyncio.create_task(catalogs.token("docs"))
    await asyncio.sleep(0)
    assert await catalogs.token("docs") == 1
    remote.answering.set()
    assert await first == 2


@pytest.mark.parametrize("pause_s", [0.0, 600.0])
async def test_the_next_process_finds_what_this_one_saw(
    remote: Remote, folder: DataFolder, home: Path, pause_s: float
) -> None:
    await LastSeenCatalogs(remote, folder, home).manifest(ONE)
    remote.away = True
    late = LastSeenCatalogs(remote, folder, home, pause_s)
    away = await late.token("docs")
    assert await late.current("docs") == 1
    assert await late.manifest(ONE) == manifest(ONE)
    with pytest.raises(StoreError):
        await late.manifest(TWO)
    remote.away = False
    if pause_s == 0:
        assert await late.token("docs") != away  # so that readers open what is current now


@pytest.mark.parametrize("damage", ["missing", "damaged", "no folder"])
async def test_what_was_never_seen_is_not_made_up(
    remote: Remote, folder: DataFolder, home: Path, damage: str
) -> None:
    await LastSeenCatalogs(remote, folder, home).manifest(ONE)
    path = folder.collection("docs") / "last-seen.json"
    path.unlink()
    if damage == "damaged":
        path.write_text("{")
    elif damage == "no folder":
        shutil.rmtree(home)
        await LastSeenCatalogs(remote, folder, home).manifest(ONE)
        assert not home.exists()
    remote.away = True
    catalogs = LastSeenCatalogs(remote, folder, home)
    for question in (catalogs.token("docs"), catalogs.current("docs"), catalogs.manifest(ONE)):
        with pytest.raises(StoreError, match="unavailable"):
            await question
