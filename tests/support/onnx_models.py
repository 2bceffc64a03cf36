"""Tiny text encoders as ONNX files, and the same arithmetic in NumPy.

An encoder has word and position vectors, and one layer that mixes tokens by attention. That is
enough for a vector to depend on the order of words, on padding and on token types.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

Floats = NDArray[np.float32]

_TEXT = """
how to install the program cats sleep in sunshine what is capital of france bread a short passage
number question weather spring word one two three alpha beta gamma query search document task x
: . ?
"""
WORDS = (
    *_TEXT.split(),
    *"abcdefghijklmnopqrstuvwxyz0123456789",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"),
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
MAX_LENGTH = 64


def tokenizer(extra_words: int = 0) -> Tokenizer:
    """A BERT tokenizer with a small vocabulary; `extra_words` are unknown to a usual encoder."""
    words = dict.fromkeys((*SPECIAL, *WORDS, *(f"extra{n}" for n in range(extra_words))))
    made = Tokenizer(
        WordPiece(
            {word: number for number, word in enumerate(words)},
            unk_token="[UNK]",
            max_input_chars_per_word=100,
        )
    )
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    marks = [(mark, made.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=marks
    )
    return made


@dataclass(frozen=True)
class Encoder:
    """`classes` adds a classifier on the first token; 0 returns token vectors."""

    width: int = 16
    classes: int = 0
    seed: int = 7
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids")
    sentence_embedding: bool = False
    vocabulary: int = field(default_factory=lambda: tokenizer().get_vocab_size())

    @property
    def weights(self) -> dict[str, Floats]:
        chance = np.random.default_rng(self.seed)

        def drawn(*shape: int) -> Floats:
            return chance.normal(0, 0.5, shape).astype(np.float32)

        return {
            "words": drawn(self.vocabulary, self.width),
            "positions": drawn(MAX_LENGTH * 64, self.width) * np.float32(0.2),
            "kinds": drawn(2, self.width),
            "query": drawn(self.width, self.width) * np.float32(0.2),  # attends to many tokens
            "key": drawn(self.width, self.width),
            "value": drawn(self.width, self.width),
            "classifier": drawn(self.width, max(1, self.classes)) * np.float32(2),
        }

    # --- in NumPy -----------------------------------------------------------------------------

    def hidden(self, ids: Sequence[int], kinds: Sequence[int] | None = None) -> Floats:
        """One vector per token of a text."""
        w = self.weights
        x = w["words"][list(ids)] + w["positions"][: len(ids)]
        if "token_type_ids" in self.inputs:
            x = x + w["kinds"][list(kinds or [0] * len(ids))]
        scores = (x @ w["query"]) @ (x @ w["key"]).T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        mixed: Floats = np.tanh(x + shares @ (x @ w["value"]))
        return mixed

    def logits(self, ids: Sequence[int], kinds: Sequence[int]) -> Floats:
        row: Floats = self.hidden(ids, kinds)[0] @ self.weights["classifier"]
        return row

    # --- in ONNX ------------------------------------------------------------------------------

    def model(self, precision: int = TensorProto.FLOAT) -> onnx.ModelProto:
        kinds_too = "token_type_ids" in self.inputs
        nodes = [
            _node("Shape", ["input_ids"], "shape"),
            _node("Gather", ["shape", "one_index"], "length", axis=0),
            _node("Range", ["zero", "length", "one"], "places"),
            _node("Gather", ["words", "input_ids"], "embedded"),
            _node("Gather", ["positions", "places"], "placed"),
            _node("Add", ["embedded", "placed"], "x0"),
            *(
                (
                    _node("Gather", ["kinds", "token_type_ids"], "kind"),
                    _node("Add", ["x0", "kind"], "x"),
                )
                if kinds_too
                else (_node("Identity", ["x0"], "x"),)
            ),
            _node("MatMul", ["x", "query"], "q"),
            _node("MatMul", ["x", "key"], "k"),
            _node("MatMul", ["x", "value"], "v"),
            _node("Transpose", ["k"], "kt", perm=[0, 2, 1]),
            _node("MatMul", ["q", "kt"], "raw"),
            _node("Cast", ["attention_mask"], "mask", to=precision),
            _node("Sub", ["mask", "unit"], "missing"),
            _node("Mul", ["missing", "far"], "penalty"),
            _node("Unsqueeze", ["penalty", "one_axis"], "penalties"),
            _node("Add", ["raw", "penalties"], "scores"),
            _node("Softmax", ["scores"], "shares", axis=-1),
            _node("MatMul", ["shares", "v"], "mixed"),
            _node("Add", ["x", "mixed"], "sum"),
            _node("Tanh", ["sum"], "last_hidden_state"),
        ]
        outputs: list[tuple[str, list[str | int]]] = [
            ("last_hidden_state", ["batch", "tokens", self.width])
        ]
        if self.sentence_embedding:
            nodes.append(
                _node(
                    "ReduceMax", ["last_hidden_state"], "sentence_embedding", axes=[1], keepdims=0
                )
            )
            outputs.append(("sentence_embedding", ["batch", self.width]))
        if self.classes:
            nodes.append(_node("Gather", ["last_hidden_state", "zero"], "first", axis=1))
            nodes.append(_node("MatMul", ["first", "classifier"], "logits"))
            outputs = [("logits", ["batch", self.classes])]
        kind = np.float16 if precision == TensorProto.FLOAT16 else np.float32
        constants: dict[str, NDArray[Any]] = {
            **{name: values.astype(kind) for name, values in self.weights.items()},
            "zero": np.array(0, dtype=np.int64),
            "one": np.array(1, dtype=np.int64),
            "one_index": np.array(1, dtype=np.int64),
            "one_axis": np.array([1], dtype=np.int64),
            "unit": np.array(1, dtype=kind),
            "far": np.array(1e4, dtype=kind),
        }
        graph = helper.make_graph(
            nodes,
            "encoder",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
                for name in self.inputs
            ],
            [helper.make_tensor_value_info(name, precision, shape) for name, shape in outputs],
            [numpy_helper.from_array(values, name) for name, values in constants.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        made.ir_version = 9
        return made


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, list(inputs), [output], **attributes)


# --- folders ----------------------------------------------------------------------------------


def write_model(
    folder: Path,
    encoder: Encoder,
    pooling: str | Mapping[str, object] | None = "mean",
    *,
    file: str = "onnx/model.onnx",
    extra_words: int = 0,
    configs: Mapping[str, object] | None = None,
    modules: Iterable[str] = ("Normalize",),
) -> Path:
    """A folder in the layout of sentence-transformers; `pooling` None writes no modules."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(encoder.model(), str(folder / file))
    tokenizer(extra_words).save(str(folder / "tokenizer.json"))
    written: dict[str, object] = {
        "config.json": {"model_type": "bert", "max_position_embeddings": MAX_LENGTH},
        "sentence_bert_config.json": {"max_seq_length": MAX_LENGTH, "do_lower_case": False},
    }
    if pooling is not None:
        kinds = ("Transformer", "Pooling", *modules)
        written["modules.json"] = [
            {
                "idx": number,
                "name": str(number),
                "path": "" if kind == "Transformer" else f"{number}_{kind}",
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, kind in enumerate(kinds)
        ]
        chosen = {_KEYS[pooling]: True} if isinstance(pooling, str) else pooling
        written["1_Pooling/config.json"] = {"word_embedding_dimension": encoder.width, **chosen}
    for name, content in {**written, **(configs or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


_KEYS = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


def write_tensors(path: Path, tensors: Mapping[str, Floats], dtype: str = "F32") -> None:
    """A safetensors file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, values in tensors.items():
        if dtype == "BF16":
            raw = (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        else:
            raw = values.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": offsets}
        data += raw
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)
