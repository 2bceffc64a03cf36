"""Any model in a folder: what its files say is what is computed, and wrong files are refused."""

import json
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from contract.embedders.test_embedders import EmbedderContract
from support.onnx_models import (
    MAX_LENGTH,
    Encoder,
    Floats,
    tokenizer,
    write_model,
    write_tensors,
)
from surefind.adapters.onnx.embedder import OnnxEmbedder, OnnxOptions, Prompts
from surefind.errors import EmbeddingError, InputError
from surefind.ports import Embedder

ENCODER = Encoder()
TEXTS = ("how to install the program", "bread", "what is the capital of france ?", "word " * 200)
UNSTATED: dict[str, object] = {"sentence_bert_config.json": {}}
REFERENCE: dict[str, Callable[[Floats], Floats]] = {
    "cls": lambda hidden: hidden[0],
    "max": lambda hidden: hidden.max(axis=0),
    "mean": lambda hidden: hidden.mean(axis=0),
    "mean_sqrt_len_tokens": lambda hidden: hidden.sum(axis=0) / np.sqrt(len(hidden)),
    "weightedmean": lambda hidden: np.average(
        hidden, axis=0, weights=np.arange(1, len(hidden) + 1)
    ),
    "lasttoken": lambda hidden: hidden[-1],
}


def opened(folder: Path, **options: Any) -> OnnxEmbedder:
    return OnnxEmbedder(folder, OnnxOptions(**options), print, threads=2)


def ids_of(text: str, most: int = MAX_LENGTH) -> list[int]:
    ids = tokenizer().encode(text).ids
    return [*ids[: most - 1], ids[-1]] if len(ids) > most else list(ids)


def unit(vector: Floats) -> Floats:
    scaled: Floats = vector / np.linalg.norm(vector)
    return scaled


class TestOnnxEmbedder(EmbedderContract):
    @pytest.fixture
    async def embedder(self, tmp_path: Path) -> AsyncIterator[Embedder]:
        embedder = opened(write_model(tmp_path, ENCODER))
        yield embedder
        await embedder.close()

    async def test_text_beyond_the_length_of_the_model_is_cut(self, embedder: Embedder) -> None:
        assert embedder.max_tokens == MAX_LENGTH - 2
        whole = ["alpha"] * embedder.max_tokens
        cut, longer = await embedder.embed_passages([" ".join(whole), " ".join([*whole, "beta"])])
        assert np.array_equal(cut, longer)


@pytest.mark.parametrize("pooling", REFERENCE)
@pytest.mark.parametrize("kinds", [True, False], ids=["with token types", "without"])
async def test_each_pooling_is_that_of_the_reference(
    tmp_path: Path, pooling: str, kinds: bool
) -> None:
    names = ("input_ids", "attention_mask", *(("token_type_ids",) if kinds else ()))
    encoder = Encoder(inputs=names)
    embedder = opened(write_model(tmp_path, encoder, pooling))
    for text in TEXTS:
        expected = unit(REFERENCE[pooling](encoder.hidden(ids_of(text))))
        assert await embedder.embed_query(text) @ expected > 0.99999
    await embedder.close()


