"""Models on this machine, from the command line."""

import json
from pathlib import Path

import pytest

from support.commands import surefind
from support.embedding_service import KEY, Trouble, serve
from support.model_hub import ID, serving
from support.onnx_models import Encoder, write_model

LONG = {"sentence_bert_config.json": {"max_seq_length": 512}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "install.md").write_text("# Install\n\nHow to install the program.\n")
    (docs / "cats.md").write_text("# Cats\n\nCats sleep in sunshine.\n")
    write_model(tmp_path / "model", Encoder(), configs=LONG)
    return tmp_path


def test_a_collection_is_built_and_searched_with_a_folder(project: Path) -> None:
    chosen = {"SUREFIND_EMBEDDER": "onnx", "SUREFIND_EMBED_MODEL": "model"}
    done = surefind("ingest", "docs", cwd=project, **chosen)
    assert done.returncode == 0, done.stderr
    for mode in ("dense", "hybrid"):
        done = surefind(
            "search", "install program", "--mode", mode, "--json", cwd=project, **chosen
        )
        answer = json.loads(done.stdout)
        assert answer["hits"][0]["source_path"] == "docs/install.md", done.stderr
    manifest = project / ".surefind/collections/docs/0001/manifest.json"
    embedder = json.loads(manifest.read_text())["embedder"]
    assert (embedder["provider"], embedder["model"], embedder["dimensions"]) == (
        "onnx",
        "model",
        16,
    )
    write_model(project / "model", Encoder(seed=8), configs=LONG)
    done = surefind("search", "install", cwd=project, **chosen)
    assert done.returncode == 2
    assert "was built with onnx/model (16 dimensions" in done.stderr


def test_a_model_of_the_hub_is_fetched_and_then_used_without_it(project: Path) -> None:
    chosen = {
        "SUREFIND_EMBEDDER": "onnx",
        "SUREFIND_EMBED_MODEL": ID,
        "SUREFIND_CACHE_DIR": str(project / "cache"),
    }
    with serving(project / "model") as hub:
        done = surefind("model", "fetch", ID, cwd=project, SUREFIND_HUB_URL=hub.url,
                        SUREFIND_CACHE_DIR=str(project / "cache"))  # fmt: skip
        assert done.stdout.strip() == str(project / "cache/models/acme--tiny"), done.stderr
        assert f"downloading {ID}" in done.stderr
    for command in (("model", "fetch"), ("ingest", "docs"), ("search", "install")):
        done = surefind(*command, cwd=project, SUREFIND_HUB_URL="http://127.0.0.1:9", **chosen)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ({}, 2, "embed_model is not set"),
        ({"SUREFIND_EMBED_MODEL": "nowhere"}, 2, "neither a folder nor the id of a model"),
        ({"SUREFIND_EMBED_MODEL": "docs"}, 2, "has no .onnx file"),
        ({"SUREFIND_EMBED_MODEL": "acme/tiny"}, 4, "could not be downloaded from"),
        ({"SUREFIND_EMBED_MODEL": "model", "SUREFIND_EMBED_FILE": "x.onnx"}, 2, "has no x.onnx"),
        ({"SUREFIND_EMBED_MODEL": "model", "SUREFIND_EMBED_DIMENSIONS": "99"}, 2, "have 16; lower"),
    ],
)
def test_a_model_that_can_not_be_used_is_refused_before_anything_is_built(
    project: Path, settings: dict[str, str], code: int, message: str
) -> None:
    settings |= {"SUREFIND_EMBEDDER": "onnx", "SUREFIND_HUB_URL": "http://127.0.0.1:9"}
    cache = {"SUREFIND_CACHE_DIR": str(project / "cache")}
    done = surefind("ingest", "docs", cwd=project, **settings, **cache)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert message in done.stderr
    assert not (project / ".surefind/collections/docs/CURRENT").exists()


def test_recommended_models_are_listed_with_their_sources(project: Path) -> None:
    done = surefind("model", "list", cwd=project)
    assert (
        "intfloat/multilingual-e5-small\n    embedder, 118 M parameters, 94 languages, MIT"
        in done.stdout
    )
    models = json.loads(surefind("model", "list", "--json", cwd=project).stdout)
    assert {model["id"] for model in models} > {"BAAI/bge-small-en-v1.5"}
    assert {model["kind"] for model in models} == {"embedder", "reranker"}
    assert not any(model["downloaded"] for model in models)


def test_a_search_is_reranked_by_a_folder_or_by_a_service(project: Path) -> None:
    write_model(project / "cross", Encoder(classes=1), None, configs=LONG)
    assert surefind("ingest", "docs", cwd=project).returncode == 0
    with serve() as service:
        for chosen in (
            {"SUREFIND_RERANKER": "onnx", "SUREFIND_RERANK_MODEL": "cross"},
            {
                "SUREFIND_RERANKER": "http",
                "SUREFIND_RERANK_URL": service.url,
                "SUREFIND_RERANK_API_KEY": KEY,
            },
        ):
            done = surefind("search", "cats", "--rerank", "--explain", cwd=project, **chosen)
            assert done.stdout.count("reranked from rank") == 2, done.stderr
            slow = {**chosen, "SUREFIND_RERANK_BUDGET_MS": "1", "SUREFIND_RERANK_BATCH": "1"}
            service.always = Trouble(silent_s=1)
            done = surefind("search", "cats", "--rerank", cwd=project, **slow)
            assert "of 2 candidates within 1 ms" in done.stderr


@pytest.mark.parametrize(
    ("settings", "code", "message"),
    [
        ({"SUREFIND_RERANKER": "onnx"}, 2, "rerank_model is not set"),
        ({"SUREFIND_RERANKER": "http"}, 2, "rerank_url is not set"),
        ({"SUREFIND_RERANKER": "onnx", "SUREFIND_RERANK_MODEL": "model"}, 2, "not one score"),
        ({"SUREFIND_RERANKER": "onnx", "SUREFIND_RERANK_MODEL": "acme/x"}, 4, "could not be down"),
        (
            {"SUREFIND_RERANKER": "http", "SUREFIND_RERANK_URL": "http://127.0.0.1:9"},
            4,
            "the connection failed",
        ),
    ],
)
def test_a_reranker_that_can_not_be_used_fails_searches_that_need_it(
    project: Path, settings: dict[str, str], code: int, message: str
) -> None:
    settings |= {
        "SUREFIND_HUB_URL": "http://127.0.0.1:9",
        "SUREFIND_EMBEDDER": "onnx",
        "SUREFIND_EMBED_MODEL": "model",
        "SUREFIND_CACHE_DIR": str(project / "cache"),
    }
    surefind("ingest", "docs", cwd=project, **settings)
    done = surefind("search", "cats", "--rerank", cwd=project, **settings)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert message in done.stderr
