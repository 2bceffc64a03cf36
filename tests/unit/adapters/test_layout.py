"""The data folder: locks, and what the operating system may refuse."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefind.adapters.files.data_folder import (
    DataFolder,
    copy_tree,
    replacing,
    storing,
    write_atomically,
)
from surefind.adapters.qdrant.edge import engine
from surefind.adapters.qdrant.payload import from_payload, to_payload
from surefind.bootstrap import Application
from surefind.errors import StoreBusy, StoreError, StoreFull
from surefind.settings import load


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EACCES, "use another --data-dir"),
        (errno.EROFS, "use another --data-dir"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_every_refusal_says_what_to_do(number: int, advice: str) -> None:
    with pytest.raises(StoreError, match=advice), storing(Path("data")):
        raise OSError(number, os.strerror(number))


def test_an_engine_without_room_says_what_to_do() -> None:
    with (
        pytest.raises(StoreFull, match="index: the disk is full; free some"),
        engine(Path("index")),
    ):
        raise RuntimeError("IO Error: failed to create directory: No space left on device")
    advice = "index failed: broken; check the free disk space"
    with pytest.raises(StoreError, match=advice), engine(Path("index")):
        raise RuntimeError("broken")


def test_a_folder_that_may_only_be_read_is_reported_before_anything_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(StoreError, match="is not writable"):
        folder.prepare()
    with Application(load(data_dir=tmp_path / "data")).serving.lock():
        assert not (tmp_path / "data" / "serve.lock").exists()


def test_a_lock_that_can_not_be_made_is_a_store_error(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    (tmp_path / "data" / "ingest.lock").mkdir()
    with pytest.raises(StoreError, match="Is a directory; check"), folder.held("ingest"):
        pytest.fail("it was locked")


def test_a_holder_that_has_not_said_who_it_is_yet_is_starting(tmp_path: Path) -> None:
    one, other = DataFolder(tmp_path / "data"), DataFolder(tmp_path / "data")
    with one.held("ingest"):
        (tmp_path / "data" / "ingest.holder").unlink()
        with pytest.raises(StoreBusy, match=r"\(starting\)"), other.held("ingest"):
            pytest.fail("two at once")


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_removes_its_part(
    tmp_path: Path,
) -> None:
    path = tmp_path / "CURRENT"
    write_atomically(path, "1\n")
    killed = (
        "import os, signal, sys; from pathlib import Path\n"
        "from surefind.adapters.files.data_folder import replacing\n"
        "with replacing(Path(sys.argv[1])) as stream:\n"
        "    stream.write(b'2'); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", killed, path], check=False).returncode == -9
    others = [tmp_path / ".CURRENT.swp", tmp_path / f".OTHER.{'0' * 32}.part"]
    for other in others:
        other.touch()
    assert path.read_text() == "1\n"
    assert len(list(tmp_path.iterdir())) == 4
    write_atomically(path, "3\n")
    assert path.read_text() == "3\n"
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_two_that_write_the_same_file_leave_one_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"first")
        write_atomically(path, "second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_can_not_be_written_whole_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fill_the_disk() -> None:
        with replacing(path) as stream:
            stream.write(b"new")
            raise OSError(errno.ENOSPC, "no more room")

    with pytest.raises(OSError, match="no more room"):
        fill_the_disk()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_copy_keeps_bytes_and_holes(tmp_path: Path) -> None:
    """A file of 8 MB with two islands of data takes next to no room, and neither does its copy."""
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    with (source / "inner" / "sparse").open("wb") as stream:
        stream.seek(2**20)
        stream.write(b"island")
        stream.seek(6 * 2**20)
        stream.write(b"x" * 2_500_000)
        stream.truncate(12 * 2**20)
    (source / "empty").touch()
    copy_tree(source, tmp_path / "copy")
    copied = tmp_path / "copy" / "inner" / "sparse"
    assert copied.read_bytes() == (source / "inner" / "sparse").read_bytes()
    assert (tmp_path / "copy" / "empty").read_bytes() == b""
    assert copied.stat().st_blocks * 512 < 6 * 2**20


def test_a_payload_that_is_not_ours_is_refused() -> None:
    from support.fakes import record

    payload = to_payload(record(1))
    for name, bad in (("position", "first"), ("heading_path", "a > b"), ("created_at", "today")):
        with pytest.raises(StoreError, match="payload"):
            from_payload({**payload, name: bad})
    with pytest.raises(StoreError, match="payload"):
        from_payload({})