async def test_several_poolings_are_joined_in_the_usual_order(tmp_path: Path) -> None:
    configs: list[dict[str, object]] = [
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": "mean+cls"},
    ]
    for number, config in enumerate(configs):
        embedder = opened(write_model(tmp_path / str(number), ENCODER, config))
        hidden = ENCODER.hidden(ids_of("bread"))
        expected = unit(np.concatenate([hidden[0], hidden.mean(axis=0)]))
        assert embedder.fingerprint.dimensions == 32
        assert await embedder.embed_query("bread") @ expected > 0.99999
        await embedder.close()


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
async def test_dense_layers_and_layer_norm_are_computed(tmp_path: Path, dtype: str) -> None:
    chance = np.random.default_rng(3)
    weight = chance.normal(0, 0.4, (8, 16)).astype(np.float32)
    bias, scale, shift = (chance.normal(0, 1, 8).astype(np.float32) for _ in range(3))
    folder = write_model(
        tmp_path,
        ENCODER,
        "cls",
        modules=("Dense", "LayerNorm", "Normalize"),
        configs={
            "2_Dense/config.json": {
                "in_features": 16,
                "out_features": 8,
                "bias": True,
                "activation_function": "torch.nn.modules.activation.GELU",
            },
            "3_LayerNorm/config.json": {"dimension": 8},
        },
    )
    write_tensors(
        folder / "2_Dense/model.safetensors", {"linear.weight": weight, "linear.bias": bias}, dtype
    )
    write_tensors(
        folder / "3_LayerNorm/model.safetensors", {"norm.weight": scale, "norm.bias": shift}, dtype
    )
    embedder = opened(folder)
    assert embedder.fingerprint.dimensions == 8
    dense = weight @ ENCODER.hidden(ids_of("bread"))[0] + bias
    # The tanh form of GELU, which differs from the exact one by less than a thousandth.
    gelu = dense / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (dense + 0.044715 * dense**3)))
    normed = (gelu - gelu.mean()) / np.sqrt(gelu.var() + 1e-5) * scale + shift
    assert await embedder.embed_query("bread") @ unit(normed) > 0.999
    await embedder.close()


