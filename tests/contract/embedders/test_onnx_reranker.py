"""Any cross-encoder in a folder: its scores are those of the reference, and others are refused."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from support.onnx_models import MAX_LENGTH, Encoder, tokenizer, write_model, write_tensors
from surefind.adapters.onnx.reranker import LazyReranker, OnnxReranker
from surefind.errors import InputError, RerankingError

QUERY = "what is the capital of france ?"
PASSAGES = ["bread", "how to install the program", "france " * 100, ""]


def logistic(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


def pair(query: str, passage: str) -> tuple[list[int], list[int]]:
    cutting = tokenizer()
    cutting.enable_truncation(max_length=MAX_LENGTH)
    encoding = cutting.encode(query, passage)
    return encoding.ids, encoding.type_ids


@pytest.mark.parametrize("kinds", [True, False], ids=["with token types", "without"])
async def test_a_score_is_the_logistic_of_the_logit(tmp_path: Path, kinds: bool) -> None:
    names = ("input_ids", "attention_mask", *(("token_type_ids",) if kinds else ()))
    encoder = Encoder(classes=1, inputs=names)
    reranker = OnnxReranker(write_model(tmp_path, encoder, None), threads=2)
    expected = [logistic(encoder.logits(*pair(QUERY, one))[0]) for one in PASSAGES]
    assert np.ptp(expected) > 1e-3
    assert await reranker.rerank(QUERY, PASSAGES) == pytest.approx(expected, abs=1e-5)
    await reranker.close()


async def test_two_classes_give_the_probability_of_the_second(tmp_path: Path) -> None:
    encoder = Encoder(classes=2)
    reranker = OnnxReranker(write_model(tmp_path, encoder, None))
    expected = []
    for passage in PASSAGES:
        powers = np.exp(encoder.logits(*pair(QUERY, passage)))
        expected.append(float(powers[1] / powers.sum()))
    assert await reranker.rerank(QUERY, PASSAGES) == pytest.approx(expected, abs=1e-5)
    await reranker.close()


async def test_a_head_in_modules_is_computed(tmp_path: Path) -> None:
    """An encoder whose classifier is pooling, a dense layer, normalization and another one."""
    chance = np.random.default_rng(5)
    encoder = Encoder()
    first = chance.normal(0, 0.4, (16, 16)).astype(np.float32)
    last = chance.normal(0, 0.4, (1, 16)).astype(np.float32)
    scale, shift = (chance.normal(0, 1, 16).astype(np.float32) for _ in range(2))
    folder = write_model(
        tmp_path,
        encoder,
        "cls",
        modules=("Dense", "LayerNorm", "Dense"),
        configs={
            "2_Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
            "4_Dense/config.json": {"activation_function": "torch.nn.modules.linear.Identity"},
        },
    )
    write_tensors(folder / "2_Dense/model.safetensors", {"linear.weight": first})
    write_tensors(
        folder / "3_LayerNorm/model.safetensors", {"norm.weight": scale, "norm.bias": shift}
    )
    write_tensors(folder / "4_Dense/model.safetensors", {"linear.weight": last})
    reranker = OnnxReranker(folder)
    expected = []
    for passage in PASSAGES:
        dense = np.tanh(first @ encoder.hidden(*pair(QUERY, passage))[0])
        normed = (dense - dense.mean()) / np.sqrt(dense.var() + 1e-5) * scale + shift
        expected.append(logistic(float((last @ normed)[0])))
    assert await reranker.rerank(QUERY, PASSAGES) == pytest.approx(expected, abs=1e-5)
    await reranker.close()


async def test_a_lazy_reranker_is_loaded_once_and_only_when_needed(tmp_path: Path) -> None:
    loaded: list[OnnxReranker] = []

    def load() -> OnnxReranker:
        loaded.append(OnnxReranker(write_model(tmp_path, Encoder(classes=1), None)))
        return loaded[-1]

    reranker = LazyReranker("acme/tiny", load)
    assert reranker.name == "onnx/acme/tiny"
    await reranker.close()
    assert not loaded
    first = await reranker.rerank(QUERY, PASSAGES)
    assert await reranker.rerank(QUERY, PASSAGES) == first
    assert len(loaded) == 1
    assert reranker.name == f"onnx/{tmp_path.name}"
    await reranker.close()


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (Encoder(), "not one score; set rerank_model to a reranker"),
        (Encoder(classes=3), "not one score; set rerank_model to a reranker"),
        (Encoder(classes=1, vocabulary=20), "does not fit onnx/model.onnx"),
    ],
)
def test_an_object_without_the_methods_of_a_reranker_is_refused(
    tmp_path: Path, encoder: Encoder, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        OnnxReranker(write_model(tmp_path, encoder, None))


def test_a_damaged_download_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, Encoder(classes=1), None)
    record = {"model": "acme/tiny", "files": {"tokenizer.json": "0" * 64}}
    (folder / "surefind-model.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="surefind model fetch acme/tiny"):
        OnnxReranker(folder)


async def test_scores_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    folder = write_model(tmp_path, Encoder(classes=1), None)
    path = str(folder / "onnx/model.onnx")
    made = onnx.load(path)
    for node in made.graph.node:
        if node.op_type == "Tanh":
            node.op_type = "Log"
    onnx.save(made, path)
    reranker = OnnxReranker(folder)
    with pytest.raises(RerankingError, match="returned a score that is not finite"):
        await reranker.rerank(QUERY, PASSAGES)
    await reranker.close()
