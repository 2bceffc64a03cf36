"""The harness that damages stores does what it says, and undoes it."""

from pathlib import Path

import pytest

from support.damage import damages, exchanges, losses


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "text").write_text("some words")
    (tmp_path / "one" / "byte").write_bytes(b"x")
    (tmp_path / "one" / "held.lock").write_text("held")
    (tmp_path / "one" / "empty").touch()
    with (tmp_path / "one" / "sparse").open("wb") as stream:
        stream.truncate(2**20)
        stream.seek(2**19)
        stream.write(b"data")
    return tmp_path / "one"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_flip_changes_one_bit_and_is_undone(folder: Path) -> None:
    before = contents(folder)
    touched = []
    for damage in damages(folder, seed=1, per_file=3):
        modified = damage.path.stat().st_mtime_ns
        damage.apply()
        after = contents(folder)
        [changed] = [path for path in before if before[path] != after[path]]
        assert changed == str(damage.path)
        assert damage.path.stat().st_mtime_ns == modified
        pairs = zip(before[changed], after[changed], strict=True)
        assert sum((a ^ b).bit_count() for a, b in pairs) == 1
        touched.append(damage.path.name)
        damage.undo()
        damage.undo()
        assert contents(folder) == before
    assert sorted(touched) == ["byte", *["sparse"] * 3, *["text"] * 3]


def test_flips_hit_what_is_stored_and_are_the_same_for_a_seed(folder: Path) -> None:
    flips = [(one.path, one.offset, one.bit) for one in damages(folder, seed=7)]
    assert flips == [(one.path, one.offset, one.bit) for one in damages(folder, seed=7)]
    assert flips != [(one.path, one.offset, one.bit) for one in damages(folder, seed=8)]
    block = 2**16
    sparse = [offset for path, offset, _ in flips if path.name == "sparse"]
    assert all(abs(offset - 2**19) < block for offset in sparse)


def test_lost_and_exchanged_files_come_back(folder: Path, tmp_path: Path) -> None:
    before = contents(folder)
    states = []
    for damage in losses(folder):
        damage.apply()
        if damage.path.name == "text":
            path = damage.path
            states.append(path.read_bytes() if path.is_file() else path.is_dir())
        damage.undo()
        damage.undo()
        assert contents(folder) == before, damage.describe()
    assert states == [False, b"", b"some ", True]
    other = tmp_path / "two"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "text").write_text("other words")
    (other / "byte").write_bytes(b"x")
    [exchange] = exchanges(folder, other)
    exchange.apply()
    assert (other / "deep" / "text").read_text() == "some words"
    assert (folder / "deep" / "text").read_text() == "other words"
    exchange.undo()
    assert contents(folder) == before