@pytest.mark.parametrize(
    ("activation", "computed"),
    [
        ("torch.nn.modules.linear.Identity", lambda x: x),
        ("torch.nn.modules.activation.Tanh", np.tanh),
        ("torch.nn.modules.activation.ReLU", lambda x: np.maximum(x, 0)),
        ("torch.nn.modules.activation.Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
async def test_each_activation_is_that_of_the_reference(
    tmp_path: Path, activation: str, computed: Callable[[Floats], Floats]
) -> None:
    weight = np.random.default_rng(3).normal(0, 0.4, (8, 16)).astype(np.float32)
    folder = write_model(
        tmp_path,
        ENCODER,
        modules=("Dense",),
        configs={"2_Dense/config.json": {"activation_function": activation}},
    )
    write_tensors(folder / "2_Dense/model.safetensors", {"linear.weight": weight})
    embedder = opened(folder)
    expected = unit(computed(weight @ ENCODER.hidden(ids_of("bread")).mean(axis=0)))
    assert await embedder.embed_query("bread") @ expected > 0.99999
    await embedder.close()


async def test_a_model_that_pools_itself_needs_no_modules(tmp_path: Path) -> None:
    encoder = Encoder(sentence_embedding=True)
    embedder = opened(write_model(tmp_path, encoder, None))
    expected = unit(encoder.hidden(ids_of("bread")).max(axis=0))
    assert await embedder.embed_query("bread") @ expected > 0.99999
    await embedder.close()


# --- what the settings say ----------------------------------------------------------------------


async def test_prefixes_come_from_the_settings_or_the_files_or_the_authors(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query : ", "document": "document : "}}
    said = write_model(
        tmp_path / "said", ENCODER, configs={"config_sentence_transformers.json": prompts}
    )
    silent = write_model(
        tmp_path / "silent",
        ENCODER,
        configs={"config_sentence_transformers.json": {"prompts": {"query": "", "document": ""}}},
    )
    usual = Prompts("search document : ", "search query : ")
    plain = opened(silent)
    for embedder, passage, query in (
        (opened(said), "document : bread", "query : bread"),
        (opened(said, query_prefix="task ", passage_prefix=""), "bread", "task bread"),
        (
            OnnxEmbedder(silent, OnnxOptions(), print, usual),
            "search document : bread",
            "search query : bread",
        ),
    ):
        assert np.array_equal(
            await embedder.embed_passages(["bread"]), await plain.embed_passages([passage])
        )
        assert np.array_equal(await embedder.embed_query("bread"), await plain.embed_query(query))
        assert embedder.max_tokens <= plain.max_tokens
        assert embedder.fingerprint != plain.fingerprint
        await embedder.close()
    await plain.close()


async def test_a_prompt_can_be_left_out_of_the_pooling(tmp_path: Path) -> None:
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": False}
    embedder = opened(write_model(tmp_path, ENCODER, pooling), query_prefix="task query : ")
    hidden = ENCODER.hidden(ids_of("task query : bread"))
    prompt = len(ids_of("task query : ")) - 1  # without [SEP]
    assert await embedder.embed_query("bread") @ unit(hidden[prompt:].mean(axis=0)) > 0.99999
    await embedder.close()


async def test_texts_are_lowered_if_the_files_say_so(tmp_path: Path) -> None:
    lowering = {"max_seq_length": MAX_LENGTH, "do_lower_case": True}
    folder = write_model(tmp_path, ENCODER, configs={"sentence_bert_config.json": lowering})
    embedder = opened(folder)
    assert embedder.count_tokens("ONE two THREE") == 3
    upper, lower = await embedder.embed_passages(["BREAD", "bread"])
    assert np.array_equal(upper, lower)
    await embedder.close()


@pytest.mark.parametrize(
    ("configs", "options", "length"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 40}}, {}, 40),
        ({"sentence_bert_config.json": {"max_seq_length": 40}}, {"max_tokens": 20}, 20),
        ({**UNSTATED, "tokenizer_config.json": {"model_max_length": 33}}, {}, 33),
        ({**UNSTATED, "tokenizer_config.json": {"model_max_length": 1e30}}, {}, 64),
        (
            {
                **UNSTATED,
                "config.json": {"model_type": "xlm-roberta", "max_position_embeddings": 50},
            },
            {},
            48,
        ),
        ({**UNSTATED, "config.json": {}}, {}, 512),
    ],
)  # fmt: skip
async def test_the_maximum_length_is_the_lowest_that_is_stated(
    tmp_path: Path, configs: dict[str, object], options: dict[str, Any], length: int
) -> None:
    embedder = opened(write_model(tmp_path, ENCODER, configs=configs), **options)
    assert embedder.max_tokens == length - 2
    await embedder.close()


async def test_vectors_are_shortened_to_sizes_that_the_files_allow(tmp_path: Path) -> None:
    config = {"model_type": "bert", "matryoshka_dimensions": [4, 8]}
    folder = write_model(tmp_path / "listed", ENCODER, configs={"config.json": config})
    embedder = opened(folder, dimensions=8)
    hidden = ENCODER.hidden(ids_of("bread")).mean(axis=0)
    assert embedder.fingerprint.dimensions == 8
    assert await embedder.embed_query("bread") @ unit(hidden[:8]) > 0.99999
    await embedder.close()
    with pytest.raises(InputError, match="embed_dimensions is 6, but listed supports 4, 8"):
        opened(folder, dimensions=6)
    with pytest.raises(InputError, match="embed_dimensions is 17, but the vectors of listed"):
        opened(folder, dimensions=17)
    said: list[str] = []
    silent = write_model(tmp_path / "silent", ENCODER)
    await OnnxEmbedder(silent, OnnxOptions(dimensions=6), said.append).close()
    assert "do not say that its vectors can be shortened to 6" in said[0]


async def test_a_folder_without_pooling_takes_that_of_the_settings(tmp_path: Path) -> None:
    folder = write_model(tmp_path, ENCODER, None)
    with pytest.raises(InputError, match="set embed_pooling to cls, mean, max or last"):
        opened(folder)
    embedder = opened(folder, pooling="last")
    assert await embedder.embed_query("bread") @ unit(ENCODER.hidden(ids_of("bread"))[-1]) > 0.9999
    await embedder.close()


# --- the fingerprint ----------------------------------------------------------------------------


async def test_the_fingerprint_changes_with_whatever_changes_the_vectors(tmp_path: Path) -> None:
    first = opened(write_model(tmp_path / "a" / "model", ENCODER)).fingerprint
    assert (first.provider, first.model, first.dimensions) == ("onnx", "model", 16)
    assert opened(write_model(tmp_path / "b" / "model", ENCODER)).fingerprint == first
    changed = [
        opened(write_model(tmp_path / "c" / "model", Encoder(seed=8))),
        opened(write_model(tmp_path / "d" / "model", ENCODER, "cls")),
        opened(write_model(tmp_path / "e" / "model", ENCODER), max_tokens=30),
        opened(write_model(tmp_path / "f" / "model", ENCODER), query_prefix="query : "),
        opened(write_model(tmp_path / "g" / "model", ENCODER), dimensions=8),
    ]
    assert len({first, *(one.fingerprint for one in changed)}) == len(changed) + 1


async def test_external_weights_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    fingerprints = []
    folder = tmp_path
    for seed in (1, 2):
        folder = write_model(tmp_path / str(seed) / "model", Encoder(seed=seed))
        made = onnx.load(folder / "onnx/model.onnx")
        (folder / "onnx/model.onnx").unlink()
        onnx.save(
            made, str(folder / "onnx/model.onnx"), save_as_external_data=True,
            location="model.onnx_data", size_threshold=100,
        )  # fmt: skip
        assert (folder / "onnx/model.onnx_data").stat().st_size > 1000
        embedder = opened(folder)
        hidden = Encoder(seed=seed).hidden(ids_of("bread")).mean(axis=0)
        assert await embedder.embed_query("bread") @ unit(hidden) > 0.99999
        fingerprints.append(embedder.fingerprint)
        await embedder.close()
    assert fingerprints[0] != fingerprints[1]
    (folder / "onnx/model.onnx_data").unlink()
    with pytest.raises(InputError, match="can't be run by ONNX Runtime"):
        opened(folder)


# --- wrong files --------------------------------------------------------------------------------


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def written(name: str, content: object) -> Callable[[Path], object]:
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda folder: (folder / name).write_text(text)


def modules(*kinds: str, path: str = "1_Pooling") -> Callable[[Path], object]:
    return written("modules.json", [{"idx": 0, "path": path, "type": kind} for kind in kinds])


def saved(encoder: Encoder, *files: str) -> Callable[[Path], object]:
    return lambda folder: [onnx.save(encoder.model(), str(folder / file)) for file in files]


def with_input(name: str, kind: int = TensorProto.INT64) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = str(folder / "onnx/model.onnx")
        made = onnx.load(path)
        made.graph.input.append(helper.make_tensor_value_info(name, kind, ["batch", "tokens"]))
        onnx.save(made, path)

    return change


def unsupported(folder: Path) -> None:
    """Four-bit weights of an operator that the runtime does not have."""
    path = str(folder / "onnx/model.onnx")
    made = onnx.load(path)
    made.graph.node[-1].op_type = "MatMulNBitsOfTomorrow"
    made.graph.node[-1].domain = "com.microsoft"
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(made, path)
    shutil.copy(path, folder / "onnx/model_int8.onnx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("onnx/model.onnx"), "has no .onnx file"),
        (without("tokenizer.json"), "has no tokenizer.json"),
        (without("1_Pooling/config.json"), "1_Pooling/config.json is missing or empty"),
        (written("tokenizer.json", "{}"), "tokenizer.json is not a tokenizer"),
        (written("modules.json", "{"), "modules.json is not valid JSON"),
        (written("modules.json", {}), "modules.json must be a JSON list of objects"),
        (written("modules.json", "[" * 100_000), "modules.json is not valid JSON"),
        (written("modules.json", " " * (16 * 2**20 + 1)), "too large for a configuration"),
        (written("config_sentence_transformers.json", []), "must be a JSON object"),
        (written("1_Pooling/config.json", {"pooling_mode": "best"}), "unknown pooling: best"),
        (written("1_Pooling/config.json", {"a": 1}), "names no pooling"),
        (modules("custom_st.Transformer"), "needs code of its own"),
        (modules("sentence_transformers.models.CNN"), "has a module CNN"),
        (modules("sentence_transformers.models.Dense", path="../x"), "leads out of the folder"),
        (modules("sentence_transformers.models.Dense"), "model.safetensors can't be read"),
        (
            written("1_Pooling/config.json",
                    {"pooling_mode_cls_token": True, "word_embedding_dimension": 384}),
            "returns vectors of 16 dimensions, but the pooling of model needs 384",
        ),
        (written("onnx/model.onnx", "these are no weights"), "can't be run by ONNX Runtime"),
        (unsupported, "set embed_file to another one of its files: onnx/model_int8.onnx"),
        (with_input("pixel_values"), "has the inputs .*pixel_values; a text encoder has"),
        (with_input("position_ids", TensorProto.FLOAT), r"inputs of type tensor\(float\)"),
        (saved(Encoder(vocabulary=20), "onnx/model.onnx"), "tokenizer.json does not fit"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_with_a_reason(
    tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    folder = write_model(tmp_path / "model", ENCODER)
    change(folder)
    with pytest.raises(InputError, match=message):
        opened(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a safetensors file"),
        (b"\xff" * 100, "is not a safetensors file"),
        (b"\x02\0\0\0\0\0\0\0{}", "has no tensor linear.weight"),
        (b"\x02\0\0\0\0\0\0\0[]", "is not a safetensors file"),
    ],
)
def test_wrong_tensors_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    folder = write_model(tmp_path, ENCODER, modules=("Dense",))
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense/model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=message):
        opened(folder)


@pytest.mark.parametrize(
    ("tensors", "activation", "message"),
    [
        ({"linear.weight": np.ones((4, 9), "f4")}, "a.Tanh", "needs vectors of 9 dimensions"),
        ({"linear.weight": np.ones((4, 16), "f4")}, "a.Mish", "has the activation a.Mish"),
    ],
)
def test_layers_that_do_not_fit_are_refused(
    tmp_path: Path, tensors: dict[str, Floats], activation: str, message: str
) -> None:
    config = {"2_Dense/config.json": {"activation_function": activation}}
    folder = write_model(tmp_path, ENCODER, modules=("Dense",), configs=config)
    write_tensors(folder / "2_Dense/model.safetensors", tensors)
    with pytest.raises(InputError, match=message):
        opened(folder)


def test_one_of_several_files_must_be_chosen(tmp_path: Path) -> None:
    folder = write_model(tmp_path, ENCODER, file="onnx/model_int8.onnx")
    assert opened(folder).fingerprint.dimensions == 16
    saved(ENCODER, "onnx/model_q4.onnx")(folder)
    with pytest.raises(InputError, match="set embed_file to one of: onnx/model_int8"):
        opened(folder)
    assert opened(folder, file="onnx/model_q4.onnx").fingerprint.dimensions == 16
    with pytest.raises(InputError, match="set embed_file to one of"):
        opened(folder, file="model.onnx")


def test_a_tokenizer_with_more_words_than_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not fit onnx/model"):
        opened(write_model(tmp_path, ENCODER, extra_words=5))


def test_a_prefix_that_fills_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which its prefixes fill"):
        opened(write_model(tmp_path, ENCODER), query_prefix="task " * 80)


async def test_vectors_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    folder = write_model(tmp_path, ENCODER)
    path = str(folder / "onnx/model.onnx")
    made = onnx.load(path)
    made.graph.node[-1].op_type = "Log"  # of a negative sum: not a number
    onnx.save(made, path)
    embedder = opened(folder)
    with pytest.raises(EmbeddingError, match="zero or not finite"):
        await embedder.embed_query("bread")
    await embedder.close()
