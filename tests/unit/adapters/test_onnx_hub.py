"""Models of the hub: downloaded once, verified, and nothing more than what is needed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.model_hub import COMMIT, ID, FakeHub, serving
from support.onnx_models import Encoder, write_model, write_tensors
from surefind.adapters.onnx.embedder import SETTING, OnnxEmbedder, OnnxOptions
from surefind.adapters.onnx.hub import Hub, fetch, is_cached, locate
from surefind.adapters.onnx.model_folder import RECORD
from surefind.adapters.onnx.recommended import EMBEDDERS, RERANKERS, facts_of
from surefind.errors import EmbeddingError, InputError


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    root = write_model(tmp_path / "origin", Encoder(), modules=("Dense",))
    write_tensors(root / "2_Dense/model.safetensors", {"linear.weight": Encoder().weights["key"]})
    for extra in ("model.safetensors", "pytorch_model.bin", "modeling_tiny.py", "README.md"):
        (root / extra).write_text("never needed")
    (root / "onnx/model_q4.onnx").write_text("another file")
    with serving(root) as running:
        yield running


def from_hub(hub: FakeHub, tmp_path: Path, file: str | None = None) -> Path:
    return locate(ID, file, Hub(tmp_path / "cache", print, hub.url), SETTING)


async def test_a_model_is_downloaded_once_with_what_it_needs(hub: FakeHub, tmp_path: Path) -> None:
    folder = from_hub(hub, tmp_path)
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert files == [
        "1_Pooling/config.json",
        "2_Dense/model.safetensors",
        "config.json",
        "modules.json",
        "onnx/model.onnx",
        "sentence_bert_config.json",
        RECORD,
        "tokenizer.json",
    ]
    embedder = OnnxEmbedder(folder, OnnxOptions(), print)
    assert embedder.fingerprint.model == ID
    await embedder.close()
    hub.asked.clear()
    assert from_hub(hub, tmp_path) == folder
    assert hub.asked == []


def test_a_copy_of_the_download_is_the_same_model(hub: FakeHub, tmp_path: Path) -> None:
    folder = from_hub(hub, tmp_path)
    moved = folder.rename(tmp_path / "elsewhere")
    assert locate(str(moved), None, Hub(tmp_path, print, hub.url), SETTING) == moved
    assert OnnxEmbedder(moved, OnnxOptions(), print).fingerprint.model == ID


def test_another_file_is_added_on_request(hub: FakeHub, tmp_path: Path) -> None:
    folder = from_hub(hub, tmp_path)
    from_hub(hub, tmp_path, "onnx/model_q4.onnx")
    assert (folder / "onnx/model_q4.onnx").read_text() == "another file"
    assert (folder / "onnx/model.onnx").is_file()
    with pytest.raises(InputError, match=r"acme/tiny has no onnx/x.onnx; set embed_file to one"):
        from_hub(hub, tmp_path, "onnx/x.onnx")


def test_damage_is_noticed_and_repaired_by_fetch(hub: FakeHub, tmp_path: Path) -> None:
    folder = from_hub(hub, tmp_path)
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode": "cls"}')
    OnnxEmbedder(folder, OnnxOptions(), print)  # a file that is read, not one that is hashed
    content = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").write_bytes(content + b" ")
    with pytest.raises(InputError, match="run `surefind model fetch acme/tiny` to download it"):
        OnnxEmbedder(folder, OnnxOptions(), print)
    fetch(ID, None, Hub(tmp_path / "cache", print, hub.url), SETTING)
    assert (folder / "tokenizer.json").read_bytes() == content
    assert "mean" in (folder / "1_Pooling/config.json").read_text()


def test_a_download_that_stops_is_resumed(hub: FakeHub, tmp_path: Path) -> None:
    path = f"/{ID}/resolve/{COMMIT}/onnx/model.onnx"
    hub.broken[path] = 500, b""
    with pytest.raises(EmbeddingError, match="could not be downloaded"):
        from_hub(hub, tmp_path)
    assert not is_cached(ID, tmp_path / "cache")
    hub.broken.clear()
    from_hub(hub, tmp_path)
    assert is_cached(ID, tmp_path / "cache")


@pytest.mark.parametrize("content", [b"short", b"x" * 10**6], ids=["other", "longer"])
def test_other_bytes_than_the_hub_promises_are_never_kept(
    hub: FakeHub, tmp_path: Path, content: bytes
) -> None:
    hub.broken[f"/{ID}/resolve/{COMMIT}/onnx/model.onnx"] = 200, content
    with pytest.raises(EmbeddingError, match=r"model.onnx (has an unexpected|is larger)"):
        from_hub(hub, tmp_path)
    assert not list((tmp_path / "cache").rglob("*.onnx*"))


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (f"/api/models/{ID}/revision/main", b""),
        (f"/api/models/{ID}/revision/main", b"[]"),
        (f"/api/models/{ID}/revision/main", b"{}"),
        (f"/api/models/{ID}/tree/{COMMIT}?recursive=true", b"\xff" * 9),
        (f"/api/models/{ID}/tree/{COMMIT}?recursive=true", b"[1]"),
        (f"/{ID}/resolve/{COMMIT}/modules.json", b"[1]"),
    ],
)
def test_a_hub_that_answers_nonsense_is_an_error(
    hub: FakeHub, tmp_path: Path, path: str, answer: bytes
) -> None:
    hub.broken[path] = 200, answer
    with pytest.raises(EmbeddingError, match="acme/tiny could not be downloaded"):
        from_hub(hub, tmp_path)


def test_an_answer_without_end_is_an_error(hub: FakeHub, tmp_path: Path) -> None:
    hub.broken[f"/api/models/{ID}/revision/main"] = 200, b" " * (16 * 2**20 + 1)
    with pytest.raises(EmbeddingError, match="the answer is too large"):
        from_hub(hub, tmp_path)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_model_that_is_not_public_is_the_callers_mistake(
    hub: FakeHub, tmp_path: Path, status: int
) -> None:
    hub.broken[f"/api/models/{ID}/revision/main"] = status, b""
    with pytest.raises(InputError, match=rf"has no public model acme/tiny at main \({status}\)"):
        from_hub(hub, tmp_path)


def test_an_unreachable_hub_says_how_to_do_without(tmp_path: Path) -> None:
    hub = Hub(tmp_path, print, "http://127.0.0.1:9")
    with pytest.raises(EmbeddingError, match=r"refused.*copy the folder .* set embed_model to"):
        locate("acme/tiny@v2", None, hub, SETTING)


def test_a_cache_that_can_not_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(EmbeddingError, match="SUREFIND_CACHE_DIR"):
        locate(ID, None, Hub(tmp_path, print, "http://127.0.0.1:9"), SETTING)


@pytest.mark.parametrize("model", ["", "tiny", "./models/tiny", "~/tiny", "/a/b", "a/b/c", "a/b@"])
def test_what_is_neither_folder_nor_id_is_refused(tmp_path: Path, model: str) -> None:
    hub = Hub(tmp_path, print, "http://127.0.0.1:9")
    with pytest.raises(InputError, match="neither a folder nor the id of a model"):
        locate(model, None, hub, SETTING)


def test_recommended_models_have_sources() -> None:
    models = (*EMBEDDERS, *RERANKERS)
    assert len({model.id for model in models}) == len(models)
    for model in models:
        assert facts_of(f"{model.id}@main") is model
        if model.score is not None:
            assert 0 < model.score.value < 1
            assert model.score.source.startswith("https://")
    assert facts_of("acme/unknown") is None
