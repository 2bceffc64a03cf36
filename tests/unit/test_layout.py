"""The data folder: locks, and what the operating system may refuse."""

import errno
import os
from pathlib import Path

import pytest

from surefind.adapters.layout import DataFolder, copy_tree, storing
from surefind.adapters.payload import from_payload, to_payload
from surefind.bootstrap import Application
from surefind.errors import StoreBusy, StoreError
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


def test_a_folder_that_may_only_be_read_is_said_before_anything_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(StoreError, match="can't be written"):
        folder.prepare()
    with Application(load(data_dir=tmp_path / "data")).serving():
        assert not (tmp_path / "data" / "serve.lock").exists()


def test_a_lock_that_can_not_be_made_is_a_store_error(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    (tmp_path / "data" / "ingest.lock").mkdir()
    with pytest.raises(StoreError, match="can't be locked"), folder.held("ingest"):
        pytest.fail("it was locked")


def test_a_holder_that_has_not_said_who_it_is_yet_is_starting(tmp_path: Path) -> None:
    one, other = DataFolder(tmp_path / "data"), DataFolder(tmp_path / "data")
    with one.held("ingest"):
        (tmp_path / "data" / "ingest.holder").unlink()
        with pytest.raises(StoreBusy, match=r"\(starting\)"), other.held("ingest"):
            pytest.fail("two at once")


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
    from fakes import record

    payload = to_payload(record(1))
    for name, bad in (("position", "first"), ("heading_path", "a > b"), ("created_at", "today")):
        with pytest.raises(StoreError, match="payload"):
            from_payload({**payload, name: bad})
    with pytest.raises(StoreError, match="payload"):
        from_payload({})
